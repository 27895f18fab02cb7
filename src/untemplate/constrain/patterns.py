r"""Regular expressions as automata over code points, found state by state.

An expression becomes a small program (Thompson, "Regular expression search algorithm", 1968): take
a character, split, assert, match. A state of the automaton is the set of places in the program that
the characters so far may have led to. Expressions match anywhere unless they say otherwise, so the
start is one of the places after every character; once a match is found, any end holds.

Look-ahead at the beginning is taken apart before: `^(?!a)b` is `^b` and not `^a`.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import NamedTuple

from untemplate.constrain.words import DEAD, LAST, Automaton, Counter, Members, Span
from untemplate.grammar.schema_atoms import Length, Strings
from untemplate.grammar.schema_patterns import Expression
from untemplate.grammar.schema_regex import (
    Alt,
    Assert,
    Cat,
    Look,
    Ranges,
    Regex,
    Repeat,
    Set,
    Unsupported,
)

__all__ = ["automaton_of"]

_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))


def automaton_of(atom: Hashable) -> Automaton:
    """The automaton of one leaf."""
    match atom:
        case Strings(members):
            return Members(members)
        case Length():
            return Counter(atom)
        case Expression(tree):
            return PatternAutomaton(tree)
        case _:
            raise AssertionError(atom)


class _Char(NamedTuple):
    borders: tuple[int, ...]
    """First code points inside and outside of the ranges by turns."""
    to: int

    def takes(self, code: int) -> bool:
        return bool(bisect_right(self.borders, code) & 1)


class _Split(NamedTuple):
    to: tuple[int, ...]


class _Check(NamedTuple):
    what: str
    to: int


class _Match(NamedTuple):
    pass


class _State(NamedTuple):
    """A state of the automaton."""

    places: frozenset[int]
    """Before their assertions."""
    is_start: bool = False
    is_word: bool = False
    """The last character was one of a word; only followed where that matters."""
    ends: bool | None = None
    """Whether the string may end here, where that is known already."""


class _Border(NamedTuple):
    """What is known of the place between two characters."""

    is_start: bool
    is_end: bool
    differs: bool
    """One side is a word character, the other is not."""


class PatternAutomaton:
    """The strings in which an expression matches somewhere."""

    def __init__(self, tree: Regex) -> None:
        self._program: list[_Char | _Split | _Check | _Match] = []
        self._start = self._compile(tree, self._add(_Match()))
        self._has_borders = any(
            isinstance(i, _Check) and i.what in ("border", "inside") for i in self._program
        )
        first = _State(frozenset((self._start,)), is_start=True)
        self._states: list[_State | None] = [first, None]
        self._numbers = {first: 0}
        self._known: dict[_State, int] = {}
        """Numbers by places as they were reached, before what can't matter is left out."""

    # ------------------------------------------------------------------------------------ program

    def _add(self, step: _Char | _Split | _Check | _Match) -> int:
        self._program.append(step)
        return len(self._program) - 1

    def _compile(self, tree: Regex, to: int) -> int:
        """Where the program for a tree begins that goes on at `to`."""
        match tree:
            case Set(ranges):
                borders = tuple(c for low, high in ranges for c in (low, high + 1))
                return self._add(_Char(borders, to))
            case Cat(parts):
                for part in reversed(parts):
                    to = self._compile(part, to)
                return to
            case Alt(options):
                return self._add(_Split(tuple(self._compile(o, to) for o in options)))
            case Repeat(part, least, most):
                if most is None:
                    loop = self._add(_Split((to,)))
                    body = self._compile(part, loop)
                    self._program[loop] = _Split((body, to))
                    to = loop
                else:
                    out = to
                    for _ in range(most - least):
                        to = self._add(_Split((self._compile(part, to), out)))
                for _ in range(least):
                    to = self._compile(part, to)
                return to
            case Assert(what):
                return self._add(_Check(what, to))
            case Look():
                raise Unsupported("look-ahead")

    def _closure(self, places: frozenset[int], border: _Border) -> frozenset[int]:
        """Places before a character, or the match, that can be reached without one."""
        found: set[int] = set()
        pending = list(places)
        seen: set[int] = set()
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            match self._program[at]:
                case _Split(to):
                    pending += to
                case _Check(what, to):
                    if (
                        (what == "start" and border.is_start)
                        or (what == "end" and border.is_end)
                        or (what == "border" and border.differs)
                        or (what == "inside" and not border.differs)
                    ):
                        pending.append(to)
                case _:
                    found.add(at)
        return frozenset(found)

    def _has_match(self, places: frozenset[int]) -> bool:
        return any(isinstance(self._program[p], _Match) for p in places)

    # ------------------------------------------------------------------------------------- states

    def holds(self, state: int) -> bool:
        """Whether the string may end here."""
        found = self._states[state]
        if found is None:
            return True
        if found.ends is not None:
            return found.ends
        border = _Border(found.is_start, True, found.is_word)
        return self._has_match(self._closure(found.places, border))

    def spans(self, state: int) -> tuple[Span, ...]:
        """Where characters lead; state 1 is that of a match."""
        found = self._states[state]
        if found is None:
            return ((0, LAST, 1),)
        places, is_start, is_word, _ = found
        if not self._has_borders:
            return self._moves(self._closure(places, _Border(is_start, False, False)), None)
        spans: list[Span] = []
        for word in (True, False):
            closed = self._closure(places, _Border(is_start, False, word != is_word))
            moves = self._moves(closed, word)
            spans += [s for s in moves if _is_word(s[0]) == word]
        return tuple(sorted(spans))

    def _moves(self, places: frozenset[int], is_word: bool | None) -> tuple[Span, ...]:
        if self._has_match(places):
            cuts = {0, LAST + 1}
        else:
            steps = [s for s in map(self._program.__getitem__, places) if isinstance(s, _Char)]
            cuts = {0, LAST + 1, *(c for s in steps for c in s.borders)}
        if is_word is not None:
            cuts |= {c for a, b in _WORD for c in (a, b + 1)}
        return tuple(s for s in self._joined(sorted(cuts), places, is_word) if s[2] != DEAD)

    def _joined(
        self, cuts: list[int], places: frozenset[int], is_word: bool | None
    ) -> Iterator[Span]:
        last: Span | None = None
        done = self._has_match(places)
        for low, end in pairwise(cuts):
            to = 1 if done else self._after(low, places, bool(is_word))
            if last is not None and last[2] == to and last[1] == low - 1 and is_word is None:
                last = (last[0], end - 1, to)
                continue
            if last is not None:
                yield last
            last = (low, end - 1, to)
        if last is not None:
            yield last

    def _after(self, code: int, places: frozenset[int], is_word: bool) -> int:
        found = {self._start}
        for place in places:
            step = self._program[place]
            if isinstance(step, _Char) and step.takes(code):
                found.add(step.to)
        state = _State(frozenset(found), is_word=is_word)
        number = self._known.get(state)
        if number is None:
            number = self._known[state] = self._number(state)
        return number

    def _number(self, state: _State) -> int:
        if not self._has_borders:
            # What matters is only what can be reached: states that agree in it are one.
            closed = self._closure(state.places, _Border(False, False, False))
            if self._has_match(closed):
                return 1
            ends = self._has_match(self._closure(state.places, _Border(False, True, False)))
            if not closed and not ends:
                return DEAD
            state = _State(closed, ends=ends)
        found = self._numbers.setdefault(state, len(self._states))
        if found == len(self._states):
            self._states.append(state)
        return found


def _is_word(code: int) -> bool:
    return any(a <= code <= b for a, b in _WORD)
