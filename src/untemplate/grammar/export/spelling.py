r"""How a notation spells characters: each as it is, or by one of the escapes of JSON.

    json_character(characters("ä"))   -> "ä" | "\\u00e4"
    raw_character(characters("ä"))    -> "ä"

Sets of characters come in, rules for every spelling of one of them come out; all that is said of
strings (lengths, constants, patterns) is said of characters and takes its spelling from here. Two
`\u` escapes that are a surrogate pair are one character; a lone surrogate is none. As in the mask,
printable ASCII has no code.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from untemplate.grammar.export.digits import hexadecimal
from untemplate.grammar.export.rules import (
    Characters,
    Literal,
    Node,
    characters,
    choice,
    complement,
    one_of,
    sequence,
)

__all__ = ["Spelling", "escaped_character", "json_character", "python_character", "raw_character"]


class Spelling(Protocol):
    """Rules for every spelling of one character out of a set."""

    def __call__(self, members: Characters) -> Node: ...


def raw_character(members: Characters) -> Node:
    """A character that only stands for itself."""
    return one_of(members)


def escaped_character(escapes: Sequence[tuple[str, str]]) -> Spelling:
    """A character that stands for itself, but for some that stand as something else."""
    written = dict(escapes)
    plain = complement(characters(written))

    def spelling(members: Characters) -> Node:
        own = complement(complement(members), plain)
        replaced = (Literal(w) for c, w in written.items() if _holds(members, ord(c)))
        return choice(one_of(own), *replaced)

    return spelling


_ESCAPED = Characters(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)))
"""What a JSON string holds only as an escape."""
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_CODED = complement(Characters(((0x20, 0x7E),)))
"""What may be written by its code."""


def json_character(members: Characters) -> Node:
    """A character inside a JSON string, raw where that is allowed, and by any escape."""
    raw = complement(_ESCAPED, members)
    short = [c for c, meant in _SHORT.items() if _holds(members, ord(meant))]
    coded = complement(complement(members), _CODED)
    escapes = choice(
        one_of(characters(short)), sequence(Literal("u"), choice(*_four_digits(coded)))
    )
    return choice(one_of(raw), sequence(Literal("\\"), escapes))


_PYTHON_SHORT = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


def python_character(quote: str) -> Spelling:
    """A character inside a Python string with this quote, raw where that is allowed."""
    barred = Characters(((0, 0x1F), (0x5C, 0x5C)))
    raw_ones = complement(characters(quote), complement(barred))

    def spelling(members: Characters) -> Node:
        raw = complement(complement(members), raw_ones)
        coded = complement(complement(members), _CODED)
        short = characters(c for c, meant in _PYTHON_SHORT.items() if _holds(members, ord(meant)))
        return choice(one_of(raw), sequence(Literal("\\"), choice(one_of(short), *_codes(coded))))

    return spelling


def _codes(members: Characters) -> Iterator[Node]:
    r"""What stands after the backslash of `\xHH`, `\uHHHH` and `\UHHHHHHHH`."""
    for low, high in members.ranges:
        for letter, size in (("x", 2), ("u", 4), ("U", 8)):
            last = min(high, 16**size - 1)
            if low <= last:
                yield sequence(Literal(letter), hexadecimal(low, last, size))


def _holds(members: Characters, point: int) -> bool:
    return any(low <= point <= high for low, high in members.ranges)


def _four_digits(members: Characters) -> Iterator[Node]:
    r"""What stands after `\u`; the members hold no surrogates."""
    for low, high in members.ranges:
        if low <= 0xFFFF:
            yield hexadecimal(low, min(high, 0xFFFF), 4)
        if high > 0xFFFF:
            yield from _pairs(max(low, 0x10000), high)


def _pairs(low: int, high: int) -> Iterator[Node]:
    """Surrogate pairs of the characters from `low` to `high`, which are above U+FFFF."""
    while low <= high:
        # The characters that share their first half with `low`, or whole runs of first halves.
        last = low | 0x3FF
        if low & 0x3FF == 0 and last < high:
            last = max(last, (high + 1 & ~0x3FF) - 1)
        last = min(last, high)
        first_half = hexadecimal(_first(low), _first(last), 4)
        second_half = hexadecimal(0xDC00 | low & 0x3FF, 0xDC00 | last & 0x3FF, 4)
        yield sequence(first_half, Literal("\\u"), second_half)
        low = last + 1


def _first(point: int) -> int:
    return 0xD800 + (point - 0x10000 >> 10)
