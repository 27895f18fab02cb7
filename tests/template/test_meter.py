import pytest

from untemplate.errors import LimitError
from untemplate.template.meter import LARGE, Allowance, Meter, check_int


def meter(units=80_000, **more):
    return Meter(Allowance(units=units, **more), input_weight=0)


def test_spending_ends():
    m = meter(units=100)
    for _ in range(10):
        m.spend(10)

    with pytest.raises(LimitError, match="more than 100 units of work"):
        m.spend(1)


def test_one_operation_takes_at_most_an_eighth():
    with pytest.raises(LimitError, match="a value of more than 10000 units"):
        meter().spend(10_001)


def test_the_allowance_grows_with_the_input_up_to_a_bound():
    allowance = Allowance(units=1000, units_per_input=10, most_units=5000)

    assert Meter(allowance, input_weight=7).limit == 1070
    assert Meter(allowance, input_weight=10**9).limit == 5000


@pytest.mark.parametrize(
    ("value", "weight"),
    [
        ("abc", 3),
        (None, 16),
        (True, 16),
        (1.5, 16),
        (2**300, 16 + 100),
        ([], 16),
        (["ab", "c"], 16 + 2 * 16 + 2 * 16 + 3),
        ({"k": "v"}, 16 + 16 + 2 * 16 + 2),
        ({"k": 1}.keys(), 16 + 16 + 16 + 1),
        (range(10), 16 + 160),
    ],
)
def test_weights(value, weight):
    assert meter().weigh(value) == weight


def test_values_that_share_parts_weigh_what_they_print():
    value = ["x"]
    for _ in range(100):
        value = [value, value]

    assert meter().weigh(value) > 10_000


def test_a_value_that_holds_itself_is_too_heavy():
    value: list[object] = []
    value.append(value)

    assert meter().weigh(value) > 10_000


def test_large_integers_are_refused():
    assert check_int(2**64 - 1) == 2**64 - 1
    with pytest.raises(LimitError, match="more than 64 bits"):
        check_int(2**64)


def test_deep_values_are_refused():
    value: object = 1
    for _ in range(600):
        value = (value,)

    with pytest.raises(LimitError, match="nested more than 500 deep"):
        meter(units=8_000_000).weigh(value)


def test_large_strings_count_only_while_they_live():
    m = meter(held_bytes=10 * LARGE, held_bytes_per_input=0)
    for n in range(1000):
        m.made(str(n % 10) * LARGE)

    kept: list[str] = []
    with pytest.raises(LimitError, match=f"holds more than {10 * LARGE} bytes of text"):
        kept.extend(m.made(str(n % 10) * LARGE) for n in range(1000))
    assert 10 <= len(kept) <= 21


def test_copies_of_large_strings_are_cheap():
    m = meter(units=8_000_000)
    m.spend_copy(640_000)

    assert m.limit - m.left < 12_000
    with pytest.raises(LimitError):
        m.spend_copy(1_000_001)
