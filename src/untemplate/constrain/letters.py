r"""How JSON and Python spell words, strings and characters.

    JSON.words             null, false, true
    PYTHON.quotes          two: strings may stand in either
    JSON.quotes[0].cost(0x22, 0x22)     # 2: a quote is written as \"

A `Quote` says what may stand between two quotes of its kind: which characters are written as they
are, which have a short escape, and which codes there are. Codes spell what is not printable ASCII:
nobody needs `\u0061` for `a`, but small models that may write it do, in keys above all. For the
same reason a slash stands for itself only.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["JSON", "PYTHON", "Letters", "Quote"]

_JSON_SHORT = {0x22: 0x22, 0x5C: 0x5C, 8: 0x62, 12: 0x66, 10: 0x6E, 13: 0x72, 9: 0x74}
_PYTHON_SHORT = {0x22: 0x22, 0x5C: 0x5C, 0x27: 0x27, 10: 0x6E, 13: 0x72, 9: 0x74}


_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")
"""What is written as it is between any quotes."""


@dataclass(frozen=True, eq=False)
class Quote:
    """A string between two quotes."""

    byte: int
    short: Mapping[int, int]
    """Code point to the letter of its escape."""
    codes: tuple[tuple[int, int], ...]
    """Letters of escapes with digits, and how many; for characters that are not printable ASCII."""
    has_pairs: bool
    """Whether characters beyond U+FFFF are written as two codes."""

    @cached_property
    def leaving(self) -> bytes:
        """Bytes that do not stand for themselves."""
        return bytes(sorted({*range(0x20), self.byte, 0x5C}))

    @cached_property
    def plain(self) -> NDArray[np.int64]:
        """ASCII characters that do."""
        return np.array([b for b in range(0x20, 0x80) if b not in self.leaving], np.int64)

    def is_plain(self, code: int) -> bool:
        """Whether a character is ASCII and stands for itself alone."""
        return 0x20 <= code < 0x7F and code not in (0x5C, self.byte)

    def cost(self, low: int, high: int) -> int:
        """Fewest bytes for one of these characters."""
        first, last = max(low, 0x20), min(high, 0x7F)
        if first < last or (first == last and first not in self.leaving):
            return 1
        if (high > 0x7F and low <= 0x7FF) or any(low <= c <= high for c in self.short):
            return 2
        if high <= 0x1F:
            return 2 + self.codes[0][1]
        return 3 if low <= 0xFFFF else 4

    def size(self, text: str) -> int:
        """Bytes of a string between its quotes."""
        if _PLAIN.fullmatch(text):
            return len(text)
        return sum(self.cost(ord(c), ord(c)) for c in text)


@dataclass(frozen=True, eq=False)
class Letters:
    """What a notation of values spells in its own way."""

    words: tuple[bytes, bytes, bytes]
    """Null, false and true."""
    quotes: tuple[Quote, ...]


JSON = Letters((b"null", b"false", b"true"), (Quote(0x22, _JSON_SHORT, ((0x75, 4),), True),))
_CODES = ((0x78, 2), (0x75, 4), (0x55, 8))
PYTHON = Letters(
    (b"None", b"False", b"True"),
    (Quote(0x27, _PYTHON_SHORT, _CODES, False), Quote(0x22, _PYTHON_SHORT, _CODES, False)),
)
