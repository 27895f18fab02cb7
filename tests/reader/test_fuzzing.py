"""Laws 2, 3, 5, 7 and 8 on damaged outputs of every dialect, and inputs that once broke them."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from families import SOME, family, names
from reader.feeding import read_all
from reader.fuzzing import CHOICES, bits, check, damaged, grammar
from reader.outputs import draw

MILLION = 1_000_000


def fuzz(name, seeds):
    for seed in seeds:
        rng = random.Random(f"{name} {seed}")
        prompt, data = damaged(name, rng)
        check(name, prompt, data, rng, choice=rng.randrange(len(CHOICES)))


@pytest.mark.parametrize("name", SOME)
def test_law_07_damaged_outputs_are_read_alike_and_lose_no_byte(name):
    fuzz(name, range(100))


@pytest.mark.laws
@pytest.mark.parametrize("name", names())
def test_law_07_a_million_damaged_outputs(name):
    fuzz(name, range(1000, 1000 + MILLION // len(names()) + 1))


@st.composite
def inputs(draw_from):
    """A family, a prompt, and an output in which pieces were put in, taken out or exchanged."""
    name = draw_from(st.sampled_from(SOME[:7]))
    output = draw(family(name), random.Random(draw_from(st.integers(0, 99))))
    data = output.data
    for _ in range(draw_from(st.integers(0, 4))):
        start = draw_from(st.integers(0, len(data)))
        end = min(len(data), start + draw_from(st.sampled_from((0, 0, 1, 3, 20))))
        piece = draw_from(st.one_of(st.sampled_from(bits(name)), st.binary(max_size=4)))
        data = data[:start] + piece + data[end:]
    return name, output.prompt, data


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(inputs(), st.integers(0, len(CHOICES) - 1), st.randoms(use_true_random=False))
def test_law_07_whatever_hypothesis_damages(drawn, choice, rng):
    check(*drawn, rng, choice=choice)


FOUND = [
    ("hermes", 0, b'<tool_call>{"name":"0","":l\x9f', "length"),
    ("hermes", 0, b'<tool_call>{"name":"f","a":' + b"1" * 5000, "stop"),
    (
        "hermes",
        0,
        b'<tool_call>{"name": "f", "arguments": {}}</tool_call>\n{"name": "f", "arguments": {}}',
        "stop",
    ),
    ("deepseek", 0, '<｜tool▁call▁begin｜>f<｜tool▁sep｜> "'.encode(), "stop"),
    ("MiniMax-M1", 0, b'{"name":"f","arguments":{}}}\n', "stop"),
    ("muse-glimmer", 0, b"to=f<|message|><atem:im", "length"),
]
"""What fuzzing found, made as short as it goes: family, prompt, input, reason."""


@pytest.mark.parametrize(("name", "prompt", "data", "reason"), FOUND)
def test_what_once_broke_a_law(name, prompt, data, reason):
    for choice in range(len(CHOICES)):
        read_all(grammar(name, prompt, choice), data, reason)
