r"""Automata over the characters of a string, and their product for a formula.

What a keyword asks of a string is an automaton over code points. A state gives `spans`: ranges of
code points and the state that each leads to. `{"enum": ["ab", "ac"]}` is

    0 ""  -> (a, a, 1)        1 "a"  -> (b, b, 2), (c, c, 3)        2 "ab": holds

States are numbers, and `DEAD` is where nothing can hold any more. A formula runs its atoms side by
side, one state of each, and looks at their verdicts when the string ends. Nothing is complemented:
`not` is a verdict the other way round.

How characters are written (escapes, quotes) is no matter here; see `strings`.
"""

import heapq
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Protocol

from untemplate.errors import LimitError
from untemplate.grammar.schema_atoms import Length
from untemplate.grammar.schema_formula import Formula, evaluate, leaves

__all__ = ["DEAD", "LAST", "Automaton", "Counter", "Members", "Span", "WordProduct"]

LAST = 0x10FFFF
_MOST_STEADY = 16
"""A machine with more states than this is not looked at whole."""
DEAD = -1
Span = tuple[int, int, int]
"""First and last code point, and the state that they lead to."""


class Automaton(Protocol):
    """One atom. State 0 is the start."""

    def spans(self, state: int) -> tuple[Span, ...]:
        """Where characters lead, in order; what no span covers is dead."""
        ...

    def holds(self, state: int) -> bool:
        """Whether the string may end here."""
        ...


class Members:
    """One of some strings. A state is a range of the sorted strings, and how much was read."""

    def __init__(self, strings: tuple[str, ...]) -> None:
        self._strings = sorted(strings)
        self._states = [(0, len(strings), 0)]
        self._numbers = {self._states[0]: 0}

    def spans(self, state: int) -> tuple[Span, ...]:
        low, high, size = self._states[state]
        if low < high and len(self._strings[low]) == size:
            low += 1
        found: list[Span] = []
        while low < high:
            character = self._strings[low][size]
            end = low + 1
            while end < high and self._strings[end][size] == character:
                end += 1
            found.append((ord(character), ord(character), self._number((low, end, size + 1))))
            low = end
        return tuple(found)

    def _number(self, state: tuple[int, int, int]) -> int:
        found = self._numbers.setdefault(state, len(self._states))
        if found == len(self._states):
            self._states.append(state)
        return found

    def holds(self, state: int) -> bool:
        low, high, size = self._states[state]
        return low < high and len(self._strings[low]) == size


class Counter:
    """Between `least` and `most` characters; a state is their number, as far as it matters."""

    def __init__(self, atom: Length) -> None:
        self._least = atom.least
        self._most = atom.most
        self._enough = atom.least if atom.most is None else atom.most + 1

    def spans(self, state: int) -> tuple[Span, ...]:
        return ((0, LAST, min(state + 1, self._enough)),)

    def holds(self, state: int) -> bool:
        return state >= self._least and (self._most is None or state <= self._most)


