"""Law 11: mask and exports are one language, judged by the engines that the exports are for."""

import contextlib
import gzip
import json
import random
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from tests import dialects
from tests.corpus import corpus_dir, template_source
from tests.grammar.peer_llama import END, GbnfEngine
from tests.grammar.peer_llguidance import LarkEngine
from tests.grammar.peer_xgrammar import EbnfEngine

from untemplate.constrain import compile_grammar
from untemplate.dialect import CallBlock, Hole, fill
from untemplate.grammar import GrammarOptions, build_grammar, nodes
from untemplate.message import Tool, ToolChoice
from untemplate.vocabulary import byte_vocabulary

ENGINES = {"gbnf": GbnfEngine, "lark": LarkEngine, "ebnf": EbnfEngine}
DECLARED = GrammarOptions(key_order="declared")
VOCABULARY = byte_vocabulary(["<end>"], eos="<end>")


class OurEngine:
    """The mask, byte by byte, with the face of the other engines."""

    def __init__(self, grammar):
        self._compiled = compile_grammar(grammar, VOCABULARY)
        self.reset()

    def reset(self):
        self._constraint = self._compiled.constraint()

    def feed(self, byte):
        return self._constraint.advance(byte)

    def allowed(self):
        row = np.zeros(self._constraint.words, np.int32)
        self._constraint.fill(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[: END + 1]).tolist()

    def accepts(self, data):
        self.reset()
        return all(map(self.feed, data)) and self.feed(END)


def drawn(engine, rng, marks, names, most=1500):
    """A text that the engine lets end, mostly made of words that matter here; None: too long."""
    engine.reset()
    out = bytearray()
    wanted = b""
    while len(out) < most:
        allowed = engine.allowed()
        late = len(out) > 200
        if END in allowed and (late or allowed == [END] or rng.random() < 0.04):
            return bytes(out)
        if not wanted and rng.random() < (0.5 if late else 0.2):
            wanted = rng.choice(marks if late else [*marks, *names])
        if wanted and wanted[0] in allowed:
            byte, wanted = wanted[0], wanted[1:]
        else:
            wanted = b""
            plain = [b for b in allowed if 0x20 <= b < 0x7F or b == 0x0A]
            rare = rng.random() < 0.03 or not plain
            byte = rng.choice([b for b in allowed if b < END] if rare else plain)
        assert engine.feed(byte)
        out.append(byte)
    return None


def changed(text, rng):
    """The text with one byte changed, added, left out or doubled."""
    at = rng.randrange(len(text)) if text else 0
    byte = bytes([rng.choice(b' \n"{}[],:0a<>\\/|-.eE')])
    kept = rng.choice([text[at : at + 1], b""])
    return (
        text[:at] + byte + kept + text[at + 1 :]
        if rng.random() < 0.6
        else text[:at] + text[at + 1 :]
    )


