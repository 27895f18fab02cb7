r"""Arrays in JSON: items by their place, how many, and how many of a kind.

    [1, "a"]    open -> item 0 -> after 1 -> next -> item 1 -> after 2 -> out

The number of items is part of a state only as far as it matters: beyond the last place that has a
schema of its own and beyond all bounds, all numbers are alike. As in objects, keywords that may
fail are asked beside each item; `contains` counts its answers.
"""

import heapq
import json
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

from untemplate.constrain.objects import SPARE
from untemplate.constrain.space import allow_space
from untemplate.constrain.state import Edges, Enter, Pop, Result, State, spelt
from untemplate.constrain.verdicts import Exit, Verdicts, top_parts
from untemplate.errors import LimitError
from untemplate.grammar.schema_atoms import (
    Contains,
    Items,
    Numbers,
    Size,
    Strings,
    Typed,
    Unique,
)
from untemplate.grammar.schema_formula import Formula, conj, leaves

if TYPE_CHECKING:
    from untemplate.constrain.values import Goal, Values

__all__ = ["ArrayMachine"]

Phase = Literal["open", "next", "item", "after"]
_MOST_STEPS = 20_000
_MOST_BESIDE = 4
"""With more questions beside an array it is not looked at whether one of them needs it unique."""
_ANY_SPREAD = SPARE + 1
"""An empty string takes one byte more than a digit."""


class At(NamedTuple):
    """What matters of the items so far."""

    total: int = 0
    failed: int = 0
    """Bit n: keyword n has failed."""
    hits: tuple[int, ...] = ()
    """For each `contains`: how many items were as it says."""


