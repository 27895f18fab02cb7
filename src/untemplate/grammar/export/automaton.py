r"""Free text as an automaton: the states of a search for several strings at once.

Aho and Corasick, "Efficient string matching", 1975. A state is the longest suffix of the text so
far that one of the strings begins with; where a string is found the text ends.

    search(("<a>",))
    state 0  ""    "<" -> 1, else -> 0
    state 1  "<"   "a" -> 2, "<" -> 1, else -> 0
    state 2  "<a"  ">" -> found 0, "<" -> 1, else -> 0
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Found", "State", "search"]


@dataclass(frozen=True, slots=True)
class Found:
    """The end of the search: the numbers of the strings that end here."""

    strings: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Where each character leads; any other character leads to state 0."""

    suffix: str
    moves: "tuple[tuple[str, int | Found], ...]"


def search(strings: Sequence[str]) -> tuple[State, ...]:
    """The states of the search for these non-empty strings, state 0 first."""
    children: list[dict[str, int]] = [{}]
    suffixes = [""]
    ends: list[list[int]] = [[]]
    for number, string in enumerate(strings):
        at = 0
        for character in string:
            if character not in children[at]:
                children[at][character] = len(children)
                children.append({})
                suffixes.append(suffixes[at] + character)
                ends.append([])
            at = children[at][character]
        ends[at].append(number)

    moves: list[dict[str, int]] = [dict(c) for c in children]
    pending = deque((child, 0) for child in children[0].values())
    while pending:
        at, fallback = pending.popleft()
        ends[at].extend(ends[fallback])
        pending.extend((child, moves[fallback].get(c, 0)) for c, child in children[at].items())
        moves[at] = {c: s for c, s in moves[fallback].items() if s} | children[at]

    live = _live(moves, ends)
    number_of = {state: n for n, state in enumerate(live)}
    return tuple(
        State(
            suffixes[state],
            tuple(
                (c, Found(tuple(sorted(ends[t]))) if ends[t] else number_of[t])
                for c, t in sorted(moves[state].items())
            ),
        )
        for state in live
    )


def _live(moves: Sequence[dict[str, int]], ends: Sequence[Sequence[int]]) -> list[int]:
    """The states that can be reached before a string is found, in order of discovery."""
    seen = {0: None}
    pending = deque([0])
    while pending:
        for target in moves[pending.popleft()].values():
            if target not in seen and not ends[target]:
                seen[target] = None
                pending.append(target)
    return list(seen)
