"""The same schema under every syntax of values: JSON, tagged text, Python, Gemma, elements, DSML.

A text that holds valid arguments is accepted by the mask, and the reader reads the same value back.
One that holds others is refused, or the report says of what they break that it is only checked.
Where a text has two readings, the call says that it is ambiguous.
"""

import functools
import json
import random

import jsonschema_rs
import pytest

from constrain.judging import VOCABULARY, written
from families import family, names
from untemplate.constrain import compile_grammar
from untemplate.dialect import KEY_IN_LITERAL, Absent, CallBlock, Pairs
from untemplate.errors import SchemaError
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.reader import Reader

SOME = (
    "coder",
    "LFM2-8B-A1B",
    "MiniMax-M3",
    "google-gemma-4-31B-it",
    "openbmb-MiniCPM5-1B",
)
"""Tagged text, Python's keywords, elements, quotes of its own, guarded text."""


def an_object(**properties):
    return {"type": "object", "properties": properties}


TREE = an_object(a={"type": "string"}, kids={"type": "array", "items": {"$ref": "#/$defs/tree"}})
DEFS = {"tree": {**TREE, "required": ["a"], "additionalProperties": False}}
INNER = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "array": {"type": "array"},
    "object": {"type": "object"},
    "types": {"type": ["string", "integer", "null"]},
    "types without string": {"type": ["integer", "boolean"]},
    "anything": {},
    "enum": {"enum": ["red", "green blue", 1, None, True, [1], {"a": 1}]},
    "enum of strings": {"enum": ["red", "green blue", "12", "true", ""]},
    "const": {"const": {"a": ["x"]}},
    "const string": {"const": "a<b"},
    "bounds": {"type": "number", "minimum": -1, "exclusiveMaximum": 3},
    "multipleOf": {"type": "number", "multipleOf": 0.5},
    "integer multiple": {"type": "integer", "multipleOf": 3, "maximum": 9},
    "length": {"type": "string", "minLength": 2, "maxLength": 4},
    "pattern": {"type": "string", "pattern": "^[a-c]+$"},
    "format": {"type": "string", "format": "date"},
    "items": {"type": "array", "items": {"type": "integer"}},
    "prefixItems": {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
    },
    "minItems": {"type": "array", "minItems": 1, "maxItems": 2},
    "uniqueItems": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
    "contains": {"type": "array", "contains": {"type": "integer"}, "maxContains": 1},
    "unevaluatedItems": {"type": "array", "prefixItems": [{}], "unevaluatedItems": False},
    "properties": an_object(a={"type": "string"}, b={"type": "integer"}),
    "required": {**an_object(a={}), "required": ["a"]},
    "additionalProperties": {**an_object(a={}), "additionalProperties": {"type": "integer"}},
    "closed": {**an_object(a={}, b={}), "additionalProperties": False},
    "patternProperties": {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
    "propertyNames": {"type": "object", "propertyNames": {"maxLength": 1}},
    "minProperties": {**an_object(a={}, b={}), "minProperties": 1, "maxProperties": 1},
    "dependentRequired": {**an_object(a={}, b={}), "dependentRequired": {"a": ["b"]}},
    "dependentSchemas": {**an_object(a={}, b={}), "dependentSchemas": {"a": {"maxProperties": 1}}},
    "unevaluatedProperties": {
        "type": "object",
        "allOf": [an_object(a={})],
        "unevaluatedProperties": False,
    },
    "anyOf": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
    "anyOf of two texts": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 5}]},
    "anyOf of shapes": {
        "anyOf": [
            {**an_object(a={"type": "integer"}), "required": ["a"]},
            {"type": "array", "items": {"type": "string"}},
        ]
    },
    "oneOf": {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 2}]},
    "allOf": {"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}]},
    "not": {"not": {"type": "string"}},
    "not of strings": {"type": "string", "not": {"enum": ["red", "a"]}},
    "if": {"if": {"type": "integer"}, "then": {"minimum": 2}, "else": {"type": "string"}},
    "$ref": {"$ref": "#/$defs/tree"},
    "true": True,
    "nested": an_object(a=an_object(b={"type": "array", "items": an_object(c={"type": "string"})})),
}
"""Schemas of one argument, `v`."""
AB = an_object(a={"type": "string"}, b={"type": "integer"})
WHOLE = {
    "required": {**AB, "required": ["b"]},
    "closed": {**AB, "additionalProperties": False},
    "additionalProperties": {
        **an_object(a={"type": "string"}),
        "additionalProperties": {"type": "integer"},
    },
    "patternProperties": {
        "type": "object",
        "patternProperties": {"^a": {"type": "integer"}},
        "additionalProperties": False,
    },
    "propertyNames": {"type": "object", "propertyNames": {"maxLength": 1}},
    "minProperties": {**an_object(a={}, b={}), "minProperties": 1, "maxProperties": 1},
    "dependentRequired": {**an_object(a={}, b={}), "dependentRequired": {"a": ["b"]}},
    "dependentSchemas": {**an_object(a={}, b={}), "dependentSchemas": {"a": {"maxProperties": 1}}},
    "anyOf": {**AB, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "oneOf": {**AB, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "if else": {
        **AB,
        "if": {"required": ["a"]},
        "then": {"required": ["b"]},
        "else": {"maxProperties": 0},
    },
    "oneOf of sizes": {**AB, "oneOf": [{"minProperties": 2}, {"required": ["a"]}]},
    "anyOf of values": {**AB, "anyOf": [{"required": ["b"]}, an_object(a={"maxLength": 1})]},
    "allOf": {
        "type": "object",
        "allOf": [
            an_object(a={"type": "string"}),
            {**an_object(b={"type": "integer"}), "required": ["b"]},
        ],
    },
    "allOf of anyOf": {**AB, "allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}]},
    "not": {**AB, "not": {"required": ["a", "b"]}},
    "if": {**AB, "if": {"required": ["a"]}, "then": {"required": ["b"]}},
    "unevaluatedProperties": {
        "type": "object",
        "allOf": [an_object(a={"type": "string"})],
        "unevaluatedProperties": False,
    },
    "$ref": {"$ref": "#/$defs/tree"},
    "const": {"const": {"a": "x", "b": 1}},
    "enum": {"enum": [{"a": "x"}, {"b": 1}, {}]},
}
"""Schemas of all arguments."""
VALUES = [
    None, True, False, 0, 1, 3, -1, 2.5, 12, 1.5e-7, "", "a", "ab", "abc", "abcde", "red",
    "green blue", "a<b", "12", "true", "null", "é😀", "it's \"x\"", "x\ny", "\\n", "2024-01-31",
    "2024-02-31", "[1, 2]", [], [1], [1, 2], ["x"], ["x", 2], ["x", "y"], ["x", "x"], ["x", ""],
    ["x", 2, None], [[1], {"a": "b"}], {}, {"a": 1}, {"a": "x"}, {"b": 1}, {"a": "x", "b": 1},
    {"a": 1, "b": "x"}, {"a": "x", "kids": [{"a": "y", "kids": []}]}, {"c": 1}, {"a": ["x"]},
    {"a": {"b": [{"c": "z"}]}}, {"a": None}, {"ab": 1},
]  # fmt: skip
ARGUMENTS = [
    {}, {"a": "x"}, {"a": 1}, {"b": 1}, {"a": "x", "b": 1}, {"b": 1, "a": "x"}, {"c": 1},
    {"a": "x", "c": 1}, {"a": "x", "c": "y"}, {"ab": 1}, {"a": None}, {"a": "12"}, {"a": "x y"},
    {"a": "x", "kids": [{"a": "y", "kids": []}]},
]  # fmt: skip
CASES = {
    **{
        f"v {name}": (
            {**an_object(v=schema), "required": ["v"], "$defs": DEFS},
            [{"v": value} for value in VALUES],
        )
        for name, schema in INNER.items()
    },
    **{name: ({**schema, "$defs": DEFS}, ARGUMENTS) for name, schema in WHOLE.items()},
}


@functools.cache
def syntaxes():
    """One family for each way in which arguments are written."""
    found = {}
    for name in (*SOME, *names()):
        for block in family(name).blocks.values():
            if isinstance(block, CallBlock):
                found.setdefault(repr(block.arguments), name)
    return tuple(dict.fromkeys(found.values()))


def all_pairs(dialect):
    """The notations of a dialect for objects."""
    for block in dialect.blocks.values():
        if isinstance(block, CallBlock) and isinstance(block.arguments, Pairs):
            yield block.arguments
            yield from (n for n in block.arguments.notations.values() if isinstance(n, Pairs))


def why_narrower(dialect, schema):
    """Why the mask may refuse a valid value: what docs/schemas.md says of keys."""
    pairs = list(all_pairs(dialect))
    text = json.dumps(schema)
    if any(KEY_IN_LITERAL in w.after for p in pairs for w in p.types.values()):
        return "elements are named like their keys, so only keys that the schema names"
    if pairs and ("patternProperties" in text or "propertyNames" in text):
        return "keys told apart by patterns are not written pair by pair"
    return ""


def drops_null(dialect):
    pairs = list(all_pairs(dialect))
    return any(isinstance(w.encoding, Absent) for p in pairs for w in p.types.values())


class Judge:
    """One schema in one dialect."""

    def __init__(self, name, schema):
        self.dialect = family(name)
        self.tool = Tool("f", "", schema)
        self.schema = schema
        draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        self.validator = jsonschema_rs.validator_for({**schema, **draft}, validate_formats=True)

    @functools.cached_property
    def grammar(self):
        prompt, _ = written(self.dialect, self.tool, {})
        choice, options = ToolChoice("required"), GrammarOptions(open_objects=True)
        return build_grammar(self.dialect, (self.tool,), choice, prompt=prompt, options=options)

    @functools.cached_property
    def compiled(self):
        try:
            return compile_grammar(self.grammar, VOCABULARY)
        except SchemaError:
            return None  # no value can be written

    def accepts(self, text):
        constraint = self.compiled and self.compiled.constraint()
        if not constraint or not constraint.feed(text.encode()):
            return False
        ends = [b"", *(stop.encode() for stop in self.dialect.stops)]
        return any(constraint.fork().feed(e) for e in ends) or constraint.allows(VOCABULARY.eos)

    def is_checked(self, value):
        """Whether the report says of all that a value breaks that it is only checked."""
        pointers = [k.pointer for k in self.grammar.report().checked]
        broken = [
            "#/" + "/".join(map(str, e.schema_path)) for e in self.validator.iter_errors(value)
        ]
        return all(any(f"{b}/".startswith(f"{p}/") for p in pointers) for b in broken)

    def judge(self, value):
        """Says what is wrong, or nothing."""
        _, text = written(self.dialect, self.tool, value)
        reader = Reader(self.grammar, nonce="syntax")
        reader.feed(text.encode())
        message = reader.finish("stop")
        (call,) = message.tool_calls
        read = json.loads(call.arguments + call.closing)
        is_same = json.dumps(read, sort_keys=True) == json.dumps(value, sort_keys=True)
        is_valid = self.validator.is_valid(value)
        if self.accepts(text):
            if message.diagnostics:
                return f"accepted, but read with {[d.code for d in message.diagnostics]}"
            if not self.validator.is_valid(read) and not self.is_checked(read):
                return f"accepted, but reads {read}, which breaks what the report calls exact"
        elif is_valid and is_same and not why_narrower(self.dialect, self.schema):
            return "valid, but refused"
        if is_valid and not is_same and not call.ambiguous and not drops_null(self.dialect):
            return f"reads {read}, and is not called ambiguous"
        return ""


def faults(name, cases, per_schema=100):
    rng = random.Random(name)
    for case in cases:
        schema, values = CASES[case]
        judge = Judge(name, schema)
        for value in rng.sample(values, min(per_schema, len(values))):
            if fault := judge.judge(value):
                yield f"{case} {value}: {fault}"


@pytest.mark.parametrize("name", SOME)
def test_a_value_is_valid_in_every_syntax_alike(name):
    # Each takes some of the schemas; together they take all.
    assert list(faults(name, [*CASES][SOME.index(name) % 3 :: 3], 6)) == []


@pytest.mark.parametrize(
    ("name", "opening"),
    [
        ("coder", "<parameter=b>\n"),
        ("MiniMax-M3", "]<]minimax[>[<b>"),
        ("GLM-4.6", "<arg_key>b</arg_key>"),
    ],
)
def test_text_that_reads_as_the_next_argument_is_not_written(name, opening):
    judge = Judge(name, an_object(a={"type": "string"}, b={"type": "string"}))
    lead = "\n" if name == "coder" else ""
    for value in ({"a": f"x{lead}{opening}1"}, {"b": "y", "a": f"x{lead}{opening}1"}):
        assert judge.judge(value) == ""
    _, text = written(judge.dialect, judge.tool, {"a": f"x{lead}{opening}1"})
    assert not judge.accepts(text)
    _, text = written(judge.dialect, judge.tool, {"b": "y", "a": f"x{lead}{opening}1"})
    assert judge.accepts(text)
    _, text = written(judge.dialect, judge.tool, {"a": f"x {opening}1"})
    assert judge.accepts(text) is bool(lead)


@pytest.mark.parametrize("name", SOME)
def test_a_word_or_number_is_written_beside_texts_that_begin_alike(name):
    for schema, values in (
        ({"enum": ["normal", None]}, ("normal", None, "null", "n")),
        ({"anyOf": [{"enum": ["text/css"]}, {"type": "boolean"}]}, ("text/css", True, False, "t")),
        ({"enum": ["12a", 12, 123, -1.5]}, ("12a", 12, 123, -1.5, 1, "12")),
        ({"enum": ["fast", "true or false", False]}, ("fast", "true or false", False, True)),
    ):
        judge = Judge(name, an_object(v=schema))
        assert [judge.judge({"v": value}) for value in values] == [""] * len(values)


@pytest.mark.laws
def test_all_values_in_all_syntaxes():
    assert [f"{name}: {fault}" for name in syntaxes() for fault in faults(name, CASES)] == []


PATTERNED = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "patternProperties": {"^x": {"type": "integer"}, "z$": {"type": "integer", "minimum": 5}},
    "additionalProperties": False,
    "propertyNames": {"maxLength": 4},
    "minProperties": 1,
}


@pytest.mark.parametrize("name", ["coder", "GLM-4.6", "google-gemma-4-31B-it"])
def test_keys_by_patterns_are_told_apart_where_they_are_written_pair_by_pair(name):
    dialect, tool = family(name), Tool("f", "", PATTERNED)
    prompt, _ = written(dialect, tool, {})
    grammar = build_grammar(dialect, (tool,), ToolChoice("required"), prompt=prompt)
    assert {k.status for k in grammar.report().keywords} == {"exact"}
    compiled = compile_grammar(grammar, VOCABULARY)
    validator = jsonschema_rs.validator_for(PATTERNED)
    for arguments in (
        {"a": 1}, {"x": 1}, {"xz": 7, "a": 2}, {"yz": 6, "x1": 3},
        {}, {"b": 1}, {"xz": 4}, {"z": 2}, {"x2345": 1}, {"x": 1, "yyyyz": 9},
    ):  # fmt: skip
        _, text = written(dialect, tool, arguments)
        is_written = compiled.constraint().feed(text.encode())
        assert is_written is validator.is_valid(arguments), arguments
