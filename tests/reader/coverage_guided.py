"""A fuzzer for the reader that is guided by coverage: inputs that reach new code are bred on.

    make fuzz                                        # installs atheris beside the rest, and runs
    python tests/reader/coverage_guided.py DIR -runs=100000 -max_len=400

DIR keeps the inputs that were worth keeping. An input is three bytes that choose the family, its
prompt and the tool choice, and then a text: bytes below 0x80 are themselves, 0xFF stands before any
other byte, and the rest are pieces of the family, so that a mutation of one byte puts in a marker.
It begins with outputs as the families write them.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import atheris

with atheris.instrument_imports(include=["untemplate.reader"]):
    import untemplate.reader  # noqa: F401

from families import SOME, family
from reader import fuzzing
from reader.fuzzing import CHOICES, bits, check
from reader.outputs import draw

fuzzing.MOST_STEPS *= 20  # to trace a branch is a call, too; what is pumped up shows the rest
fuzzing.MOST_STEPS_EACH *= 20
fuzzing.MOST_STEPS_BACK *= 20

PIECES = 0x7F
"""How many byte values stand for pieces."""


def decoded(name, text):
    """The text with pieces for the bytes that stand for one."""
    out, pieces, raw = bytearray(), bits(name), False
    for byte in text:
        if raw or byte < 0x80:
            out.append(byte)
            raw = False
        elif byte == 0xFF:
            raw = True
        else:
            out += pieces[(byte - 0x80) % len(pieces)]
    return bytes(out)


def encoded(number, prompt, data):
    """The input that stands for this output of a family."""
    name = SOME[number]
    head = bytes((number, prompt, 0))
    pieces = sorted(enumerate(bits(name)[:PIECES]), key=lambda p: -len(p[1]))
    text = bytearray()
    while data:
        at = next((n for n, p in pieces if len(p) > 3 and data.startswith(p)), None)
        if at is not None:
            text.append(0x80 + at)
            data = data[len(bits(name)[at]) :]
            continue
        text += data[:1] if data[0] < 0x80 else b"\xff" + data[:1]
        data = data[1:]
    return head + bytes(text)


def run(data):
    """One input."""
    if len(data) < 3:
        return
    name = SOME[data[0] % len(SOME)]
    prompt = data[1] % len(family(name).prompts)
    text = decoded(name, data[3:])
    check(name, prompt, text, random.Random(len(text)), choice=data[2] % len(CHOICES))


def write_seeds(folder):
    """Outputs of each family, for a folder that has none."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(SOME):
        rng = random.Random(name)
        for seed in range(5):
            output = draw(family(name), rng)
            seeded = encoded(number, output.prompt, output.data)
            (folder / f"seed-{number}-{seed}").write_bytes(seeded)


if __name__ == "__main__":
    write_seeds(Path(sys.argv[1]))
    atheris.Setup(sys.argv, run)
    atheris.Fuzz()
