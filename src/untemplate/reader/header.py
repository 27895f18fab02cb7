r"""Finds the end of a header that the format does not have, and the block that it must lead to.

    <|end|><|start|>assistant<|channel|>commentary to=python<|message|>print(1)
    \________________________/ known    \________________/ not    -> as the commentary channel

The ways that were followed share marks at their ends; where one of those marks comes soon enough,
on the same line, what is between is header, not text.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from untemplate.grammar.marks import is_distinctive
from untemplate.reader.follow import MORE, NO, YES
from untemplate.reader.utf8 import Data
from untemplate.reader.ways import ENDED, Way

__all__ = ["MOST_HEADER_BYTES", "leads_to_text", "leave", "read_header"]

MOST_HEADER_BYTES = 256


def leads_to_text(way: Way) -> bool:
    """Whether a way to a block of text ends in a mark that can't be text."""
    if way.call is not None or not way.is_own or way.target in ("end", ENDED):
        return False
    last = way.elements[-1] if way.elements else b""
    return isinstance(last, bytes) and is_distinctive(last.decode("utf-8", "replace"))


def read_header(
    ways: Sequence[Way], data: Data, start: int, known: int, *, final: bool
) -> tuple[int, Way | None, int]:
    """Whether a header ends behind `known`, which way it is most like, and where it ends."""
    size = len(data)
    line = data.find(b"\n", known, known + MOST_HEADER_BYTES)
    limit = line if line >= 0 else known + MOST_HEADER_BYTES
    ends = [
        (at + len(mark), at)
        for mark in {_last(w) for w in ways}
        if (at := data.find(mark, known, limit + len(mark))) >= 0
    ]
    if not ends or min(at for _, at in ends) >= limit:
        is_open = line < 0 and size < limit + max(len(_last(w)) for w in ways)
        return (MORE if is_open and not final else NO), None, start
    end, _ = min(ends, key=lambda e: e[1])
    header = b"".join(bytes(data[start:end]).split())
    return YES, max(ways, key=lambda w: _likeness(w, header)), end


def leave(ways: Sequence[Way], headed: Sequence[Way], seen: int) -> Way | None:
    """The way to text that is taken where only the marks stand that all ways begin with."""
    shared = takewhile(
        lambda marks: len(set(marks)) == 1, zip(*(w.elements for w in ways), strict=False)
    )
    contents = [w for w in headed if len(w.elements) > seen]
    if seen and contents and len(list(shared)) == seen:
        return replace(contents[-1], is_own=False)
    return None


def _last(way: Way) -> bytes:
    last = way.elements[-1]
    assert isinstance(last, bytes)
    return last


def _likeness(way: Way, header: bytes) -> tuple[int, int]:
    """How many marks at its end, and at its beginning, a way shares with the header."""
    elements = [e for e in way.elements if isinstance(e, bytes)]
    numbers = range(len(elements) + 1)
    return (
        max(n for n in numbers if header.endswith(b"".join(elements[len(elements) - n :]))),
        max(n for n in numbers if header.startswith(b"".join(elements[:n]))),
    )
