r"""Finds the JSON object that holds name and arguments inside the literals of a call.

    ('<tool_call>\n{"name": "', NAME, '", "arguments": ', ARGUMENTS, '}\n</tool_call>')
    -> Envelope('<tool_call>\n', '\n</tool_call>', arguments=("arguments",), name=("name",))

A reader that knows the envelope takes its keys in any order, with any white space and with extra
keys; without it the literals would have to match to the letter. A call that is not JSON has none.
"""

import json
from dataclasses import dataclass

from untemplate.dialect import Hole, Pattern
from untemplate.message import JSON

__all__ = ["CallShape", "Envelope", "find_envelope"]

_STAND_IN = {hole: chr(0xE010 + n) for n, hole in enumerate(Hole)}


@dataclass(frozen=True, slots=True)
class Envelope:
    """A JSON object with holes, and the literals around it."""

    before: str
    after: str
    arguments: tuple[str, ...]
    """Path of keys to the arguments; a key that is the name hole itself is `""`."""
    name: tuple[str, ...]
    """Path of keys to the name; `()` when the name is the key of the arguments."""
    id: tuple[str, ...] | None
    fixed: tuple[tuple[tuple[str, ...], JSON], ...]
    """Paths with constant values, as `("type",): "function"`."""


@dataclass(frozen=True, slots=True)
class CallShape:
    """JSON objects that read as a call, whatever else they hold and however they are written."""

    name: tuple[str, ...]
    """Path of keys to the name, which is one of `tools`; `()` when it is the key of arguments."""
    arguments: tuple[str, ...]
    """Path of keys to an object; `""` stands for a name."""
    tools: tuple[str, ...]


def find_envelope(pattern: Pattern) -> Envelope | None:
    """The envelope of a call's pattern, or None when name and arguments don't share one object."""
    text = "".join(
        _quoted(p, pattern, i) if isinstance(p, Hole) else p for i, p in enumerate(pattern)
    )
    first = min((text.find(c) for c in _STAND_IN.values() if c in text), default=-1)
    decoder = json.JSONDecoder()
    for start, character in enumerate(text[: max(first, 0)]):
        if character != "{":
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            continue
        envelope = _envelope(text[:start], value, text[end:])
        if envelope is not None:
            return envelope
    return None


def _quoted(hole: Hole, pattern: Pattern, at: int) -> str:
    """The stand-in of a hole, as a JSON string: quoted unless the literal before it quotes."""
    stand_in = _STAND_IN[hole]
    before = pattern[at - 1] if at else ""
    return stand_in if before.endswith('"') else f'"{stand_in}"'


def _envelope(before: str, value: object, after: str) -> Envelope | None:
    found: dict[Hole, tuple[str, ...]] = {}
    fixed: list[tuple[tuple[str, ...], JSON]] = []
    named_key = False

    def visit(node: JSON, path: tuple[str, ...]) -> None:
        nonlocal named_key
        if isinstance(node, dict):
            for key, item in node.items():
                if key == _STAND_IN[Hole.NAME]:
                    named_key = True
                    visit(item, (*path, ""))
                else:
                    visit(item, (*path, key))
            return
        hole = next((h for h, c in _STAND_IN.items() if node == c), None)
        if hole is None:
            fixed.append((path, node))
        else:
            found[hole] = path

    visit(value, ())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  raw_decode gives JSON
    if Hole.ARGUMENTS not in found or not (named_key or Hole.NAME in found):
        return None
    return Envelope(
        before=before,
        after=after,
        arguments=found[Hole.ARGUMENTS],
        name=found.get(Hole.NAME, ()),
        id=found.get(Hole.ID, found.get(Hole.INDEX)),
        fixed=tuple(fixed),
    )
