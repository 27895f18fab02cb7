"""Dialects made for the tests, in which calls may be written in turns.

No model family is known to write so. They show the three ways in which a header can say whose piece
it is: by an index, by an id of its own, and by an id made of name and index.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from untemplate.dialect import (
    END,
    CallBlock,
    Dialect,
    Edge,
    Hole,
    JsonText,
    Opening,
    Prompt,
    TextBlock,
    Whole,
    fill,
)

MADE_FOR_TEST_BY_INDEX = Dialect(
    blocks={
        "content": TextBlock("content"),
        "call": CallBlock(
            ("<|call|>", Hole.NAME, "#", Hole.INDEX, "<|args|>", Hole.ARGUMENTS, "<|end_call|>"),
            Whole(JsonText()),
            continued_by="index",
        ),
    },
    edges=(
        Edge("content", "call", "<|calls|>"),
        Edge("content", END, ""),
        Edge("call", "call", ""),
        Edge("call", END, "<|end_calls|>"),
    ),
    prompts=(Prompt("<|bot|>", (Opening("content"), Opening("call", "<|calls|>"))),),
    stops=("<|stop|>",),
)
"""A section; names and numbers between markers."""

MADE_FOR_TEST_BY_ID = Dialect(
    blocks={
        "content": TextBlock("content"),
        "call": CallBlock(
            (
                '<call id="',
                Hole.ID,
                '" name="',
                Hole.NAME,
                '">\n',
                Hole.ARGUMENTS,
                "\n</call>",
            ),
            Whole(JsonText()),
            continued_by="id",
        ),
    },
    edges=(
        Edge("content", "call", "\n"),
        Edge("content", END, ""),
        Edge("call", "call", "\n"),
        Edge("call", END, ""),
    ),
    prompts=(Prompt("<|bot|>", (Opening("content"), Opening("call"))),),
    stops=("<|stop|>",),
)
"""Attributes, and white space around the arguments."""

_INDEXED = MADE_FOR_TEST_BY_INDEX.blocks["call"]
assert isinstance(_INDEXED, CallBlock)
MADE_FOR_TEST_BY_MADE_ID = replace(
    MADE_FOR_TEST_BY_INDEX,
    blocks={
        **MADE_FOR_TEST_BY_INDEX.blocks,
        "call": replace(
            _INDEXED, continued_by="id", id_pattern=("call.", Hole.NAME, ".", Hole.INDEX)
        ),
    },
)
"""As by index, but its ids are made of name and index."""

INTERLEAVED = {
    "made for test by index": MADE_FOR_TEST_BY_INDEX,
    "made for test by id": MADE_FOR_TEST_BY_ID,
    "made for test by made id": MADE_FOR_TEST_BY_MADE_ID,
}


def is_interleaved(dialect: Dialect) -> bool:
    """Whether calls of the dialect may be written in turns."""
    return any(isinstance(b, CallBlock) and b.continued_by for b in dialect.blocks.values())


def write_piece(dialect: Dialect, number: int, name: str, piece: str) -> str:
    """A block with a piece of the arguments of a call."""
    block = dialect.blocks["call"]
    assert isinstance(block, CallBlock)
    holes = {Hole.ID: f"id-{number}", Hole.INDEX: str(number)}
    return fill(block.pattern, {**holes, Hole.NAME: name, Hole.ARGUMENTS: piece})


def write_pieces(dialect: Dialect, pieces: Iterable[tuple[int, str, str]]) -> str:
    """Blocks with these pieces: number, name, piece."""
    return dialect.literal("call", "call").join(write_piece(dialect, *p) for p in pieces)


def write_turn(
    dialect: Dialect, pieces: Iterable[tuple[int, str, str]], *, is_open: bool = False
) -> str:
    """A turn of these pieces, without the stop; `is_open`: more may follow."""
    opening = next(o.literal for o in dialect.prompts[0].openings if o.block == "call")
    end = "" if is_open else dialect.literal("call", END)
    return opening + write_pieces(dialect, pieces) + end


def in_turns(documents: Sequence[str], rng: Random, first: int = 0) -> list[tuple[int, str]]:
    """The documents cut anywhere, the pieces of each in order, those of others in between.

    The calls begin in their order, and the last piece of each is not empty: what is whole is over.
    """
    pieces: list[list[str]] = []
    for document in documents:
        places = sorted(rng.randrange(len(document)) for _ in range(rng.randrange(4)))
        ends = [*places, len(document)]
        pieces.append([document[a:b] for a, b in zip([0, *places], ends, strict=True)])
    out: list[tuple[int, str]] = []
    begun = 0
    while any(pieces):
        may = [n for n, left in enumerate(pieces[: begun + 1]) if left]
        number = rng.choice(may)
        begun = max(begun, number + 1)
        out.append((first + number, pieces[number].pop(0)))
    return out
