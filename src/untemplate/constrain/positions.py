r"""Where in the grammar of a turn a text may stand: what the sets of `envelope` are made of.

A position holds what is left of its own node and a link to what follows (`Rest`). Links are made
once per node and continuation, so positions are compared without looking into the grammar.

An `Expanding` node is written out only when a text comes to it: the tools of a call, the pairs of
arguments in a dialect's own notation.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from untemplate.constrain.characters import StringMachine
from untemplate.constrain.state import State
from untemplate.constrain.text import Avoid
from untemplate.grammar import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "INFINITE",
    "AfterEnd",
    "AtByte",
    "AtEnd",
    "AtSymbol",
    "AtValue",
    "Expanding",
    "InLiteral",
    "InRaw",
    "InText",
    "Position",
    "Raw",
    "Rest",
    "Step",
    "ValueStart",
    "Ways",
]

INFINITE = 1 << 40
"""Cost of what has no end."""


class Expanding(Protocol):
    """A node that is written out when a text comes to it."""

    def alternatives(self) -> "Iterable[tuple[Step, ...]]":
        """What may stand here."""
        ...

    def cost(self, of: "Callable[[Step], int]") -> int:
        """Cost of the cheapest, given that of a literal or a value."""
        ...


@dataclass(slots=True, eq=False)
class Ways:
    """One of several ways to write the same."""

    ways: "tuple[tuple[Step, ...], ...]"

    def alternatives(self) -> "Iterable[tuple[Step, ...]]":
        return self.ways

    def cost(self, of: "Callable[[Step], int]") -> int:
        return min((sum(map(of, steps)) for steps in self.ways), default=INFINITE)


@dataclass(slots=True, eq=False)
class ValueStart:
    """A value in JSON: the state before it, and bytes that it may begin with."""

    state: State
    first: bytes
    origin: str


@dataclass(slots=True, eq=False)
class Raw:
    """A string as it is, without the mark of what follows it."""

    machine: StringMachine
    avoid: Avoid


Step = nodes.Node | Expanding | ValueStart | Raw


@dataclass(slots=True, eq=False)
class Rest:
    """What follows a position. Made once, so it compares by identity."""

    step: Step
    more: "Rest | None"


@dataclass(slots=True, unsafe_hash=True)
class InLiteral:
    """Before bytes that must follow."""

    data: bytes
    rest: Rest | None


@dataclass(slots=True, unsafe_hash=True)
class AtSymbol:
    """Before a marker that is one token."""

    token_id: int
    rest: Rest | None


@dataclass(slots=True, unsafe_hash=True)
class AtByte:
    """Before one byte of a set."""

    members: bytes
    rest: Rest | None


@dataclass(slots=True, unsafe_hash=True)
class InText:
    """Inside free text; its exits are positions of their own."""

    text: int
    """Which of the grammar's texts."""
    avoid: int
    utf8: int


@dataclass(slots=True, unsafe_hash=True)
class InRaw:
    """Inside a raw string; its closer is a position of its own."""

    raw: Raw
    place: int
    region: int
    is_zero: bool
    """As in a JSON string: no character is left in the region."""
    avoid: int
    pending: bytes
    """Bytes of a character that is not complete; where all that it may still become lead to one
    place, `place` is that one already, and these are bytes of any such character."""
    is_decided: bool
    rest: Rest | None
    """What follows the string."""

    @property
    def is_counted(self) -> bool:
        """Whether characters are taken from a count here."""
        machine = self.raw.machine
        return not self.is_zero and machine.counts(self.region)


@dataclass(slots=True, unsafe_hash=True)
class AtValue:
    """Before a value."""

    value: ValueStart
    rest: Rest | None


@dataclass(slots=True, unsafe_hash=True)
class AtEnd:
    """Where an end token may be written."""

    token_ids: tuple[int, ...]


@dataclass(slots=True, unsafe_hash=True)
class AfterEnd:
    """Behind the end of the turn."""


Position = InLiteral | AtSymbol | AtByte | InText | InRaw | AtValue | AtEnd | AfterEnd
