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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple, Protocol

from untemplate.constrain.verdicts import Exit
from untemplate.errors import LimitError
from untemplate.grammar.schema_atoms import Length
from untemplate.grammar.schema_formula import Formula, substitute

__all__ = [
    "DEAD",
    "LAST",
    "Automaton",
    "Counter",
    "Ending",
    "Members",
    "Nearby",
    "Product",
    "Span",
    "Words",
]

LAST = 0x10FFFF
_MOST_STEADY = 16
"""A machine with more states than this is not asked whether it is steady."""
_SEARCHED = 2_000
"""After so many steps of single searches all states are looked at together, if they are few."""
_MOST_TOGETHER = 20_000
_MOST_STEPS = 200_000
"""Steps of all single searches."""
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


class Product:
    """Several automata side by side. State 0 is the start."""

    def __init__(self, automata: Mapping[Hashable, Automaton]) -> None:
        self.atoms: tuple[Hashable, ...] = tuple(automata)
        self._automata = tuple(automata.values())
        self._states = [(0,) * len(automata)]
        self._numbers = {self._states[0]: 0}
        self._spans: dict[int, tuple[Span, ...]] = {}

    def part(self, numbers: Iterable[int]) -> "Product":
        """Some of the automata side by side; their states are the same ones."""
        return Product({self.atoms[n]: self._automata[n] for n in numbers})

    def parts(self, state: int) -> tuple[int, ...]:
        """The state of each automaton."""
        return self._states[state]

    def truth(self, state: int) -> dict[Hashable, bool]:
        """Which atoms hold of a string that ends here."""
        return {
            atom: s != DEAD and a.holds(s)
            for atom, a, s in zip(self.atoms, self._automata, self._states[state], strict=True)
        }

    def dead(self, state: int) -> tuple[bool, ...]:
        """Of each automaton, whether nothing can hold any more."""
        return tuple(s == DEAD for s in self._states[state])

    def spans(self, state: int) -> tuple[Span, ...]:
        """Where characters lead; together all of them."""
        found = self._spans.get(state)
        if found is None:
            found = self._spans[state] = self._joined(self._states[state])
        return found

    def state_of(self, parts: tuple[int, ...]) -> int:
        """The state in which each automaton is in this one."""
        return self._number(parts)

    def after(self, text: str) -> int:
        """The state after a string."""
        state = 0
        for code in map(ord, text):
            state = next(to for low, high, to in self.spans(state) if low <= code <= high)
        return state

    def _joined(self, states: tuple[int, ...]) -> tuple[Span, ...]:
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

    def reach(self, cost: Callable[[int, int], int], most: int) -> Iterator[tuple[int, int]]:
        """States with the bytes to reach them, nearest first, at most so many."""
        heap = [(0, 0)]
        done: set[int] = set()
        while heap and len(done) < most:
            far, state = heapq.heappop(heap)
            if state in done:
                continue
            done.add(state)
            yield state, far
            for low, high, target in self.spans(state):
                if target not in done:
                    heapq.heappush(heap, (far + cost(low, high), target))


class Ending(NamedTuple):
    """The cheapest way to an end."""

    cost: int
    """Bytes, with what follows the string."""
    size: int
    """Characters."""


Nearby = Callable[[int], Ending | Literal["unknown"] | None]
"""The way to an end from a state, None where there is none; or whether that takes a search."""


