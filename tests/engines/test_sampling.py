"""Choosing tokens: each knob against the definition written out slowly."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untemplate.constrain import apply_mask, mask_words
from untemplate.engines.sampling import Sampler, Sampling, uniform
from untemplate.errors import EngineError, RequestError

SIZE = 300


def row_of(values, size=SIZE):
    row = np.full(size, -30.0, np.float32)
    row[: len(values)] = values
    return row


def choose(row, *, index=0, prompt=(), written=(), **options):
    sampler = Sampler(Sampling(**options), size=row.size, prompt=prompt, written=written)
    row = row.copy()
    sampler.adjust(row)
    return sampler.choose(row, index=index)


def shares(row, draws=3000, **options):
    counts = np.bincount(
        [choose(row, index=i, seed=7, **options) for i in range(draws)], minlength=row.size
    )
    return counts / draws


def slow_probabilities(row, *, temperature=1.0, top_k=0, min_p=0.0, top_p=1.0):
    ranked = sorted(range(row.size), key=lambda i: (-row[i], i))
    ranked = [i for i in ranked if row[i] > -math.inf][: top_k or None]
    weights = {i: math.exp((float(row[i]) - float(row.max())) / temperature) for i in ranked}
    weights = {i: w for i, w in weights.items() if w >= min_p}
    total, reached, kept = sum(weights.values()), 0.0, {}
    for i in ranked:
        if i in weights and reached < top_p * total:
            kept[i] = weights[i]
            reached += weights[i]
    return {i: w / sum(kept.values()) for i, w in kept.items()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 3.0},
        {"top_k": 3},
        {"top_p": 0.7},
        {"min_p": 0.3},
        {"temperature": 2.0, "top_k": 4, "top_p": 0.9, "min_p": 0.05},
    ],
    ids=str,
)
def test_tokens_come_as_often_as_their_probability_says(options):
    row = row_of([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
    expected = np.zeros(SIZE)
    for i, p in slow_probabilities(row, **options).items():
        expected[i] = p
    found = shares(row, **options)
    assert np.abs(found - expected).max() < 0.03
    assert not found[expected == 0].any()


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.integers(0, 1 << 40),
    st.fixed_dictionaries(
        {
            "top_k": st.sampled_from([1, 2, 5, 600]),
            "top_p": st.floats(0, 1),
            "min_p": st.floats(0, 1),
            "temperature": st.floats(0.1, 10),
        }
    ),
)
@settings(deadline=None)
def test_only_what_the_filters_leave_is_drawn(logits, seed, options):
    row = row_of(logits)
    drawn = choose(row, seed=seed, **options)
    # Rounding may move a border by one token; equal weights stand at every border here.
    wider = {**options, "top_p": min(options["top_p"] + 1e-6, 1)}
    wider["min_p"] = max(options["min_p"] - 1e-6, 0)
    assert drawn in slow_probabilities(row, **wider)


def test_top_p_over_many_equal_tokens_takes_the_lowest_ids():
    row = np.zeros(5000, np.float32)
    drawn = {choose(row, seed=1, index=i, top_p=0.1) for i in range(2000)}
    assert max(drawn) < 500
    assert len(drawn) > 400


@pytest.mark.parametrize("options", [{"temperature": 0}, {"top_k": 1}, {"top_p": 0}, {"min_p": 1}])
def test_greedy_takes_the_greatest_and_the_lowest_of_equal_ones(options):
    row = row_of([1.0, 5.0, 5.0 if "top_k" in options or "temperature" in options else 4.9])
    assert {choose(row, index=i, seed=3, **options) for i in range(50)} == {1}


def test_the_same_seed_gives_the_same_tokens_and_the_index_alone_moves_on():
    row = row_of(np.zeros(200))
    first = [choose(row, index=i, seed=5) for i in range(40)]
    assert first == [choose(row, index=i, seed=5) for i in range(40)]
    assert first != [choose(row, index=i, seed=6) for i in range(40)]
    sampler = Sampler(Sampling(seed=5), size=SIZE)
    assert [sampler.choose(row, index=i) for i in reversed(range(40))] == first[::-1]


def test_a_missing_seed_is_drawn_and_told():
    one, other = Sampler(Sampling(), size=4), Sampler(Sampling(), size=4)
    assert one.seed != other.seed
    assert Sampler(Sampling(seed=-3), size=4).seed == -3


def test_uniform_numbers_are_uniform_and_seeds_unrelated():
    numbers = np.array([[uniform(seed, i) for i in range(500)] for seed in range(40)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.01
    assert np.abs(np.histogram(numbers, 10, (0, 1))[0] / 20000 - 0.1).max() < 0.01
    correlation = np.corrcoef(numbers) - np.eye(40)
    assert np.abs(correlation).max() < 0.25


def test_penalties_are_those_of_their_definitions():
    row = row_of([4.0, -4.0, 3.0, 2.0])
    sampler = Sampler(
        Sampling(repetition_penalty=2.0, frequency_penalty=0.5, presence_penalty=0.25),
        size=SIZE,
        prompt=[0, 1],
        written=[2, 2],
    )
    sampler.accept(3)
    sampler.adjust(row)
    assert row[:5].tolist() == [2.0, -8.0, 1.5 - 1.0 - 0.25, 1.0 - 0.5 - 0.25, -30.0]


def test_a_bias_moves_a_token():
    row = row_of([1.0, 0.0])
    assert choose(row, temperature=0, logit_bias={1: 5.0}) == 1
    assert choose(row, temperature=0, logit_bias={0: -100.0}) == 1


@given(st.integers(1, 400), st.data())
@settings(deadline=None)
def test_the_mask_leaves_exactly_the_tokens_whose_bit_is_set(size, data):
    allowed = data.draw(st.sets(st.integers(0, size - 1)))
    mask = np.zeros(mask_words(size), np.int32)
    for token in allowed:
        mask[token // 32] |= np.array(1 << token % 32, np.uint32).view(np.int32)
    row = np.arange(size, dtype=np.float32)
    apply_mask(row, mask)
    assert {i for i in range(size) if row[i] == i} == allowed
    assert all(row[i] == -np.inf for i in range(size) if i not in allowed)


@pytest.mark.parametrize("value", [-math.inf, math.nan])
def test_a_row_without_a_choice_is_an_error_of_the_engine(value):
    with pytest.raises(EngineError, match="no token can be chosen"):
        choose(np.full(40, value, np.float32))


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"temperature": -1}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"min_p": -0.1}, "min_p"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"frequency_penalty": math.inf}, "frequency_penalty"),
        ({"logit_bias": {-1: 1.0}}, "logit_bias[-1]"),
        ({"logit_bias": {1: math.nan}}, "logit_bias[1]"),
    ],
)
def test_bad_options_are_refused_by_name(options, place):
    with pytest.raises(RequestError) as caught:
        Sampling(**options)
    assert caught.value.place == place


def test_a_bias_for_a_token_that_is_not_there_is_refused():
    with pytest.raises(RequestError, match=r"logit_bias\[10\]: the vocabulary has 10 tokens"):
        Sampler(Sampling(logit_bias={10: 1.0}), size=10)
