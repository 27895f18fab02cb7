"""The short way for plain pieces of a string or text equals the frames' own, after every piece."""

import json
import random

import pytest

from dialects import ALL
from reader.feeding import cut, grammar_of, merged
from reader.soup import soup
from untemplate.dialect import Hole, fill
from untemplate.reader import Reader
from untemplate.reader.machine import Machine
from untemplate.reader.plain import quoted_plain, text_plain

BITS = (
    *("a", "Hello", " ", "\n", "\n\n", "  ", "\t", "é", "漢", "😀", "\x00", "{", "[", "'", "if x:"),
    *("<", ">", "</", "|>", "<b>", "\\", "\\n", '\\"', "\\u00e9", "\\ud83d", "\\ude00", "\\u12"),
    *("</parameter", "</param eter>", "\n</", "<|im_", "<tool", "\\x41", "```", "&lt;", "</think"),
)


def told_by(grammar, pieces):
    """After each piece: the events, and up to where the input was told."""
    reader = Reader(grammar, nonce="n")
    steps = []
    for piece in pieces:
        events = reader.feed(piece)
        steps.append((merged(events), reader._machine.tape.told))
    message = reader.finish("length")
    return steps, merged(reader.finish_events()), message


def written(dialect, rng):
    """A call with a long string, and text around it, as mean as text gets."""
    value = "".join(rng.choice(BITS) for _ in range(rng.randrange(30)))
    block = dialect.blocks["call"]
    arguments = block.arguments.write({"a": value, "n": 3})
    call = fill(block.pattern, {Hole.NAME: "f", Hole.ID: "id1234567", Hole.ARGUMENTS: arguments})
    opening = next(e for e in dialect.edges if (e.source, e.target) == ("content", "call"))
    prose = "".join(rng.choice(BITS) for _ in range(rng.randrange(30)))
    return (prose + opening.literal + call + prose).encode("utf-8", "replace")


def quoted(rng):
    """A call whose arguments are a JSON string with JSON text in it."""
    value = "".join(rng.choice(BITS) for _ in range(rng.randrange(30)))
    inner = json.dumps({"a": value, "n": 3}, ensure_ascii=rng.random() < 0.3)
    if rng.random() < 0.3:
        inner = f'{{"a": "{value}"}}'  # mostly no JSON
    outer = json.dumps(inner, ensure_ascii=rng.random() < 0.3)
    text = f'<tool_call>\n{{"name": "f", "arguments": {outer}}}\n</tool_call>'
    return text.encode("utf-8", "replace")


def check(name, seeds):
    dialect = ALL[name]
    grammar = grammar_of(dialect)
    for seed in seeds:
        rng = random.Random(seed)
        data = written(dialect, rng) if seed % 2 else soup(dialect, rng)
        if name == "hermes" and seed % 3 == 0:
            data = quoted(rng)
        if not data:
            continue
        size = rng.choice([1, 2, 3, 4, 7, 20])
        pieces = cut(data, [rng.randrange(len(data)) for _ in range(len(data) // size)])
        short = told_by(grammar, pieces)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Machine, "plain", None)
            patch.setattr(Machine, "skim", None)
            assert told_by(grammar, pieces) == short


@pytest.mark.parametrize("name", ALL)
def test_the_short_way_tells_what_the_frames_tell(name):
    check(name, range(300))


@pytest.mark.laws
@pytest.mark.parametrize("name", ALL)
def test_the_short_way_tells_what_the_frames_tell_in_many_texts(name):
    check(name, range(1000, 30000))


def test_most_pieces_go_the_short_way(monkeypatch):
    """Otherwise the tests above compare nothing."""
    long_way = []
    run = Machine.run
    monkeypatch.setattr(Machine, "run", lambda self, data: (long_way.append(1), run(self, data))[1])
    reader = Reader(grammar_of(ALL["coder"]))
    reader.feed(b"<tool_call>\n<function=f>\n<parameter=a>\nx")
    long_way.clear()
    text = 'if a < b and "é" or </b> \n' * 20
    for at in range(len(text.encode())):
        reader.feed(text.encode()[at : at + 1])
    assert not long_way


@pytest.mark.parametrize(
    ("piece", "told"),
    [
        (b"abc", b"abc"),
        (b'a\\n\\"\\u00e9', b'a\\n\\"\\u00e9'),
        (b"a\\", b"a"),
        (b"a\\u12", b"a"),
        (b"\\ud83d", b""),
        (b"\\ud83d\\ude0", b""),
        (b"\\ud83d\\ude00", b"\\ud83d\\ude00"),
        (b"a\xf0\x9f\x98", b"a"),
        (b'a"', None),
        (b"a\x01", None),
        (b"\\ud83dx", None),
        (b"\xff", None),
        (b"\\x", None),
    ],
)
def test_text_of_a_json_string(piece, told):
    found = quoted_plain(0x22).cut(piece)
    assert (found and found[1]) == told
    assert bool(quoted_plain(0x22).whole(piece)) == (told == piece)


@pytest.mark.parametrize(
    ("piece", "told"),
    [
        (b"a < b", b"a < b"),
        (b"a\n", b"a"),
        (b"a\n\n", None),
        (b"a\n\nb\n", b"a\n\nb"),
        (b"a\n</", b"a"),
        (b"a\n</parameter", b"a"),
        (b"a</b", b"a</b"),
        (b"a</parameter>", None),
        (b"\n\xe6\xbc", b""),
        (b"&", None),
    ],
)
def test_text_up_to_a_closer(piece, told):
    plain = text_plain((b"</parameter>",), b"\n", 1, others=b"&")
    found = plain.cut(piece)
    assert (found and found[1]) == told
