"""Results as text: all kinds, bounded while they are written."""

import dataclasses
import datetime as dt
import decimal
import enum
import itertools
import json
import pathlib
import tracemalloc
import uuid

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from untemplate.loop.results import UnserialisableError, serialise

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda children: (
        st.lists(children) | st.dictionaries(st.text(st.characters(codec="utf-8")), children)
    ),
    max_leaves=20,
)


BUSY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""The machine may be busy with other things."""


@settings(BUSY, max_examples=50)
@given(JSON)
def test_json_is_json(value):
    text = serialise(value, 10**9).text
    assert (text if isinstance(value, str) else json.loads(text)) == value


@BUSY
@given(JSON, st.integers(0, 50))
def test_a_cut_result_is_a_prefix_and_says_so(value, limit):
    whole, short = serialise(value, 10**9), serialise(value, limit)
    if short.cut:
        shown, mark = short.text[:limit], short.text[limit:]
        assert len(whole.text) > limit
        assert whole.text.startswith(shown)
        assert mark.startswith("\n[result cut by the host")
    else:
        assert short == whole


class Size(enum.Enum):
    BIG = "big"


class Model(BaseModel):
    when: dt.date


@dataclasses.dataclass
class Data:
    a: int
    b: object = None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (Size.BIG, '"big"'),
        (Data(1, [Size.BIG]), '{"a":1,"b":["big"]}'),
        (Model(when=dt.date(2026, 1, 2)), '{"when":"2026-01-02"}'),
        ({"p": pathlib.PurePosixPath("/x"), 1: decimal.Decimal("1.50")}, '{"p":"/x","1":"1.50"}'),
        (uuid.UUID(int=0), '"00000000-0000-0000-0000-000000000000"'),
        ((x for x in "ab"), '["a","b"]'),
        ({"e": {}, "l": [], "t": ()}, '{"e":{},"l":[],"t":[]}'),
        (float("nan"), '"nan"'),
        ([float("-inf"), 1e22, True], '["-inf",1e+22,true]'),
        ("\ud800", "?"),
        (["\ud800"], '["?"]'),
    ],
)
def test_more_than_json(value, text):
    assert serialise(value, 1000).text == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (object(), "the result is of type object"),
        ({"a": [1, object()]}, "the value at /a/1 is of type object"),
        (b"raw", "the result is of type bytes"),
        ({(1, 2): 3}, "the result has a key of type tuple"),
        ([10**5000], "the value at /0 is an integer with too many digits"),
        (test_more_than_json, "the result is of type function"),
    ],
)
def test_what_json_can_not_say_is_named(value, text):
    with pytest.raises(UnserialisableError, match=text):
        serialise(value, 1000)


def test_a_value_that_holds_itself():
    loop = []
    loop.append(loop)
    with pytest.raises(UnserialisableError, match="holds itself"):
        serialise(loop, 10_000)


def test_an_endless_result_costs_no_more_than_its_limit():
    tracemalloc.start()
    text = serialise({"rows": itertools.count(), "text": "x" * 10}, 10_000).text
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.startswith('{"rows":[0,1,2,')
    assert len(text) < 10_100
    assert peak < 2_000_000


def test_a_long_string_is_not_escaped_whole():
    value = {"text": "\n" * 5_000_000}
    tracemalloc.start()
    serialise(value, 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
