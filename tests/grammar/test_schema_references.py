"""Where references of a schema lead, and what is refused."""

import pytest

from untemplate.errors import SchemaError
from untemplate.grammar.schema_atoms import Place
from untemplate.grammar.schema_references import References

RESOURCES = {
    "$id": "http://a.example/root/main.json",
    "$defs": {
        "list": {
            "$id": "list.json",
            "items": {"$ref": "#/$defs/item"},
            "$defs": {"item": {"$anchor": "name", "type": "string"}},
        },
        "other": {"$id": "/top.json", "$anchor": "name", "type": "integer"},
        "urn": {"$id": "urn:example:1", "type": "null"},
    },
}


def led(reference, schema=RESOURCES, at="#"):
    references = References(schema, "tool f")
    (place,) = references.targets({"$ref": reference}, Place(at))
    return place.pointer


@pytest.mark.parametrize(
    ("reference", "at", "pointer"),
    [
        ("list.json", "#", "#/$defs/list"),
        ("../root/list.json#/$defs/item", "#", "#/$defs/list/$defs/item"),
        ("/top.json", "#", "#/$defs/other"),
        ("urn:example:1", "#", "#/$defs/urn"),
        ("list.json#name", "#", "#/$defs/list/$defs/item"),
        ("top.json", "#", "#/$defs/other"),  # by its last name alone
        ("/top.json#name", "#", "#/$defs/other"),
        ("#/$defs/item", "#/$defs/list/items", "#/$defs/list/$defs/item"),
        ("#", "#/$defs/list/items", "#/$defs/list"),
        ("#/$defs/urn", "#/$defs/list/items", "#/$defs/urn"),  # not in the list, but in the root
        ("main.json#/$defs/urn", "#/$defs/list/items", "#/$defs/urn"),
    ],
)
def test_a_reference_is_relative_to_the_resource_around_it(reference, at, pointer):
    assert led(reference, at=at) == pointer


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("elsewhere.json", "leads outside the schema: elsewhere.json; nothing is fetched"),
        ("http://[bad", "leads outside the schema"),
        ("#nowhere", "names no anchor: #nowhere"),
        ("#/$defs/nothing", "leads to #/$defs/nothing, which is not there"),
        ("#/$defs/list/$id", "which is not a schema"),
    ],
)
def test_what_leads_nowhere_is_refused_with_its_place(reference, message):
    with pytest.raises(SchemaError, match=r"^tool f #/\$ref: ") as refused:
        led(reference)
    assert message in str(refused.value)


def test_beside_a_reference_older_drafts_know_no_id():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://a.example/main.json",
        "properties": {"a": {"$id": "http://b.example/", "$ref": "x.json"}},
        "definitions": {"x": {"$id": "http://a.example/x.json"}},
    }
    assert led("x.json", schema, at="#/properties/a") == "#/definitions/x"


@pytest.mark.parametrize(
    ("node", "pointer"),
    [({"type": "strin"}, "#/components/x/type"), ({"minLength": "a"}, "#/components/x/minLength")],
)
def test_a_schema_that_only_a_reference_finds_is_checked_as_well(node, pointer):
    schema = {"components": {"x": node}}
    with pytest.raises(SchemaError, match=f"tool f {pointer}"):
        led("#/components/x", schema)


@pytest.mark.parametrize("keyword", ["$dynamicRef", "$recursiveRef"])
def test_a_dynamic_reference_leads_to_the_outermost_anchor_on_the_way(keyword):
    is_named = keyword == "$dynamicRef"
    anchor = {"$dynamicAnchor": "node"} if is_named else {"$recursiveAnchor": True}
    draft = "2020-12" if is_named else "2019-09"
    again = {keyword: "#node" if is_named else "#"}
    schema = {
        "$schema": f"https://json-schema.org/draft/{draft}/schema",
        "$id": "http://a.example/strict",
        **anchor,
        "$ref": "tree",
        "$defs": {"tree": {"$id": "tree", **anchor, "items": again}},
    }
    references = References(schema, "tool f")
    (tree,) = references.targets(schema, references.root)
    assert tree.pointer == "#/$defs/tree"
    (found,) = references.targets(again, references.inner(tree, "/items"))
    assert found == references.root
    # Entered without the root, the tree is a tree of itself.
    (found,) = references.targets(again, Place("#/$defs/tree/items"))
    assert found.pointer == "#/$defs/tree"
