"""Outputs that a dialect's model may write, drawn by a walk through the dialect's graph.

Where a dialect lets calls be written in turns, they are.

output = draw(dialect, rng)      # Output(prompt=0, data=b'Sure.\\n<tool_call>…', calls=[...])
"""

import json
from dataclasses import dataclass, field, replace

from interleaved import in_turns, is_interleaved, write_pieces
from untemplate.dialect import END, CallBlock, Edge, write_calls
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


def call_blocks(dialect):
    """Names of its blocks that are calls."""
    return [n for n, b in dialect.blocks.items() if isinstance(b, CallBlock)]


def write_call(dialect, name, values, number=0):
    """One call of tool `f` as the model writes it."""
    block = dialect.blocks[name]
    call = ToolCall(number, call_id(block, number), "f", json.dumps(values, ensure_ascii=False))
    # History may write calls in a way of its own; a model writes them as `blocks` says.
    return write_calls(replace(dialect, written={}), name, [call], number)


def draw(dialect, rng, *, calls=None, values=arguments):
    """A turn with so many calls; None: up to three, or as many as the dialect writes."""
    most = 3 if dialect.calls_max is None else dialect.calls_max
    wanted = rng.randrange(min(most, 3) + 1) if calls is None else calls
    while True:
        output = _walk(dialect, rng, wanted, values)
        if calls is None or len(output.calls) == calls:
            return output


def _walk(dialect, rng, wanted, values):
    """From an opening of a prompt to END."""
    output = Output(rng.randrange(len(dialect.prompts)))
    opening = rng.choice(dialect.prompts[output.prompt].openings)
    text, place = opening.literal, opening.block
    while place != END:
        if isinstance(dialect.blocks[place], CallBlock):
            first = len(output.calls)
            output.calls.append(values(rng))
            if is_interleaved(dialect):
                more = range(first + 1, max(wanted, first + 1))
                output.calls += [values(rng) for _ in more]
                documents = [json.dumps(c, ensure_ascii=False) for c in output.calls[first:]]
                turns = in_turns(documents, rng, first)
                text += write_pieces(dialect, [(n, "f", piece) for n, piece in turns])
            else:
                text += write_call(dialect, place, output.calls[-1], first)
        else:
            text += rng.choice(TEXTS)
        edge = _next_edge(dialect, rng, place, wanted - len(output.calls))
        text, place = text + edge.literal, edge.target
    if dialect.stops and rng.random() < 0.5:
        text += dialect.stops[0]
    output.data = text.encode()
    return output


def _next_edge(dialect, rng, place, calls_left):
    """To a call as long as one is wanted, else to the end; now and then to another text."""
    edges = dialect.edges_from(place)
    calls = [e for e in edges if isinstance(dialect.blocks.get(e.target), CallBlock)]
    ends = [e for e in edges if e.target == END]
    others = [e for e in edges if e not in calls and e not in ends]
    if others and rng.random() < 0.3:
        return rng.choice(others)
    return rng.choice((calls if calls_left > 0 else ends) or ends or others or [Edge("", END, "")])


def mutated(data, bits, rng):
    """The data with some damage: pieces lost, doubled, moved, put in, or bytes changed."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        start = rng.randrange(len(out) + 1)
        end = min(len(out), start + rng.choice((1, 1, 2, 5, 12, 40)))
        piece = bytes(out[start:end])
        match rng.randrange(6):
            case 0:
                del out[start:end]
            case 1:
                out[start:start] = piece
            case 2:
                del out[start:end]
                other = rng.randrange(len(out) + 1)
                out[other:other] = piece
            case 3:
                out[start:start] = rng.choice(bits)
            case 4:
                out[start : start + 1] = bytes([rng.choice((0, 9, 10, 34, 39, 92, 128, 255, 60))])
            case _:
                out[start:end] = rng.choice(bits)
    return bytes(out)
