r"""Cutting texts where they agree: common ends, loops, and cuts that leave markers whole.

A loop over two items writes `before x joint y after`. What belongs to an item, what stands only
between items and what surrounds them follows from which ends agree:

    cut_loop("<c>[<a>", "</a>, <a>", "</a>]</c>") -> Loop("<c>[", "<a>", ", ", "</a>", "]</c>")

Such a cut can be turned: `</a>, <a>` might as well be cut in the middle of `<a>`. Markers in angle
brackets are therefore never cut; for white space any cut writes the same text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "Loop",
    "common_prefix",
    "common_suffix",
    "cut_loop",
    "is_torn",
    "whole_prefix",
    "whole_suffix",
]


def common_prefix(*texts: str) -> str:
    if not texts:
        return ""
    least, most = min(texts), max(texts)
    for at, character in enumerate(least):
        if character != most[at]:
            return least[:at]
    return least


def common_suffix(*texts: str) -> str:
    return common_prefix(*(t[::-1] for t in texts))[::-1]


_BRACKETS = tuple(zip("<«‹【〈⟨「⟦", ">»›】〉⟩」⟧", strict=True))
_WORD = re.compile(r"\[/?[A-Z][A-Z0-9_]*\]")
_LONGEST_MARKER = 200


def is_torn(text: str, at: int) -> bool:
    """Whether a cut here would go through a marker in brackets, or through double brackets."""
    start = max(0, at - _LONGEST_MARKER)
    for opening, closing in _BRACKETS:
        opened = text.rfind(opening, start, at)
        if opened > text.rfind(closing, start, at):
            following = text[opened + 1 : opened + 2]
            if following and following not in (opening, closing) and not following.isspace():
                return True
    opened = text.rfind("[", start, at)
    if opened > text.rfind("]", start, at) and _WORD.match(text, opened):
        return True
    return 0 < at < len(text) and text[at - 1] == text[at] and text[at] in "<>"


def whole_prefix(text: str, length: int) -> str:
    """The longest beginning of at most this length that tears no marker."""
    while is_torn(text, length):
        length -= 1
    return text[:length]


def whole_suffix(text: str, length: int) -> str:
    """The longest end of at most this length that tears no marker."""
    while length and is_torn(text, len(text) - length):
        length -= 1
    return text[len(text) - length :]


@dataclass(frozen=True, slots=True)
class Loop:
    """The text around items: `head open x close separator open y close tail`."""

    head: str
    open: str
    separator: str
    close: str
    tail: str


def cut_loop(
    before: str,
    joint: str,
    after: str,
    *,
    more_before: Iterable[str] = (),
    more_after: Iterable[str] = (),
    inside: str = "",
) -> Loop:
    """Cut what stands before the first item, between two, and after the last.

    What might belong to the item on either side goes to the one that it closes, but for a text that
    begins every marker here: that opens. `more_before` and `more_after` are further contexts of the
    same loop, `inside` is what of an item stands behind its value already.
    """
    befores, afters = (before, *more_before), (after, *more_after)
    close = whole_prefix(after, len(common_prefix(joint, *afters)))
    opening = whole_suffix(before, len(common_suffix(joint, *befores)))
    shared = joint[len(joint) - len(opening) : len(close)].strip()
    if shared and (inside + joint).lstrip().startswith(shared):
        rest = joint[: len(joint) - len(opening)]
        close = whole_prefix(after, len(common_prefix(rest, *afters)))
    else:
        opening = whole_suffix(before, len(common_suffix(joint[len(close) :], *befores)))
    return Loop(
        before[: len(before) - len(opening)],
        opening,
        joint[len(close) : len(joint) - len(opening)],
        close,
        after[len(close) :],
    )
