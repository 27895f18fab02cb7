r"""Numbers as JSON writes them, and what schemas ask of them, in exact decimal arithmetic.

Unbounded numbers are any JSON number, integers any digits without fraction or exponent; at most
`MOST_DIGITS` digits before and after the point, counted beside the table. Numbers with bounds are
plain decimals, digit by digit. What matters of the digits so far is little: against a bound only
whether they are below, equal or above its first digits; for `multipleOf` a remainder.

    1 <= n <= 120    after "1": one digit, equal to the first of 120: 0 to 9, then 0, or the end
                     after "2": below three digits of 120, so only one digit more

The number ends where a byte follows that is not part of it; that byte belongs to the frame.
"""

from dataclasses import dataclass

from untemplate.constrain.digits import MOST_DIGITS, Tracker, tracker_of
from untemplate.constrain.state import ALL_BYTES, Action, Count, Edges, Go, Leave, Set, State
from untemplate.errors import LimitError
from untemplate.grammar.schema_atoms import Whole
from untemplate.grammar.schema_formula import All, Formula, evaluate, leaves

__all__ = ["MOST_DIGITS", "NumberMachine"]

Places = tuple[tuple[int, ...], ...]
"""How the digits so far stand, for each atom."""
_DIGITS = b"0123456789"


class NumberMachine:
    """The numbers that satisfy a formula."""

    def __init__(self, formula: Formula, *, most_steps: int = 200_000) -> None:
        parts = formula.parts if isinstance(formula, All) else (formula,)
        self.is_whole = Whole() in parts
        self.is_free = formula is True or formula == Whole()
        self._formula = formula
        self._atoms = tuple(dict.fromkeys(leaves(formula)))
        self._trackers: tuple[Tracker, ...] = tuple(map(tracker_of, self._atoms))
        self._costs: dict[Bounded, int | None] = {}
        self._steps = most_steps

    def begin(self) -> State:
        """Before the first byte."""
        if self.is_free:
            return Free(self.is_whole, "start")
        return Bounded(self, "start", False, 0, ())

    def first_bytes(self) -> bytes:
        """Bytes that a number may begin with."""
        if self.is_free:
            return b"-0123456789"
        start = Bounded(self, "start", False, 0, ())
        return bytes(b for b, state in start.moves() if state.cost() is not None)

    def first(self, *, negative: bool) -> Places:
        return tuple(t.first(negative=negative) for t in self._trackers)

    def digit(self, places: Places, digit: int, *, fraction: int) -> Places:
        """After one more digit; `fraction` counts those after the point, 0 before it."""
        return tuple(
            t.digit(p, digit, fraction=fraction)
            for t, p in zip(self._trackers, places, strict=True)
        )

    def point(self, places: Places) -> Places:
        return tuple(t.point(p) for t, p in zip(self._trackers, places, strict=True))

    def holds(self, places: Places) -> bool:
        verdicts = {
            a: t.holds(p) for a, t, p in zip(self._atoms, self._trackers, places, strict=True)
        }
        return evaluate(self._formula, verdicts.__getitem__)

    def cost(self, state: "Bounded") -> int | None:
        """Breadth first to the nearest end; what is found on the way is kept."""
        if state not in self._costs:
            self._search(state)
        return self._costs[state]

    def _search(self, start: "Bounded") -> None:
        came: dict[Bounded, Bounded | None] = {start: None}
        level = [start]
        far = 0
        while level:
            goals = [(self._costs.get(s), s) for s in level if self._costs.get(s) is not None]
            goals += [(0, s) for s in level if s.is_end]
            if goals:
                cost, state = min(((c or 0, n) for n, (c, _) in enumerate(goals)))
                at: Bounded | None = goals[state][1]
                while at is not None:
                    self._costs[at] = cost
                    cost, at = cost + 1, came[at]
                return
            following: list[Bounded] = []
            for state_ in level:
                if state_ in self._costs:
                    continue
                self._steps -= 1
                if self._steps < 0:
                    raise LimitError("a number keyword needs too many steps")
                for _, target in state_.moves():
                    if target not in came:
                        came[target] = state_
                        following.append(target)
            level, far = following, far + 1
        for state_ in came:
            self._costs.setdefault(state_, None)


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


