"""The parts of which exports are made, each against the plainest reading of rules."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.grammar.rules_matcher import matches

from untemplate.grammar.export import lower
from untemplate.grammar.export.decimals import decimals, places
from untemplate.grammar.export.digits import Interval, hexadecimal, integers
from untemplate.grammar.export.factor import factored
from untemplate.grammar.export.listing import Frame, listed, positional
from untemplate.grammar.export.lower import plain
from untemplate.grammar.export.rules import (
    ANY,
    EMPTY,
    NEVER,
    Characters,
    Choice,
    Exit,
    Literal,
    Reference,
    Repeat,
    Sequence,
    Text,
    characters,
    choice,
    complement,
    optional,
    prune,
    repeat,
    sequence,
)
from untemplate.grammar.export.spelling import json_character
from untemplate.grammar.export.strings import constant, other_than

BOUND = st.none() | st.decimals(-1200, 1200, places=2).map(lambda d: d.normalize())


@st.composite
def intervals(draw):
    low, high = draw(BOUND), draw(BOUND)
    return Interval(low, high, draw(st.booleans()), draw(st.booleans()))


def is_within(interval, number):
    low, high = interval.low, interval.high
    above = low is None or number > low or (number == low and not interval.low_open)
    return above and (high is None or number < high or (number == high and not interval.high_open))


@given(intervals(), st.integers(-1300, 1300))
def test_integers_of_an_interval(interval, number):
    node = integers(interval)
    assert matches(node, str(number)) is is_within(interval, number)
    assert not matches(node, f"0{number}")
    assert not matches(node, f"{number}.0")
    assert matches(node, "-0") is is_within(interval, 0)


@given(intervals(), st.decimals(-1300, 1300, places=3) | BOUND.filter(bool), st.data())
def test_decimals_of_an_interval(interval, number, data):
    near = [b for b in (interval.low, interval.high) if b is not None]
    if near and data.draw(st.booleans()):
        number = data.draw(st.sampled_from(near)) + data.draw(
            st.sampled_from([Decimal(0), Decimal("0.01"), Decimal("-0.01"), Decimal("0.0001")])
        )
    text = format(number.normalize(), "f")
    text += data.draw(st.sampled_from(["", "0", "00"])) if "." in text else ""
    node = decimals(interval)
    assert matches(node, text) is is_within(interval, number)
    assert not matches(node, text + ".")
    if number:
        sign, digits, exponent = number.normalize().as_tuple()
        head, tail = str(digits[0]), "".join(map(str, digits[1:]))
        mantissa = "-" * sign + head + ("." + tail if tail else "")
        power = exponent + len(digits) - 1
        for written in (str(power), f"{power:+03}"):
            assert matches(node, f"{mantissa}e{written}") is is_within(interval, number)
        assert not matches(node, f"{mantissa}0e0" if "." not in mantissa else "0.1e1")


@given(intervals(), st.integers(-999, 999))
def test_powers_of_ten_of_an_interval(interval, power):
    expected = is_within(interval, Decimal(10) ** power)
    assert matches(decimals(interval), f"1E{power}") is expected
    assert matches(decimals(interval), f"-1e{power}") is is_within(
        interval, -(Decimal(10) ** power)
    )


@pytest.mark.parametrize(
    ("most", "good", "bad"),
    [(0, ["", ".0", ".000"], [".", ".1", ".01"]), (2, ["", ".1", ".25", ".2500"], [".", ".125"])],
)
def test_places(most, good, bad):
    assert all(matches(places(most), text) for text in good)
    assert not any(matches(places(most), text) for text in bad)


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_hexadecimal(a, b, number):
    node = hexadecimal(min(a, b), max(a, b), 4)
    for text in (f"{number:04x}", f"{number:04X}"):
        assert matches(node, text) is (min(a, b) <= number <= max(a, b))


POINT = st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\/\b\f\n\r\t\x7f😀')


@given(st.sets(POINT, min_size=1, max_size=4), POINT)
def test_json_characters_in_every_spelling(members, character):
    node = json_character(characters(members))
    other = json_character(complement(characters(members)))
    units = character.encode("utf-16-be").hex()
    escaped = "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n"}
    short |= {"\r": "\\r", "\t": "\\t"}
    codes = [escaped, escaped.upper().replace("\\U", "\\u")]
    is_coded = not " " <= character <= "~"
    spellings = codes * is_coded + [short[c] for c in character if c in short]
    if character >= " " and character not in '"\\':
        spellings.append(character)
    if not is_coded:
        assert not any(matches(n, code) for n in (node, other) for code in codes)
    for spelling in spellings:
        assert matches(node, spelling) is (character in members)
        assert matches(other, spelling) is (character not in members)
    assert not matches(json_character(ANY), "\\ud800")
    assert not matches(json_character(ANY), "\\ud800\\u0041")
    assert not matches(json_character(ANY), "\n")


WORD = st.text("ab", max_size=3)


@given(st.lists(WORD, max_size=4), WORD)
def test_all_strings_but_some(words, word):
    node = other_than(words, lambda members: members)
    assert matches(node, word) is (word not in words)
    assert matches(constant(word, lambda members: members), word)


@given(
    st.lists(st.booleans(), max_size=4),
    st.booleans(),
    st.integers(0, 4),
    st.none() | st.integers(0, 5),
    st.lists(st.integers(0, 5), max_size=6),
)
def test_members_in_order(required, has_extra, least, most, chosen):
    members = [(Literal(str(n)), is_required) for n, is_required in enumerate(required)]
    frame = Frame(Literal("<"), Literal(","), Literal(">"), Literal("-"))
    extra = Literal("5") if has_extra else NEVER
    rules = {}

    def share(node):
        rules[str(len(rules))] = node
        return Reference(str(len(rules) - 1))

    node = listed(members, frame, share, extra=extra, least=least, most=most)
    count = len(required)
    named = [n for n in chosen if n != 5]
    text = f"<{','.join(map(str, chosen))}>" if chosen else "-"
    is_good = (
        chosen == sorted(set(named)) + [5] * (len(chosen) - len(named))
        and all(n < count for n in named)
        and all(n in named for n in range(count) if required[n])
        and (has_extra or 5 not in chosen)
        and least <= len(chosen)
        and (most is None or len(chosen) <= most)
    )
    assert matches(node, text, rules) is is_good


@given(st.integers(0, 3), st.integers(0, 4), st.none() | st.integers(0, 5), st.integers(0, 6))
def test_items_by_position(prefix, least, most, count):
    frame = Frame(EMPTY, Literal(","), Literal(";"))
    node = positional(
        [Literal(str(n)) for n in range(prefix)], Literal("x"), frame, least=least, most=most
    )
    items = [str(n) if n < prefix else "x" for n in range(count)]
    text = ",".join(items) + (";" if items else "")
    assert matches(node, text) is (least <= count and (most is None or count <= most))


TEXT = Text(
    ("<a>", "b<"),
    (Exit("<a>!", Literal("1")), Exit("<a>?", EMPTY), Exit("b<b", Literal("2"))),
    Literal("."),
)


@given(st.lists(st.sampled_from(["<", "a", ">", "b", "!", "?", "1", "2", ".", "<a>", "b<b2"])))
def test_text_as_rules(pieces):
    text = "".join(pieces)
    rules = plain({"root": TEXT})
    assert matches(rules["root"], text, rules) is matches(TEXT, text)


@given(st.integers(0, 9), st.none() | st.integers(0, 9), st.integers(0, 12))
def test_long_counts_as_rules(least, most, count):
    node = repeat(choice(Literal("a"), Literal("bb")), least, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower, "CHUNK", 3)
        rules = plain({"root": node})
    text = "".join("a" if n % 2 else "bb" for n in range(count))
    expected = least <= count and (most is None or count <= most)
    assert matches(rules["root"], text, rules) is expected


NODES = st.recursive(
    st.sampled_from([Literal("a"), Literal("ab"), Literal("b"), EMPTY, NEVER, characters("ab")]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda n: sequence(*n))
        | st.lists(inner, max_size=4).map(lambda n: choice(*n))
        | inner.map(optional)
        | st.builds(repeat, inner, st.integers(0, 2), st.none() | st.integers(0, 3))
    ),
    max_leaves=8,
)


@given(NODES, st.text("ab", max_size=5))
def test_factoring_and_pruning_keep_the_language(node, text):
    rules = {"root": choice(node, Reference("end"), Reference("loop")), "end": Literal("aab")}
    rules["loop"] = sequence(Literal("a"), Reference("loop"))
    kept = prune(rules)
    assert "loop" not in kept
    expected = matches(choice(node, Literal("aab")), text)
    assert matches(kept["root"], text, kept) is expected
    joined = factored(kept)
    assert matches(joined["root"], text, joined) is expected


def test_options_that_begin_alike_are_joined():
    rules = factored({"root": choice(Literal("get"), Literal("get_all"), Literal("put"))})
    assert rules["root"] == Choice(
        (Sequence((Literal("get"), Choice((EMPTY, Literal("_all"))))), Literal("put"))
    )


def test_constructors_are_tidy():
    assert sequence(Literal("a"), EMPTY, sequence(Literal("b"), Literal("c"))) == Literal("abc")
    assert sequence(Literal("a"), NEVER) == NEVER
    assert choice(Literal("a"), NEVER, Literal("a")) == Literal("a")
    assert repeat(NEVER, 0, None) == EMPTY
    assert repeat(Literal("a"), 0, 2) == Repeat(Literal("a"), 0, 2)
    assert complement(characters("b"), characters("abc")) == Characters(((97, 97), (99, 99)))
