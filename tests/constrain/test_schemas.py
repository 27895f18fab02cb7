"""Drawn schemas and values: the mask alone accepts what jsonschema-rs calls valid, and no more."""

import gzip
import json
import random

import jsonschema_rs
import pytest

from constrain.judging import answer_by, call_by, calls_in, takes_answer, takes_call
from corpus import corpus_dir
from untemplate.dialect import JsonText, Whole
from untemplate.errors import SchemaError
from untemplate.grammar import build_grammar
from untemplate.grammar.report import report_on
from untemplate.message import Tool

DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
KEYS = ["a", "b", "ab", "c"]
STRINGS = ["", "a", "ab", "abc", "b-1", "é", "😀", "aaaaaa"]
SCALARS = [None, True, False, 0, 1, -1, 2, 3, 7, 0.5, 1.5, 10, *STRINGS]


def draw_value(rng: random.Random, depth: int = 2):
    kind = rng.random()
    if depth and kind < 0.3:
        keys = rng.sample(KEYS, rng.randrange(4))
        return {k: draw_value(rng, depth - 1) for k in keys}
    if depth and kind < 0.5:
        return [draw_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return rng.choice(SCALARS)


def draw_leaf(rng: random.Random):
    return rng.choice(
        [
            True,
            {"type": rng.sample(["null", "boolean", "integer", "string", "array", "object"], 2)},
            {"type": "number", "minimum": rng.choice([0, 0.5]), "exclusiveMaximum": 3},
            {"multipleOf": rng.choice([2, 0.5])},
            {"type": "string", "minLength": 1, "maxLength": rng.choice([1, 3])},
            {"pattern": rng.choice(["^a", "b", "^[a-c]+$", "^(?!ab)", "-\\d", "^.$"])},
            {"const": rng.choice([1, "a", {"a": 1}, [1], None])},
            {"enum": rng.sample(SCALARS, 4)},
            {"minItems": 1, "maxItems": 2},
            {"required": rng.sample(KEYS, 1)},
            {"minProperties": 1, "maxProperties": 2},
        ]
    )


def draw_schema(rng: random.Random, depth: int = 2):
    if not depth or rng.random() < 0.15:
        return draw_leaf(rng)
    found = {}
    for keyword in rng.sample(sorted(WAYS), rng.choice([1, 2, 2, 3])):
        found |= WAYS[keyword](lambda: draw_schema(rng, depth - 1), rng)
    return found


WAYS = {
    "leaf": lambda inner, rng: leaf if isinstance(leaf := draw_leaf(rng), dict) else {},
    "properties": lambda inner, rng: {"properties": {k: inner() for k in rng.sample(KEYS, 2)}},
    "additional": lambda inner, rng: {"additionalProperties": rng.choice([False, inner()])},
    "patterns": lambda inner, rng: {"patternProperties": {rng.choice(["^a", "b$"]): inner()}},
    "names": lambda inner, rng: {"propertyNames": rng.choice([{"maxLength": 1}, {"enum": KEYS}])},
    "required": lambda inner, rng: {"required": rng.sample(KEYS, 2)},
    "needs": lambda inner, rng: {"dependentRequired": {"a": rng.sample(KEYS, 1)}},
    "needed": lambda inner, rng: {"dependentSchemas": {rng.choice(KEYS): inner()}},
    "items": lambda inner, rng: {"items": inner()},
    "prefix": lambda inner, rng: {"prefixItems": [inner(), inner()]},
    "contains": lambda inner, rng: {"contains": inner(), "minContains": rng.randrange(3)},
    "at most": lambda inner, rng: {"contains": draw_leaf(rng), "maxContains": 1},
    "allOf": lambda inner, rng: {"allOf": [inner(), inner()]},
    "anyOf": lambda inner, rng: {"anyOf": [inner(), inner()]},
    "oneOf": lambda inner, rng: {"oneOf": [inner(), inner()]},
    "not": lambda inner, rng: {"not": inner()},
    "if": lambda inner, rng: {"if": inner(), "then": inner(), "else": inner()},
    "unevaluated": lambda inner, rng: {"unevaluatedProperties": rng.choice([False, inner()])},
    "others": lambda inner, rng: {"unevaluatedItems": rng.choice([False, inner()])},
}


def judge(seed: int, *, values: int) -> int:
    """Compares mask and validator on one drawn schema; gives how many values were valid."""
    rng = random.Random(seed)
    schema = draw_schema(rng)
    if report_on((), schema, open_objects=True).checked:
        return 0
    validator = jsonschema_rs.validator_for({**DIALECT, "allOf": [schema]})
    try:
        answer = answer_by(schema)
    except SchemaError:
        answer = None  # no value is so
    valid = 0
    for _ in range(values):
        value = draw_value(rng)
        is_taken = answer is not None and takes_answer(answer, value)
        assert is_taken == validator.is_valid(value), (seed, schema, value)
        valid += is_taken
    return valid


def test_drawn_schemas_accept_what_is_valid():
    assert sum(judge(seed, values=12) for seed in range(60)) > 200


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"a": {}}},
        {"type": ["object", "null"]},
        {"$ref": "#/$defs/any", "$defs": {"any": True}},
    ],
)
def test_arguments_are_an_object_whatever_their_schema_says(schema):
    call = call_by(schema)
    assert takes_call(call, {})
    for value in (None, 12, "", ",", []):
        assert not takes_call(call, value)
    grammar = build_grammar(calls_in(Whole(JsonText())), (Tool("f", "", schema),))
    assert 'json-value "\\n' not in grammar.gbnf().text


