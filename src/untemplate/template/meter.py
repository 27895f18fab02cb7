"""How much work a template may do: one number, counted down.

A template is a program from a stranger. Everything it does is charged to a meter, in units of about
ten nanoseconds: a character touched costs 1, an item of a list or an object 16, a loop or macro
step 64 and what its body holds. What an operation is going to touch or make is weighed *before* it
runs, so neither time nor memory is spent on what is refused:

    meter = Meter(Allowance().units(input_weight=0))
    meter.spend(meter.weigh("a" * 1000))     # 1000 units
    meter.spend(10**9)                       # LimitError

The allowance grows with the input, as an honest template's work does. `weigh` follows a value as
if it were printed, so a list that holds itself, or holds one list twice forty times over, weighs
too much although it takes little memory.

The meter knows nothing of Jinja; `untemplate.template.sandbox` decides what is charged.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from untemplate.errors import LimitError

__all__ = ["Allowance", "Meter"]

ITEM = 16
"""Units for one item of a container, or one number."""
STEP = 64
"""Units for one round of a loop or one call of a macro, before what its body holds."""
MOST_BITS = 4096
"""Integers above this size are refused: their arithmetic is not constant work."""

_FIXED = frozenset({bool, float, type(None)})


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one rendering may spend; the defaults end any template within about a second.

    The 70 templates of the corpus need at most a thirtieth of it for 101 messages and 20 tools.
    """

    base: int = 32_000_000
    per_input: int = 256
    """Units for each unit that messages, tools and variables weigh themselves."""
    most: int = 512_000_000
    source_chars: int = 400_000
    """Longest source that is compiled at all."""
    source_tokens: int = 40_000
    """Most lexical tokens in a source; compiling takes time by their number."""

    def units(self, *, input_weight: int) -> int:
        """Units for a rendering of this input."""
        return min(self.most, self.base + self.per_input * input_weight)


class Meter:
    """Counts down what one rendering has left. Belongs to one rendering."""

    __slots__ = ("at_once", "left", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit
        self.at_once = limit // 8
        """No single operation may take more: bounds the memory that one value can hold."""

    def spend(self, units: int) -> None:
        """Take units off, or refuse."""
        if units > self.at_once:
            raise LimitError(
                f"one operation would make or read a value of more than {self.at_once} units"
                " (about one for each character); the template is refused"
            )
        self.left -= units
        if self.left < 0:
            raise LimitError(
                f"the template takes more than {self.limit} units of work (loops that do not end, "
                "or text that keeps growing); it is refused"
            )

    def weigh(self, value: object) -> int:
        """Units to print or compare the whole value; stops counting when that is too many."""
        kind = type(value)
        if kind is str:
            return len(value)  # type: ignore[arg-type]
        if kind in _FIXED:
            return ITEM
        if isinstance(value, str):
            return len(value)
        if isinstance(value, int):
            return check_int(value).bit_length() // 3 + ITEM
        return self._weigh_deep(value)

    def _weigh_deep(self, value: object) -> int:
        total, waiting, most = 0, [value], min(self.at_once, self.left) + 1
        while waiting and total <= most:
            each = waiting.pop()
            total += ITEM
            if isinstance(each, str):
                total += len(each)
            elif isinstance(each, Mapping):
                total += len(each) * ITEM
                if total <= most:
                    waiting.extend(each.keys())
                    waiting.extend(each.values())
            elif isinstance(each, (list, tuple, Set, range)) or is_view(each):
                total += len(each) * ITEM  # type: ignore[arg-type]
                if total <= most and not isinstance(each, range):
                    waiting.extend(each)  # type: ignore[arg-type]
            elif isinstance(each, int):
                total += check_int(each).bit_length() // 3
        return total


def is_view(value: object) -> bool:
    """Whether it is what `.keys()`, `.values()` or `.items()` of an object gives."""
    return type(value) in _VIEWS


_VIEWS: frozenset[type[Iterable[object]]] = frozenset(
    {type({}.keys()), type({}.values()), type({}.items())}
)


def check_int(value: int) -> int:
    """The integer, unless arithmetic with it would take more than constant time."""
    if value.bit_length() > MOST_BITS:
        raise LimitError(
            f"the template makes an integer of more than {MOST_BITS} bits; it is refused"
        )
    return value
