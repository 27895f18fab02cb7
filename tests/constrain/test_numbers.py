"""Numbers under bounds and steps, judged by exact decimal arithmetic."""

import json
import random
import statistics
import time
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.judging import answer_by, following, takes, takes_answer
from untemplate.constrain import CompiledGrammar
from untemplate.errors import LimitError, SchemaError

STEPS = [1, 2, 7, 0.5, 0.1, 0.01, 1e-06, 1000, 86400]
NUMBER = (
    st.integers(-300, 300)
    | st.integers(-300, 300).map(lambda n: n / 8)
    | st.sampled_from(
        [1e308, -1e308, 5e-324, 1e-300, 1e39, 1e40, 1e41, 1e-40, 1e-41, 1e16, 1e22, 1e-07, 1e-06]
    )
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(10**40) + 1, 10**40 - 1)
)


def holds(schema: dict, value: float) -> bool:
    """Whether the number is as the schema says."""
    number = Fraction(Decimal(repr(value)))
    bounds = {k: Fraction(Decimal(repr(v))) for k, v in schema.items() if k != "type"}
    is_within = bounds.get("minimum", number) <= number <= bounds.get("maximum", number)
    is_above = "exclusiveMinimum" not in bounds or number > bounds["exclusiveMinimum"]
    is_below = "exclusiveMaximum" not in bounds or number < bounds["exclusiveMaximum"]
    is_step = "multipleOf" not in bounds or (number / bounds["multipleOf"]).denominator == 1
    return is_within and is_above and is_below and is_step


def compiled(schema: dict) -> CompiledGrammar | None:
    try:
        return answer_by(schema)
    except SchemaError:  # no number is so
        return None


def is_written(value: float) -> bool:
    """Whether the number has no more digits than one may have."""
    whole, _, fraction = json.dumps(value).strip("-").partition(".")
    return "e" in fraction + whole or (len(whole) <= 40 and len(fraction) <= 40)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(["minimum", "exclusiveMinimum", ""]),
    st.sampled_from(["maximum", "exclusiveMaximum", ""]),
    NUMBER,
    NUMBER,
    st.lists(NUMBER, min_size=8, max_size=8),
)
def test_bounds_of_any_size_are_exact(low, high, first, last, values):
    schema = {"type": "number", low: min(first, last), high: max(first, last)}
    schema.pop("", None)
    answer = compiled(schema)
    for value in [*values, first, last]:
        if is_written(value):
            is_taken = answer is not None and takes_answer(answer, value)
            assert is_taken == holds(schema, value), (schema, value)


def test_a_bound_of_more_digits_than_a_decimal_keeps_by_itself():
    bound = -16767454801007909012915616917
    answer = answer_by({"type": "number", "exclusiveMinimum": bound})
    taken = [takes_answer(answer, value) for value in (bound - 1, bound, bound + 1)]
    assert taken == [False, False, True]


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(STEPS), st.lists(NUMBER, min_size=8, max_size=8), st.integers(-9, 9))
def test_steps_are_exact(step, values, factor):
    schema = {"type": "number", "multipleOf": step}
    answer = compiled(schema)
    for value in [*values, step * factor, step, 0]:
        # With a large step a number has no exponent.
        if is_written(value) and not (step >= 1000 and "e" in json.dumps(value)):
            assert takes_answer(answer, value) == holds(schema, value), (schema, value)


@pytest.mark.parametrize("step", STEPS)
def test_steps_within_bounds_are_exact(step):
    schema = {"type": "number", "multipleOf": step, "minimum": -3 * step, "maximum": 500000}
    answer = answer_by(schema)
    multiples = [round(n * step, 9) for n in (-4, -3, -1, 0, 1)]
    for value in [*multiples, 86400, 86401, 7000, 0.5, 1e-06, 500001]:
        assert takes_answer(answer, value) == holds(schema, value), value


MANY_STEPS = [1, 2, 3, 5, 7, 10, 12, 16, 100, 360, 3600, 86400, 0.5, 0.25, 0.1, 0.01, 1.5, 1e-07]
BOUNDS = [0, 1, -1, 0.5, 3, 10, 99, 100, 1000, 12.25, -7.5, 1e6, 1e17, 1e22, 3e-07]


def draw(rng: random.Random, depth: int) -> dict:
    """Some keywords of numbers, combined."""
    if not depth:
        keyword = rng.choice(["multipleOf", "multipleOf", "bound", "type", "enum"])
        bound = rng.choice(["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"])
        return {
            "multipleOf": {"multipleOf": rng.choice(MANY_STEPS)},
            "bound": {bound: rng.choice(BOUNDS)},
            "type": {"type": "integer"},
            "enum": {"enum": rng.sample(BOUNDS, 3)},
        }[keyword]
    keyword = rng.choice(["anyOf", "allOf", "oneOf", "not", "if"])
    if keyword == "not":
        return {"not": draw(rng, depth - 1)}
    if keyword == "if":
        return {word: draw(rng, depth - 1) for word in ("if", "then", "else")}
    return {keyword: [draw(rng, depth - 1) for _ in range(rng.choice([2, 3, 4]))]}


