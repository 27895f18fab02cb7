"""The type of a value whose text does not tell it: by the whole schema of its tool."""

import json

import pytest

from families import family
from reader.feeding import grammar_of
from reader.outputs import write_call
from untemplate.message import Tool
from untemplate.reader import Reader
from untemplate.reader.kinds import ALL_KINDS, items_of, property_of, types_of


def read(schema, values, name="coder"):
    """What is read of arguments that were written in a family's notation."""
    dialect = family(name)
    grammar = grammar_of(dialect, (Tool("f", "", schema),))
    reader = Reader(grammar, nonce="kinds")
    reader.feed(write_call(dialect, "call", values).encode())
    (call,) = reader.finish("stop").tool_calls
    return json.loads(call.arguments), call.ambiguous


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 5}]}, "3", "3"),
        ({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 5}]}, "7", 7),
        ({"anyOf": [{"$ref": "#/$defs/names"}, {"type": "string"}]}, "[1, 2]", "[1, 2]"),
        ({"anyOf": [{"$ref": "#/$defs/names"}, {"type": "string"}]}, '["a"]', ["a"]),
        ({"if": {"type": "integer"}, "then": {"minimum": 2}, "else": {"type": "string"}}, "0", "0"),
        ({"type": "string", "nullable": True}, "null", None),
        ({"enum": ["1", 2, "x"]}, "1", "1"),
    ],
)
def test_of_two_readings_the_schema_takes_the_one_that_it_accepts(schema, text, value):
    names = {"type": "array", "items": {"type": "string"}}
    whole = {"type": "object", "properties": {"v": schema}, "$defs": {"names": names}}
    assert read(whole, {"v": text}) == ({"v": value}, ("/v",))


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"properties": {"v": {"type": "string"}}}]},
        {"patternProperties": {"^v": {"type": "string"}}},
        {"additionalProperties": {"type": "string"}},
        {"anyOf": [{"properties": {"v": {"type": "string"}}}, {"type": "array"}]},
        {"$ref": "#/$defs/it", "$defs": {"it": {"properties": {"v": {"type": "string"}}}}},
    ],
)
def test_an_argument_is_declared_wherever_the_schema_says_so(schema):
    assert read(schema, {"v": "12"}) == ({"v": "12"}, ())


def test_what_stands_beside_a_reference_counts_only_in_new_drafts():
    schema = {"properties": {"v": {"type": "string", "$ref": "#/$defs/any"}}, "$defs": {"any": {}}}
    assert read(schema, {"v": "12"}) == ({"v": "12"}, ())
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    assert read(old, {"v": "12"}) == ({"v": 12}, ("/v",))


def test_an_empty_item_is_a_string_where_only_strings_are_declared():
    schema = {"properties": {"v": {"type": "array", "items": {"type": "string"}}}}
    assert read(schema, {"v": ["a", ""]}, "MiniMax-M3") == ({"v": ["a", ""]}, ())
    schema = {"properties": {"v": {"type": "array", "items": {"type": "null"}}}}
    assert read(schema, {"v": [None]}, "MiniMax-M3") == ({"v": [None]}, ())


def test_the_first_items_are_declared_one_by_one():
    first = [{"type": "string"}, {"type": "integer"}]
    schema = {"properties": {"v": {"type": "array", "prefixItems": first, "items": False}}}
    for name in ("google-gemma-4-31B-it", "MiniMax-M3"):
        assert read(schema, {"v": ["x", 2]}, name) == ({"v": ["x", 2]}, ())


def test_schemas_that_lead_in_circles_are_looked_at_once():
    schema = {"allOf": [{"$ref": "#"}] * 50, "anyOf": [{"$ref": "#/anyOf/1"}, {"$ref": "#"}]}
    for n in range(200):  # each refers twice to the next
        following = {"$ref": f"#/$defs/{n + 1}"}
        schema.setdefault("$defs", {})[str(n)] = {"oneOf": [following, following]}
    schema["$defs"]["200"] = {"type": "string", "items": {"type": "null"}}
    assert types_of({"$ref": "#/$defs/190"}, schema) == ("string",)
    start = {"allOf": [schema, {"$ref": "#/$defs/0"}]}
    assert types_of(start, schema) == ALL_KINDS
    assert property_of(start, "a", schema) is None
    assert items_of(start, 0, schema) is None
