import pytest

from untemplate.reader.faults import find_faults

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


def codes(arguments, schema, **options):
    return [n.code for n in find_faults(arguments, schema, **options)]


def test_what_is_declared_has_no_fault():
    assert codes({"days": 3, "city": "Paris"}, WEATHER) == []
    assert codes({}, WEATHER) == []


def test_an_undeclared_argument_is_said_where_the_schema_leaves_no_room():
    extra = {"city": "Paris", "zone": "CET"}
    (note,) = find_faults(extra, WEATHER)
    assert (note.code, note.message) == ("undeclared_argument", "zone is not declared")
    assert codes(extra, {**WEATHER, "additionalProperties": False}) == ["undeclared_argument"]
    for room in (
        {"additionalProperties": True},
        {"additionalProperties": {"type": "string"}},
        {"patternProperties": {"^z": {}}},
        {"anyOf": [{"properties": {"zone": {}}}]},
        {"unevaluatedProperties": {"type": "string"}},
        {"required": ["zone"]},
    ):
        assert codes(extra, {**WEATHER, **room}) == []
    assert codes(extra, WEATHER, open_objects=True) == []
    assert codes(extra, {"type": "object"}) == []


@pytest.mark.parametrize(
    ("value", "member", "is_wrong"),
    [
        ("three", {"type": "integer"}, True),
        (3.0, {"type": "integer"}, False),
        (3.5, {"type": "integer"}, True),
        (3, {"type": "number"}, False),
        (True, {"type": "integer"}, True),
        (None, {"type": ["string", "null"]}, False),
        (None, {"type": "string"}, True),
        (None, {"type": "string", "nullable": True}, False),
        ({"a": 1}, {"type": "array"}, True),
        (5, {"anyOf": [{"type": "string"}, {"type": "integer"}]}, False),
        (5, {"enum": ["a", "b"]}, True),
        (5, {"$ref": "#/$defs/text"}, True),
        (5, {}, False),
        (5, True, False),
    ],
)
def test_a_value_of_another_type_is_said(value, member, is_wrong):
    schema = {"properties": {"x": member}, "$defs": {"text": {"type": "string"}}}
    assert codes({"x": value}, schema) == ["wrong_type"] * is_wrong
