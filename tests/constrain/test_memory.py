"""What compiled grammars take, and that their caches keep to their bounds."""

import gc
import random
import re
import tracemalloc

import numpy as np
import pytest

from constrain.test_corpus_schemas import WIDE, schemas
from constrain.test_laws import SMALL, TOOLS, choose_any, run
from dialects import HERMES
from untemplate.constrain import CompiledGrammar, Limits
from untemplate.constrain.cache import Compilations
from untemplate.errors import LimitError
from untemplate.grammar import Grammar, build_grammar
from untemplate.message import Tool, ToolChoice


def tool_set(rng: random.Random, size: int) -> Grammar:
    rows = rng.sample(schemas("bfcl"), size)
    names = (re.sub(r"\W", "_", row["name"]) for row in rows)
    tools = {n: Tool(n, "", row["schema"]) for n, row in zip(names, rows, strict=True)}
    return build_grammar(HERMES, tuple(tools.values()), ToolChoice("required"))


def used(grammar: Grammar, rng: random.Random) -> CompiledGrammar:
    compiled = CompiledGrammar(grammar, WIDE, Limits())
    for _ in range(2):
        run(compiled, 20, rng, choose_any)
    return compiled


def test_a_compiled_grammar_says_about_what_it_takes():
    rng = random.Random(0)
    for _ in range(4):  # what all grammars share is there from then on
        used(tool_set(rng, 3), rng)
    gc.collect()
    tracemalloc.start()
    kept = [used(tool_set(rng, 3), rng) for _ in range(6)]
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    said = sum(compiled.size for compiled in kept)
    assert taken / 2 < said < taken * 2
    assert sum(compiled.masks.rows for compiled in kept) > 100
    assert said / len(kept) < 4 << 20


def filled(most: int, most_bytes: int, sets: int) -> Compilations:
    rng = random.Random(1)
    cache = Compilations(most, most_bytes)
    for _ in range(sets):
        compiled = cache.get(tool_set(rng, 2), SMALL, Limits())
        run(compiled, 5, rng, choose_any)
    return cache


def test_the_cache_keeps_to_its_bounds():
    few = filled(8, 1 << 30, 24).statistics()
    assert (few.entries, few.misses, few.hits) == (8, 24, 0)
    small = filled(64, 1 << 20, 24).statistics()
    assert 1 <= small.entries < 24
    assert small.bytes <= small.most_bytes + (1 << 20)


def test_a_grammar_that_has_learnt_much_begins_anew():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required"))
    cache, limits = Compilations(8, 1 << 30), Limits(states=400)
    first = cache.get(grammar, SMALL, limits)
    under_way = first.constraint()
    rng = random.Random(5)
    while first.states <= 200:
        assert cache.get(grammar, SMALL, limits) is first
        run(first, 30, rng, choose_any)
    second = cache.get(grammar, SMALL, limits)
    assert second is not first
    assert second.states < 50
    assert cache.statistics().entries == 1
    assert under_way.advance(under_way.forced()[0])


@pytest.mark.laws
def test_a_thousand_tool_sets_stay_under_the_bound():
    rng = random.Random(1_000)
    cache = Compilations(64, 64 << 20)
    most = 0
    for _ in range(1_000):
        compiled = cache.get(tool_set(rng, 3), WIDE, Limits())
        run(compiled, 10, rng, choose_any)
        most = max(most, cache.statistics().bytes)
    assert cache.statistics().misses > 990
    assert most < (64 << 20) + compiled.size * 4


def test_masks_and_places_are_dropped_and_found_again():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required"))
    tight = CompiledGrammar(grammar, SMALL, Limits(mask_bytes=2_000, places=20))
    wide = CompiledGrammar(grammar, SMALL, Limits())
    assert run(tight, 50, random.Random(3), choose_any) == run(
        wide, 50, random.Random(3), choose_any
    )
    assert tight.masks.bytes <= 2_000
    assert tight.places <= 20
    assert wide.places > 20


def test_a_turn_goes_on_when_its_places_were_dropped():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required"))
    compiled = CompiledGrammar(grammar, SMALL, Limits(places=2))
    constraint = compiled.constraint()
    row, again = np.zeros((2, constraint.words), np.int32)
    for token_id in constraint.forced():
        constraint.fill(row)
        assert constraint.advance(token_id)
        constraint.rollback(1)
        constraint.fill(again)
        assert np.array_equal(row, again)
        assert constraint.advance(token_id)


def test_a_bound_that_is_passed_names_the_tool():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required", "pay"))
    with pytest.raises(LimitError, match="tool pay: needs more than 120 states"):
        run(CompiledGrammar(grammar, SMALL, Limits(states=120)), 50, random.Random(3), choose_any)


def test_what_takes_too_long_can_be_stopped():
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required", "pay"))
    asked = []

    def should_stop() -> bool:
        asked.append(1)
        return len(asked) > 130

    limits = Limits(should_stop=should_stop)
    with pytest.raises(LimitError, match="tool pay: was stopped after"):
        run(CompiledGrammar(grammar, SMALL, limits), 50, random.Random(3), choose_any)
