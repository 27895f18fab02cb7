"""Answers by a `response_schema`: laws 9, 10 and 14 over the dialects, and what is left out."""

import json
import random
from dataclasses import replace

import jsonschema_rs
import numpy as np
import pytest

from constrain.test_laws import (
    SMALL,
    TOOLS,
    VOCABULARIES,
    allowed,
    choose_any,
    choose_longest,
    choose_open,
    run,
)
from corpus import corpus_dir
from dialects import ALL, HERMES
from untemplate.constrain import compile_grammar
from untemplate.dialect import (
    END,
    CallBlock,
    Dialect,
    Edge,
    Hole,
    JsonText,
    Opening,
    Prompt,
    Whole,
)
from untemplate.errors import RequestError, SchemaError
from untemplate.grammar import Grammar, build_grammar
from untemplate.inference import analyse
from untemplate.message import JSON, Message, ToolChoice
from untemplate.reader import Reader
from untemplate.template.source import read_source
from untemplate.turn import ChatTemplate
from untemplate.vocabulary import Vocabulary, byte_vocabulary

ANSWER: JSON = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["gift", "loan", "größe"]},
        "title": {"type": "string", "minLength": 1, "maxLength": 6},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
    },
    "required": ["kind", "title"],
    "additionalProperties": False,
}
SCHEMAS: list[JSON] = [
    ANSWER,
    {"type": "object"},
    {"type": "array", "items": {"type": ["integer", "string"], "maxLength": 3}, "minItems": 1},
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    {"enum": ["yes", "no", 1]},
]


def check_answer_or_calls(message: Message, schema: JSON, *, may_call: bool) -> None:
    assert not message.diagnostics, (message.content, message.diagnostics)
    if message.tool_calls:
        assert may_call
        assert not message.content
    else:
        jsonschema_rs.validate(schema, json.loads(message.content))


@pytest.mark.parametrize("choose", [choose_any, choose_longest, choose_open])
@pytest.mark.parametrize("name", ALL)
def test_law_09_14_an_answer_or_calls_ends_in_time_and_validates(name, choose):
    rng = random.Random(f"{name} {choose.__name__}")
    for vocabulary in VOCABULARIES.values():
        for number, prompt in enumerate(ALL[name].prompts):
            schema = SCHEMAS[(number + len(vocabulary.special)) % len(SCHEMAS)]
            for tools in ((), TOOLS[1:]):
                grammar = build_grammar(ALL[name], tools, prompt=prompt, response_schema=schema)
                compiled = compile_grammar(grammar, vocabulary)
                for extra in (0, 3, 40):
                    written = vocabulary.bytes_of(run(compiled, extra, rng, choose)[:-1])
                    check_answer_or_calls(read(grammar, written), schema, may_call=bool(tools))


@pytest.mark.parametrize("name", ALL)
def test_both_an_answer_and_a_call_may_begin(name):
    prompt = next(p for p in ALL[name].prompts if any(o.block == "call" for o in p.openings))
    grammar = build_grammar(ALL[name], TOOLS, prompt=prompt, response_schema={"type": "object"})
    assert set(first_bytes(grammar, VOCABULARIES["plain"])) >= {ord("{")}
    assert set(first_bytes(grammar, VOCABULARIES["plain"])) & set(b"<[")


def read(grammar: Grammar, written: bytes) -> Message:
    reader = Reader(grammar)
    reader.feed(written)
    return reader.finish("stop")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("schema", SCHEMAS)
def test_law_09_every_schema_is_kept(name, schema):
    rng = random.Random(name)
    grammar = build_grammar(ALL[name], TOOLS, ToolChoice("none"), response_schema=schema)
    compiled = compile_grammar(grammar, SMALL)
    for extra in (0, 20):
        message = read(grammar, SMALL.bytes_of(run(compiled, extra, rng, choose_any)[:-1]))
        jsonschema_rs.validate(schema, json.loads(message.content))
        assert not message.tool_calls


VALUES: list[tuple[JSON, JSON]] = [
    (ANSWER, {"kind": "größe", "title": 'a"\n😀', "tags": ["<b>", ""], "next": None}),
    (ANSWER, {"title": "x", "next": {"title": "<", "kind": "gift"}, "kind": "loan"}),
    ({"type": "object"}, {"free": [1, {"<": None}], "n": -1.5e3, "": "</tool"}),
    ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"m": "open", "n": 1}),
    ({"enum": ["yes", "no", 1]}, 1),
    ({"minimum": 3}, 12),
]


