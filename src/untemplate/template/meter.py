"""How much work a template may do: one number, counted down.

A template is a program from a stranger. Everything it does is charged to a meter, in units of about
ten nanoseconds: a character read costs 1, an item of a list or an object 16, a loop or macro step
64 and something for all that its body holds. What an operation is going to touch or make is weighed
*before* it runs, so neither time nor memory is spent on what is refused:

    meter = Meter(Allowance(), input_weight=0)
    meter.spend(meter.weigh("a" * 1000))     # 1000 units
    meter.spend(10**9)                       # LimitError

The allowance grows with the input, as an honest template's work does. `weigh` follows a value as
if it were printed, so a list that holds itself, or holds one list twice forty times over, weighs
too much although it takes little memory.

Joining text copies a hundred characters in a unit's time, and templates that build their prompt in
one variable copy it once per message; so copies are cheap here, and what keeps memory bounded is
that `made` counts the large strings that are still alive.

The meter knows nothing of Jinja; `untemplate.template.sandbox` decides what is charged.
"""

import sys
from dataclasses import dataclass
from typing import cast

from untemplate.errors import LimitError

__all__ = ["Allowance", "Meter", "check_int", "is_view"]

ITEM = 16
"""Units for one item of a container, or one number."""
STEP = 64
"""Units for one round of a loop, before what its body holds."""
MOST_BITS = 64
"""Larger integers are printed but not computed with. (Their hashes are easily made to collide.)"""
MOST_DEPTH = 500
"""Deepest nesting of a value that is printed, compared or used as a key."""
LARGE = 4096
"""Characters from which on a string is counted as long as it lives."""

_OBJECT: dict[str, object] = {}
_DICT_VIEWS = (type(_OBJECT.keys()), type(_OBJECT.values()), type(_OBJECT.items()))
_CONTAINERS = (list, tuple, set, *_DICT_VIEWS)
_FIXED = frozenset({bool, float, type(None)})


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one rendering may take; the defaults end any template within about a second.

    With 101 messages and 20 tools, the most that a template of the corpus takes is a seventh.
    """

    units: int = 10_000_000
    units_per_input: int = 256
    """More units for each unit that messages, tools and variables weigh themselves."""
    most_units: int = 256_000_000
    held_bytes: int = 64_000_000
    """Memory that large strings may hold at one time; twice that until it is found out."""
    held_bytes_per_input: int = 16


class Meter:
    """Counts down what one rendering has left. Belongs to one rendering."""

    __slots__ = ("_held", "_held_bytes", "_most_held", "at_once", "left", "limit")

    def __init__(self, allowance: Allowance, *, input_weight: int) -> None:
        grown = allowance.units + allowance.units_per_input * input_weight
        self.limit = self.left = min(grown, allowance.most_units)
        self.at_once = self.limit // 8
        """No single operation may take more: bounds what one value can hold."""
        self._most_held = allowance.held_bytes + allowance.held_bytes_per_input * input_weight
        self._held = [str(input_weight) + " is held by nobody else"]
        self._held_bytes = 0

    def spend(self, units: int) -> None:
        """Take units off, or refuse."""
        if units > self.at_once:
            raise LimitError(
                f"one operation would read or make a value of more than {self.at_once} units"
                " (about one for each character)"
            )
        self.left -= units
        if self.left < 0:
            raise LimitError(
                f"the template takes more than {self.limit} units of work: it loops without end or "
                "its text keeps growing"
            )

    def spend_copy(self, chars: int) -> None:
        """Charge text that is only copied."""
        if chars > self.at_once:
            self.spend(chars)
        # A small string costs its memory, a large one is counted while it lives.
        self.spend(ITEM + (chars // 4 if chars < LARGE else (chars + 15 * LARGE) // 64))

    def made(self, text: str) -> str:
        """The text itself, counted as long as it lives if it is large."""
        if len(text) >= LARGE:
            self._hold(text)
        return text

    def _hold(self, text: str) -> None:
        self._held.append(text)
        self._held_bytes += sys.getsizeof(text)
        if self._held_bytes <= 2 * self._most_held:
            return
        references = [sys.getrefcount(each) for each in self._held]
        # Nobody but our list has the first one: what has no more references than it is gone.
        self._held = self._held[:1] + [
            each
            for each, count in zip(self._held, references, strict=True)
            if count > references[0]
        ]
        self._held_bytes = sum(map(sys.getsizeof, self._held))
        if self._held_bytes > self._most_held:
            raise LimitError(f"the template holds more than {self._most_held} bytes of text")

    def weigh(self, value: object) -> int:
        """Units to print or compare the whole value; stops counting when that is too many."""
        kind = type(value)
        if kind is str:
            return len(cast("str", value))
        if kind in _FIXED:
            return ITEM
        if kind is int:
            return ITEM + cast("int", value).bit_length() // 3
        return self._weigh_deep(value)

    def _weigh_deep(self, value: object) -> int:
        """Level by level, so that C code which follows a value later can't recurse too deeply."""
        total, depth = 0, 0
        most = min(self.at_once, self.left) + 1
        level = [value]
        while level and total <= most:
            if depth > MOST_DEPTH:
                raise LimitError(f"the template makes a value nested more than {MOST_DEPTH} deep")
            depth += 1
            below: list[object] = []
            for each in level:
                total += ITEM
                if isinstance(each, str):
                    total += len(each)
                elif isinstance(each, int):
                    total += each.bit_length() // 3
                elif isinstance(each, range):
                    total += len(each) * ITEM
                elif isinstance(each, dict):
                    mapping = cast("dict[object, object]", each)
                    total += len(mapping) * ITEM
                    if total <= most:
                        below.extend(mapping.keys())
                        below.extend(mapping.values())
                elif isinstance(each, _CONTAINERS):
                    items = cast("list[object]", each)
                    total += len(items) * ITEM
                    if total <= most:
                        below.extend(items)
            level = below
        return total


def is_view(value: object) -> bool:
    """Whether it is what `.keys()`, `.values()` or `.items()` of an object gives."""
    return type(value) in _DICT_VIEWS


def check_int(value: int) -> int:
    """The integer, unless it is too large to compute with."""
    if value.bit_length() > MOST_BITS:
        raise LimitError(f"the template computes with an integer of more than {MOST_BITS} bits")
    return value
