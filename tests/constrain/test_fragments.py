"""What all grammars share of their walks says the same as walking; so do bounds for budgets."""

import random

import numpy as np
import pytest

from constrain.test_laws import SPECIALS, TOOLS, allowed
from constrain.vocabularies import wide_vocabulary
from dialects import ALL
from untemplate.constrain import compile_grammar, shared_masks
from untemplate.constrain.masks import Masks
from untemplate.constrain.trie import token_trie
from untemplate.constrain.walk import walk
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice

WIDE = wide_vocabulary(SPECIALS)
VALUES = Tool(
    "store",
    "",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "short": {"type": "string", "maxLength": 5},
            "long": {"type": "string", "minLength": 3, "maxLength": 40},
            "number": {"type": "number"},
            "small": {"type": "integer", "minimum": -20, "maximum": 20},
            "list": {"type": "array", "items": {"type": ["string", "number", "null"]}},
            "many": {"type": "object", "additionalProperties": {"type": "string"}},
            "date": {"type": "string", "format": "date"},
            "kind": {"enum": ["gift", "größe", 7, 'a"b']},
        },
    },
)


def places(name: str, seed: int, steps: int, *, is_open: bool = False):
    """Configurations that some turn comes to."""
    rng = random.Random(f"{name} {seed}")
    options = GrammarOptions(open_objects=is_open)
    grammar = build_grammar(ALL[name], (VALUES, *TOOLS), ToolChoice("required"), options=options)
    compiled = compile_grammar(grammar, WIDE)
    constraint = compiled.constraint()
    row = np.zeros(constraint.words, np.int32)
    for _ in range(steps):
        constraint.fill(row)
        yield compiled, constraint, row
        ids = allowed(row, WIDE.size)
        # The longest now and then: they cross the borders of values.
        ids = rng.choice([ids, ids, sorted(ids, key=lambda i: len(WIDE.tokens[i]))[-40:]])
        assert constraint.advance(rng.choice(ids))
        if constraint.is_finished:
            constraint = compiled.constraint()


def plainly(masks: Masks, number: int, ctx: int):
    """The mask of a configuration by walking all of the trie."""
    table, tokens = masks._table, masks._tokens
    found = walk(table, tokens, number, ctx)
    row = (
        masks._tokens.row_of(np.concatenate([found.ids(), *(ids for ids, _, _ in found.loops)]))
        & masks._plain
    )
    if symbols := list(table.symbols(number, ctx)):
        row |= masks._tokens.row_of(symbols)
    leaving = table.leaving[number]
    return row if leaving is None else row | masks._loop_row(number, ctx, leaving)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_masks_are_those_of_a_walk_of_the_whole_trie(name, is_open):
    for compiled, constraint, row in places(name, 3, 80, is_open=is_open):
        number, ctx, memory = compiled.where(constraint._at)
        found = compiled._masks.row(number, ctx)
        assert memory is not None or np.array_equal(row, found)
        assert np.array_equal(found, plainly(compiled._masks, number, ctx))


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_a_mask_holds_the_tokens_that_can_be_taken_and_no_others(name, is_open):
    for number, (_, constraint, row) in enumerate(places(name, 11, 60, is_open=is_open)):
        if number % 4 == 0:
            mask = set(allowed(row, WIDE.size))
            assert mask == {i for i in range(WIDE.size) if constraint.allows(i)}


@pytest.mark.parametrize(("least", "most"), [(0, 3), (1, 1), (1, 30), (2, 4), (3, 40), (5, None)])
def test_tokens_may_reach_past_a_least_length(least, most):
    schema = {"type": "string", "minLength": least} | ({"maxLength": most} if most else {})
    tool = Tool("f", "", {"properties": {"x": schema}, "required": ["x"]})
    grammar = build_grammar(ALL["hermes"], (tool,), ToolChoice("required"))
    constraint = compile_grammar(grammar, WIDE).constraint()
    assert constraint.feed(b'<tool_call>\n{"name": "f", "arguments": {"x": "')
    row = np.zeros(constraint.words, np.int32)
    for data in (b"", b"a", b"\xc3\xb6"):
        assert constraint.feed(data)
        constraint.fill(row)
        mask = set(allowed(row, WIDE.size))
        assert mask == {i for i in range(WIDE.size) if constraint.allows(i)}
        if constraint.allows(WIDE.tokens.index(b'"}}')):
            break


@pytest.mark.parametrize("name", ALL)
def test_with_more_tokens_left_than_far_nothing_is_masked(name):
    narrowed = 0
    for compiled, constraint, row in places(name, 7, 40):
        number, ctx, memory = compiled.where(constraint._at)
        if memory is None and not constraint.is_finished:
            far = compiled._masks.far(number, ctx)
            assert np.array_equal(row, compiled._masks.within(number, ctx, far + 1))
            least = constraint.min_tokens()
            assert far < 400, "a bound that is never passed would do no harm, and no good"
            narrowed += not np.array_equal(row, compiled._masks.within(number, ctx, least))
    assert narrowed


def test_a_second_grammar_finds_the_inside_of_values_known():
    before = shared_masks(WIDE)
    list(places("hermes", 1, 60))
    again = Tool("other", "", {"type": "object", "properties": {"x": {"type": "string"}}})
    compiled = compile_grammar(build_grammar(ALL["hermes"], (again,), ToolChoice("required")), WIDE)
    between = shared_masks(WIDE)
    constraint = compiled.constraint()
    assert constraint.feed(b'<tool_call>\n{"name": "other", "arguments": {"x": "a')
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row)
    after = shared_masks(WIDE)
    assert between.entries > 0
    assert after.misses == between.misses
    assert after.hits > between.hits >= before.hits
    assert 0 < after.bytes <= after.most_bytes


def test_tries_have_each_token_once():
    tokens = token_trie(WIDE)
    trie = tokens.full
    assert sorted(trie.order.tolist()) == sorted(tokens.ids.values())
    for node in range(0, len(trie.byte), 97):
        low, high = int(trie.low[node]), int(trie.high[node])
        starts = {tokens.sorted[n][: trie.depth(node)] for n in range(low, high)}
        assert len(starts) == 1
