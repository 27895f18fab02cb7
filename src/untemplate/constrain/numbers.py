r"""Numbers as JSON writes them, and what schemas ask of them, in exact decimal arithmetic.

Numbers without bounds are any JSON number, integers any digits without fraction or exponent.
Numbers with bounds are plain decimals, or the scientific form that `json.dumps` writes (one digit
before the point); each digit moves the trackers of `digits`.

    1 <= n <= 120    after "1": one digit, equal to the first of 120: 0 to 9, then 0, or the end
                     after "2": below three digits of 120, so only one digit more

At most `MOST_DIGITS` digits stand before the point and after it, counted beside the table. A number
ends where a byte follows that is not part of it; that byte belongs to the frame.
"""

import heapq
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from untemplate.constrain.digits import LARGE, SMALL, Form, Tracker
from untemplate.constrain.number_terms import goal_of
from untemplate.constrain.state import ALL_BYTES, Action, Count, Edges, Go, Leave, Set, State
from untemplate.constrain.trackers import most_places, tracker_of
from untemplate.constrain.verdicts import Exit, Verdicts, top_parts
from untemplate.errors import LimitError
from untemplate.grammar.schema_atoms import MOST_DIGITS, Multiple, Whole
from untemplate.grammar.schema_formula import (
    All,
    Formula,
    Not,
    One,
    Some,
    leaves,
    substitute,
)

__all__ = ["NumberMachine"]

_DIGITS = b"0123456789"
_NEXT = {
    "start": "minus zero int",
    "minus": "zero int",
    "zero": "point e",
    "int": "int point e",
    "point": "frac",
    "frac": "frac e",
    "e": "sign exp",
    "sign": "exp",
    "exp": "exp",
}
_ENDS = ("zero", "int", "frac", "exp")
_BYTES = {"minus": b"-", "zero": b"0", "point": b".", "e": b"eE", "sign": b"+-"}
_MOST_EXPONENT = 3
"""Digits of an exponent."""
_MOST_STEPS = 30_000
"""Places that are looked at to find the end of one number."""


@dataclass(slots=True, unsafe_hash=True)
class Free(State):
    """Inside any number, or any integer."""

    is_whole: bool
    phase: str = "start"
    is_full: bool = False
    """No digit may be added."""

    @property
    def is_shared(self) -> bool:
        return True

    def cost(self) -> int | None:
        return 0 if self.phase in _ENDS else 1

    def at_zero(self) -> State:
        return replace(self, is_full=True)

    def on_symbol(self) -> Action | None:
        return Leave() if self.phase in _ENDS else None

    def edges(self, out: Edges) -> None:
        if self.phase in _ENDS:
            out.do(ALL_BYTES, Leave())
        for phase in _NEXT[self.phase].split():
            if self.is_whole and phase in ("point", "e"):
                continue
            state = Free(self.is_whole, phase)
            if phase == self.phase:
                if not self.is_full:
                    out.do(_DIGITS, Count(state))
            elif phase in ("int", "frac", "exp"):
                most = _MOST_EXPONENT if phase == "exp" else MOST_DIGITS
                out.do(_DIGITS[phase == "int" :], Set(state, most - 1))
            else:
                out.go(_BYTES[phase], state)


class _At(NamedTuple):
    """How far a number with bounds is."""

    phase: str
    is_negative: bool = False
    places: tuple[tuple[int, ...], ...] = ()
    size: int = -1
    """Digits behind the point, as far as they matter, while an exponent may follow; else -1."""
    exponent: int = 0
    """Without its sign; as far as it matters."""
    exponent_digits: int = 0
    is_small: bool = False
    """The exponent has a minus sign."""


_LOST: tuple[int, ...] = ()
"""The place of a keyword that can't hold any more."""


