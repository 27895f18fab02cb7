r"""Lists item by item in a dialect's own notation.

    [<|"|>a<|"|>,<|"|>b<|"|>]

As with pairs, a node says what may stand at a place, by the number of items so far.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from untemplate.constrain.arrays import ArrayMachine, At
from untemplate.constrain.positions import INFINITE, Step, Ways
from untemplate.constrain.verdicts import Verdicts, top_parts
from untemplate.dialect import Items, Pairs
from untemplate.grammar import nodes
from untemplate.grammar.schema_atoms import Items as ItemsAtom
from untemplate.grammar.schema_atoms import Size
from untemplate.grammar.schema_formula import Formula, conj

if TYPE_CHECKING:
    from untemplate.constrain.notation import NotationWriter

__all__ = ["ItemsPlan"]


class ItemsPlan:
    """The items of one list in one notation."""

    def __init__(
        self,
        writer: "NotationWriter",
        items: Items,
        formula: Formula,
        scope: Mapping[str, Items | Pairs],
    ) -> None:
        self.items = items
        self._writer = writer
        self._scope = scope
        # Keywords that may fail would need every item to be judged.
        plain = conj(*(p for p in top_parts(formula) if isinstance(p, ItemsAtom | Size)))
        self._machine = ArrayMachine(writer.values(), Verdicts((plain,)))
        self._nodes: dict[tuple[At, bool], ItemsNode] = {}
        self._written: dict[int, Ways] = {}

    def start(self) -> "ItemsNode":
        return self.node(At(), is_start=True)

    def node(self, at: At, *, is_start: bool = False) -> "ItemsNode":
        key = (at, is_start)
        if key not in self._nodes:
            self._nodes[key] = ItemsNode(self, at, is_start)
        return self._nodes[key]

    def alternatives(self, node: "ItemsNode") -> Iterator[tuple[Step, ...]]:
        items, machine, at = self.items, self._machine, node.at
        is_complete = machine.exit(at) is not None
        if node.is_start:
            if is_complete:
                yield (nodes.Literal(items.none.encode()),)
            yield (nodes.Literal(items.head.encode()), self.node(at))
            return
        if at.total and is_complete:
            yield (nodes.Literal(items.tail.encode()),)
        if not machine.takes_more(at):
            return
        following = machine.after_item(at, None)
        if machine.rest(following) is None:
            return
        lead = nodes.Literal((items.separator if at.total else "").encode())
        yield (lead, self.written(at.total), self.node(following))

    def written(self, place: int) -> Ways:
        """The ways to write an item."""
        from untemplate.constrain.notation import Place  # noqa: PLC0415  they need each other

        found = self._written.get(place)
        if found is None:
            where = Place(self._scope, self.items.separator or self.items.tail)
            goal = self._machine.must(place)
            ways = self._writer.written(self.items.types, "", goal, where)
            found = self._written[place] = Ways(tuple(ways))
        return found

    def rest(self, node: "ItemsNode", of: Callable[[Step], int]) -> int:
        """Fewest bytes and special tokens after the items so far."""
        items, machine, at = self.items, self._machine, node.at
        need = max(machine.least - at.total, 0)
        if not at.total and not node.is_start:
            need = max(need, 1)
        if machine.most is not None and machine.least > machine.most:
            return INFINITE
        if node.is_start and not need:
            return of(nodes.Literal(items.none.encode()))
        total = of(nodes.Literal(items.tail.encode()))
        total += of(nodes.Literal(items.head.encode())) if node.is_start else 0
        for place in range(at.total, at.total + need):
            total += of(self.written(place))
            total += of(nodes.Literal(items.separator.encode())) if place else 0
        return min(total, INFINITE)


@dataclass(frozen=True, slots=True, eq=False)
class ItemsNode:
    """Between two items."""

    plan: ItemsPlan
    at: At
    is_start: bool
    _cost: list[int] = field(default_factory=list[int])

    def alternatives(self) -> Iterator[tuple[Step, ...]]:
        return self.plan.alternatives(self)

    def cost(self, of: Callable[[Step], int]) -> int:
        if not self._cost:
            # A value inside itself has no end by that way.
            self._cost.append(INFINITE)
            self._cost[0] = self.plan.rest(self, of)
        return self._cost[0]