def test_a_constant_object_takes_no_key_that_stands_beside_it():
    other = {"properties": {"a": {"const": "x"}, "b": {"const": "y"}}, "required": ["b"]}
    call = call_by({"allOf": [{"enum": [{"a": "x"}]}, {"not": other}]})
    assert takes_call(call, {"a": "x"})
    for value in ({}, {"a": "x", "b": "z"}, {"b": "z", "a": "x"}, {"a": "x", "b": "y"}):
        assert not takes_call(call, value)


def a_kind(name, **properties):
    return {
        "type": "object",
        "properties": {"kind": {"const": name}, **properties},
        "required": ["kind"],
    }


UNIQUE = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_branches_are_enforced_beside_unique_items(keyword):
    answer = answer_by({keyword: [a_kind("a", tags=UNIQUE), a_kind("b", tags=UNIQUE)]})
    for value, is_valid in (
        ({"kind": "a", "tags": ["x", "y"]}, True),
        ({"tags": ["x", "y"], "kind": "b"}, True),
        ({"kind": "a", "tags": ["x", "x"]}, False),
        ({"tags": ["x", "x"], "kind": "b"}, False),
        ({"kind": "c", "tags": []}, False),
        ({"tags": []}, False),
        (["x"], False),
    ):
        assert takes_answer(answer, value) is is_valid


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_what_many_branches_ask_may_come_before_the_key_that_tells_them_apart(keyword):
    def body(n):
        return {"type": "object", "properties": {"x": {"const": n}, f"k{n}": {"type": "integer"}}}

    answer = answer_by({keyword: [a_kind(f"b{n}", body=body(n)) for n in range(12)]})
    for value, is_valid in (
        ({"body": {"k3": 1}, "kind": "b3"}, True),
        ({"body": {"x": 7}, "kind": "b7"}, True),
        ({"body": {"x": 7}, "kind": "b8"}, False),
        ({"body": {"k7": "1"}, "kind": "b7"}, False),
        ({"body": {"k7": "1"}, "kind": "b9"}, True),
        ({"body": {"x": 12}}, False),
        ({"kind": "b3", "body": {"k3": 1}}, True),
    ):
        assert takes_answer(answer, value) is is_valid


def test_branches_that_are_known_stay_apart_beside_one_that_is_not():
    odd = {"type": "string", "pattern": "(x)\\1"}
    answer = answer_by({"oneOf": [odd, {"maxLength": 2}, {"minLength": 2, "maxLength": 3}]})
    for value, is_taken in (("a", True), ("abc", True), ("ab", False), ("abcd", True)):
        assert takes_answer(answer, value) is is_taken


@pytest.mark.laws
def test_many_drawn_schemas_accept_what_is_valid():
    for seed in range(60, 3_000):
        judge(seed, values=40)


@pytest.mark.laws
@pytest.mark.parametrize("name", ["bfcl", "jsonschemabench"])
def test_all_schemas_of_the_corpus_are_all_right(name):
    wrong = []
    with gzip.open(corpus_dir() / f"schemas/{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    for entry in entries:
        is_call = name == "bfcl"
        compiled = call_by(entry["schema"]) if is_call else answer_by(entry["schema"])
        takes = takes_call if is_call else takes_answer
        wrong += [
            (entry["id"], number)
            for number, test in enumerate(entry["tests"])
            if takes(compiled, test["data"]) is not test["valid"]
        ]
    assert not wrong
