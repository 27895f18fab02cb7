r"""Regular expressions of JSON Schema (ECMA 262 with the `u` flag) as a tree.

    parse("^a[bc]{1,2}$")
    -> Cat((Assert("start"), Set(((97, 97),)), Repeat(Set(((98, 99),)), 1, 2), Assert("end")))

Characters are code points. Groups vanish, as nothing captures. Escapes that `u` forbids but that
are common (`\-`, `\_`) stand for their character. Look-ahead is kept in the tree, but only a few
places can use it; back-references, look-behind and unknown properties raise `Unsupported`.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

__all__ = [
    "Alt",
    "Assert",
    "Cat",
    "Look",
    "Ranges",
    "Regex",
    "Repeat",
    "Set",
    "Unsupported",
    "complement",
    "parse",
]

_LAST = 0x10FFFF
_MOST_DEPTH = 100
Ranges = tuple[tuple[int, int], ...]
"""First and last code points, in order, apart from each other."""


class Unsupported(ValueError):  # noqa: N818  it is caught where it is raised, never shown
    """A part of the expression that has no automaton, or that is not a regular expression."""


@dataclass(frozen=True, slots=True)
class Set:
    """One character out of some ranges."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Cat:
    """One after the other."""

    parts: "tuple[Regex, ...]"


@dataclass(frozen=True, slots=True)
class Alt:
    """One of them."""

    options: "tuple[Regex, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` times; None: any number."""

    part: "Regex"
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Assert:
    """The start or the end of the string, a border of a word, or none."""

    what: Literal["start", "end", "border", "inside"]


@dataclass(frozen=True, slots=True)
class Look:
    """What follows is (or is not) like this."""

    part: "Regex"
    is_negative: bool


Regex = Set | Cat | Alt | Repeat | Assert | Look


def complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    found: list[tuple[int, int]] = []
    at = 0
    for low, high in ranges:
        if at < low:
            found.append((at, low - 1))
        at = high + 1
    if at <= _LAST:
        found.append((at, _LAST))
    return tuple(found)


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def _one(code: int) -> Ranges:
    return ((code, code),)


def _of(text: str) -> Ranges:
    return _joined((ord(c), ord(c)) for c in text)


_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE = _joined(
    (*_of("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff"), (0x2000, 0x200A))
)
_NEWLINE = _of("\n\r\u2028\u2029")
_CLASSES = {
    "d": _DIGIT, "D": complement(_DIGIT), "w": _WORD, "W": complement(_WORD),
    "s": _SPACE, "S": complement(_SPACE),
}  # fmt: skip
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_GENERAL = {
    "Letter": "L", "Lowercase_Letter": "Ll", "Uppercase_Letter": "Lu", "Number": "N",
    "Decimal_Number": "Nd", "Punctuation": "P", "Symbol": "S", "Separator": "Z", "Mark": "M",
    "Other": "C", "Alphabetic": "L", "Uppercase": "Lu", "Lowercase": "Ll",
}  # fmt: skip


@lru_cache(maxsize=32)
def _property(name: str) -> Ranges:
    """The characters of a general category."""
    if name in ("Any", "ASCII"):
        return ((0, _LAST if name == "Any" else 0x7F),)
    category = _GENERAL.get(name.rpartition("=")[2], name.rpartition("=")[2])
    if not 1 <= len(category) <= 2 or category[0] not in "LMNPSZC":
        raise Unsupported(f"property {name}")
    found: list[tuple[int, int]] = []
    for code in range(_LAST + 1):
        if unicodedata.category(chr(code)).startswith(category):
            if found and found[-1][1] == code - 1:
                found[-1] = (found[-1][0], code)
            else:
                found.append((code, code))
    if not found:
        raise Unsupported(f"property {name}")
    return tuple(found)


def _flat(parts: Iterable[Regex]) -> tuple[Regex, ...]:
    found: list[Regex] = []
    for part in parts:
        found += part.parts if isinstance(part, Cat) else (part,)
    return tuple(found)


def parse(source: str) -> Regex:
    """The tree of an expression, or Unsupported."""
    parser = _Parser(source)
    tree = parser.alternatives(0)
    if parser.at < len(source):
        raise Unsupported(f"{source[parser.at]!r} at {parser.at}")
    return tree


