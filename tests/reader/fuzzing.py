"""Damaged outputs: what the fuzzers feed, and what has to hold for each input.

    name, prompt, data = ...             # a family, one of its prompts, what its model wrote
    check(name, prompt, data, rng)       # no exception, no lost byte, one reading in any chunking

Three fuzzers share this: hypothesis and a plain loop (`test_fuzzing`), and one that is guided by
coverage (`test_coverage_fuzzing`).
"""

from functools import cache

from families import family
from reader.feeding import cut, feed, grammar_of
from reader.outputs import draw, mutated
from reader.soup import JSON_BITS, RAW_BITS, TEXT_BITS, literals, soup
from untemplate.grammar.marks import marks
from untemplate.message import ToolChoice

CHOICES = (None, ToolChoice("none"), ToolChoice("required", "f", parallel=False))


@cache
def grammar(name, prompt, choice):
    """The grammar of a family behind the prompt of this number, under `CHOICES[choice]`."""
    return grammar_of(family(name), prompt=prompt, choice=CHOICES[choice])


@cache
def bits(name):
    """Pieces that an input for this family is likely to hold: literals, marks, JSON, prose."""
    whole = literals(family(name))
    single = [m for text in whole for m in marks(text)]
    return [b.encode() for b in dict.fromkeys(whole + single + JSON_BITS + TEXT_BITS)] + RAW_BITS


def damaged(name, rng):
    """The number of a prompt, and an output behind it with damage; sometimes mere soup."""
    dialect = family(name)
    if rng.random() < 0.2:
        return rng.randrange(len(dialect.prompts)), soup(dialect, rng)
    output = draw(dialect, rng)
    data = mutated(output.data, bits(name), rng)
    if rng.random() < 0.3:
        data = data[: rng.randrange(len(data) + 1)]
    return output.prompt, data


def check(name, prompt, data, rng, *, choice=0):
    """Laws 2, 3, 5, 7 and 8 for this input, fed whole and in one other way."""
    chosen, reason = grammar(name, prompt, choice), rng.choice(("stop", "length"))
    whole = feed(chosen, [data] if data else [], reason)
    way = rng.randrange(8)
    if way == 0:
        pieces = [data[i : i + 1] for i in range(len(data))]
    elif way == 1:
        pieces = cut(data, range(0, len(data), 7))
    else:
        count = len(data) // rng.choice((2, 5, 17, 60))
        pieces = cut(data, [rng.randrange(len(data)) for _ in range(count + 1)] if data else [])
    assert feed(chosen, pieces, reason, snapshots=way == 1) == whole, (name, prompt, choice, data)
