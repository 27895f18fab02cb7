"""Damaged outputs: what the fuzzers feed, and what has to hold for each input.

    name, prompt, data = ...             # a family, one of its prompts, what its model wrote
    check(name, prompt, data, rng)       # no exception, no lost byte, one reading in any chunking

Three fuzzers share this: hypothesis and a plain loop (`test_fuzzing`), and one that is guided by
coverage (`coverage_guided`). Steps of a reading are counted where it takes long, and in a share of
all: `MOST_STEPS` and `MOST_STEPS_EACH` for each byte are its bound. Outputs are short, so some are
also pumped up, by a piece that is repeated: twice as much of it may take at most twice the steps.
"""

import time
from functools import cache

from counting import Steps
from families import family
from reader.feeding import cut, feed, grammar_of
from reader.outputs import draw, mutated
from reader.soup import JSON_BITS, RAW_BITS, TEXT_BITS, literals, soup
from untemplate.grammar.marks import marks
from untemplate.message import ToolChoice
from untemplate.reader import Reader

MOST_STEPS, MOST_STEPS_EACH = 3000, 300
"""Of a turn, and for each of its bytes. Half of the readings take 26 for each byte, the worst 230:
closers behind a call of Harmony or Gemma, byte by byte, each on 24 to 68 ways to go on."""
MOST_STEPS_BACK, MOST_STEPS_DEEP = 1000, 20
"""Of a snapshot, and of going back to one; and for each bracket of the input."""
LONG_SECONDS, LONG_SECONDS_EACH = 0.02, 1e-4
"""A reading that takes longer is read again, with its steps counted."""
COUNTED_SHARE, PUMPED_SHARE, PUMPED_BYTES = 8, 500, 700
"""Of so many inputs one is counted whole or cut up, one is pumped up, by so many bytes."""
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


class Counted(Reader):
    """A reader whose steps are counted."""

    reading, back = Steps(), Steps()
    fed = points = 0

    def feed(self, data):
        Counted.fed += len(data)
        with self.reading:
            return super().feed(data)

    def finish(self, reason="stop"):
        with self.reading:
            return super().finish(reason)

    def snapshot(self):
        Counted.points += 1
        with self.back:
            return super().snapshot()

    def restore(self, snapshot):
        Counted.points += 1
        with self.back:
            return super().restore(snapshot)

    @classmethod
    def taken(cls):
        """Steps of reading and of going back, bytes that were fed, snapshots and ways back."""
        back = cls.back.taken() if cls.points else 0
        found = cls.reading.taken(), back, cls.fed, cls.points
        cls.fed = cls.points = 0
        return found


def feed_measured(chosen, pieces, reason, *, counts=False, **more):
    """As `feed`; the reading stays below its bounds.

    Counting makes a reading three times as slow: most are timed, and what takes long is counted.
    """
    if not counts:
        size = sum(map(len, pieces))
        started = time.process_time()
        found = feed(chosen, pieces, reason, **more)
        if time.process_time() - started < LONG_SECONDS + LONG_SECONDS_EACH * size:
            return found
    Counted.taken()
    found = feed(chosen, pieces, reason, reads=Counted, **more)
    if _too_many(*Counted.taken(), pieces):
        feed(chosen, pieces, reason, reads=Counted, **more)  # now what is made once is there
        taken = Counted.taken()
        assert not _too_many(*taken, pieces), f"steps {taken} for {pieces}"
    return found


def _too_many(reading, back, fed, points, pieces):
    depth = sum(p.count(b"{") + p.count(b"[") for p in pieces) if points else 0
    return (
        reading > MOST_STEPS + MOST_STEPS_EACH * fed
        or back > (MOST_STEPS_BACK + MOST_STEPS_DEEP * depth) * points
    )


def check(name, prompt, data, rng, *, choice=0):
    """Laws 2, 3, 5, 6, 7 and 8 for this input, fed whole and in one other way."""
    chosen, reason = grammar(name, prompt, choice), rng.choice(("stop", "length"))
    try:
        counted = rng.randrange(2 * COUNTED_SHARE)
        whole = feed_measured(chosen, [data] if data else [], reason, counts=counted == 0)
        way = rng.randrange(8)
        if way == 0:
            pieces = [data[i : i + 1] for i in range(len(data))]
        elif way == 1:
            pieces = cut(data, range(0, len(data), 7))
        else:
            count = len(data) // rng.choice((2, 5, 17, 60))
            pieces = cut(data, [rng.randrange(len(data)) for _ in range(count + 1)] if data else [])
        counts, snapshots = counted == 1, way == 1
        cut_up = feed_measured(chosen, pieces, reason, counts=counts, snapshots=snapshots)
        assert cut_up == whole, pieces
        if data and rng.randrange(PUMPED_SHARE) == 0:
            check_pumped(chosen, data, rng)
    except Exception as error:
        error.add_note(f"{name!r}, prompt {prompt}, choice {choice}, {reason!r}: {data!r}")
        raise


def pumped(data, rng):
    """The data with a piece of it repeated, and the same with twice as many."""
    start = rng.randrange(len(data))
    piece = data[start : start + rng.choice((1, 2, 5, 12, 40))]
    times = PUMPED_BYTES // len(piece)
    end = data[start:] if rng.random() < 0.5 else b""
    return data[:start] + piece * times + end, data[:start] + piece * (2 * times) + end


def check_pumped(chosen, data, rng):
    """Law 6: twice as much of one piece takes about twice the steps.

    Somewhat more where a bound is passed in between, as that of a key; four times if it grew with
    the square.
    """
    small, large = pumped(data, rng)
    size = rng.choice((1, 3, 16, 2 * len(large)))

    def taken(text):
        reader = Counted(chosen)
        Counted.taken()
        for piece in cut(text, range(0, len(text), size)):
            reader.feed(piece)
        reader.finish("length")
        return Counted.taken()[0]

    if taken(large) > 2.5 * taken(small) + MOST_STEPS:
        found = taken(small), taken(large)  # now what is made once is there
        assert found[1] <= 2.5 * found[0] + MOST_STEPS, f"steps {found} by {size}: {large!r}"
