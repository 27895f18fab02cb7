r"""Decimal digits of the integers in a range, as rules.

    between(-5, 120) -> "-" [1-5] | [0-9] | [1-9] [0-9] | "1" ([0-1] [0-9] | "20")

Zero is written `0`, not `-0`. Open ends go on for any number of digits.
"""

from untemplate.grammar.export.rules import (
    NEVER,
    Characters,
    Literal,
    Node,
    choice,
    repeat,
    sequence,
)

__all__ = ["between"]

_NINE = Characters(((0x30, 0x39),))


def between(low: int | None, high: int | None) -> Node:
    """The integers from `low` to `high`, both included; None: without end."""
    if low is not None and high is not None and low > high:
        return NEVER
    below: Node = NEVER
    if low is None or low < 0:
        top = -1 if high is None else min(high, -1)
        below = sequence(Literal("-"), _natural(-top, None if low is None else -low))
    if high is not None and high < 0:
        return below
    return choice(below, _natural(max(low or 0, 0), high))


def _natural(low: int, high: int | None) -> Node:
    """From `low` to `high`, both at least 0."""
    size = len(str(low))
    if high is None:
        longer = sequence(_digits(1, 9), repeat(_NINE, size, None))
        return choice(_same_size(str(low), "9" * size), longer)
    options: list[Node] = []
    for digits in range(size, len(str(high)) + 1):
        first = max(low, 10 ** (digits - 1) if digits > 1 else 0)
        last = min(high, 10**digits - 1)
        options.append(_same_size(str(first), str(last)))
    return choice(*options)


def _same_size(low: str, high: str) -> Node:
    """From `low` to `high`, which have the same number of digits."""
    if not low:
        return Literal("")
    head_low, head_high = int(low[0]), int(high[0])
    nines, zeros = "9" * (len(low) - 1), "0" * (len(low) - 1)
    if head_low == head_high:
        return sequence(Literal(low[0]), _same_size(low[1:], high[1:]))
    options: list[Node] = []
    if low[1:] != zeros:
        options.append(sequence(Literal(low[0]), _same_size(low[1:], nines)))
        head_low += 1
    last: Node = NEVER
    if high[1:] != nines:
        last = sequence(Literal(high[0]), _same_size(zeros, high[1:]))
        head_high -= 1
    if head_low <= head_high:
        rest = repeat(_NINE, len(zeros), len(zeros))
        options.append(sequence(_digits(head_low, head_high), rest))
    return choice(*options, *([last] if last != NEVER else []))


def _digits(first: int, last: int) -> Node:
    return Characters(((0x30 + first, 0x30 + last),)) if first < last else Literal(str(first))