def is_valid(schema: dict, value: Fraction) -> bool:
    """Whether the number is as drawn keywords say."""

    def holds_keyword(keyword: str, asked) -> bool:
        match keyword:
            case "multipleOf":
                return (value / exactly(asked)).denominator == 1
            case "minimum":
                return value >= exactly(asked)
            case "exclusiveMinimum":
                return value > exactly(asked)
            case "maximum":
                return value <= exactly(asked)
            case "exclusiveMaximum":
                return value < exactly(asked)
            case "type":
                return asked == "number" or value.denominator == 1
            case "enum":
                return value in map(exactly, asked)
            case "anyOf" | "allOf" | "oneOf":
                count = sum(is_valid(option, value) for option in asked)
                return {"anyOf": count > 0, "allOf": count == len(asked), "oneOf": count == 1}[
                    keyword
                ]
            case "not":
                return not is_valid(asked, value)
            case "if":
                return is_valid(schema["then" if is_valid(asked, value) else "else"], value)
            case _:
                return True

    return all(holds_keyword(*keyword) for keyword in schema.items())


def exactly(value: float) -> Fraction:
    return Fraction(Decimal(repr(value)))


def drawn_numbers(rng: random.Random) -> Iterator[str]:
    """Numbers as `json.dumps` writes them, and in other ways."""
    for _ in range(6):
        yield json.dumps(rng.randrange(-400, 4000) * rng.choice([1, 12, 360, 3600]))
        yield json.dumps(rng.randrange(-4000, 4000) / rng.choice([2, 4, 8, 10, 100]))
        yield json.dumps(rng.choice(MANY_STEPS) * rng.choice([1, 2, 3, 7]))
        yield json.dumps(float(f"{rng.randrange(10**9)}e{rng.randrange(8, 30)}"))
        yield json.dumps(float(f"{rng.randrange(1, 99)}e-{rng.randrange(5, 9)}"))
        lead = rng.choice(["", "-"]) + str(rng.randrange(1, 10))
        lead += rng.choice(["", ".5", ".0", ".250"])
        yield f"{lead}e{rng.choice(['', '-'])}{rng.randrange(24)}"


def judge(seed: int) -> None:
    rng = random.Random(seed)
    schema = {"type": "number", "allOf": [draw(rng, rng.choice([1, 1, 2]))]}
    answer = compiled(schema)
    for text in drawn_numbers(rng):
        is_good = is_valid(schema["allOf"][0], Fraction(Decimal(text)))
        if answer is not None and takes(answer, text):
            assert is_good, (seed, schema, text)
        elif is_good and "e" not in text:
            # Integers have no fraction.
            assert "integer" in str(schema), (seed, schema, text)
            assert text.endswith(".0"), (seed, schema, text)


def test_drawn_keywords_are_exact():
    for seed in range(25):
        judge(seed)


@pytest.mark.laws
def test_many_drawn_keywords_are_exact():
    refused = []
    for seed in range(25, 600):
        try:
            judge(seed)
        except LimitError:
            refused.append(seed)
    assert len(refused) < 5, "few are beyond the bound of steps, and say so"


@pytest.mark.laws
def test_the_first_mask_of_drawn_keywords_is_found_soon():
    spent: list[float] = []
    for seed in range(1_000, 1_200):
        rng = random.Random(seed)
        schema = {"type": "number", "allOf": [draw(rng, rng.choice([1, 1, 2]))]}
        begun = time.process_time()
        answer = compiled(schema)
        if answer is not None:
            following(answer, "")
        spent.append(time.process_time() - begun)
    assert statistics.median(spent) < 0.05
    assert max(spent) < 0.5


@pytest.mark.parametrize(
    ("keywords", "text", "is_taken"),
    [
        ({"not": {"multipleOf": 2}}, "4e0", False),
        ({"not": {"multipleOf": 2}}, "1.5e+16", False),
        ({"not": {"multipleOf": 7}}, "1e+16", True),
        ({"anyOf": [{"multipleOf": 2}, {"multipleOf": 0.5}]}, "3e+17", True),
        ({"anyOf": [{"multipleOf": 6}, {"multipleOf": 10}]}, "1.5e+17", True),
        ({"allOf": [{"multipleOf": 6}, {"multipleOf": 10}]}, "20", False),
        ({"allOf": [{"multipleOf": 6}, {"multipleOf": 10}]}, "60", True),
        ({"multipleOf": 86400, "minimum": 1, "maximum": 86399}, "1", False),
        ({"not": {"type": "integer"}}, "1.5e+16", False),
        ({"not": {"type": "integer"}}, "1.5e-07", True),
        ({"multipleOf": 2.5}, "1e+300", True),
    ],
)
def test_steps_combined(keywords, text, is_taken):
    answer = compiled({"type": "number", **keywords})
    assert (answer is not None and takes(answer, text)) is is_taken


def test_what_is_not_among_the_numbers():
    answer = answer_by({"type": "integer", "minimum": 3})
    for text in ("3.0", "3e0", "03", "+3", "-3", "2", "3."):
        assert not takes(answer, text)


def test_integers_from_zero_on_have_several_digits():
    """A bound of zero decides by its sign, and asks for no digits."""
    answer = answer_by({"type": "integer", "minimum": 0, "maximum": 63})
    taken = [n for n in range(-70, 130) if takes_answer(answer, n)]
    assert taken == list(range(64))
    answer = answer_by({"type": "integer", "minimum": -63, "maximum": 0})
    taken = [n for n in range(-130, 70) if takes_answer(answer, n)]
    assert taken == list(range(-63, 1))