class ArrayMachine:
    """The arrays that end as they are asked to."""

    def __init__(self, values: "Values", verdicts: Verdicts) -> None:
        self.values = values
        self._verdicts = verdicts
        leaves, top = verdicts.leaves(), top_parts(verdicts.must)
        self._items = [a for a in leaves if isinstance(a, Items)]
        self._optional = sum(1 << n for n, a in enumerate(self._items) if a not in top)
        self._contains = [a for a in leaves if isinstance(a, Contains)]
        self.least = max((a.least for a in top if isinstance(a, Size)), default=0)
        mosts = [a.most for a in top if isinstance(a, Size) and a.most is not None]
        self.is_unique = any(isinstance(a, Unique) for a in top) or self._must_differ()
        """No item is written twice; where all must differ, a mask sees to it."""
        if self.is_unique and (count := self._members(top)) is not None:
            mosts.append(count)
        self.most = min(mosts, default=None)
        sizes = [a for a in leaves if isinstance(a, Size)]
        ends = [len(i.prefix) for i in self._items] + [s.least for s in sizes]
        ends += [s.most + 1 for s in sizes if s.most is not None] + [self.most or 0]
        # The first comes without a comma.
        self._told = max(1, *(len(i.prefix) for i in self._items)) if self._items else 1
        # Whether there was an item matters for the comma.
        self._enough = max(1, *ends) if ends else 1
        self._is_plain = verdicts.is_single and all(
            isinstance(p, Items | Size | Unique) for p in top
        )
        self._exits: dict[At, Exit | None] = {}
        self._rests: dict[At, int | None] = {}
        self._spreads: dict[int, int] = {}

    def _must_differ(self) -> bool:
        """Whether what is asked beside leads nowhere once an item was written twice."""
        asked = self._verdicts.formulas[1:]
        fails = [any(isinstance(part, Unique) for part in top_parts(f)) for f in asked]
        if not any(fails) or fails.count(False) > _MOST_BESIDE:
            return False
        ways = product(*((False,) if f else (False, True) for f in fails))
        return not any(map(self._verdicts.takes, ways))

    def _members(self, top: tuple[Formula, ...]) -> int | None:
        """How many different items there are, where all are listed."""
        if any(i.prefix for i in self._items):
            return None
        rests = (a.rest for a in top if isinstance(a, Items))
        return self.values.schemas.typed_goal(conj(*rests)).members

    def goal(self, at: At) -> "Goal":
        """What is asked of the next item."""
        from untemplate.constrain.values import Goal  # noqa: PLC0415  they need each other

        asked = tuple(dict.fromkeys(f for _, f in self._asks(at)))
        if not asked:
            return Goal((self.must(at.total),))
        return Goal((self.must(at.total), *asked), Array(self, "item", at))

    def must(self, place: int) -> Formula:
        parts = [self._item(a, place) for n, a in enumerate(self._items) if not self._may_fail(n)]
        return conj(*parts)

    def _may_fail(self, number: int) -> bool:
        return bool(self._optional >> number & 1)

    @staticmethod
    def _item(atom: Items, place: int) -> Formula:
        return atom.prefix[place] if place < len(atom.prefix) else atom.rest

    def _asks(self, at: At) -> list[tuple[int, Formula]]:
        """What is asked beside the next item: the number of the keyword, and the question.

        Numbers from 0 on are those of `items`, -1 and down those of `contains`.
        """
        found: list[tuple[int, Formula]] = []
        for number, atom in enumerate(self._items):
            if self._may_fail(number) and not at.failed >> number & 1:
                asked = self._item(atom, at.total)
                if asked is not True:
                    found.append((number, asked))
        found += [(-1 - n, atom.item) for n, atom in enumerate(self._contains)]
        return found

    def after_item(self, at: At, result: Result) -> At:
        """What matters after the next item."""
        failed = at.failed
        hits = list(at.hits)
        if result is not None and not isinstance(result, int):
            asks = self._asks(at)
            truth = dict(zip(dict.fromkeys(f for _, f in asks), result, strict=True))
            for number, asked in asks:
                if number >= 0 and not truth[asked]:
                    failed |= 1 << number
                elif number < 0 and truth[asked]:
                    hits[-1 - number] = min(hits[-1 - number] + 1, self._enough_hits(-1 - number))
        return At(min(at.total + 1, self._enough), failed, tuple(hits))

    def _enough_hits(self, number: int) -> int:
        atom = self._contains[number]
        return max(atom.least, 0 if atom.most is None else atom.most + 1)

    def exit(self, at: At) -> Exit | None:
        """Whether the array may end here, and what follows."""
        if at not in self._exits:

            def truth(leaf: object) -> bool:
                match leaf:
                    case Unique():
                        return True
                    case Size(least, most):
                        return at.total >= least and (most is None or at.total <= most)
                    case Contains(_, least, most):
                        hits = at.hits[self._contains.index(leaf)]
                        return hits >= least and (most is None or hits <= most)
                    case _:
                        return not at.failed >> self._items.index(leaf) & 1  # type: ignore[arg-type]

            self._exits[at] = self._verdicts.exit(truth)
        return self._exits[at]

    @property
    def _first(self) -> At:
        return At(hits=(0,) * len(self._contains))

    def begin(self) -> State:
        return Array(self, "open", self._first)

    def shortest(self) -> int | None:
        """Bytes of the shortest array, and of what follows it."""
        rest = self.rest(self._first)
        return None if rest is None else rest + 1

    def takes_more(self, at: At) -> bool:
        return self.most is None or at.total < self.most

    def rest(self, at: At) -> int | None:
        """Fewest bytes after the items so far, the closing bracket and what follows included."""
        if self._is_plain:
            return self._plain_rest(at)
        if at in self._rests:
            return self._rests[at]
        found = self._search(at)
        if self.values.is_solving:
            return found.get(at)
        self._rests.update(found)
        return self._rests.setdefault(at, None)

    def _plain_rest(self, at: At) -> int | None:
        if self.most is not None and self.least > self.most:
            return None
        total = 1
        place = at.total
        while place < self.least:
            cost = self.values.cost(self.must(place))
            if cost is None:
                return None
            # From here on all items are alike.
            count = self.least - place if place >= self._told else 1
            comma = len(self.values.comma) if place else 0
            total += count * (cost + comma + self._spread(place))
            place += count
        return total

    def spared(self, at: At) -> int:
        """Bytes that are kept until the next item begins."""
        return self._spread(at.total)

    def _spread(self, place: int) -> int:
        """Bytes that an item may take beyond the shortest, as that may have been written before."""
        if not self.is_unique or not place:
            return 0
        found = self._spreads.get(place)
        if found is None:
            typed = self.values.schemas.typed_goal(self.must(place))
            found = self._spreads[place] = (
                _ANY_SPREAD if typed.members is None else _spread_of(typed)
            )
        return found

    def _search(self, start: At) -> dict[At, int]:
        """Dijkstra: bytes to the end from the start and from what lies on the shortest way."""
        best = {start: 0}
        came: dict[At, At] = {}
        done: set[At] = set()
        heap = [(0, start)]
        goal: tuple[int, At] | None = None
        least = 1 + (self._verdicts.least() or 0)
        while heap and (goal is None or heap[0][0] + least < goal[0]):
            far, at = heapq.heappop(heap)
            if at in done:
                continue
            done.add(at)
            if len(done) > _MOST_STEPS:
                raise LimitError("an array has too many ways to be completed")
            ending = self.exit(at)
            if ending is not None and (goal is None or far + 1 + ending.cost < goal[0]):
                goal = (far + 1 + ending.cost, at)
            if not self.takes_more(at):
                continue
            comma = len(self.values.comma) if at.total else 0
            comma += self._spread(at.total)
            formulas = self.goal(at).formulas
            for result, cost in self.values.outcomes(formulas):
                following = self.after_item(at, result if len(formulas) > 1 else None)
                total = far + comma + cost
                if total < best.get(following, total + 1):
                    best[following] = total
                    came[following] = at
                    heapq.heappush(heap, (total, following))
        if goal is None:
            return {}
        total, at = goal
        found = {at: total - best[at]}
        while at != start:
            at = came[at]
            found[at] = total - best[at]
        return found

    def item_cost(self, at: At) -> int | None:
        """Fewest bytes of the next item and of all that follows."""
        if not self.takes_more(at):
            return None
        goal = self.goal(at)
        value = self.values.goal_cost(goal)
        if value is None or goal.judge is not None:
            return value
        rest = self.rest(self.after_item(at, None))
        return None if rest is None else value + rest