class NumberMachine:
    """The numbers that satisfy a formula."""

    def __init__(self, verdicts: Verdicts) -> None:
        self._goal = goal_of(verdicts)
        if verdicts.is_single:
            verdicts = Verdicts((self._goal,))
        top = top_parts(verdicts.must)
        self.is_whole = Whole() in top
        self.is_free = verdicts.formulas in ((True,), (Whole(),))
        self._verdicts = verdicts
        self._atoms = Verdicts((*verdicts.formulas, self._goal)).leaves()
        self._trackers: tuple[Tracker, ...] = tuple(map(tracker_of, self._atoms))
        self._indices = {atom: n for n, atom in enumerate(self._atoms)}
        self.tail = max((t.tail for t in self._trackers), default=0)
        """Digits that are kept from the count, to reach an end with."""
        self._far = max((t.far_exponent for t in self._trackers), default=0)
        self._most = most_places(self._trackers, top)
        self._is_normal = any(isinstance(a, Multiple | Whole) for a in self._atoms)
        """Whether exponents are as `json.dumps` writes them, as steps ask it."""
        self._missing: dict[int, int] = {}
        self._matters: dict[tuple[bool, ...], tuple[bool, ...]] = {}
        self._ats = [_At("start")]
        self._numbers = {self._ats[0]: 0}
        self._moves: dict[int, tuple[tuple[int, int], ...]] = {}
        self._exits: dict[int, Exit | None] = {}
        self._costs: dict[tuple[int, int], int | None] = {}
        self.is_shared = False
        """Whether other grammars have the same machine."""

    @classmethod
    def of(cls, verdicts: Verdicts) -> "NumberMachine":
        """The machine for these verdicts; one for all grammars, unless a frame judges."""
        return _shared(verdicts) if verdicts.judge is None else cls(verdicts)

    def begin(self) -> State:
        """Before the first byte."""
        return Free(self.is_whole) if self.is_free else Bounded(self, 0)

    def first_bytes(self) -> bytes:
        """Bytes that a number may begin with."""
        if self.is_free:
            return b"-0123456789"
        return bytes(b for b, at in self.moves(0) if self.cost(at, 0) is not None)

    def phase(self, at: int) -> str:
        return self._ats[at].phase

    def exit(self, at: int) -> Exit | None:
        """Whether the number may end here, and what follows."""
        if at not in self._exits:
            self._exits[at] = self._exit(self._ats[at])
        return self._exits[at]

    def _exit(self, at: _At) -> Exit | None:
        if at.phase not in _ENDS:
            return None
        exponent = (-at.exponent if at.is_small else at.exponent) if at.phase == "exp" else None
        if self._is_normal and exponent is not None and -SMALL < exponent < LARGE:
            return None
        verdicts = {
            atom: place != _LOST and tracker.holds(place, exponent)
            for atom, tracker, place in zip(self._atoms, self._trackers, at.places, strict=True)
        }
        return self._verdicts.exit(verdicts.__getitem__)

    def moves(self, at: int) -> tuple[tuple[int, int], ...]:
        """Where each byte leads."""
        found = self._moves.get(at)
        if found is None:
            nexts = ((b, self._settled(to)) for b, to in self._next(self._ats[at]))
            following = [(b, to) for b, to in nexts if not self._is_lost(to)]
            found = self._moves[at] = tuple((b, self._number(to)) for b, to in following)
        return found

    def _form(self, at: _At) -> Form:
        if at.phase in ("e", "sign", "exp"):
            return "scaled"
        return "either" if at.size >= 0 else "plain"

    def _settled(self, at: _At) -> _At:
        """Without the places of keywords that can't hold any more: those are all alike."""
        form = self._form(at)
        pairs = zip(self._trackers, at.places, strict=False)
        places = tuple(p if p and t.needs(p, form) is not None else _LOST for t, p in pairs)
        matters = self._mattering(tuple(map(bool, places)))
        return at._replace(
            places=tuple(p if m else _LOST for p, m in zip(places, matters, strict=False))
        )

    def _mattering(self, alive: tuple[bool, ...]) -> tuple[bool, ...]:
        """Of the keywords that may still hold those on which anything hangs."""
        found = self._matters.get(alive)
        if found is None:
            lost = {a for a, lives in zip(self._atoms, alive, strict=False) if not lives}
            formulas = (*self._verdicts.formulas, self._goal)
            left = {
                leaf
                for formula in formulas
                for leaf in leaves(substitute(formula, lambda a: False if a in lost else a))
            }
            found = self._matters[alive] = tuple(atom in left for atom in self._atoms)
        return found

    def _is_lost(self, at: _At) -> bool:
        """Whether what must hold can't hold any more."""
        if not at.places:
            return False
        if not any(at.places):
            return self._exit(at._replace(phase="zero")) is None
        form = self._form(at)
        bounds = self._bounds(at, form, self._goal)
        return bounds is None or (
            at.phase == "int" and form == "plain" and bounds[0] > min(bounds[1], MOST_DIGITS)
        )

    def _bounds(self, at: _At, form: Form, formula: Formula) -> tuple[int, int] | None:
        """So many digits at least, and at most, are missing; None: the formula can't hold."""
        match formula:
            case bool():
                return (0, MOST_DIGITS) if formula else None
            case All(parts):
                found = [self._bounds(at, form, p) for p in parts]
                known = [bounds for bounds in found if bounds is not None]
                if len(known) < len(found):
                    return None
                least, most = max(b[0] for b in known), min(b[1] for b in known)
                # Digits behind the point are not those that are counted here.
                return (
                    None
                    if least > most and at.phase == "int" and form == "plain"
                    else (least, most)
                )
            case Some(parts) | One(parts):
                options = [b for p in parts if (b := self._bounds(at, form, p)) is not None]
                if not options:
                    return None
                return min(b[0] for b in options), max(b[1] for b in options)
            case Not():
                return 0, MOST_DIGITS
            case _:
                number = self._indices[formula]
                place, tracker = at.places[number], self._trackers[number]
                if place == _LOST:
                    return None
                needs = tracker.needs(place, form)
                if needs is None:
                    return None
                return needs, MOST_DIGITS if form == "scaled" else tracker.takes(place)

    def _needs(self, number: int) -> int:
        """So many bytes are missing at least."""
        found = self._missing.get(number)
        if found is None:
            found = self._missing[number] = self._find_needs(self._ats[number])
        return found

    def _find_needs(self, at: _At) -> int:
        form = self._form(at)
        if form == "scaled":
            return {"e": 1 + self._is_normal, "sign": 1}.get(at.phase, 0)
        if at.phase not in ("int", "point", "frac"):
            return 0
        bounds = self._bounds(at, "plain", self._goal)
        if bounds is None:
            # An exponent has to come, after a digit.
            return 2 + self._is_normal + (at.phase == "point")
        return bounds[0] if form == "plain" else 0

    def _number(self, at: _At) -> int:
        found = self._numbers.setdefault(at, len(self._ats))
        if found == len(self._ats):
            self._ats.append(at)
        return found

    def _next(self, at: _At) -> list[tuple[int, _At]]:
        phases = _NEXT[at.phase].split()
        found: list[tuple[int, _At]] = []
        if "minus" in phases:
            found.append((0x2D, _At("minus", is_negative=True)))
        if at.phase in ("start", "minus"):
            first = tuple(t.first(negative=at.is_negative) for t in self._trackers)
            at = at._replace(places=first)
            found.append((0x30, self._after(at, 0, "zero", -1)))
            size = 0 if self._most[at.is_negative] >= 0 else -1
            found += [(0x30 + d, self._after(at, d, "int", size)) for d in range(1, 10)]
        elif at.phase in ("int", "point", "frac"):
            phase = "int" if at.phase == "int" else "frac"
            size = self._longer(at) if phase == "frac" else -1
            found += [(0x30 + d, self._after(at, d, phase, size)) for d in range(10)]
        if "point" in phases and not self.is_whole:
            pairs = zip(self._trackers, at.places, strict=True)
            places = tuple(t.point(p) if p else p for t, p in pairs)
            found.append((0x2E, at._replace(phase="point", places=places)))
        if "e" in phases and at.size >= 0:
            pairs = zip(self._trackers, at.places, strict=True)
            places = tuple((t.scaled(p, at.size) or _LOST) if p else p for t, p in pairs)
            found += [(b, at._replace(phase="e", places=places, size=0)) for b in b"eE"]
        if "sign" in phases:
            found += [(b, at._replace(phase="sign", is_small=b == 0x2D)) for b in b"+-"]
        if "exp" in phases and at.exponent_digits < _MOST_EXPONENT:
            at = at._replace(phase="exp", exponent_digits=at.exponent_digits + 1)
            exponents = [min(at.exponent * 10 + d, self._far) for d in range(10)]
            found += [(0x30 + d, at._replace(exponent=e)) for d, e in enumerate(exponents)]
        return found

    def _longer(self, at: _At) -> int:
        """The size after one more digit behind the point."""
        most = self._most[at.is_negative]
        if at.size < 0 or most == MOST_DIGITS:
            return at.size
        return at.size + 1 if at.size < most else -1

    def _after(self, at: _At, digit: int, phase: str, size: int) -> _At:
        pairs = zip(self._trackers, at.places, strict=True)
        places = tuple(t.digit(p, digit, size) if p else p for t, p in pairs)
        return at._replace(phase=phase, places=places, size=size)

    def cost(self, at: int, tail: int) -> int | None:
        """Fewest bytes to an end; `tail` digits of those that are not counted are used up."""
        if (at, tail) not in self._costs:
            self._search((at, tail))
        return self._costs[at, tail]

    def after(self, at: int, to: int, tail: int) -> int | None:
        """The tail after a move; None: no digit is left."""
        if self.phase(to) not in ("int", "frac") or self.phase(at) != self.phase(to):
            return 0
        if not tail:
            return 0
        return tail + 1 if tail <= self.tail else None

    def _search(self, start: tuple[int, int]) -> None:
        """A* to the cheapest end; what lies on the way is known then too."""
        came: dict[tuple[int, int], tuple[int, int]] = {}
        best = {start: 0}
        # Of ways that may be as short the one that is further: most lead to an end.
        heap = [(self._needs(start[0]), 0, start)]
        goal: tuple[int, tuple[int, int]] | None = None
        steps = 0
        least = self._verdicts.least() or 0
        while heap and (goal is None or heap[0][0] + least < goal[0]):
            _, far, here = heapq.heappop(heap)
            far = -far
            if far > best[here]:
                continue
            rest = self._rest(here)
            if rest is not None and (goal is None or far + rest < goal[0]):
                goal = (far + rest, here)
            if here in self._costs or rest == least:
                continue
            steps += 1
            if steps > _MOST_STEPS:
                raise LimitError("a number keyword needs too many steps")
            for _, to in self.moves(here[0]):
                tail = self.after(here[0], to, here[1])
                if tail is not None and far + 1 < best.get((to, tail), far + 2):
                    following = (to, tail)
                    if tail and self._needs(to) > self.tail + 1 - tail:
                        continue
                    best[following] = far + 1
                    came[following] = here
                    heapq.heappush(heap, (far + 1 + self._needs(to), -far - 1, following))
        if goal is None:
            self._costs.update(dict.fromkeys(best))
            return
        cost, here = self._rest(goal[1]), goal[1]
        assert cost is not None
        self._costs[here] = cost
        while here != start:
            here, cost = came[here], cost + 1
            self._costs[here] = cost

    def _rest(self, here: tuple[int, int]) -> int | None:
        if here in self._costs:
            return self._costs[here]
        found = self.exit(here[0])
        return None if found is None else found.cost


