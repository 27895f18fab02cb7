"""Numbers under bounds and steps, judged by exact decimal arithmetic."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.judging import answer_by, takes, takes_answer
from untemplate.constrain import CompiledGrammar
from untemplate.errors import VocabularyError

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
    except VocabularyError:  # no number is so
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


def test_what_is_not_among_the_numbers():
    answer = answer_by({"type": "integer", "minimum": 3})
    for text in ("3.0", "3e0", "03", "+3", "-3", "2", "3."):
        assert not takes(answer, text)