class Words:
    """The strings of a product that end where they may. State 0 is the start."""

    def __init__(
        self,
        product: Product,
        cost: Callable[[int, int], int],
        end: Callable[[int], Exit | None],
        *,
        least: int = 0,
        must: Formula = True,
        nearby: Nearby | None = None,
    ) -> None:
        """Sets up the search for ends.

        Args:
            product: the automata.
            cost: bytes of the cheapest character of a range.
            end: whether the string may end in a state of the product, and what follows.
            least: a lower bound of what follows.
            must: what has to hold of the atoms in any case.
            nearby: tells the way to the end without a search, where it can.
        """
        self._product = product
        self._cost_of_span = cost
        self._end = end
        self._least = least
        self._must = must
        self._nearby = nearby
        self._living: dict[int, tuple[Span, ...]] = {}
        self._exits: dict[int, Exit | None] = {}
        self._endings: dict[int, Ending | None] = {}
        self._lost: dict[tuple[bool, ...], bool] = {}
        self._steps = _MOST_STEPS
        self._searched = 0

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
            goes_on = any(self._cost_of_span(a, b) == 1 for a, b, _ in spans)
            if not goes_on or self.exit(state) is None:
                return False
            new = {to for _, _, to in spans} - seen
            seen |= new
            pending += new
            if len(seen) > _MOST_STEADY:
                return False
        return True

    def exit(self, state: int) -> Exit | None:
        """Whether the string may end here, and what follows."""
        if state not in self._exits:
            self._exits[state] = self._end(state)
        return self._exits[state]

    def spans(self, state: int) -> tuple[Span, ...]:
        """Where characters lead; only to states from which the string can still end."""
        found = self._living.get(state)
        if found is None:
            spans = self._product.spans(state)
            found = tuple(s for s in spans if self.cost(s[2]) is not None)
            self._living[state] = found
        return found

    def cost(self, state: int) -> int | None:
        """Fewest bytes until the string may end, and of what follows; None: it can't end."""
        found = self.ending(state)
        return None if found is None else found.cost

    def ending(self, state: int) -> Ending | None:
        """The cheapest way to where the string may end; None: it can't end."""
        if not self._is_known(state) and self._searched > _SEARCHED:
            self._searched = -self._steps
            self._search_together()
        if state not in self._endings:
            self._search(state)
        return self._endings[state]

    def _is_known(self, state: int) -> bool:
        """Whether the way to the end is known, or is found without a search."""
        if state in self._endings:
            return True
        if self._is_lost(state):
            self._endings[state] = None
            return True
        found = self._nearby(state) if self._nearby else "unknown"
        if found != "unknown":
            self._endings[state] = found
        return found != "unknown"

    def _is_lost(self, state: int) -> bool:
        """Whether what must hold fails, as automata that are dead stay so."""
        flags = self._product.dead(state)
        if not any(flags):
            return False
        found = self._lost.get(flags)
        if found is None:
            atoms = self._product.atoms
            dead = {atom for atom, is_dead in zip(atoms, flags, strict=True) if is_dead}
            left = substitute(self._must, lambda leaf: leaf not in dead and leaf)
            found = self._lost[flags] = left is False
        return found

    def _search_together(self) -> None:
        """The ways from all states, backwards from the ends, where they are not too many.

        Single searches find them one by one, each through much the same states; O(states) here.
        """
        sources: dict[int, list[tuple[int, int]]] = {0: []}
        heap: list[tuple[Ending, int]] = []
        pending = [0]
        while pending:
            state = pending.pop()
            if (found := self.exit(state)) is not None:
                heap.append((Ending(found.cost, 0), state))
            for low, high, target in self._product.spans(state):
                if self._is_lost(target):
                    continue
                if target not in sources:
                    if len(sources) == _MOST_TOGETHER:
                        return
                    sources[target] = []
                    pending.append(target)
                sources[target].append((self._cost_of_span(low, high), state))
        heapq.heapify(heap)
        endings: dict[int, Ending | None] = dict.fromkeys(sources)
        while heap:
            (cost, size), state = heapq.heappop(heap)
            if endings[state] is None:
                endings[state] = Ending(cost, size)
                for weight, source in sources[state]:
                    heapq.heappush(heap, (Ending(cost + weight, size + 1), source))
        self._endings.update(endings)

    def _search(self, start: int) -> None:
        """Dijkstra from one state to the nearest end; what lies on the way is known then too."""
        best = {start: 0}
        came: dict[int, int] = {}
        done: set[int] = set()
        heap = [(0, start)]
        goal: tuple[int, int, int] | None = None
        while heap and (goal is None or heap[0][0] + self._least < goal[0]):
            far, state = heapq.heappop(heap)
            if state in done:
                continue
            done.add(state)
            self._steps -= 1
            self._searched += 1
            if self._steps < 0:
                raise LimitError("a string keyword needs too many steps")
            is_known = self._is_known(state)
            rest = self._endings[state] if is_known else self._exit_of(state)
            if rest is not None and (goal is None or far + rest.cost < goal[0]):
                goal = (far + rest.cost, rest.size, state)
            if is_known or (rest is not None and rest.cost == self._least):
                continue
            for low, high, target in self._product.spans(state):
                weight = far + self._cost_of_span(low, high)
                is_better = weight < best.get(target, weight + 1)
                if is_better and not self._is_lost(target):
                    best[target] = weight
                    came[target] = state
                    heapq.heappush(heap, (weight, target))
        if goal is None:
            self._endings.update(dict.fromkeys(done))
            return
        total, size, state = goal
        self._endings[state] = Ending(total - best[state], size)
        while state != start:
            state = came[state]
            size += 1
            self._endings[state] = Ending(total - best[state], size)

    def _exit_of(self, state: int) -> Ending | None:
        found = self.exit(state)
        return None if found is None else Ending(found.cost, 0)