@lru_cache(maxsize=1_024)
def _shared(verdicts: Verdicts) -> NumberMachine:
    machine = NumberMachine(verdicts)
    machine.is_shared = True
    return machine


@dataclass(slots=True, unsafe_hash=True)
class Bounded(State):
    """Inside a number that is tracked."""

    machine: NumberMachine
    at: int
    tail: int = 0
    """0 while digits are counted; then 1 and the number of digits since."""

    @property
    def is_shared(self) -> bool:
        return self.machine.is_shared

    def cost(self) -> int | None:
        return self.machine.cost(self.at, self.tail)

    def at_zero(self) -> State:
        return replace(self, tail=1)

    def on_symbol(self) -> Action | None:
        found = self.machine.exit(self.at)
        return None if found is None else Leave(found.result)

    def edges(self, out: Edges) -> None:
        machine = self.machine
        if (ending := machine.exit(self.at)) is not None:
            out.do(ALL_BYTES, Leave(ending.result))
        phase = machine.phase(self.at)
        for byte, to in machine.moves(self.at):
            tail = machine.after(self.at, to, self.tail)
            if tail is None or machine.cost(to, tail) is None:
                # Elsewhere the byte ends the number.
                continue
            state = Bounded(machine, to, tail)
            if machine.phase(to) not in ("int", "frac") or tail:
                out.do(byte, Go(state))
            elif machine.phase(to) == phase:
                out.do(byte, Count(state))
            else:
                out.do(byte, Set(state, MOST_DIGITS - machine.tail - 1))
