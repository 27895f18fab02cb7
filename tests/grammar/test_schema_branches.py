"""Whether branches tell objects apart, and what of a formula has to hold."""

import pytest

from untemplate.grammar.schema_branches import are_apart
from untemplate.grammar.schema_formula import conj, disj, neg, one, supports
from untemplate.grammar.schema_references import References


def a_kind(**asked):
    return {"properties": {"kind": asked}, "required": ["kind"]}


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        ([a_kind(const="a"), a_kind(enum=["b", "c"]), a_kind(const=1)], True),
        ([a_kind(const="a"), a_kind(enum=["b", "a"])], False),
        ([a_kind(const="a"), {"properties": {"kind": {"const": "b"}}}], False),
        ([a_kind(const="a"), a_kind(type="string")], False),
        ([a_kind(const=1), a_kind(const=1.0)], False),
        ([a_kind(const=True), a_kind(const=1)], True),
        ([{"$ref": "#/$defs/x"}, {"allOf": [{"$ref": "#/$defs/y"}, {"minProperties": 1}]}], True),
        ([a_kind(**{"$ref": "#/$defs/a"}), a_kind(const="b")], True),
        ([{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}], False),
        ([{"allOf": [a_kind(const="a")]}, {"$ref": "#/$defs/loop"}], False),
    ],
)
def test_branches_that_each_require_a_constant_of_their_own_are_apart(branches, expected):
    definitions = {
        "x": a_kind(const="x"),
        "y": a_kind(const="y"),
        "a": {"const": "a"},
        "loop": {"allOf": [{"$ref": "#/$defs/loop"}]},
    }
    references = References({"$defs": definitions, "oneOf": branches}, "tool f")
    places = [references.inner(references.root, f"/oneOf/{n}") for n in range(len(branches))]
    assert are_apart(references, places) is expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("a", [{"a"}]),
        ("x", [set()]),
        (True, [set()]),
        (False, []),
        (disj("a", conj("b", "c", "x"), conj("a", "b")), [{"a"}, {"b", "c"}]),
        (conj(disj("a", "b"), disj("a", "c")), [{"a"}, {"b", "c"}]),
        (disj("a", neg("x")), [set()]),
        (disj("a", one(["x", "y"])), [set()]),
        (neg("a"), None),
        (conj("b", one(["a", "x"])), None),
    ],
)
def test_the_smallest_sets_of_leaves_that_have_to_hold(formula, expected):
    found = supports(formula, {"a", "b", "c"})
    assert found == (None if expected is None else {frozenset(s) for s in expected})
