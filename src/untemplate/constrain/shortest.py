r"""The shortest way to end an object whose keywords may hold or fail.

A* (Hart, Nilsson, Raphael, "A formal basis for the heuristic determination of minimum cost paths",
1968) over what matters of the pairs. The order of pairs never changes what an object is, so a key
that has to come in any case comes first; only then keys are tried that may change a verdict: one
that an `anyOf` asks for, or one whose value makes a `not` true. With one branch for each way that
the value of a key may turn out, the search is exact.
"""

import heapq
from typing import TYPE_CHECKING

from untemplate.errors import LimitError

if TYPE_CHECKING:
    from untemplate.constrain.objects import At, ObjectMachine

__all__ = ["Shortest"]

_MOST_STEPS = 5_000


class Shortest:
    """One search."""

    def __init__(self, machine: "ObjectMachine") -> None:
        self._machine = machine
        self._comma = len(machine.values.comma)

    def search(self, start: "At") -> "dict[At, int]":
        """Bytes to the end from the start and from what lies on the shortest way; {} if none."""
        best = {start: 0}
        came: dict[At, At] = {}
        done: set[At] = set()
        heap = [(self._at_least(start), 0, start)]
        goal: tuple[int, At] | None = None
        while heap and (goal is None or heap[0][0] < goal[0]):
            _, far, at = heapq.heappop(heap)
            if at in done:
                continue
            done.add(at)
            if len(done) > _MOST_STEPS:
                raise LimitError("an object has too many ways to be completed")
            ending = self._machine.exit(at)
            if ending is not None and (goal is None or far + 1 + ending.cost < goal[0]):
                goal = (far + 1 + ending.cost, at)
            for weight, following in self._steps(at):
                total = far + weight
                if total < best.get(following, total + 1):
                    best[following] = total
                    came[following] = at
                    heapq.heappush(heap, (total + self._at_least(following), total, following))
        if goal is None:
            return {}
        total, at = goal
        found = {at: total - best[at]}
        while at != start:
            at = came[at]
            found[at] = total - best[at]
        return found

    def _at_least(self, at: "At") -> int:
        """Fewest bytes that are missing in any case."""
        pairs = [self._machine.pair(n) for n in self._machine.all_missing(at)]
        return 1 + sum(p for p in pairs if p is not None)

    def _steps(self, at: "At") -> "list[tuple[int, At]]":
        machine = self._machine
        missing = machine.missing(at)
        keys = machine.useful(at) if missing is None else [missing]
        found: list[tuple[int, At]] = []
        for number in keys:
            key, seen = machine.key(number), machine.saw(number, at)
            if key is None or seen is None:
                continue
            weight = key.size + len(machine.values.colon) + (self._comma if at.total else 0)
            goal = machine.goal(number, seen)
            for result, cost in machine.values.outcomes(goal.formulas):
                after = machine.after_value(number, seen, result if goal.judge else None)
                if after is not None:
                    found.append((weight + cost, after))
        return found
