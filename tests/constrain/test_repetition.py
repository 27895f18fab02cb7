"""What must not be written twice, at the end of a budget and where there is nothing else."""

import json
import random

import jsonschema_rs
import pytest

from constrain.judging import answer_by, following, takes_answer
from constrain.test_laws import SPECIALS, choose_any, choose_longest, choose_open, run
from constrain.vocabularies import wide_vocabulary
from dialects import HERMES
from untemplate.constrain import compile_grammar
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.reader import Reader
from untemplate.turn.checked import broken_keywords

WIDE = wide_vocabulary(SPECIALS)
ENOUGH = [
    {"type": "object", "minProperties": 3},
    {"type": "array", "uniqueItems": True, "minItems": 3, "items": {"type": "integer"}},
    {"type": "array", "uniqueItems": True, "minItems": 3, "items": {"enum": ["a", "bb", "ccc"]}},
    {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": ["string", "null"]}},
]
TOO_FEW = [
    {"items": {"type": "integer", "minimum": 1, "maximum": 3}, "minItems": 4},
    {"items": {"type": "string", "pattern": "^[ab]$"}, "minItems": 3},
    {"items": {"type": "array", "items": {"const": 1}, "maxItems": 1}, "minItems": 3},
]


def written_by(schema: dict, extra: int, rng: random.Random, choose) -> bytes:
    compiled = answer_by(schema)
    return compiled.vocabulary.bytes_of(run(compiled, extra, rng, choose)[:-1])


@pytest.mark.parametrize("choose", [choose_any, choose_longest, choose_open])
@pytest.mark.parametrize("schema", ENOUGH)
def test_law_14_a_budget_never_forces_a_repetition(schema, choose):
    for seed in range(3):
        rng = random.Random(seed)
        for extra in (0, 1, 3, 40):
            written = written_by(schema, extra, rng, choose)
            jsonschema_rs.validate(schema, json.loads(written))


@pytest.mark.parametrize(
    ("items", "texts"),
    [
        ({"enum": ["a", "ab", "b"]}, ['["a","', '["a","a', '["ab","b","', '["ab","b","a']),
        ({"type": "string", "pattern": "^[ab]c?$"}, ['["ac","', '["ac","a', '["b","ac","a']),
        ({"type": ["boolean", "null"]}, ["[true,", "[null,", "[null,true,"]),
    ],
)
def test_a_byte_is_taken_exactly_where_the_mask_allows_it(items, texts):
    compiled = answer_by({"type": "array", "uniqueItems": True, "items": items})
    for text in texts:
        constraint = compiled.constraint()
        assert constraint.feed(text.encode())
        assert bytes(b for b in range(256) if constraint.allows(b)) == following(compiled, text)
        taken = {b for b in range(256) if constraint.fork().feed(bytes((b,)))}
        assert bytes(sorted(taken)) == following(compiled, text)


def test_an_item_that_can_only_be_one_before_is_refused():
    answer = answer_by(
        {"uniqueItems": True, "items": {"enum": ["child", "match", 1]}, "minItems": 1}
    )
    for value, is_valid in (
        (["child", 1, "match"], True),
        (["child", "child"], False),
        ([1, "match", "match"], False),
        ([1, 1, "match"], False),
    ):
        assert takes_answer(answer, value) is is_valid


@pytest.mark.parametrize("choose", [choose_any, choose_longest, choose_open])
def test_law_14_what_is_kept_to_tell_keys_apart_may_come_up_late(choose):
    other = [{"propertyNames": {"not": {"enum": names}}} for names in (["1", "3"], ["2", "3"])]
    tool = Tool("f", "", {"type": "object", "not": {"anyOf": other}, "minProperties": 3})
    compiled = compile_grammar(build_grammar(HERMES, (tool,), ToolChoice("required")), WIDE)
    for seed in range(4):
        for extra in (0, 3):
            run(compiled, extra, random.Random(seed), choose)


@pytest.mark.parametrize("schema", TOO_FEW)
def test_what_the_mask_allows_is_taken_where_there_is_nothing_else(schema):
    schema = {"type": "array", "uniqueItems": True, **schema}
    for extra in (0, 1, 40):
        written = written_by(schema, extra, random.Random(extra), choose_any)
        value = json.loads(written)
        assert len(value) >= schema["minItems"]
        assert not jsonschema_rs.is_valid(schema, value)
    # The report says so, and the turn names what came of it.
    grammar = build_grammar(HERMES, response_schema=schema)
    assert [k.pointer for k in grammar.report().checked] == ["#/uniqueItems"]
    reader = Reader(grammar)
    reader.feed(written)
    (diagnostic,) = broken_keywords(reader.finish("stop"), grammar)
    assert diagnostic.code == "against_schema"
