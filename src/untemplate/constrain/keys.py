r"""Keys of an object as a string: which may come next, told apart as they are spelt.

A place is a range of the sorted names that begin as the key does, or that the key is none of them.
A name that may not come again is still followed: where other keys are allowed, `"ab"` is one while
`"a"` is not.
"""

from collections.abc import Mapping

from untemplate.constrain.characters import Arrival
from untemplate.constrain.state import Action, Pop
from untemplate.constrain.strings import json_cost
from untemplate.constrain.words import LAST, Span

__all__ = ["OTHER", "KeyMachine"]

OTHER = -1
"""The key is none of those that the schema names."""


class KeyMachine:
    """The keys that may come next."""

    def __init__(self, names: Mapping[str, tuple[int, int | None]], other: int | None) -> None:
        """Names with their number and what follows them at least, in bytes; None: not now."""
        is_open = other is not None
        self._names = sorted(n for n, (_, after) in names.items() if is_open or after is not None)
        self._numbers = [names[n][0] for n in self._names]
        self._after = [names[n][1] for n in self._names]
        self._other = other
        self._costs: dict[int, int | None] = {}
        # Place 0 is the start, place 1 is any key that is none of the names.
        self._places = [(0, len(self._names), 0), (0, 0, -1)]
        self._place_numbers = {p: n for n, p in enumerate(self._places)}

    def shortest(self) -> int | None:
        """Bytes from the opening quote to the end of the object."""
        cost = self.cost(0, 0)
        return None if cost is None else cost + 1

    def close(self, place: int, region: int) -> Action | None:  # noqa: ARG002  keys are not counted
        low, high, size = self._places[place]
        if low < high and len(self._names[low]) == size:
            return Pop(self._numbers[low]) if self._after[low] is not None else None
        return Pop(OTHER) if self._other is not None else None

    def close_cost(self) -> int:
        """None: the cost of a place says it all, as it differs by key."""
        return 0

    def spans(self, place: int) -> tuple[Span, ...]:
        low, high, size = self._places[place]
        if size < 0:
            return ((0, LAST, 1),)
        if low < high and len(self._names[low]) == size:
            low += 1
        found: list[Span] = []
        at = 0
        while low < high:
            code = ord(self._names[low][size])
            end = low + 1
            while end < high and ord(self._names[end][size]) == code:
                end += 1
            if self._other is not None and at < code:
                found.append((at, code - 1, 1))
            found.append((code, code, self._number((low, end, size + 1))))
            low, at = end, code + 1
        if self._other is not None and at <= LAST:
            found.append((at, LAST, 1))
        return tuple(found)

    def _number(self, place: tuple[int, int, int]) -> int:
        found = self._place_numbers.setdefault(place, len(self._places))
        if found == len(self._places):
            self._places.append(place)
        return found

    def cost(self, place: int, region: int) -> int | None:  # noqa: ARG002  keys are not counted
        """Bytes to the end of the object: the closing quote, and what follows the key."""
        if place not in self._costs:
            self._costs[place] = self._cost(*self._places[place])
        return self._costs[place]

    def _cost(self, low: int, high: int, size: int) -> int | None:
        options: list[int] = []
        for n in range(low, high):
            after = self._after[n]
            if after is not None:
                rest = self._names[n][size:]
                options.append(sum(json_cost(ord(c), ord(c)) for c in rest) + 1 + after)
        if self._other is not None:
            is_name = low < high and len(self._names[low]) == size
            options.append(self._other + (2 if is_name else 1))
        return min(options, default=None)

    def slope(self, place: int, region: int) -> int:  # noqa: ARG002  keys are not counted
        return 0

    def arrival(self, place: int, region: int, *, is_zero: bool) -> Arrival | None:  # noqa: ARG002
        return Arrival(place, 0)

    def arrival_cost(self, place: int, region: int, *, is_zero: bool) -> int | None:  # noqa: ARG002
        return self.cost(place, 0)