@pytest.mark.parametrize("name", ALL)
def test_law_10_every_value_may_be_written(name):
    dialect = ALL[name]
    for prompt in dialect.prompts:
        opening = next((o for o in prompt.openings if o.block == "content"), None)
        lead = opening.literal if opening else "Hm." + between(dialect, "reasoning", "content")
        for schema, value in VALUES:
            grammar = build_grammar(dialect, prompt=prompt, response_schema=schema)
            for vocabulary in (SMALL, VOCABULARIES["plain"]):
                for style in ({}, {"ensure_ascii": False}, {"separators": (",", ":")}):
                    text = lead + json.dumps(value, **style)
                    constraint = compile_grammar(grammar, vocabulary).constraint()
                    for n, byte in enumerate(text.encode()):
                        assert constraint.advance(byte), text.encode()[:n]
                        assert constraint.min_tokens() > 0
                    assert constraint.advance(vocabulary.eos)
                    assert constraint.is_finished
                    assert read(grammar, text.encode()).content == json.dumps(value, **style)


def between(dialect: Dialect, source: str, target: str) -> str:
    return next(e.literal for e in dialect.edges if (e.source, e.target) == (source, target))


def first_bytes(grammar: Grammar, vocabulary: Vocabulary = SMALL) -> bytes:
    constraint = compile_grammar(grammar, vocabulary).constraint()
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row)
    return bytes(i for i in allowed(row, vocabulary.size) if i < 256)


def test_objects_are_open_and_nothing_but_the_value_is_content():
    grammar = build_grammar(HERMES, response_schema={"type": "object", "properties": {"a": {}}})
    compiled = compile_grammar(grammar, SMALL)
    assert compiled.constraint().feed(b'{"b": 1, "a": 2}')
    assert not compiled.constraint().feed(b'{"b": 1} ok')
    assert first_bytes(grammar) == b"{"


def test_a_required_call_leaves_no_answer():
    for choice in (ToolChoice("required"), ToolChoice("required", "ping")):
        grammar = build_grammar(HERMES, TOOLS, choice, response_schema={"type": "object"})
        assert b"{" not in first_bytes(grammar)


def test_after_a_call_comes_no_answer():
    grammar = build_grammar(HERMES, TOOLS, response_schema={"type": "object"})
    call = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
    constraint = compile_grammar(grammar, SMALL).constraint()
    assert constraint.feed(call.encode())
    assert not constraint.fork().feed(b"{")
    assert constraint.advance(SMALL.eos)


def test_strings_hold_no_marker():
    grammar = build_grammar(HERMES, TOOLS, response_schema={"type": "object"})
    compiled = compile_grammar(grammar, VOCABULARIES["plain"])
    for text in ('{"a": "x <tool_call>', '{"<tool_call>', '{"a": ["<|im_end|>'):
        assert compiled.constraint().feed(text[:-1].encode())
        assert not compiled.constraint().feed(text.encode() + b'"')


def test_the_schema_is_part_of_the_key_and_readers_do_without():
    plain = build_grammar(HERMES, TOOLS)
    one = build_grammar(HERMES, TOOLS, response_schema={"type": "object"})
    other = build_grammar(HERMES, TOOLS, response_schema={"type": "array"})
    assert len({plain.key, one.key, other.key}) == 3
    assert one.unrestricted() == plain.unrestricted()


BARE = Dialect(
    blocks={
        "content": HERMES.blocks["content"],
        "call": CallBlock(
            ('{"name": "', Hole.NAME, '", "parameters": ', Hole.ARGUMENTS, "}"), Whole(JsonText())
        ),
    },
    edges=(
        Edge("content", END, ""),
        Edge("content", "call", ""),
        Edge("call", "call", "; "),
        Edge("call", END, ""),
    ),
    prompts=(Prompt("assistant\n", (Opening("content"), Opening("call"))),),
    stops=("<|im_end|>",),
)
"""Calls are bare JSON, as an answer is."""
NAMED: JSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 5},
        "parameters": {"type": ["object", "integer"]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def tools_of(message: Message) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in message.tool_calls]


@pytest.mark.parametrize("choose", [choose_any, choose_longest, choose_open])
@pytest.mark.parametrize(
    "schema", [{"type": "object"}, NAMED, ANSWER, {"type": ["object", "array"]}]
)
def test_law_09_14_where_calls_begin_like_the_answer(schema, choose):
    rng = random.Random(choose.__name__)
    for vocabulary in VOCABULARIES.values():
        for choice in (ToolChoice("auto"), ToolChoice("none")):
            grammar = build_grammar(BARE, TOOLS, choice, response_schema=schema)
            compiled = compile_grammar(grammar, vocabulary)
            for extra in (0, 3, 40):
                written = vocabulary.bytes_of(run(compiled, extra, rng, choose)[:-1])
                is_auto = choice.mode == "auto"
                check_answer_or_calls(read(grammar, written), schema, may_call=is_auto)


