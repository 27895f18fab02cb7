"""Random texts made of markers and values, through `read_all`: laws 2, 3, 5, 7 and 8 at once."""

import random

import pytest

from dialects import ALL
from reader.feeding import grammar_of, merged, read_all
from reader.soup import soup
from untemplate.message import ToolChoice
from untemplate.reader import Reader

CHOICES = [None, ToolChoice("none"), ToolChoice("required", "f", parallel=False)]


def check(name, seed):
    rng = random.Random(seed)
    dialect = ALL[name]
    prompt = rng.randrange(len(dialect.prompts))
    grammar = grammar_of(dialect, choice=rng.choice(CHOICES), prompt=prompt)
    read_all(grammar, soup(dialect, rng), rng.choice(["stop", "length"]), seed=seed)


@pytest.mark.parametrize("name", ALL)
def test_marker_soup_reads_the_same_however_it_is_cut(name):
    for seed in range(150):
        check(name, seed)


@pytest.mark.laws
@pytest.mark.parametrize("name", ALL)
def test_much_marker_soup_reads_the_same_however_it_is_cut(name):
    for seed in range(1000, 8000):
        check(name, seed)


@pytest.mark.parametrize("name", ALL)
def test_law_02_04_a_beginning_is_told_alike_whole_and_byte_by_byte(name):
    """Not only at the end: nothing that one piece settles may wait for the next."""
    grammar = grammar_of(ALL[name])
    for seed in range(40):
        rng = random.Random(seed)
        data = soup(ALL[name], rng)
        reader, events = Reader(grammar, nonce="n"), []
        for at in range(len(data)):
            events += reader.feed(data[at : at + 1])
            if rng.random() < 0.1:
                whole = Reader(grammar, nonce="n").feed(data[: at + 1])
                assert merged(whole) == merged(events)
