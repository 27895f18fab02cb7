"""Which tokens of a vocabulary are markers of a dialect: mask and reader take them by their id.

    marker_tokens(hermes, vocabulary.special, is_control)   -> {b"<tool_call>": 151657, ...}

Control tokens that stand in a literal of the dialect, and added words that do and look like marks.
Vocabularies also have added words for plain text, runs of blanks say: those are text.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from untemplate.dialect import CallBlock, Dialect, Hole
from untemplate.grammar.marks import is_distinctive

__all__ = ["marker_tokens"]


def marker_tokens(
    dialect: Dialect, special: Mapping[str, int], is_control: Callable[[int], bool]
) -> dict[bytes, int]:
    """Bytes of each marker of the dialect that is one token, and its id."""
    written = "\0".join(_literals(dialect))
    return {
        text.encode(): token_id
        for text, token_id in special.items()
        if text in written and (is_control(token_id) or is_distinctive(text))
    }


def _literals(dialect: Dialect) -> Iterator[str]:
    """Every literal text of the dialect."""
    yield from dialect.stops
    yield from (e.literal for e in dialect.edges)
    yield from (o.literal for p in dialect.prompts for o in p.openings)
    for block in dialect.blocks.values():
        if isinstance(block, CallBlock):
            yield from (p for p in block.pattern if not isinstance(p, Hole))
            yield from _texts(block.arguments)


def _texts(encoding: object) -> Iterator[str]:
    """Every text inside an encoding, however deep."""
    match encoding:
        case str():
            yield encoding
        case Mapping():
            for inner in encoding.values():  # pyright: ignore[reportUnknownVariableType]
                yield from _texts(inner)  # pyright: ignore[reportUnknownArgumentType]
        case _ if is_dataclass(encoding):
            for field in fields(encoding):
                yield from _texts(getattr(encoding, field.name))
        case _:
            return
