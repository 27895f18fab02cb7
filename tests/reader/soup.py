"""Marker soup: texts put together from what a dialect's markers and values are made of."""

from untemplate.dialect import CallBlock, Hole, Items, Pairs, Whole
from untemplate.grammar.marks import marks

JSON_BITS = [
    '{"name": "f", "arguments": {"a": "x"}}',
    '{"name": "',
    '"arguments": ',
    '{"a": "x", "n": 3}',
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    ",",
    ":",
    "\\",
    '\\"',
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\\u12",
    "\\x41",
    "12",
    "-1.5e3",
    "0x",
    "true",
    "True",
    "nul",
    "null",
    "None",
    "f",
    "ping",
    '"a"',
    '"n"',
    '"a": ',
    '{"f": {',
    '"{\\"a\\": 1}"',
    "```json",
    "```",
    "```\n",
    '[{"name": "ping", ',
]
TEXT_BITS = [
    "a",
    "Hello",
    " ",
    "\n",
    "\n\n",
    "\t",
    "é",
    "漢",
    "😀",
    "<",
    ">",
    "</",
    "|>",
    "x y",
    "\x00",
    "=",
]
RAW_BITS = [b"\xff", b"\xe2\x82", b"\xf0\x9f", b"\xc3", b"\x80"]


def literals(dialect):
    """Every literal text of a dialect."""
    found = [e.literal for e in dialect.edges] + list(dialect.stops)
    found += [o.literal for p in dialect.prompts for o in p.openings]

    def group(g):
        found.extend((g.head, g.separator, g.tail, g.none, getattr(g, "open", "")))
        for outer in g.types.values():
            written = outer
            while written:
                found.extend((written.before, written.after))
                if isinstance(written.encoding, (Items, Pairs)):
                    group(written.encoding)
                written = written.guarded
        for inner in getattr(g, "notations", {}).values():
            group(inner)

    for block in dialect.blocks.values():
        if isinstance(block, CallBlock):
            found += [p for p in block.pattern if not isinstance(p, Hole)]
            arguments = block.arguments
            inner = arguments.encoding if isinstance(arguments, Whole) else arguments
            if isinstance(inner, (Items, Pairs)):
                group(inner)
    return [f.replace("\ue000", "a") for f in dict.fromkeys(found) if f]


def soup(dialect, rng, size=20):
    """Random bytes that look like this dialect."""
    whole = literals(dialect)
    single = [m for t in whole for m in marks(t)]
    half = [m[: rng.randrange(1, len(m) + 1)] for m in single]
    bits = rng.choice(
        [
            [whole, JSON_BITS],
            [whole, single, half, JSON_BITS, TEXT_BITS],
            [single, TEXT_BITS, JSON_BITS],
        ]
    )
    out = []
    for _ in range(rng.randrange(1, size)):
        if rng.random() < 0.03:
            out.append(rng.choice(RAW_BITS))
        else:
            out.append(rng.choice(rng.choice(bits)).encode())
    return b"".join(out)
