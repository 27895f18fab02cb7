"""What must not be written twice, at the end of a budget and where there is nothing else."""

import json
import random

import jsonschema_rs
import numpy as np
import pytest

from constrain.judging import ANSWERS, answer_by, following, takes_answer
from constrain.test_laws import SPECIALS, choose_any, choose_longest, choose_open, run
from constrain.vocabularies import wide_vocabulary
from dialects import HERMES
from untemplate.constrain import compile_grammar
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.reader import Reader
from untemplate.turn.checked import broken_keywords
from untemplate.vocabulary import TokenKind, Vocabulary

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
        ({"enum": [[1], [2], {"a": 1}]}, ["[[1],[", '[[2],{"a":1},', '[{"a":1},']),
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


def test_a_token_that_ends_a_number_written_before_is_not_allowed():
    texts = (*(bytes((b,)) for b in range(256)), b"00,", b"0,", b"0]", b"<end>")
    kinds = [TokenKind.NORMAL] * (len(texts) - 1) + [TokenKind.CONTROL]
    vocabulary = Vocabulary(texts, bytes(kinds), eos=len(texts) - 1)
    grammar = build_grammar(ANSWERS, response_schema={"uniqueItems": True, "type": "array"})
    constraint = compile_grammar(grammar, vocabulary).constraint()
    assert constraint.feed(b"[100,1")
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row)
    for token_id, text in enumerate(vocabulary.tokens):
        if text in (b"00,", b"0,", b"0]"):
            is_masked = not row[token_id >> 5] >> (token_id & 31) & 1
            assert is_masked is (text == b"00,")
            assert constraint.allows(token_id) is not is_masked


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


A_FLAG = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("items", "value", "is_valid"),
    [
        (A_FLAG, [{"a": True}, {"a": True}], False),
        (A_FLAG, [{"a": True}, {"a": False}, {"a": True, "b": 1}], True),
        (A_FLAG, [{"a": True, "b": 1}, {"b": 1, "a": True}], False),
        (A_FLAG, [{"b": 12, "a": True}, {"b": 1, "a": True}, {"a": True, "b": 12}], False),
        (True, [{}, [], [[]], [{}], {"a": []}, {"a": {}}], True),
        (True, [{"a": "1"}, {"a": 1}, {"a": True}, {"a": [1]}, {"1": "a"}], True),
        (True, [[1, 2], [2, 1], [1], [1, 2, 3]], True),
        (True, [[1, 20], [1, 2], [1, 20]], False),
        (True, [{"x": {"y": [1, "é\n"]}}, "x", {"x": {"y": [1, "é\n"]}}], False),
        (True, [{"x": {"y": [1, "é"]}}, {"x": {"y": [1, "e"]}}], True),
        (True, [{"a": {"b": 1}}, {"a": {"b": 1}, "c": 2}, {"c": 2, "a": {"b": 1}}], False),
        ({"type": "integer"}, [10**38 + 1, 10**38 + 2, 10**38], True),
        ({"type": "integer"}, [10**38 + 1, 10**38 + 1], False),
        ({"type": "array", "uniqueItems": True}, [[1], [2, 1], [1, 2]], True),
        ({"type": "array", "uniqueItems": True}, [[1], [1, 1]], False),
        ({"type": "array", "uniqueItems": True}, [[[1]], [[2]], [[1]]], False),
    ],
)
def test_arrays_and_objects_are_items_that_differ(items, value, is_valid):
    schema = {"type": "array", "uniqueItems": True, "items": items}
    assert jsonschema_rs.is_valid(schema, value) is is_valid
    assert takes_answer(answer_by(schema), value) is is_valid


PAIR = {
    "type": "object",
    "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("items", [A_FLAG, PAIR, {"type": "array", "items": {"type": "null"}}])
@pytest.mark.parametrize("choose", [choose_any, choose_longest, choose_open])
def test_no_way_leads_to_items_that_all_were_written(items, choose):
    schema = {"type": "array", "uniqueItems": True, "items": items, "minItems": 4, "maxItems": 4}
    for seed in range(2):
        written = written_by(schema, 200, random.Random(seed), choose)
        jsonschema_rs.validate(schema, json.loads(written))


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


TWICE = [
    b"[1,1]", b"[1, 1", b"[2,", b"[2, ", b'["a","a"]', b'["b",', b'{"x":1,"x":', b'{"y":1,',
    b'{"y": 1, "', b": [1,1]", b'{"l": [3,', b"2]", b"2,", b"3]", b'"b"', b"[[4],[4]", b'{"b":[5,5',
]  # fmt: skip


@pytest.mark.parametrize("whitespace", ["bounded", "exact"])
@pytest.mark.parametrize(
    ("pieces", "is_allowed"),
    [
        ([b'{"l": ', b"[1,1]"], False),
        ([b'{"l": ', b"[1, 1", b"]"], False),
        ([b'{"l": ', b"[2,", b" ", b"2]"], False),
        ([b'{"l": ', b"[2, ", b"2]"], False),
        ([b'{"l": ', b"[2, ", b"2,"], False),
        ([b'{"l": ', b"[2, ", b"3]"], True),
        ([b'{"l"', b": [1,1]"], False),
        ([b'{"l": [3,', b" ", b"3]"], False),
        ([b'{"l": [3,', b" ", b"2]"], True),
        ([b'{"l": ', b'["a","a"]'], False),
        ([b'{"l": ', b'["b",', b" ", b'"b"'], False),
        ([b'{"l": ', b"[[4],[4]"], False),
        ([b'{"o": ', b'{"x":1,"x":'], False),
        ([b'{"o": ', b'{"y":1,', b" ", b'"', b"y", b'"', b":"], False),
        ([b'{"o": ', b'{"y": 1, "', b"y", b'"', b":"], False),
        ([b'{"o": ', b'{"b":[5,5', b"]"], False),
    ],
)
def test_what_one_token_opens_and_writes_is_remembered(pieces, is_allowed, whitespace):
    unique = {"type": "array", "uniqueItems": True}
    other = {"anyOf": [unique, {"type": "integer"}]}
    properties = {"l": unique, "o": {"type": "object", "additionalProperties": other}}
    tool = Tool("f", "", {"type": "object", "properties": properties})
    options = GrammarOptions(whitespace=whitespace)
    grammar = build_grammar(HERMES, (tool,), ToolChoice("required"), options=options)
    known = [bytes((b,)) for b in range(256)]
    tokens = (*known, *TWICE, *(set(pieces) - {*known, *TWICE}), b"<|im_end|>")
    constraint = compile_grammar(grammar, Vocabulary(tokens, eos=len(tokens) - 1)).constraint()
    assert constraint.feed(b'<tool_call>\n{"name": "f", "arguments": ')
    row = np.zeros(constraint.words, np.int32)
    taken = 0
    for token in map(tokens.index, pieces):
        constraint.fill(row)
        is_in_mask = bool(row[token // 32] >> (token % 32) & 1)
        assert constraint.advance(token) is is_in_mask
        if not is_in_mask:
            break
        taken += 1
    # Exact space refuses some pieces whatever they repeat.
    assert (taken == len(pieces)) is is_allowed or (whitespace == "exact" and taken < len(pieces))
