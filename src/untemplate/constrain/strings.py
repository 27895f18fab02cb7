r"""Strings between quotes: characters lifted to bytes, with their escapes.

    "caf\u00e9"   and   "café"   are the same characters; both are allowed wherever one is.
    "\u0063af"    is not allowed: printable ASCII stands for itself.

A state stands between two characters (`Chars`), inside a UTF-8 character (`Partial`), or inside an
escape (see `escapes`). Where all characters that an unfinished one may still become lead to the
same place, the states are shared, so a free string has about twenty states in all.

What may stand in the string is the business of a machine (see `characters`); it also says what the
closing quote does.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from untemplate.constrain.characters import Arrival, Characters, StringMachine, arrive
from untemplate.constrain.escapes import SURROGATES, Begun, Escape, clip, escaped
from untemplate.constrain.letters import Quote
from untemplate.constrain.state import Action, Edges, Go, Pop, Spell, State
from untemplate.constrain.verdicts import Verdicts
from untemplate.constrain.words import LAST, Span

__all__ = [
    "Chars",
    "Lane",
    "Partial",
    "Quoted",
    "QuotedString",
    "start_of",
]

_ALL: tuple[Span, ...] = ((0, LAST, 0),)


class Quoted(Characters, Protocol):
    """Characters between quotes."""

    is_shared: bool
    """Whether other grammars have the same machine."""

    def close(self, place: int, region: int) -> Action | None:
        """What the closing quote does."""
        ...

    def close_cost(self) -> int:
        """Bytes of the closing quote and of what has to be known to follow it."""
        ...

    def is_loop(self, place: int) -> bool:
        """Whether every character leads back to this place."""
        ...

    def free(self, place: int) -> "Quoted | None":
        """A machine that other grammars share, of which place 0 is the same as this place."""
        ...

    def ending(self, place: int) -> Spell | None:
        """All that may follow, the closing quote included, where that is one text in ASCII."""
        ...


class QuotedString(StringMachine):
    """The strings between quotes that end as they are asked to."""

    def __init__(self, verdicts: Verdicts, quote: Quote) -> None:
        super().__init__(verdicts, quote.cost)
        self.quote = quote
        self._endings: dict[int, Spell | None] = {}
        self.is_shared = False

    @classmethod
    def of(cls, verdicts: Verdicts, quote: Quote) -> "QuotedString":
        """The machine for these verdicts; one for all grammars, unless a frame judges."""
        return _shared(verdicts, quote) if verdicts.judge is None else cls(verdicts, quote)

    def close(self, place: int, region: int) -> Action | None:
        found = self.exit(place, region)
        return None if found is None else Pop(found.result)

    def close_cost(self) -> int:
        return 1

    def is_loop(self, place: int) -> bool:
        return self.spans(place) == ((0, LAST, place),)

    def free(self, place: int) -> Quoted | None:  # noqa: ARG002  this one is shared itself
        return None

    def ending(self, place: int) -> Spell | None:
        if place not in self._endings:
            self._endings[place] = None if self.is_counted else self._ending(place)
        return self._endings[place]

    def _ending(self, place: int) -> Spell | None:
        text = bytearray()
        while (exit_ := self.exit(place, 0)) is None:
            match self.spans(place):
                case ((low, high, following),) if low == high and self.quote.is_plain(low):
                    text.append(low)
                    place = following
                case _:
                    return None
        if self.spans(place):
            return None
        return Spell(bytes((*text, self.quote.byte)), Pop(exit_.result), exit_.cost)


@lru_cache(maxsize=4_096)
def _shared(verdicts: Verdicts, quote: Quote) -> QuotedString:
    machine = QuotedString(verdicts, quote)
    machine.is_shared = True
    return machine


@dataclass(slots=True, unsafe_hash=True)
class Lane:
    """The machine of a string, and the stretch of its lengths that it is in."""

    machine: Quoted
    quote: Quote
    region: int = 0
    is_zero: bool = False
    """Set when no character is left in the region."""

    def arrival(self, place: int) -> Action | None:
        """What the last byte of a character that leads to a place does."""
        arrival = self.machine.arrival(place, self.region, is_zero=self.is_zero)
        return None if arrival is None else _to(self, arrival)

    def slope(self, place: int) -> int:
        return 0 if self.is_zero else self.machine.slope(place, self.region)

    def cost(self, spans: tuple[Span, ...], size: int) -> int | None:
        """Bytes from `size` bytes before the end of a character to the end of the string."""
        costs = [
            self.machine.arrival_cost(place, self.region, is_zero=self.is_zero)
            for _, _, place in spans
        ]
        known = [c for c in costs if c is not None]
        # The slope still counts this character, which has not arrived.
        slope = self.slope(spans[0][2])
        return min(known) + self.machine.close_cost() + size - slope if known else None


def _to(lane: Lane, arrival: Arrival) -> Action:
    lane = Lane(lane.machine, lane.quote, arrival.region)
    if not arrival.counts and arrival.begins is None:
        ending = lane.machine.ending(arrival.place)
        if ending is not None:
            return Go(ending)
        free = lane.machine.free(arrival.place)
        if free is not None:
            return Go(Chars(Lane(free, lane.quote), 0))
    return arrive(arrival, Chars(lane, arrival.place))


def start_of(machine: QuotedString) -> Action:
    """What the opening quote does."""
    return _to(Lane(machine, machine.quote), machine.begin())


@dataclass(slots=True, unsafe_hash=True)
class Chars(State):
    """Between two characters."""

    lane: Lane
    place: int

    @property
    def slope(self) -> int:
        return self.lane.slope(self.place)

    @property
    def leaving(self) -> bytes | None:
        lane = self.lane
        if lane.is_zero:
            return None
        if lane.machine.is_loop(self.place):
            return lane.quote.leaving
        others = _others(lane.machine.spans(self.place), self.place)
        return None if others is None else bytes(sorted({*others, *lane.quote.leaving}))

    @property
    def is_shared(self) -> bool:
        return self.lane.machine.is_shared and self.leaving is not None

    @property
    def shadow(self) -> State | None:
        lane, spans = self.lane, self.lane.machine.spans(self.place)
        if not spans:
            return None
        if lane.is_zero:
            arrival = self._next_region()
            if arrival is None:
                return None
            found = Chars(Lane(lane.machine, lane.quote, arrival.region), arrival.place)
            return found if found.is_shared else None
        most = spans[-1][2]
        free = lane.machine.free(most)
        if free is not None:
            return Chars(Lane(free, lane.quote), 0)
        if most == self.place or lane.machine.slope(most, lane.region):
            return None
        found = replace(self, place=most)
        return found if found.is_shared else None

    @property
    def shadow_count(self) -> int | None:
        arrival = self._next_region() if self.lane.is_zero else None
        # The character that leads there is one of those that the shadow counts.
        return None if arrival is None else 0 if arrival.begins is None else arrival.begins + 1

    def _next_region(self) -> Arrival | None:
        """Where any character leads when none is left of the count."""
        lane = self.lane
        if not lane.machine.is_loop(self.place):
            return None
        return lane.machine.arrival(self.place, lane.region, is_zero=True)

    def cost(self) -> int | None:
        lane = self.lane
        cost = lane.machine.cost(self.place, lane.region)
        return None if cost is None else cost + lane.machine.close_cost()

    def at_zero(self) -> State:
        return Chars(replace(self.lane, is_zero=True), self.place)

    def edges(self, out: Edges) -> None:
        lane, plain = self.lane, self.lane.quote.plain
        if ending := lane.machine.close(self.place, lane.region):
            out.do(lane.quote.byte, ending)
        found = [(s, lane.arrival(s[2])) for s in lane.machine.spans(self.place)]
        for (low, high, _), action in found:
            if action is None or low > 0x7F:
                continue
            if low < high:
                out.do(plain[(low <= plain) & (high >= plain)], action)
            elif low not in lane.quote.leaving:
                out.do(low, action)
        spans = tuple(s for s, action in found if action is not None)
        if not spans:
            return
        is_one = spans[-1][0] <= 0x7F and spans[-1][1] == LAST
        free = lane.machine.free(spans[-1][2]) if is_one else None
        if free is None:
            out.go(0x5C, Escape(lane, spans))
        else:
            # Names in ASCII are off every way through an escape or a longer character.
            shared, others = Lane(free, lane.quote), {p for _, _, p in escaped(lane, spans)}
            is_other = others == {spans[-1][2]}
            out.go(0x5C, Escape(shared, _ALL) if is_other else Escape(lane, spans))
            lane, spans = shared, _ALL
        if spans[-1][1] <= 0x7F:
            return
        for leads, low, high, size in _LEAD_GROUPS if is_one else _LEADS:
            out.go(leads, _partial(lane, clip(spans, low, high), (low, high), size))


def _others(spans: tuple[Span, ...], place: int) -> list[int] | None:
    """The characters that lead elsewhere than to a place; None where those are not just a few.

    The first characters of a mark that the string must not hold, say. Letters are never among them.
    """
    found: list[int] = []
    at = 0
    for low, high, to in (*spans, (LAST + 1, LAST + 1, place)):
        end = low if to == place else high + 1
        if end > at + 8 or (end > at and end > 0x80):
            return None
        found += range(at, end)
        at = high + 1
    return None if len(found) > 8 or any(chr(c).isalnum() for c in found) else found


def _leads() -> tuple[tuple[bytes, int, int, int], ...]:
    """Lead byte, first and last code point that it begins, bytes that follow."""
    found: list[tuple[bytes, int, int, int]] = []
    for lead in range(0xC2, 0xF5):
        size = 1 + (lead >= 0xE0) + (lead >= 0xF0)
        low = (lead & (0x3F >> size)) << 6 * size
        high = low + (1 << 6 * size) - 1
        if lead == 0xED:
            high = SURROGATES[0] - 1
        found.append(
            (bytes((lead,)), max(low, (0, 0x80, 0x800, 0x10000)[size]), min(high, LAST), size)
        )
    return tuple(found)


_LEADS = _leads()
_LEAD_GROUPS = tuple(
    (leads, *next((low, high, size) for lead, low, high, size in _LEADS if lead[0] in leads))
    for leads in (
        bytes(range(0xC2, 0xE0)), b"\xe0", bytes(range(0xE1, 0xED)) + b"\xee\xef", b"\xed",
        b"\xf0", b"\xf1\xf2\xf3", b"\xf4",
    )
)  # fmt: skip
"""The same where all characters beyond ASCII lead to one place: those alike share a state."""


def _partial(
    lane: Lane, spans: tuple[Span, ...], covers: tuple[int, int], size: int
) -> State | None:
    """Inside a UTF-8 character with `size` bytes to come, all between two code points."""
    if not spans:
        return None
    whole = 1 << 6 * size
    if (spans[0][0], spans[0][1]) == covers and covers[1] - covers[0] + 1 == whole:
        # Every continuation is allowed, and all lead to one place: which it is does not matter.
        return Partial(lane, ((0, whole - 1, spans[0][2]),), 0, size)
    return Partial(lane, spans, covers[0] & -whole, size)


@dataclass(slots=True, unsafe_hash=True)
class Partial(Begun):
    """Inside a UTF-8 character."""

    first: int
    """The code point if all bytes to come were the smallest."""
    size: int

    def cost(self) -> int | None:
        return self.lane.cost(self.spans, self.size)

    def edges(self, out: Edges) -> None:
        if self.size == 1:
            for low, high, place in self.spans:
                action = self.lane.arrival(place)
                assert action is not None
                out.do(np.arange(low - self.first, high - self.first + 1) + 0x80, action)
            return
        step = 1 << 6 * (self.size - 1)
        first, last = self.spans[0][0] - self.first, self.spans[-1][1] - self.first
        for n in range(first // step, last // step + 1):
            low = self.first + n * step
            covers = (low, low + step - 1)
            out.go(0x80 + n, _partial(self.lane, clip(self.spans, *covers), covers, self.size - 1))
