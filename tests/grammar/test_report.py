"""What the report of a grammar says of each keyword, and what it refuses."""

import pytest

from constrain.judging import ANSWERS
from dialects import CODER, HERMES
from untemplate.errors import SchemaError
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.grammar.report import Keyword, refuse_inexact
from untemplate.message import Tool


def told(schema, dialect=HERMES, **options):
    grammar = build_grammar(dialect, (Tool("f", "", schema),), options=GrammarOptions(**options))
    return {k.pointer: (k.status, k.reason) for k in grammar.report().keywords}


@pytest.mark.parametrize(
    ("schema", "pointer", "reason"),
    [
        ({"pattern": "(a)\\1"}, "#/pattern", "a back-reference"),
        ({"pattern": "(?<=a)b"}, "#/pattern", "look-behind"),
        ({"pattern": "a(?=b)"}, "#/pattern", "look-ahead that is not at the beginning"),
        ({"pattern": "("}, "#/pattern", "pattern"),
        ({"pattern": "a{2}{3}"}, "#/pattern", "nothing to repeat at 4"),
        ({"pattern": "a*+"}, "#/pattern", "nothing to repeat at 2"),
        ({"format": "regex"}, "#/format", "format regex"),
        ({"multipleOf": 0.123457}, "#/multipleOf", "remainders"),
        ({"uniqueItems": True}, "#/uniqueItems", "arrays or objects"),
        (
            {"uniqueItems": True, "items": {"type": "string", "pattern": "^[ab]$"}},
            "#/uniqueItems",
            "no further item",
        ),
        (
            {"anyOf": [{"uniqueItems": True, "items": {"type": "string"}}, {"maxItems": 2}]},
            "#/anyOf/0/uniqueItems",
            "must differ in any case",
        ),
        (
            {"oneOf": [{"pattern": "(a)\\1"}, {"minLength": 3}]},
            "#/oneOf/1/minLength",
            "#/oneOf/0 is not enforced",
        ),
        ({"not": {"format": "regex"}}, "#/not", "#/not is not enforced"),
        ({"patternProperties": {"(?<!a)b": {}}}, "#/patternProperties", "look-behind"),
        ({"properties": {"a/b": {"pattern": "(a)\\1"}}}, "#/properties/a~1b/pattern", "back"),
    ],
)
def test_what_only_validation_enforces(schema, pointer, reason):
    status, why = told(schema)[pointer]
    assert status == "checked"
    assert reason in why


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"uniqueItems": True, "items": {"type": "string", "maxLength": 5}}, "#/uniqueItems"),
        ({"uniqueItems": True, "items": {"enum": ["a", "b", 1]}}, "#/uniqueItems"),
        ({"pattern": "^(?!a)[b-z]{2,9}$"}, "#/pattern"),
        ({"multipleOf": 86400}, "#/multipleOf"),
        ({"maximum": 1.7976931348623157e308}, "#/maximum"),
        ({"format": "date-time"}, "#/format"),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "#/oneOf"),
        ({"type": "string", "nullable": True}, "#/nullable"),
        ({"properties": {"a": {"$ref": "#"}}}, "#/properties/a/$ref"),
    ],
)
def test_what_is_exact(schema, pointer):
    assert told(schema)[pointer][0] == "exact"
    assert all(status == "exact" for status, _ in told(schema).values())


UNIQUE = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_branch_must_hold_for_kinds_that_no_other_branch_takes(keyword):
    for other in ({"type": "string"}, {"type": "null"}, {"enum": ["a", 1]}):
        assert {s for s, _ in told({keyword: [other, UNIQUE]}).values()} == {"exact"}
    found = told({keyword: [{"type": "object"}, {"properties": {"a": UNIQUE}}]})
    assert found[f"#/{keyword}/1/properties/a/uniqueItems"][0] == "checked"


def test_what_asks_nothing():
    schema = {"minLenght": 3, "format": "color", "contentEncoding": "base64", "title": "T"}
    found = told(schema)
    assert {status for status, _ in found.values()} == {"ignored"}
    assert "#/title" not in found
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"a": {}}}
    found = told({**old, "$ref": "#/$defs/a", "minLength": 3})
    assert found["#/minLength"][0] == "ignored"


def test_digits_are_bounded_and_told():
    assert told({"type": "integer"})["#/type"][1].startswith("numbers have at most 40 digits")


def test_a_schema_of_the_answer_is_reported_too():
    report = build_grammar(ANSWERS, response_schema={"format": "regex"}).report()
    reason = "the format regex has no automaton"
    assert report.keywords == (Keyword("response_schema", "#/format", "checked", reason),)
    assert str(report) == f"response_schema #/format: checked; {reason}"


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}]},
        {"patternProperties": {"^a": {"type": "string"}}, "propertyNames": {"maxLength": 3}},
        {"contains": {"type": "integer"}, "maxContains": 2},
        {"not": {"type": "object", "properties": {"a": {"const": 1}}}},
    ],
)
def test_an_answer_is_written_whole_whatever_the_calls_are(schema):
    report = build_grammar(ANSWERS, response_schema=schema).report()
    assert {k.status for k in report.keywords} == {"exact"}


def test_unused_definitions_are_not_reported():
    assert told({"$defs": {"a": {"format": "regex"}}}) == {}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "strin"}, "#/type"),
        ({"type": []}, "#/type"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "#/properties/a/$ref"),
        ({"items": {"$ref": "http://x.example/y.json"}}, "#/items/$ref"),
        ({"$ref": "#"}, "#"),
        ({"properties": {"a": 3}}, "#/properties/a"),
        ({"required": "a"}, "#/required"),
        ({"allOf": []}, "#/allOf"),
        ({"anyOf": [{"$ref": "#/anyOf/7"}]}, "#/anyOf/0/$ref"),
    ],
)
def test_what_is_no_schema_is_named_before_anything_is_written(schema, place):
    with pytest.raises(SchemaError) as refused:
        told(schema)
    assert refused.value.place == f"tool f {place}"


def test_a_strict_tool_is_refused_where_it_is_not_exact():
    fine = Tool("fine", "", {"properties": {"a": {"format": "regex"}}})
    strict = Tool("pay", "", {"properties": {"a": {"format": "regex"}}}, strict=True)
    refuse_inexact(build_grammar(HERMES, (fine,)).report(), (fine,))
    with pytest.raises(SchemaError, match="tool pay #/properties/a/format: the tool is strict"):
        refuse_inexact(build_grammar(HERMES, (fine, strict)).report(), (fine, strict))


def test_arguments_pair_by_pair():
    schema = {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert told(schema)["#/anyOf/0/required"][0] == "exact"
    assert told(schema, CODER)["#/anyOf/0/required"][0] == "exact"
    option = {"properties": {"a": {"const": 1}}}
    values = {"properties": {"a": {}}, "anyOf": [option, {"required": ["b"]}]}
    assert told(values)["#/anyOf"][0] == "exact"
    assert told(values, CODER)["#/anyOf"][0] == "checked"
