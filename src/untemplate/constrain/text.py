r"""Free text over bytes: UTF-8, and none of some strings.

    avoid = Avoid((b"<a>",))
    avoid.step(0, 0x3C)     # -> 1, after "<"
    avoid.step(2, 0x3E)     # -> -1: "<a>" is complete

Aho and Corasick, "Efficient string matching", 1975: a state is the longest end of the text that one
of the strings begins with.
"""

from collections import deque
from collections.abc import Iterable

__all__ = ["UTF8_COST", "Avoid", "utf8_step"]

# State -> bytes that lead on, and where. 0 is between characters; 1 to 3 need so many bytes more.
_UTF8: tuple[tuple[tuple[int, int, int], ...], ...] = (
    (
        (0x00, 0x7F, 0), (0xC2, 0xDF, 1), (0xE0, 0xE0, 4), (0xE1, 0xEC, 2), (0xED, 0xED, 5),
        (0xEE, 0xEF, 2), (0xF0, 0xF0, 6), (0xF1, 0xF3, 3), (0xF4, 0xF4, 7),
    ),
    ((0x80, 0xBF, 0),),
    ((0x80, 0xBF, 1),),
    ((0x80, 0xBF, 2),),
    ((0xA0, 0xBF, 1),),
    ((0x80, 0x9F, 1),),
    ((0x90, 0xBF, 2),),
    ((0x80, 0x8F, 2),),
)  # fmt: skip
_STEPS = tuple(
    tuple(next((to for low, high, to in ranges if low <= byte <= high), -1) for byte in range(256))
    for ranges in _UTF8
)
_GROUPS = tuple(
    {to: bytes(b for b in range(256) if steps[b] == to) for to in set(steps) - {-1}}
    for steps in _STEPS
)
"""For each state: the states that may follow, and the bytes that lead there."""
UTF8_COST = (0, 1, 2, 3, 2, 2, 3, 3)
"""Bytes until the character is complete."""


def utf8_step(state: int, byte: int) -> int:
    """The state after one more byte; -1 if that is not UTF-8. 0 is between two characters."""
    return _STEPS[state][byte]


class Avoid:
    """The search for several strings at once."""

    def __init__(self, strings: Iterable[bytes]) -> None:
        self.strings = tuple(dict.fromkeys(s for s in strings if s))
        self._bytes = bytes(sorted({b for s in self.strings for b in s}))
        self._next: list[dict[int, int]] = [{}]
        self._fail = [0]
        self._found = [False]
        self._moves: dict[tuple[int, int], tuple[tuple[bytes, int, int], ...]] = {}
        for string in self.strings:
            at = 0
            for byte in string:
                if byte not in self._next[at]:
                    self._next[at][byte] = len(self._next)
                    self._next.append({})
                    self._fail.append(0)
                    self._found.append(False)
                at = self._next[at][byte]
            self._found[at] = True
        queue = deque(self._next[0].values())
        while queue:
            at = queue.popleft()
            for byte, to in self._next[at].items():
                self._fail[to] = self.follow(self._fail[at], byte)
                self._found[to] |= self._found[self._fail[to]]
                queue.append(to)

    def follow(self, at: int, byte: int) -> int:
        while at and byte not in self._next[at]:
            at = self._fail[at]
        return self._next[at].get(byte, 0)

    def step(self, at: int, byte: int) -> int:
        """The state after one more byte; -1 when one of the strings is complete."""
        to = self.follow(at, byte)
        return -1 if self._found[to] else to

    def moves(self, at: int, utf8: int) -> tuple[tuple[bytes, int, int], ...]:
        """Bytes that may follow, grouped by the state of search and character they lead to."""
        found = self._moves.get((at, utf8))
        if found is None:
            groups: dict[tuple[int, int], bytearray] = {}
            for following, group in _GROUPS[utf8].items():
                # Bytes of none of the strings all lead back to the start of the search.
                groups[0, following] = bytearray(group.translate(None, self._bytes))
                for byte in self._bytes:
                    search = self.step(at, byte) if byte in group else -1
                    if search >= 0:
                        groups.setdefault((search, following), bytearray()).append(byte)
            found = tuple((bytes(group), *key) for key, group in groups.items() if group)
            self._moves[at, utf8] = found
        return found

    @property
    def first_bytes(self) -> bytes:
        """Bytes that lead away from state 0."""
        return bytes(sorted(self._next[0]))