class WordProduct:
    """The strings that satisfy a formula. State 0 is the start."""

    def __init__(
        self,
        formula: Formula,
        automaton: Callable[[Hashable], Automaton],
        cost: Callable[[int, int], int],
        most_steps: int = 200_000,
    ) -> None:
        """`cost` says how many bytes the cheapest character of a range takes."""
        self._formula = formula
        self._atoms = tuple(dict.fromkeys(leaves(formula)))
        self._automata = tuple(map(automaton, self._atoms))
        self._cost_of_span = cost
        self._states = [(0,) * len(self._atoms)]
        self._numbers = {self._states[0]: 0}
        self._all: dict[int, tuple[Span, ...]] = {}
        self._living: dict[int, tuple[Span, ...]] = {}
        self._costs: dict[int, int | None] = {}
        self._steps = most_steps

    @property
    def is_free(self) -> bool:
        """Whether any character may stand anywhere."""
        return self.spans(0) == ((0, LAST, 0),)

    def is_steady(self) -> bool:
        """Whether the string may end anywhere, and go on from everywhere with one byte."""
        seen = {0}
        pending = [0]
        while pending:
            state = pending.pop()
            spans = self.spans(state)
            if not self.holds(state) or not any(self._cost_of_span(a, b) == 1 for a, b, _ in spans):
                return False
            new = {to for _, _, to in spans} - seen
            seen |= new
            pending += new
            if len(seen) > _MOST_STEADY:
                return False
        return True

    def holds(self, state: int) -> bool:
        """Whether the string may end here."""
        verdicts = {
            atom: s != DEAD and a.holds(s)
            for atom, a, s in zip(self._atoms, self._automata, self._states[state], strict=True)
        }
        return evaluate(self._formula, verdicts.__getitem__)

    def spans(self, state: int) -> tuple[Span, ...]:
        """Where characters lead; only to states from which the string can still end."""
        found = self._living.get(state)
        if found is None:
            found = tuple(s for s in self._spans(state) if self.cost(s[2]) is not None)
            self._living[state] = found
        return found

    def cost(self, state: int) -> int | None:
        """Fewest bytes until the string may end; None: it can't."""
        if state not in self._costs:
            self._search(state)
        return self._costs[state]

    def _spans(self, state: int) -> tuple[Span, ...]:
        found = self._all.get(state)
        if found is None:
            found = self._all[state] = self._product(self._states[state])
        return found

    def _product(self, states: tuple[int, ...]) -> tuple[Span, ...]:
        parts = [
            a.spans(s) if s != DEAD else () for a, s in zip(self._automata, states, strict=True)
        ]
        cuts = {0, LAST + 1}
        for spans in parts:
            for low, high, _ in spans:
                cuts.update((low, high + 1))
        at = [0] * len(parts)
        found: list[Span] = []
        for low, end in pairwise(sorted(cuts)):
            target: list[int] = []
            for n, spans in enumerate(parts):
                while at[n] < len(spans) and spans[at[n]][1] < low:
                    at[n] += 1
                hit = at[n] < len(spans) and spans[at[n]][0] <= low
                target.append(spans[at[n]][2] if hit else DEAD)
            number = self._number(tuple(target))
            if found and found[-1][2] == number:
                found[-1] = (found[-1][0], end - 1, number)
            else:
                found.append((low, end - 1, number))
        return tuple(found)

    def _number(self, states: tuple[int, ...]) -> int:
        found = self._numbers.setdefault(states, len(self._states))
        if found == len(self._states):
            self._states.append(states)
        return found

    def _search(self, start: int) -> None:
        """Dijkstra from one state to the nearest end; what lies on the way is known then too."""
        best = {start: 0}
        came: dict[int, int] = {}
        done: set[int] = set()
        heap = [(0, start)]
        goal: tuple[int, int] | None = None
        while heap and (goal is None or heap[0][0] < goal[0]):
            far, state = heapq.heappop(heap)
            if state in done:
                continue
            done.add(state)
            self._steps -= 1
            if self._steps < 0:
                raise LimitError("a string keyword needs too many steps")
            rest = self._costs.get(state) if state in self._costs else self._rest_here(state)
            if rest is not None and (goal is None or far + rest < goal[0]):
                goal = (far + rest, state)
            if state in self._costs or rest == 0:
                continue
            for low, high, target in self._spans(state):
                weight = far + self._cost_of_span(low, high)
                if weight < best.get(target, weight + 1):
                    best[target] = weight
                    came[target] = state
                    heapq.heappush(heap, (weight, target))
        if goal is None:
            self._costs.update(dict.fromkeys(done))
            return
        total, state = goal
        self._costs[state] = total - best[state]
        while state != start:
            state = came[state]
            self._costs[state] = total - best[state]

    def _rest_here(self, state: int) -> int | None:
        return 0 if self.holds(state) else None
