"""Random texts made of markers and values, through `read_all`: laws 2, 3, 5, 7 and 8 at once."""

import random

import pytest

from dialects import ALL
from reader.feeding import grammar_of, read_all
from reader.soup import soup
from untemplate.message import ToolChoice

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