@pytest.mark.parametrize("vocabulary", VOCABULARIES.values(), ids=VOCABULARIES)
@pytest.mark.parametrize(
    ("text", "is_written", "is_call"),
    [
        ('{"name": "ping", "parameters": {}}', True, True),
        ('{"name": "ping", "parameters": {}}; {"name": "ping", "parameters": {}}', True, True),
        # An answer never reads as a call, however it is spelt.
        ('{"name":"ping", "parameters": {}}', False, True),
        ('{"parameters": {}, "name": "ping"}', False, True),
        ('{"n\\u0061me": "ping", "parameters": {}}', False, True),
        # What differs from one wherever that is seen is an answer.
        ('{"name": "pi"}', True, False),
        ('{"name": "pin", "parameters": {}}', True, False),
        ('{"name": "pings", "parameters": {"a": {"name": "ping", "parameters": {}}}}', True, False),
        ('{"name": "ping"}', True, False),
        ('{"name": "ping", "parameters": 7}', True, False),
        ('{"parameters": {}, "name": "pin"}', True, False),
        ('{"name": "ping", "arguments": {}}', False, False),
        ('{"name": "pingss"}', False, False),
        ('{"name": "ping", "parameters": {}, "name": "a"}', False, True),
        ('{"name": "p", "parameters": 1}', False, False),
        ('{"name": "pin", "name": "pin"}', False, False),
    ],
)
def test_an_answer_is_told_from_a_call_that_is_bare_json(text, is_written, is_call, vocabulary):
    grammar = build_grammar(BARE, TOOLS, response_schema=NAMED)
    constraint = compile_grammar(grammar, vocabulary).constraint()
    is_taken = all(constraint.advance(b) and constraint.min_tokens() for b in text.encode())
    assert (is_taken and constraint.advance(vocabulary.eos)) is is_written
    message = read(grammar, text.encode())
    assert bool(message.tool_calls) is is_call
    assert message.content == ("" if is_call else text)
    assert is_call or not message.diagnostics


def test_law_10_every_value_may_be_written_beside_bare_calls():
    for schema, value in VALUES:
        grammar = build_grammar(BARE, TOOLS, response_schema=schema)
        for style in ({}, {"ensure_ascii": False}, {"separators": (",", ":")}):
            text = json.dumps(value, **style)
            constraint = compile_grammar(grammar, SMALL).constraint()
            assert all(constraint.advance(t) for t in SMALL.encode(text, special=False))
            assert constraint.advance(SMALL.eos)
            assert read(grammar, text.encode()).content == text


HIDDEN: list[JSON] = [
    {"x": {"name": "ping", "parameters": {}}},
    [{"name": "ping", "parameters": {}}],
    {"x": "{'name': 'ping', 'parameters': {}}", "y": "```json\n[{}]```"},
    {"function": {"name": "ping", "parameters": {}}},
    {"name": "ping", "arguments": {}},
    {"name": "ping", "parameters": '{"a": 1}'},
]


@pytest.mark.parametrize("value", HIDDEN)
@pytest.mark.parametrize("dialect", [BARE, HERMES], ids=["bare", "hermes"])
def test_what_looks_like_a_call_inside_an_answer_is_content(dialect, value):
    schema = {"type": ["object", "array"]}
    for choice in (ToolChoice("auto"), ToolChoice("none")):
        grammar = build_grammar(dialect, TOOLS, choice, response_schema=schema)
        for indent in (None, 1):
            text = json.dumps(value, indent=indent)
            assert compile_grammar(grammar, SMALL).constraint().feed(text.encode())
            for size in (1, 3, 1000):
                reader, told = Reader(grammar), ""
                for at in range(0, len(text), size):
                    reader.feed(text[at : at + size].encode())
                    assert text.startswith(reader.live.content)
                    assert reader.live.content.startswith(told)
                    told = reader.live.content
                message = reader.finish("stop")
                assert (message.content, message.diagnostics) == (text, ())
                assert not message.tool_calls


def test_a_bare_call_is_told_as_soon_as_its_arguments_begin():
    reader = Reader(build_grammar(BARE, TOOLS, response_schema={"type": "object"}))
    reader.feed(b'{"name": "ping", "parameters": ')
    assert not reader.live.calls
    reader.feed(b"{")
    assert [call.name for call in reader.live.calls] == ["ping"]
    assert not reader.finish("length").content
    reader = Reader(build_grammar(BARE, TOOLS, response_schema={"type": "object"}))
    reader.feed(b'{"name": "pay", ')
    assert reader.finish("length").content == '{"name": "pay", '