def _spread_of(typed: Typed) -> int:
    """By how much the longest of some listed values is longer than the shortest."""
    sizes = [size for part, size in zip(typed.parts, (4, 5, 4), strict=False) if part is True]
    for leaf in (leaf for part in typed.parts[3:] for leaf in leaves(part)):
        match leaf:
            case Strings(members):
                sizes += [len(json.dumps(member)) for member in members]
            case Numbers(members):
                sizes += [len(format(member, "f")) for member in members]
            case _:
                pass
    return max(sizes, default=0) - min(sizes, default=0)


@dataclass(slots=True, unsafe_hash=True)
class Array(State):
    """Inside an array, between its items; as `item`, the frame of an item."""

    machine: ArrayMachine
    phase: Phase
    at: At
    space: bool = True

    @property
    def origin(self) -> str:
        return self.machine.values.schemas.origin

    @property
    def remembers(self) -> bool:
        return self.machine.is_unique

    def cost(self) -> int | None:
        if self.phase in ("open", "after"):
            return self.machine.rest(self.at)
        cost, at = self.machine.item_cost(self.at), self.at
        return None if cost is None else cost + self.machine.spared(at)

    def edges(self, out: Edges) -> None:
        machine, values, at = self.machine, self.machine.values, self.at
        if self.space and not values.is_exact:
            allow_space(out, Array(machine, self.phase, at, space=False), values.most_blanks)
            return
        if self.phase in ("open", "after") and (ending := machine.exit(at)) is not None:
            out.do(0x5D, Pop(ending.result))
        following = Array(machine, "next", at)
        if following.cost() is None:
            return
        if self.phase == "after":
            out.do(values.comma[0], spelt(values.comma[1:], following))
        else:
            kinds = values.kinds(machine.goal(at))
            begin = values.begin(kinds.goal, space=False)
            out.do(kinds.first_bytes, Enter(Array(machine, "item", at), begin))

    def resume(self, result: Result) -> State | None:
        return Array(self.machine, "after", self.machine.after_item(self.at, result))

    def after(self) -> int:
        # A judged item counts on to the end of the array, as what follows hangs on its result.
        if self.machine.goal(self.at).judge is not None:
            return 0
        cost = self.machine.rest(self.machine.after_item(self.at, None))
        assert cost is not None
        return cost