@dataclass(frozen=True, slots=True)
class Free(State):
    """Inside any number, or any integer."""

    is_whole: bool
    phase: str
    is_full: bool = False
    """No digit may be added."""

    def cost(self) -> int | None:
        return {"start": 1, "minus": 1, "point": 1, "e": 1, "sign": 1}.get(self.phase, 0)

    def at_zero(self) -> State:
        return Free(self.is_whole, self.phase, True)

    def on_symbol(self) -> Action | None:
        return Leave() if self.phase in _ENDS else None

    def edges(self, out: Edges) -> None:
        if self.phase in _ENDS:
            out.do(ALL_BYTES, Leave())
        for phase in _NEXT[self.phase].split():
            if self.is_whole and phase in ("point", "e"):
                continue
            if phase == self.phase:
                if not self.is_full:
                    out.do(_DIGITS, Count(Free(self.is_whole, phase)))
            elif phase in ("int", "frac", "exp"):
                digits = _DIGITS[1:] if phase == "int" else _DIGITS
                most = 3 if phase == "exp" else MOST_DIGITS
                out.do(digits, Set(Free(self.is_whole, phase), most - 1))
            else:
                out.go(_BYTES[phase], Free(self.is_whole, phase))


@dataclass(frozen=True, slots=True)
class Bounded(State):
    """Inside a number that is tracked."""

    machine: NumberMachine
    phase: str
    """start, minus, zero, int, point, frac."""
    is_negative: bool
    digits: int
    places: Places

    @property
    def is_end(self) -> bool:
        return self.phase in _ENDS and self.machine.holds(self.places)

    @property
    def is_settled(self) -> bool:
        """Whether no digit after the point can change anything any more."""
        if self.phase != "frac" or self.digits < 2:
            return False
        machine, places = self.machine, self.places
        return all(machine.digit(places, d, fraction=MOST_DIGITS) == places for d in range(10))

    def cost(self) -> int | None:
        return self.machine.cost(self)

    def on_symbol(self) -> Action | None:
        return Leave() if self.is_end else None

    def edges(self, out: Edges) -> None:
        if self.is_end:
            out.do(ALL_BYTES, Leave())
            if self.is_settled:
                # Only their number is bounded: as the digits of any number.
                out.do(_DIGITS, Set(Free(True, "int"), MOST_DIGITS - self.digits - 1))
        for byte, state in self.moves():
            if state.cost() is not None:
                out.do(byte, Go(state))

    def moves(self) -> "list[tuple[int, Bounded]]":
        machine, negative = self.machine, self.is_negative
        found: list[tuple[int, Bounded]] = []
        if self.phase == "start":
            found.append((0x2D, Bounded(machine, "minus", True, 0, ())))
        if self.phase in ("start", "minus"):
            first = machine.first(negative=negative)
            for d in range(10):
                places = machine.digit(first, d, fraction=0)
                phase = "int" if d else "zero"
                found.append((0x30 + d, Bounded(machine, phase, negative, 1, places)))
        if self.phase == "int" and self.digits < MOST_DIGITS:
            for d in range(10):
                places = machine.digit(self.places, d, fraction=0)
                digits = self.digits + 1
                found.append((0x30 + d, Bounded(machine, "int", negative, digits, places)))
        if self.phase in ("zero", "int") and not machine.is_whole:
            places = machine.point(self.places)
            found.append((0x2E, Bounded(machine, "point", negative, 0, places)))
        if self.phase in ("point", "frac") and self.digits < MOST_DIGITS:
            digits = self.digits + 1
            if self.is_settled:
                return found
            for d in range(10):
                places = machine.digit(self.places, d, fraction=digits)
                found.append((0x30 + d, Bounded(machine, "frac", negative, digits, places)))
        return found