def is_comparable(text):
    """llama.cpp takes overlong UTF-8 and ends its strings at NUL: no model's text has either."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in text


def repeats_a_key(text):
    """Whether some object in a text has a key twice: what masks refuse, and no export can say."""
    found = []

    def looked_at(pairs):
        keys = [key for key, _ in pairs]
        found.append(len(keys) > len(set(keys)))
        return dict(pairs)

    decoder = json.JSONDecoder(object_pairs_hook=looked_at)
    text = text.decode()
    for at in (n for n, character in enumerate(text) if character == "{"):
        with contextlib.suppress(ValueError):
            decoder.raw_decode(text, at)
    return any(found)


def literals(value):
    """Every text inside a part of a dialect."""
    match value:
        case Hole():
            return
        case str():
            if value:
                yield value
        case tuple():
            for item in value:
                yield from literals(item)
        case Mapping():
            for item in value.values():
                yield from literals(item)
        case _ if is_dataclass(value):
            for field in fields(value):
                yield from literals(getattr(value, field.name))


def check(grammar, notation, *, texts, changes, seed=0):
    """Draws texts on both sides, changes them, and has both sides judge."""
    rng = random.Random(seed)
    export = getattr(grammar, notation)()
    assert export.notes == ()
    ours = OurEngine(grammar)
    marks = list(dict.fromkeys(w.encode() for w in literals(grammar.dialect.blocks)))
    marks += [e.literal.encode() for e in grammar.dialect.edges if e.literal]
    names = [t.name.encode() for t in grammar.tools]
    names += [k.encode() for t in grammar.tools for k in t.parameters.get("properties", {})]
    with ENGINES[notation](export.text) as theirs:
        found = []
        for source, judge in ((ours, theirs), (theirs, ours)):
            for _ in range(texts):
                text = drawn(source, rng, marks, names)
                if text is not None and is_comparable(text) and not repeats_a_key(text):
                    assert judge.accepts(text), (type(judge).__name__, "refuses", text)
                    found.append(text)
        assert found
        for _ in range(changes):
            text = changed(rng.choice(found), rng)
            if is_comparable(text) and not repeats_a_key(text):
                assert ours.accepts(text) == theirs.accepts(text), text


def bfcl_entries():
    path = corpus_dir() / "schemas/bfcl.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def bfcl_tools():
    return [Tool(e["name"], parameters=e["schema"]) for e in bfcl_entries()]


def some_tools(seed):
    by_name = {t.name: t for t in random.Random(seed).sample(bfcl_tools(), 6)}
    return tuple(by_name.values())


@pytest.mark.parametrize("notation", ENGINES)
@pytest.mark.parametrize("name", dialects.ALL)
def test_law_11_one_language(name, notation):
    dialect = dialects.ALL[name]
    for seed, mode in enumerate(["auto", "required"]):
        choice = ToolChoice(mode)
        grammar = build_grammar(dialect, some_tools(seed), choice, options=DECLARED)
        check(grammar, notation, texts=10, changes=100, seed=seed)


def templates():
    return sorted(p.stem for p in (corpus_dir() / "templates").glob("*.jinja"))


@pytest.mark.laws
@pytest.mark.parametrize("notation", ENGINES)
@pytest.mark.parametrize("name", dialects.ALL)
def test_law_11_at_length(name, notation):
    grammar = build_grammar(dialects.ALL[name], some_tools(9), options=DECLARED)
    check(grammar, notation, texts=200, changes=2000)


@pytest.mark.parametrize("notation", ENGINES)
def test_an_answer_by_a_schema_is_in_the_export(notation):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    grammar = build_grammar(dialects.QWEN3, [], options=DECLARED, response_schema=schema)
    export = getattr(grammar, notation)()
    assert {n.message for n in export.notes} == {"strings may hold markers of the dialect"}
    rng = random.Random(0)
    ours = OurEngine(grammar)
    with ENGINES[notation](export.text) as theirs:
        for text in [b'{"a": 1}', b'{"a": 1, "more": ["x"]}', b'<think>\nx</think>\n\n{"a":2}']:
            assert ours.accepts(text)
            assert theirs.accepts(text)
        for text in [b"{}", b'{"a": "1"}', b"text", b'{"a": 1} text']:
            assert not ours.accepts(text)
            assert not theirs.accepts(text)
        for _ in range(10):
            text = drawn(ours, rng, [b'"a": ', b"</think>\n\n"], [b'"', b"}"])
            assert text is None or theirs.accepts(text)


@pytest.mark.laws
@pytest.mark.parametrize("notation", ENGINES)
def test_what_templates_write_is_in_the_exports(notation):
    from untemplate.inference import analyse
    from untemplate.template import CompiledTemplate

    entries = bfcl_entries()
    for number, name in enumerate(templates()):
        template = CompiledTemplate(template_source(name), bos_token="<s>", eos_token="</s>")
        dialect = analyse(template).dialect
        for entry in random.Random(number).sample(entries, 3):
            tool = Tool(entry["name"], parameters=entry["schema"])
            for block in dialect.blocks.values():
                if isinstance(block, CallBlock) and not getattr(block.arguments, "sort_keys", 0):
                    check_written(build_grammar(dialect, [tool]), block, entry, notation)


def check_written(grammar, block, entry, notation):
    """Compares calls as the template writes them to the export of a turn that is just the call."""
    call = nodes.Call(block, grammar.tools, None)
    start = nodes.Sequence((call, nodes.Reference("end")))
    alone = replace(grammar, start=start, rules={"end": grammar.rules["end"]})
    with ENGINES[notation](getattr(alone, notation)().text) as engine:
        for data in [test["data"] for test in entry["tests"] if test["valid"]][:3]:
            order = [k for k in entry["schema"].get("properties", {}) if k in data]
            arguments = block.arguments.write({k: data[k] for k in order})
            holes = {Hole.NAME: entry["name"], Hole.ID: "abc12345", Hole.INDEX: "0"}
            text = fill(block.pattern, {**holes, Hole.ARGUMENTS: arguments})
            assert engine.accepts(text.encode()), text


@pytest.mark.laws
@pytest.mark.parametrize("notation", ENGINES)
def test_law_11_for_every_template(notation):
    from untemplate.inference import analyse
    from untemplate.template import CompiledTemplate

    tools = bfcl_tools()
    for number, name in enumerate(templates()):
        template = CompiledTemplate(template_source(name), bos_token="<s>", eos_token="</s>")
        dialect = analyse(template).dialect
        for prompt in dialect.prompts:
            some = random.Random(number).sample(tools, 12)
            grammar = build_grammar(
                dialect,
                list({t.name: t for t in some}.values()),
                ToolChoice(random.Random(number).choice(["auto", "required"])),
                prompt=prompt,
                options=DECLARED,
            )
            check(grammar, notation, texts=200, changes=2000, seed=number)


KEYWORDS = {
    "number range": {"type": "number", "minimum": 0.5, "exclusiveMaximum": 12.25},
    "any number": {"type": "number"},
    "negative": {"type": "number", "maximum": -0.75},
    "integer range": {"type": "integer", "minimum": -3, "maximum": 120},
    "places": {"type": "number", "multipleOf": 0.01},
    "numbers": {"enum": [1, 2.5, -30]},
    "lengths": {"type": "string", "minLength": 1, "maxLength": 3},
    "enum": {"type": "string", "enum": ["C", "CF", "é\n", '"']},
    "mixed enum": {"enum": ["a", None, True, [1, "x"], {"k": {}}]},
    "pattern": {"type": "string", "pattern": "^[a-c]{2,3}$"},
    "unanchored": {"type": "string", "pattern": "b"},
    "pattern and length": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
    "date": {"type": "string", "format": "date"},
    "items": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
    "prefix": {"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "integer"}},
    "union": {"type": ["string", "null", "integer"]},
    "any of": {"anyOf": [{"type": "integer", "minimum": 5}, {"const": "x"}]},
    "nested": {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]},
    "open": {
        "type": "object",
        "properties": {"a": {"type": "null"}, "ab": {"type": "null"}},
        "additionalProperties": {"type": "boolean"},
    },
    "sizes": {
        "type": "object",
        "properties": {k: {"type": "null"} for k in "abc"},
        "minProperties": 1,
        "maxProperties": 2,
    },
    "anything": {},
    "list": {
        "$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "$ref": "#/$defs/n",
    },
}


@pytest.mark.parametrize("notation", ENGINES)
@pytest.mark.parametrize("keyword", KEYWORDS)
def test_law_11_keyword(keyword, notation):
    schema = {**KEYWORDS[keyword]}
    parameters = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    if "$defs" in schema:
        parameters["$defs"] = schema.pop("$defs")
    grammar = build_grammar(
        dialects.HERMES,
        [Tool("f", parameters=parameters)],
        ToolChoice("required", parallel=False),
        options=DECLARED,
    )
    check(grammar, notation, texts=12, changes=150)


RAW = ["lengths", "enum", "pattern", "pattern and length", "date", "union"]


@pytest.mark.parametrize("notation", ENGINES)
@pytest.mark.parametrize("keyword", RAW)
def test_law_11_keyword_in_raw_text(keyword, notation):
    parameters = {"type": "object", "properties": {"v": KEYWORDS[keyword]}, "required": ["v"]}
    grammar = build_grammar(
        dialects.CODER,
        [Tool("f", parameters=parameters)],
        ToolChoice("required", parallel=False),
        options=DECLARED,
    )
    check(grammar, notation, texts=12, changes=150)
