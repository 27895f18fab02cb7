r"""Objects pair by pair in a dialect's own notation, keys in any order.

    <parameter=to>\nx\n</parameter>\n<parameter=days>\n3\n</parameter>\n

What may stand at a place depends on the keys seen: a node gives it as literals, values and raw
strings, and is written out when a text comes there. What the set of positions makes of literals,
closers and special tokens is not the business of this module.

Keywords of which one or another has to hold (branches of `anyOf`, say) are followed as far as they
ask for keys: which are there, and how many. Where they ask for values, what was written is checked.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from untemplate.constrain.objects import At, ObjectMachine, is_plain
from untemplate.constrain.positions import INFINITE, Raw, Step, Ways
from untemplate.constrain.text import Avoid
from untemplate.constrain.verdicts import Verdicts, top_parts
from untemplate.dialect import Items, Pairs
from untemplate.errors import LimitError
from untemplate.grammar import nodes
from untemplate.grammar.marks import openings
from untemplate.grammar.schema_atoms import HasKey, Pattern, Size, Strings
from untemplate.grammar.schema_formula import Formula, conj, neg
from untemplate.grammar.schema_patterns import pattern_formula
from untemplate.grammar.schema_relax import about_keys

if TYPE_CHECKING:
    from untemplate.constrain.notation import NotationWriter

__all__ = ["PairsPlan"]

_MOST_STEPS = 5_000
_KEY = Pattern(f"^{nodes.KEY_CHARACTER}+$")
"""Keys that no schema names, as far as they can be told from what follows them."""


class PairsPlan:
    """The pairs of one object in one notation."""

    def __init__(
        self,
        writer: "NotationWriter",
        pairs: Pairs,
        formula: Formula,
        scope: Mapping[str, Items | Pairs],
    ) -> None:
        self.pairs = pairs
        self._writer = writer
        self._scope = scope
        # Keywords that may fail by a value would need every value to be judged.
        followed = conj(*(p if is_plain(p) else about_keys(p) for p in top_parts(formula)))
        self._machine = ObjectMachine(writer.values(), Verdicts((followed,)))
        self._nodes: dict[tuple[At, bool], PairsNode] = {}
        self._written: dict[tuple[int, tuple[str, ...]], Ways] = {}

    def start(self) -> "PairsNode":
        return self.node(At(), is_start=True)

    def node(self, at: At, *, is_start: bool = False) -> "PairsNode":
        key = (at, is_start)
        if key not in self._nodes:
            self._nodes[key] = PairsNode(self, at, is_start)
        return self._nodes[key]

    def alternatives(self, node: "PairsNode") -> Iterator[tuple[Step, ...]]:
        pairs, machine, at = self.pairs, self._machine, node.at
        is_complete = machine.exit(at) is not None
        if node.is_start:
            if is_complete:
                yield (nodes.Literal(pairs.none.encode()),)
            yield (nodes.Literal(pairs.head.encode()), self.node(at))
            return
        if at.total and is_complete:
            yield (nodes.Literal(pairs.tail.encode()),)
        lead = (pairs.separator if at.total else "") + pairs.open
        for number in (*range(len(machine.keys)), *self._others):
            seen = machine.saw(number, at)
            if seen is None or machine.rest(seen) is None:
                continue
            if ways := self.written(number, at):
                key = self._key(number)
                yield (nodes.Literal(lead.encode()), key, ways, self.node(seen))

    @cached_property
    def _others(self) -> tuple[int, ...]:
        """The classes of keys that are no names."""
        return tuple(number for number, _ in self._machine.space.classes())

    def _key(self, number: int) -> Step:
        from untemplate.constrain.notation import raw_machine  # noqa: PLC0415  they need each other

        if number >= 0:
            return nodes.Literal(self._machine.keys[number].encode())
        names = Strings(self._machine.keys) if self._machine.keys else False
        own = self._machine.space.formula_of(number)
        formula = conj(pattern_formula(_KEY), neg(names), own)
        return Raw(raw_machine(formula), Avoid(()))

    def _openings(self, number: int, at: At) -> tuple[str, ...]:
        """What begins a pair that may still come behind the value of this key."""
        is_ordered = self._writer.values().is_ordered
        first = (len(self._machine.keys) if number < 0 else number + 1) if is_ordered else 0
        return openings(
            self.pairs,
            (
                key
                for n, key in enumerate(self._machine.keys[first:], first)
                if n != number and not at.seen >> n & 1
            ),
        )

    def written(self, number: int, at: At) -> Ways | None:
        """The ways to write a value of this key, from behind the key on."""
        from untemplate.constrain.notation import Place  # noqa: PLC0415  they need each other

        others = self._openings(number, at)
        found = self._written.get((number, others))
        if found is None:
            key = self._machine.key(number)
            if key is None:
                return None
            name = self._machine.keys[number] if number >= 0 else None
            place = Place(self._scope, self.pairs.separator or self.pairs.tail, others)
            ways = self._writer.written(self.pairs.types, name, key.must, place)
            found = self._written[number, others] = Ways(tuple(ways))
        return found

    def rest(self, node: "PairsNode", of: Callable[[Step], int]) -> int:
        """Fewest bytes and special tokens after the pairs seen."""
        pairs, machine, at = self.pairs, self._machine, node.at
        if machine.has_choices:
            return self._searched(node, of)
        missing = machine.all_missing(at)
        costs = [self._pair(n, at, of) for n in missing]
        need = machine.least - at.total - len(costs)
        if not at.total and not costs and not node.is_start:
            need = max(need, 1)
        if need > 0:
            taken = at.seen | sum(1 << n for n in missing)
            names = [n for n in range(len(machine.keys)) if not taken >> n & 1]
            others = sorted(self._pair(n, at, of) for n in names)
            classes = [self._pair(n, at, of) for n in self._others if machine.key(n) is not None]
            if len(others) < need and classes:
                others += [min(classes)] * (need - len(others))
            if len(others) < need:
                return INFINITE
            costs += others[:need]
        if machine.most is not None and at.total + len(costs) > machine.most:
            return INFINITE
        if node.is_start and not costs:
            return of(nodes.Literal(pairs.none.encode()))
        head = of(nodes.Literal(pairs.head.encode())) if node.is_start else 0
        separators = len(costs) - (0 if at.total or not costs else 1)
        between = separators * of(nodes.Literal(pairs.separator.encode()))
        tail = of(nodes.Literal(pairs.tail.encode()))
        return min(head + sum(costs) + between + tail, INFINITE)

    def _searched(self, node: "PairsNode", of: Callable[[Step], int]) -> int:
        """The same where keys hang on one another: Dijkstra over the sets of keys that matter."""
        pairs, machine = self.pairs, self._machine
        if node.is_start and machine.exit(node.at) is not None:
            return of(nodes.Literal(pairs.none.encode()))
        separator = of(nodes.Literal(pairs.separator.encode()))
        tail = of(nodes.Literal(pairs.tail.encode()))
        first = of(nodes.Literal(pairs.head.encode())) if node.is_start else 0
        heap = [(first, node.at)]
        done: set[At] = set()
        while heap:
            cost, at = heapq.heappop(heap)
            if at in done:
                continue
            done.add(at)
            if at.total and machine.exit(at) is not None:
                return min(cost + tail, INFINITE)
            if len(done) > _MOST_STEPS:
                raise LimitError("arguments have too many ways to be completed")
            # What has to come in any case comes first, where the order does not matter.
            missing = [] if machine.values.is_ordered else machine.all_missing(at)[:1]
            for number in missing or self._deciding:
                seen = machine.saw(number, at)
                if seen is not None and seen not in done:
                    more = self._pair(number, at, of) + (separator if at.total else 0)
                    heapq.heappush(heap, (cost + more, seen))
        return INFINITE

    @cached_property
    def _deciding(self) -> tuple[int, ...]:
        """The keys by which it may be decided whether the object can end."""
        leaves = self._machine.verdicts.leaves()
        if any(isinstance(leaf, Size) for leaf in leaves):
            return (*range(len(self._machine.keys)), *self._others)
        return tuple(self._machine.number_of(a.key) for a in leaves if isinstance(a, HasKey))

    def _pair(self, number: int, at: At, of: Callable[[Step], int]) -> int:
        lead = of(nodes.Literal(self.pairs.open.encode()))
        ways = self.written(number, at)
        return INFINITE if ways is None else lead + of(self._key(number)) + of(ways)


@dataclass(frozen=True, slots=True, eq=False)
class PairsNode:
    """Between two pairs."""

    plan: PairsPlan
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