def test_under_none_an_answer_may_be_like_a_call():
    grammar = build_grammar(BARE, TOOLS, ToolChoice("none"), response_schema={"type": "object"})
    text = '{"name": "ping", "parameters": {}}'
    constraint = compile_grammar(grammar, SMALL).constraint()
    assert constraint.feed(text.encode())
    message = read(grammar, text.encode())
    assert (message.content, message.diagnostics) == (text, ())


LLAMA = ["meta-llama-Llama-3.1-8B", "meta-llama-Llama-3.2-3B", "meta-llama-Llama-3.3-70B"]


@pytest.mark.parametrize("name", LLAMA)
def test_a_turn_of_llama_is_a_call_or_the_answer(name):
    path = corpus_dir() / f"templates/{name}-Instruct.jinja"
    template = ChatTemplate(path.read_text(encoding="utf-8"), bos_token="", eos_token="<|eot_id|>")
    vocabulary = byte_vocabulary(["<|eot_id|>"], eos="<|eot_id|>")
    turn = template.turn(
        [{"role": "user", "content": "Hi"}],
        tools=TOOLS,
        tool_choice=ToolChoice("auto"),
        response_schema=ANSWER,
    )
    call = '{"name": "ping", "parameters": {}}'
    answer = '{"kind": "gift", "title": "x"}'
    for text, is_written in ((call, True), (answer, True), ('{"kind": "x"}', False), ("Hi", False)):
        assert turn.constraint(vocabulary).fork().feed(text.encode()) is is_written
    turn.feed(call.encode())
    assert tools_of(turn.finish("stop")) == [("ping", "{}")]
    turn = template.turn(
        [{"role": "user", "content": "Hi"}],
        tools=TOOLS,
        tool_choice=ToolChoice("auto"),
        response_schema=ANSWER,
    )
    turn.feed(answer.encode())
    assert turn.finish("stop").content == answer


def test_calls_that_can_not_be_told_from_the_answer_are_refused():
    lists = replace(
        BARE,
        blocks={
            **BARE.blocks,
            "call": CallBlock(('["', Hole.NAME, '", ', Hole.ARGUMENTS, "]"), Whole(JsonText())),
        },
    )
    with pytest.raises(RequestError, match="response_schema: calls of this dialect begin like"):
        build_grammar(lists, TOOLS, response_schema={"type": "array"})
    for choice in (ToolChoice("none"), ToolChoice("required")):
        build_grammar(lists, TOOLS, choice, response_schema={"type": "array"})
    grammar = build_grammar(lists, TOOLS, response_schema={"type": "object"})
    assert set(b"[{") <= set(first_bytes(grammar))


def test_a_dialect_without_content_is_refused():
    bare = Dialect(
        blocks={"call": HERMES.blocks["call"]},
        edges=tuple(e for e in HERMES.edges if e.source == "call"),
        prompts=(Prompt("x", (Opening("call"),)),),
        stops=("<|im_end|>",),
    )
    with pytest.raises(RequestError, match="no content to answer in"):
        build_grammar(bare, TOOLS, response_schema={"type": "object"})


def test_a_schema_that_is_wrong_is_named():
    with pytest.raises(SchemaError, match="response_schema #/properties/a/type"):
        build_grammar(HERMES, response_schema={"properties": {"a": {"type": "text"}}})
    with pytest.raises(SchemaError, match=r"response_schema #/items/\$ref: leads"):
        build_grammar(HERMES, response_schema={"items": {"$ref": "#/$defs/none"}})
    with pytest.raises(SchemaError, match="response_schema: no value"):
        compile_grammar(build_grammar(HERMES, response_schema=False), SMALL)


@pytest.mark.laws
def test_law_09_over_the_corpus():
    rng = random.Random(9)
    for path in sorted((corpus_dir() / "templates").glob("*")):
        dialect = analyse(read_source(path).compile(with_tools=True)).dialect
        for prompt in dialect.prompts[:3]:
            grammar = build_grammar(dialect, TOOLS[1:], prompt=prompt, response_schema=ANSWER)
            compiled = compile_grammar(grammar, VOCABULARIES["plain"])
            for extra in (0, 30):
                written = compiled.vocabulary.bytes_of(run(compiled, extra, rng, choose_any)[:-1])
                message = read(grammar, written)
                if not message.tool_calls:
                    assert not message.diagnostics, (path.name, written)
                    jsonschema_rs.validate(ANSWER, json.loads(message.content))
