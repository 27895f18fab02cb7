"""Strings under an expression and a bound: the ways to their ends are those that a search finds."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.judging import answer_by, takes_answer
from counting import steps
from untemplate.constrain.characters import StringMachine
from untemplate.constrain.patterns import automaton_of
from untemplate.constrain.verdicts import Verdicts
from untemplate.constrain.words import Product, Words
from untemplate.grammar.schema_atoms import Length, Pattern, Strings
from untemplate.grammar.schema_formula import Some, conj, neg
from untemplate.grammar.schema_patterns import pattern_formula

PATTERNS = (
    "^(ab|c)*$",
    "b",
    "^a{2,5}(xyz)?$",
    "^(?!ab)[abc]+d$",
    "xy|\u00e9.$",
    "^$|^aaaa",
    "(a|bb|ccc)$",
)


def size(low, high):
    return len(chr(low).encode())


def machines(verdicts):
    """The machine of some verdicts, and their words with each way to an end searched for."""
    product = Product({atom: automaton_of(atom) for atom in verdicts.leaves()})

    def end(state):
        return verdicts.exit(product.truth(state).__getitem__)

    return StringMachine(verdicts, size), Words(product, size, end, must=verdicts.must)


def check_ways(machine, words, picks):
    """Both lead along the same characters at the same cost."""
    assert not machine.is_counted
    place = state = 0
    assert machine.shortest() == words.cost(0)
    for pick in picks:
        spans, expected = machine.spans(place), words.spans(state)
        assert [s[:2] for s in spans] == [s[:2] for s in expected]
        if not spans:
            break
        place, state = (found[pick % len(found)][2] for found in (spans, expected))
        assert machine.cost(place, 0) == words.cost(state)


@cache
def bounded(pattern, least, most, is_optional):
    """A pattern with a bound on the length, or a length of seven."""
    bound = Length(least, most)
    lengths = Some((Length(7, 7), bound)) if is_optional else bound
    return machines(Verdicts((conj(pattern_formula(Pattern(pattern)), lengths),)))


class After:
    """What follows the string in a frame that judges it."""

    def __init__(self, bytes_after):
        self._bytes_after = bytes_after

    def cost(self):
        return self._bytes_after


class Judge:
    """Says what follows after each result: the costs of neither, the first, the second, both."""

    def __init__(self, costs):
        self._costs = costs

    def resume(self, result):
        found = self._costs[result[0] + 2 * result[1]]
        return None if found is None else After(found)


@cache
def judged(pattern, other, least, most, costs):
    """A string of which is asked whether it has a pattern and a length, and another pattern."""
    first = conj(pattern_formula(Pattern(pattern)), Length(least, most))
    asked = (Length(0, 12), first, pattern_formula(Pattern(other)))
    return machines(Verdicts(asked, Judge(costs)))


PICKS = st.lists(st.integers(0, 99), max_size=14)
COSTS = st.tuples(*(st.sampled_from([None, 0, 1, 3, 9]) for _ in range(4)))


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(PATTERNS),
    st.integers(0, 6),
    st.none() | st.integers(0, 9),
    st.booleans(),
    PICKS,
)
def test_the_way_to_the_end_is_the_cheapest_within_the_bound(
    pattern, least, more, is_optional, picks
):
    most = None if more is None else least + more
    check_ways(*bounded(pattern, least, most, is_optional), picks)


@settings(max_examples=400, deadline=None)
@given(
    st.tuples(st.sampled_from(PATTERNS), st.sampled_from(PATTERNS)),
    st.integers(0, 4),
    st.none() | st.integers(0, 6),
    COSTS,
    PICKS,
)
def test_the_way_to_the_end_is_the_cheapest_where_a_frame_judges(
    patterns, least, more, costs, picks
):
    most = None if more is None else least + more
    check_ways(*judged(*patterns, least, most, costs), picks)


PARTS = (
    Length(0, 4),
    Length(2, None),
    Strings(("yes", "yesyes")),
    Strings(("other", "yes")),
    pattern_formula(Pattern("^y+es$")),
    pattern_formula(Pattern("th")),
)


@cache
def combined(picks):
    """Lengths and words in one formula: some of three conditions that each ask two things."""
    parts = [PARTS[n % len(PARTS)] for n in picks]
    parts = [part if pick < 50 else neg(part) for part, pick in zip(parts, picks, strict=True)]
    return machines(Verdicts((Some(tuple(conj(*parts[n : n + 2]) for n in (0, 2, 4))),)))


@settings(max_examples=400, deadline=None)
@given(st.lists(st.integers(0, 99), min_size=6, max_size=6).map(tuple), PICKS)
def test_the_way_to_the_end_is_the_cheapest_where_lengths_and_words_meet(parts, picks):
    machine, words = combined(parts)
    if not machine.is_counted:
        check_ways(machine, words, picks)


@pytest.mark.parametrize(
    ("keyword", "start", "end", "times"),
    [
        ({"format": "email"}, "a", "@example.com", 3),
        ({"format": "uri"}, "https://example.com/", "?b", 8),
        ({"pattern": "[a-z]x[0-9]"}, "-", "ax1", 12),
    ],
)
def test_a_bound_far_away_costs_little(keyword, start, end, times):
    """Where each length was searched for ends, an address of 50 characters took 13 seconds."""
    value = start + "a" * 40 + end
    free, bounded = (
        steps(lambda more=more: takes_answer(answer_by({**keyword, **more}), value))
        for more in ({}, {"maxLength": 254})
    )
    assert bounded < times * free


def test_at_its_bound_a_string_ends():
    answer = answer_by({"type": "string", "pattern": "[a-z]x[0-9]$", "maxLength": 300})
    assert takes_answer(answer, "-" * 297 + "ax1")
    assert not takes_answer(answer, "-" * 298 + "ax1")
