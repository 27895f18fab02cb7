"""Skimming inner arrays and objects equals reading them byte by byte, after every piece."""

import json
import random
from dataclasses import replace

import pytest

from dialects import CODER, HERMES
from reader.feeding import cut, grammar_of, merged
from untemplate.dialect import Python, Written
from untemplate.reader import Reader
from untemplate.reader.machine import Machine

SCALARS = (
    0,
    -7,
    120,
    2.5,
    -1e30,
    True,
    False,
    None,
    "",
    "a",
    "row 1",
    "é",
    "it's",
    'say "b"',
    "😀\n",
)
SLIPS = (
    *("'", '"', ",", ":", "{", "}", "[", "]", "(", ")", "\\", "\\u12", "\\ud83d", "\\'", "\x01"),
    *(
        "True",
        "nul",
        "nullx",
        "0",
        ".5",
        "-",
        "e",
        "12x",
        " ",
        "\n",
        '"id": 1, ',
        "id: 1, ",
        "\xff",
    ),
    *('"id"', "é", "\ufeff", "/", "\t\r\n  ", "}, {", "]]", ', "', '": "'),
)


def value(rng, depth=0):
    """Rows, mostly."""
    kind = rng.randrange(3) if depth < 4 else 0
    if kind == 0:
        return rng.choice(SCALARS)
    if kind == 1:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    keys = ("id", "name", "é", "a b", "x" * rng.choice((1, 40, 200)), 'q"', "")
    return {rng.choice(keys): value(rng, depth + 1) for _ in range(rng.randrange(5))}


def written(rng, *, python):
    """An array of values as the notation writes it, with spaces and damage."""
    rows = [value(rng) for _ in range(rng.randrange(1, 6))]
    if python:
        text = repr(rows)
    else:
        separators = rng.choice(((", ", ": "), (",", ":"), (" ,\n", " : ")))
        text = json.dumps(rows, ensure_ascii=rng.random() < 0.3, separators=separators)
    if rng.random() < 0.2:
        text = json.dumps(rows, indent=1)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(SLIPS) + text[at + rng.randrange(2) :]
    return text


def pythonic():
    """Tagged parameters, values in Python's notation."""
    block = CODER.blocks["call"]
    other = Written(">\n", Python(), "\n</parameter>\n")
    types = {kind: w if kind == "string" else other for kind, w in block.arguments.types.items()}
    block = replace(block, arguments=replace(block.arguments, types=types))
    return replace(CODER, blocks={**CODER.blocks, "call": block})


GRAMMARS = {"json": HERMES, "tagged": CODER, "python": pythonic()}
FRAMES = {
    "json": '<tool_call>\n{"name": "f", "arguments": {"any": %s, "n": 3}}\n</tool_call>',
    "tagged": "<tool_call>\n<function=f>\n<parameter=l>\n%s\n</parameter>\n</function>",
}
FRAMES["python"] = FRAMES["tagged"]


def told_by(grammar, pieces, look=None):
    """After each piece: the events, up to where the input was told, and what is open."""
    reader = Reader(grammar, nonce="n")
    steps = []
    for number, piece in enumerate(pieces):
        events = reader.feed(piece)
        call = reader.live.calls[-1] if reader.live.calls else None
        opened = call.open_pointer if call and look and number % look == 0 else ""
        closing = call.closing if call else ""
        steps.append((merged(events), reader._machine.tape.told, opened, closing))
        if look and number % look == 1:
            point = reader.snapshot()
            reader.feed(b'}, "')
            reader.restore(point)
    message = reader.finish("length")
    return steps, merged(reader.finish_events()), message


def check(name, seeds):
    grammar = grammar_of(GRAMMARS[name])
    for seed in seeds:
        rng = random.Random(seed)
        text = FRAMES[name] % written(rng, python=name == "python")
        data = text.encode("utf-8", "surrogatepass").replace("ÿ".encode(), b"\xff")
        size = rng.choice((1, 2, 3, 4, 7, 20, 100))
        pieces = cut(data, [rng.randrange(len(data)) for _ in range(len(data) // size)])
        look = rng.choice((None, None, 2, 7))
        skimmed = told_by(grammar, pieces, look)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Machine, "skim", None)
            assert told_by(grammar, pieces, look) == skimmed, (seed, data)


@pytest.mark.parametrize("name", GRAMMARS)
def test_skimming_tells_what_reading_tells(name):
    check(name, range(200))


@pytest.mark.laws
@pytest.mark.parametrize("name", GRAMMARS)
def test_skimming_tells_what_reading_tells_in_many_texts(name):
    check(name, range(1000, 30000))


@pytest.mark.parametrize("name", GRAMMARS)
def test_rows_are_skimmed(monkeypatch, name):
    """Otherwise the tests above compare nothing."""
    rows = [{"id": n, "name": f"row {n}", "ok": n % 2 == 0, "no": None, "l": []} for n in range(50)]
    text = FRAMES[name] % (repr(rows) if name == "python" else json.dumps(rows))
    long_way = []
    run = Machine.run
    monkeypatch.setattr(
        Machine, "run", lambda self, data: (long_way.append(data), run(self, data))[1]
    )
    reader = Reader(grammar_of(GRAMMARS[name]))
    for at in range(len(text)):
        reader.feed(text[at : at + 1].encode())
    assert len(long_way) < 200
    (call,) = reader.finish().tool_calls
    assert json.loads(call.arguments)["any" if name == "json" else "l"] == rows
