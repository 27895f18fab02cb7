"""Outputs that a dialect's model may write, drawn by a walk through the dialect's graph.

output = draw(dialect, rng)      # Output(prompt=0, data=b'Sure.\\n<tool_call>…', calls=[...])
"""

import json
from dataclasses import dataclass, field

from untemplate.dialect import END, CallBlock, write_calls
from untemplate.message import ToolCall

STRINGS = [
    "",
    "Zürich",
    'say "b"\n\\c',
    "<b>&amp;</b> ]}",
    "😀",
    "true",
    " x ",
    "12",
    "it's",
    "a < b",
    "{}",
]
ARGUMENTS = {
    "a": STRINGS,
    "n": [0, -7, 120, 10**20],
    "x": [2.75, -0.5, 1e30],
    "b": [True, False],
    "o": [{}, {"k": "v", "l": [1, {"m": None}]}],
    "l": [[], ["a", "b c"]],
    "e": ["red"],
}
"""Values for the parameters of `feeding.TOOLS`."""
TEXTS = [
    "Sure.",
    "Let me\n\nlook: é <x> {y}",
    "0",
    "日本語 🦀",
    "a < b and c > d",
    "```py\nx = [1]\n```",
]


@dataclass
class Output:
    """What a model wrote."""

    prompt: int
    """Number of the prompt it goes on after."""
    data: bytes = b""
    calls: list = field(default_factory=list)
    """Arguments of its calls, all of tool `f`."""


def arguments(rng, most=4):
    keys = rng.sample(list(ARGUMENTS), rng.randrange(most + 1))
    return {k: rng.choice(ARGUMENTS[k]) for k in keys}


def call_id(block, number):
    shape = block.ids
    digits = str(number) + shape.characters[:1] * shape.least
    return digits[: max(shape.least, 1)] if shape.least else digits[: shape.most]


def write_call(dialect, name, values, number=0):
    """One call of tool `f` as the model writes it."""
    block = dialect.blocks[name]
    call = ToolCall(number, call_id(block, number), "f", json.dumps(values, ensure_ascii=False))
    return write_calls(dialect_as_read(dialect), name, [call], number)


def dialect_as_read(dialect):
    """History may write calls in a way of its own; a model writes them as `blocks` says."""
    from dataclasses import replace

    return replace(dialect, written={})


def draw(dialect, rng, *, most_calls=3, stop=True, values=arguments):
    """A turn; it ends at END, behind at most so many calls."""
    number = rng.randrange(len(dialect.prompts))
    prompt = dialect.prompts[number]
    limit = most_calls if dialect.calls_max is None else min(most_calls, dialect.calls_max)
    wanted = rng.randrange(limit + 1)
    output = Output(number)
    opening = rng.choice(prompt.openings)
    text, place = opening.literal, opening.block
    while place != END:
        block = dialect.blocks[place]
        if isinstance(block, CallBlock):
            written = values(rng)
            text += write_call(dialect, place, written, len(output.calls))
            output.calls.append(written)
        else:
            text += rng.choice(TEXTS)
        text, place = _step(dialect, rng, place, text, wanted - len(output.calls))
    if stop and dialect.stops and rng.random() < 0.5:
        text += rng.choice(dialect.stops[:1])
    output.data = text.encode()
    return output


def _step(dialect, rng, place, text, calls_left):
    edges = dialect.edges_from(place)
    calls = [e for e in edges if isinstance(dialect.blocks.get(e.target), CallBlock)]
    ends = [e for e in edges if e.target == END]
    others = [e for e in edges if e not in calls and e not in ends]
    options = calls if calls_left > 0 and calls else ends or others
    if others and rng.random() < 0.3 and len(text) < 2000:
        options = others
    if not options:
        return text, END
    edge = rng.choice(options)
    return text + edge.literal, edge.target