class _Parser:
    """Recursive descent over one source."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.at = 0

    def _peek(self, text: str) -> bool:
        return self._source.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        if self._peek(text):
            self.at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self.at >= len(self._source):
            raise Unsupported("ends too early")
        self.at += 1
        return self._source[self.at - 1]

    def alternatives(self, depth: int) -> Regex:
        if depth > _MOST_DEPTH:
            raise Unsupported(f"groups deeper than {_MOST_DEPTH}")
        options = [self._sequence(depth)]
        while self._take("|"):
            options.append(self._sequence(depth))
        return options[0] if len(options) == 1 else Alt(tuple(options))

    def _sequence(self, depth: int) -> Regex:
        parts: list[Regex] = []
        while self.at < len(self._source) and self._source[self.at] not in "|)":
            parts.append(self._repeated(self._atom(depth)))
        return parts[0] if len(parts) == 1 else Cat(_flat(parts))

    def _repeated(self, part: Regex) -> Regex:
        found = self._quantifier()
        if found is None:
            return part
        if isinstance(part, Assert | Look):
            raise Unsupported("a repeated assertion")
        self._take("?")  # lazy or not is the same language
        at = self.at
        if self._quantifier() is not None:
            raise Unsupported(f"nothing to repeat at {at}")
        return Repeat(part, *found)

    def _quantifier(self) -> tuple[int, int | None] | None:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        return (0, 1) if self._take("?") else self._bounds()

    def _bounds(self) -> tuple[int, int | None] | None:
        end = self._source.find("}", self.at)
        if not self._peek("{") or end < 0:
            return None
        low, comma, high = self._source[self.at + 1 : end].partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()):
            return None
        self.at = end + 1
        least = int(low)
        most = (int(high) if high else None) if comma else least
        if most is not None and most < least:
            raise Unsupported("repeats out of order")
        return least, most

    def _atom(self, depth: int) -> Regex:
        character = self._next()
        match character:
            case "^":
                return Assert("start")
            case "$":
                return Assert("end")
            case ".":
                return Set(complement(_NEWLINE))
            case "(":
                return self._group(depth)
            case "[":
                return Set(self._class())
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise Unsupported(f"nothing to repeat at {self.at - 1}")
            case _:
                return Set(_of(character))

    def _group(self, depth: int) -> Regex:
        look: bool | None = None
        if self._take("?=") or self._peek("?!"):
            look = self._take("?!")
        elif self._take("?<"):
            if self._source[self.at : self.at + 1] in ("=", "!"):
                raise Unsupported("look-behind")
            self.at = self._source.find(">", self.at) + 1
            if not self.at:
                raise Unsupported("a group without a name")
        elif self._peek("?") and not self._take("?:"):
            raise Unsupported("flags inside the expression")
        inner = self.alternatives(depth + 1)
        if not self._take(")"):
            raise Unsupported("a group that is not closed")
        return inner if look is None else Look(inner, look)

    def _escape(self) -> Regex:
        if self._take("b"):
            return Assert("border")
        if self._take("B"):
            return Assert("inside")
        if self._source[self.at : self.at + 1] in tuple("123456789k"):
            raise Unsupported("a back-reference")
        return Set(self._escaped())

    def _escaped(self) -> Ranges:
        """Behind a backslash, in a class or outside."""
        character = self._next()
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _CONTROLS:
            return _one(_CONTROLS[character])
        if character in "pP" and self._take("{"):
            end = self._source.find("}", self.at)
            name = self._source[self.at : end]
            self.at = end + 1
            found = _property(name)
            return found if character == "p" else complement(found)
        if character == "c":
            return _one(ord(self._next()) % 32)
        if character == "x":
            return _one(self._hex(2))
        if character == "u":
            return _one(self._unicode())
        if character.isalnum():
            raise Unsupported(f"the escape \\{character}")
        return _of(character)

    def _unicode(self) -> int:
        if self._take("{"):
            end = self._source.find("}", self.at)
            digits, self.at = self._source[self.at : end], end + 1
            return self._number(digits)
        code = self._hex(4)
        if 0xD800 <= code < 0xDC00 and self._take("\\u"):
            return 0x10000 + ((code - 0xD800) << 10) + self._hex(4) - 0xDC00
        return code

    def _hex(self, size: int) -> int:
        digits = self._source[self.at : self.at + size]
        self.at += size
        if len(digits) < size:
            raise Unsupported("a code that is too short")
        return self._number(digits)

    def _number(self, digits: str) -> int:
        try:
            code = int(digits, 16)
        except ValueError:
            raise Unsupported(f"the code {digits!r}") from None
        if not 0 <= code <= _LAST:
            raise Unsupported(f"the code {digits!r}")
        return code

    def _class(self) -> Ranges:
        is_negative = self._take("^")
        found: list[tuple[int, int]] = []
        while not self._take("]"):
            low = self._member()
            if (
                self._peek("-")
                and not self._peek("-]")
                and len(low) == 1
                and low[0][0] == low[0][1]
            ):
                start = self.at
                self._next()
                high = self._member()
                if len(high) == 1 and high[0][0] == high[0][1]:
                    if high[0][0] < low[0][0]:
                        raise Unsupported("a range out of order")
                    found.append((low[0][0], high[0][0]))
                    continue
                # `[a-\d]`: the hyphen stands for itself.
                self.at = start
                found += low
                found += _of(self._next())
                continue
            found += low
        ranges = _joined(found)
        return complement(ranges) if is_negative else ranges

    def _member(self) -> Ranges:
        character = self._next()
        if character != "\\":
            return _of(character)
        if self._take("b"):
            return ((8, 8),)
        if self._take("-"):
            return _of("-")
        return self._escaped()
