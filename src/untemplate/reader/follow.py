r"""What may follow a closer: how a reader knows that a closer inside a raw value is text.

    follow = Follow(((b"<parameter=",), (b"</function>",)))
    follow.test(b"\n<parameter=n>", 0) -> YES       follow.test(b" is a tag", 0) -> NO
    follow.test(b"\n<para", 0) -> MORE

Each way to go on is a sequence of marks with white space between them; `KEY` stands for any key.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from untemplate.reader.utf8 import Data, past_space

__all__ = ["KEY", "MORE", "NO", "YES", "Follow", "stand_all", "stands"]

NO, MORE, YES = 0, 1, 2

KEY = b""
"""In a sequence: a key of an argument."""

_KEY = re.compile(rb"[^\s=:,(){}\[\]'\"<>|]{1,64}")
_MOST_LOOKAHEAD = 1024
"""What has not decided itself within so many bytes is no follower."""


@dataclass(frozen=True, slots=True)
class Follow:
    """Sequences of marks that may stand behind a closer. Without any, everything may."""

    sequences: tuple[tuple[bytes, ...], ...]

    def test(self, data: Data, at: int, *, final: bool = False) -> int:
        """Whether what stands at `at` is one of them, is not, or may still become one.

        `final`: the model ended its turn there, so the beginning of one stands for all of it.
        """
        if not self.sequences:
            return YES
        best = NO
        for sequence in self.sequences:
            best = max(best, self._match(sequence, data, at))
            if best == YES:
                return YES
        if best == NO or len(data) - at > _MOST_LOOKAHEAD:
            return NO
        return YES if final else MORE

    @staticmethod
    def _match(sequence: tuple[bytes, ...], data: Data, at: int) -> int:
        size = len(data)
        for mark in sequence:
            at = past_space(data, at)
            if mark == KEY:
                found = _KEY.match(data, at)
                if found is None or found.end() == size:
                    return MORE if at == size or found else NO
                at = found.end()
                continue
            rest = bytes(data[at : at + len(mark)])
            if rest != mark:
                return MORE if mark.startswith(rest) and at + len(rest) == size else NO
            at += len(mark)
        return YES


def stands(mark: bytes, data: Data, at: int) -> int:
    """Whether the mark stands at `at`, does not, or may when more bytes are there."""
    if data.startswith(mark, at):
        return YES
    room = len(data) - at
    return MORE if room < len(mark) and mark.startswith(bytes(data[at:])) else NO


def stand_all(pieces: Sequence[bytes], data: Data, at: int) -> tuple[int, int]:
    """The same for pieces with any white space between them; and the position behind them."""
    for piece in pieces:
        at = past_space(data, at)
        verdict = stands(piece, data, at)
        if verdict != YES:
            return verdict, at
        at += len(piece)
    return YES, at
