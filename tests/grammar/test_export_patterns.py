"""Patterns and formats as rules, held against jsonschema and the plainest reading of rules."""

import random
import re

import jsonschema_rs
import pytest
from tests.grammar.rules_matcher import matches

from untemplate.grammar.export.patterns import expression
from untemplate.grammar.export.spelling import raw_character
from untemplate.grammar.schema_atoms import Format, Pattern
from untemplate.grammar.schema_regex import Unsupported

PATTERNS = [
    "a",
    "^a",
    "a$",
    "^a$",
    "^a|b$",
    "^(a|b)$",
    "(^a|b)c",
    "^[a-c]{2,3}$",
    "^[^a]*$",
    "^a?b+c*$",
    r"^\d{2}-\w+$",
    "^(ab|a)(bc|c)$",
    "^$",
    "",
    "^(?:a(?:bc)?)+$",
    r"^\S+$",
    r"^\u0061[\u0062-\u0063]$",
    "^.{1,3}$",
    "[0-9]+",
    "^(|a)$",
    "(^a)?b$",
]
ALPHABET = "abcc0-9 _\nZé"


def texts(pattern, rng):
    """Random strings, and changes of what is in the pattern."""
    for _ in range(60):
        text = "".join(rng.choices(ALPHABET, k=rng.randrange(6)))
        yield text
        core = re.sub(r"[\\^$(){}|?*+\[\]:]", "", pattern)
        at = rng.randrange(len(core) + 1)
        yield core[:at] + rng.choice(ALPHABET) + core[at + rng.randrange(2) :]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_mean_what_the_validator_says(pattern):
    rng = random.Random(0)
    validator = jsonschema_rs.validator_for({"pattern": pattern})
    found = expression(Pattern(pattern))
    notes = []
    node = found.node(raw_character, notes.append)
    assert not notes
    least, most = found.lengths()
    for text in texts(pattern, rng):
        expected = validator.is_valid(text)
        assert matches(node, text) is expected, text
        assert found.is_match(text) is expected, text
        if expected:
            assert least <= len(text)
            assert most is None or len(text) <= most


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_within_lengths(pattern):
    rng = random.Random(1)
    found = expression(Pattern(pattern))
    for least, most in [(2, 3), (0, 2), (1, None), (4, 4)]:
        within = found.within(least, most)
        if within is None:
            continue
        node = within.node(raw_character, lambda _: None)
        for text in texts(pattern, rng):
            fits = least <= len(text) and (most is None or len(text) <= most)
            assert matches(node, text) is (found.is_match(text) and fits), text


def test_runs_of_characters_are_said_within_lengths():
    assert expression(Pattern("^[a-z]+$")).within(2, 80) is not None
    assert expression(Pattern("^x-[a-z]*$")).within(0, 5) is not None
    assert expression(Pattern("[a-z]")).within(0, 5) is None
    assert expression(Pattern("^a*b*$")).within(0, 5) is None


@pytest.mark.parametrize("pattern", [r"\bword\b", "x^a", r"^(a)\1$"])
def test_what_rules_cannot_say(pattern):
    with pytest.raises(Unsupported):
        expression(Pattern(pattern)).node(raw_character, lambda _: None)


def test_look_ahead_at_the_start_is_left_out_and_said():
    notes = []
    found = expression(Pattern("^(?!b)[a-c]$"))
    node = found.node(raw_character, notes.append)
    assert notes == ["look-ahead is left out"]
    assert matches(node, "b")
    assert found.is_match("a")
    assert not found.is_match("b")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", ["2024-02-29", "1999-12-31"], ["2023-02-29", "2024-13-01", "24-01-01"]),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000"]),
        ("ipv4", ["127.0.0.1"], ["127.0.0.256", "1.2.3"]),
        ("date-time", ["2024-01-01T12:00:00Z"], ["2024-01-01 12:00:00Z"]),
    ],
)
def test_formats(name, good, bad):
    found = expression(Format(name))
    node = found.node(raw_character, lambda _: None)
    for text in good:
        assert matches(node, text)
        assert found.is_match(text)
    for text in bad:
        assert not matches(node, text)
        assert not found.is_match(text)


def test_an_unknown_format_asks_nothing():
    assert expression(Format("color")) is None
    with pytest.raises(Unsupported):
        expression(Format("regex"))


def test_many_ways_to_match_take_no_time():
    found = expression(Pattern("^(a*)*$"))
    assert found.is_match("a" * 200)
    assert not found.is_match("a" * 200 + "b")
