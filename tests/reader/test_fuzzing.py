"""Laws 2, 3, 5 to 8 on damaged outputs of every dialect, and inputs that once broke them.

`make laws` takes a million: 60,000 of them are bred by coverage (`test_coverage_guided`).
"""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from families import SOME, family, names
from reader.feeding import cut, read_all
from reader.fuzzing import (
    CHOICES,
    bits,
    check,
    check_pumped,
    damaged,
    feed_measured,
    grammar,
)
from reader.outputs import draw
from untemplate.reader import Reader

DAMAGED, DRAWN = 920_000, 20_000
"""Inputs of the loop and of hypothesis in `make laws`."""
MOST_FAULTS = 5


def fuzz(name, seeds):
    """Reads an input for each seed; names the seeds and inputs that broke a law."""
    faults = []
    for seed in seeds:
        rng = random.Random(f"{name} {seed}")
        prompt, data = damaged(name, rng)
        try:
            check(name, prompt, data, rng, choice=rng.randrange(len(CHOICES)))
        except Exception as error:  # noqa: BLE001  whatever it is, it is a fault
            error.add_note(f"seed {seed}")
            faults.append(error)
            if len(faults) == MOST_FAULTS:
                break
    if faults:
        raise ExceptionGroup(name, faults)


@pytest.mark.parametrize("name", SOME)
def test_law_07_damaged_outputs_are_read_alike_and_lose_no_byte(name):
    fuzz(name, range(100))


@pytest.mark.laws
@pytest.mark.parametrize("name", names())
def test_law_07_many_damaged_outputs(name):
    fuzz(name, range(1000, 1000 + DAMAGED // len(names()) + 1))


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


WHATEVER = given(inputs(), st.integers(0, len(CHOICES) - 1), st.randoms(use_true_random=False))
LONG = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=150, **LONG)
@WHATEVER
def test_law_07_whatever_hypothesis_damages(drawn, choice, rng):
    check(*drawn, rng, choice=choice)


@pytest.mark.laws
@settings(max_examples=DRAWN, **LONG)
@WHATEVER
def test_law_07_whatever_hypothesis_damages_at_length(drawn, choice, rng):
    check(*drawn, rng, choice=choice)


def test_a_reader_that_looks_at_all_it_read_at_each_piece_is_found(monkeypatch):
    short = Reader.feed

    def feed(self, data):
        whole = self._machine.tape.record.raw.whole()
        for _ in range(3 * len(whole)):
            whole.find(b"<")
        return short(self, data)

    monkeypatch.setattr(Reader, "feed", feed)
    monkeypatch.setattr("reader.fuzzing.PUMPED_BYTES", 200)
    data, rng = b"a < b and " * 20, random.Random(5)  # which feeds byte by byte
    with pytest.raises(AssertionError, match="steps"):
        feed_measured(grammar("hermes", 0, 0), cut(data, range(len(data))), "stop", counts=True)
    with pytest.raises(AssertionError, match="steps"):
        check_pumped(grammar("hermes", 0, 0), data[:10], rng)


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
    ("hermes", 0, b'<tool_call>{"name": "f", "arguments": {"any": [\'ab\', 1]}}', "length"),
    ("muse-glimmer", 0, b"to=f<|message|><atem:im", "length"),
    ("made for test by id", 0, b'<call id="a" name="f">\n"\\n\\\\c"\n</ca', "length"),
]
"""What fuzzing found, made as short as it goes: family, prompt, input, reason."""


LINEAR = [
    ("meta-llama-Llama-3.1-8B-Instruct", 0, b'{"name":'),
    ("meta-llama-Llama-3.1-8B-Instruct", 0, b'{"id":\n'),
    ("hermes", 0, b'\n{"name":'),
    ("google-gemma-4-31B-it", 2, b"<|tool_call>call:b<tool_call|>"),
]
"""What took more steps than it should when it was repeated, or came near it."""


@pytest.mark.parametrize(("name", "prompt", "piece"), LINEAR)
def test_law_06_what_once_took_long(name, prompt, piece):
    data = piece * (2000 // len(piece))
    for size in (1, len(data)):
        pieces = cut(data, range(0, len(data), size))
        feed_measured(grammar(name, prompt, 0), pieces, "length", counts=True, check=False)


@pytest.mark.parametrize(("name", "prompt", "data", "reason"), FOUND)
def test_what_once_broke_a_law(name, prompt, data, reason):
    for choice in range(len(CHOICES)):
        read_all(grammar(name, prompt, choice), data, reason)
