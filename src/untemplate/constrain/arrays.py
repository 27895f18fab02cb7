r"""Arrays in JSON: items by their place, and how many.

    [1, "a"]    open -> item 0 -> after 1 -> next -> item 1 -> after 2 -> out

The number of items is part of a state only as far as it matters: beyond the last place that has a
schema of its own and beyond both bounds all are alike.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from untemplate.constrain.relax import relax_compound
from untemplate.constrain.space import allow_space
from untemplate.constrain.state import Edges, Enter, Go, Pop, Result, Spell, State
from untemplate.grammar.schema_atoms import Items, Size
from untemplate.grammar.schema_formula import Formula, conj

if TYPE_CHECKING:
    from untemplate.constrain.values import Values

__all__ = ["ArrayMachine"]

Phase = Literal["open", "next", "item", "after"]


class ArrayMachine:
    """The arrays that satisfy a formula."""

    def __init__(self, values: "Values", formula: Formula) -> None:
        self.values = values
        atoms = relax_compound(formula)
        self._items = tuple(a for a in atoms if isinstance(a, Items))
        sizes = tuple(a for a in atoms if isinstance(a, Size))
        self.least = max((s.least for s in sizes), default=0)
        self.most = min((s.most for s in sizes if s.most is not None), default=None)
        ends = [len(i.prefix) for i in self._items] + [s.least for s in sizes]
        ends += [s.most + 1 for s in sizes if s.most is not None]
        self.enough = max(ends, default=0)
        """From this many items on all numbers are alike."""
        self._goals: dict[int, Formula] = {}

    def goal(self, at: int) -> Formula:
        """What item number `at` has to be."""
        found = self._goals.get(at)
        if found is None:
            parts = (i.prefix[at] if at < len(i.prefix) else i.rest for i in self._items)
            found = self._goals[at] = conj(*parts)
        return found

    def begin(self) -> State:
        return Array(self, "open", 0)

    def shortest(self) -> int | None:
        """Bytes of the shortest array."""
        rest = self.rest(0)
        return None if rest is None else rest + 1

    def rest(self, count: int) -> int | None:
        """Fewest bytes after `count` items, the closing bracket included."""
        if self.most is not None and self.least > self.most:
            return None
        total = 1
        for at in range(count, self.least):
            cost = self.values.cost(self.goal(at))
            if cost is None:
                return None
            total += cost + (len(self.values.comma) if at else 0)
        return total

    def counted(self, count: int) -> int:
        return min(count, self.enough)

    def takes_more(self, count: int) -> bool:
        return self.most is None or count < self.most


@dataclass(frozen=True, slots=True)
class Array(State):
    """Inside an array, between its items; as `item`, the frame of an item."""

    machine: ArrayMachine
    phase: Phase
    count: int
    """Items that are complete, as far as it matters."""
    space: bool = True

    def cost(self) -> int | None:
        machine = self.machine
        if self.phase in ("open", "after"):
            return machine.rest(self.count)
        item = machine.values.cost(machine.goal(self.count)) if self._takes_more else None
        rest = machine.rest(machine.counted(self.count + 1))
        return None if item is None or rest is None else item + rest

    @property
    def _takes_more(self) -> bool:
        return self.machine.takes_more(self.count)

    def edges(self, out: Edges) -> None:
        machine, values = self.machine, self.machine.values
        if self.space and not values.is_exact:
            allow_space(
                out, Array(machine, self.phase, self.count, space=False), values.most_blanks
            )
        is_end = self.phase in ("open", "after") and self.count >= machine.least
        if is_end:
            out.do(0x5D, Pop())
        if not self._takes_more:
            return
        following = Array(machine, "next", self.count)
        if self.phase == "after":
            if following.cost() is not None:
                out.do(values.comma[0], _spelt(values.comma[1:], following))
        elif following.cost() is not None:
            goal = values.goal(machine.goal(self.count))
            frame = Array(machine, "item", self.count)
            begin = values.begin(goal.formula, space=False)
            out.do(goal.first_bytes, Enter(frame, begin))

    def resume(self, result: Result) -> State | None:  # noqa: ARG002  items are always good
        count = self.machine.counted(self.count + 1)
        return Array(self.machine, "after", count)


def _spelt(rest: bytes, state: State) -> Go:
    """The state once the rest of a separator is written."""
    return Go(Spell(rest, Go(state)) if rest else state)
