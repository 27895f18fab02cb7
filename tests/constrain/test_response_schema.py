"""Answers by a `response_schema`: laws 9, 10 and 14 over the dialects, and what is left out."""

import json
import random

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
from untemplate.dialect import CallBlock, Dialect, Hole, JsonText, Opening, Prompt, Whole
from untemplate.errors import RequestError, SchemaError, VocabularyError
from untemplate.grammar import Grammar, build_grammar
from untemplate.inference import analyse
from untemplate.message import JSON, Message, ToolChoice
from untemplate.reader import Reader
from untemplate.template.source import read_source
from untemplate.vocabulary import Vocabulary

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
                    message = read(grammar, written)
                    assert not message.diagnostics, written
                    if message.tool_calls:
                        assert tools
                        assert not message.content
                    else:
                        jsonschema_rs.validate(schema, json.loads(message.content))


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
    edges=tuple(e for e in HERMES.edges if (e.source, e.target) != ("call", "call")),
    prompts=(Prompt("assistant\n", (Opening("content"), Opening("call"))),),
    stops=("<|im_end|>",),
)


def test_calls_that_begin_like_the_answer_are_refused():
    with pytest.raises(RequestError, match="response_schema: calls of this dialect begin like"):
        build_grammar(BARE, TOOLS, response_schema={"type": "object"})
    for choice in (ToolChoice("none"), ToolChoice("required")):
        build_grammar(BARE, TOOLS, choice, response_schema={"type": "object"})
    grammar = build_grammar(BARE, TOOLS, response_schema={"type": "array"})
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
    with pytest.raises(VocabularyError):
        compile_grammar(build_grammar(HERMES, response_schema=False), SMALL)


@pytest.mark.laws
def test_law_09_over_the_corpus():
    rng = random.Random(9)
    refused = 0
    for path in sorted((corpus_dir() / "templates").glob("*")):
        dialect = analyse(read_source(path).compile(with_tools=True)).dialect
        for prompt in dialect.prompts[:3]:
            try:
                grammar = build_grammar(dialect, TOOLS[1:], prompt=prompt, response_schema=ANSWER)
            except RequestError:
                refused += 1
                break
            compiled = compile_grammar(grammar, VOCABULARIES["plain"])
            for extra in (0, 30):
                written = compiled.vocabulary.bytes_of(run(compiled, extra, rng, choose_any)[:-1])
                message = read(grammar, written)
                if not message.tool_calls:
                    assert not message.diagnostics, (path.name, written)
                    jsonschema_rs.validate(ANSWER, json.loads(message.content))
    assert refused <= 5
