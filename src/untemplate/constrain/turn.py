r"""The grammar of one turn as positions: what may stand after what, in one vocabulary.

    turn.after(rest)     # the positions at the beginning of what is left

Nodes that are only structure (sequence, choice, repeat, reference, tag) vanish here; what remains
are literals, single bytes, free text, values and the end. Each position has a cost, the fewest
bytes and special tokens to the end of the turn; positions without one are left out.

A marker that is one token of the vocabulary is a symbol, written by its id. White space between a
literal and free text is soft: the literal is taken without it, the text may hold it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from untemplate.constrain.positions import (
    INFINITE,
    AfterEnd,
    AtByte,
    AtEnd,
    AtSymbol,
    AtValue,
    InLiteral,
    InRaw,
    InText,
    Position,
    Raw,
    Rest,
    Step,
    ValueStart,
)
from untemplate.constrain.sources import Sources
from untemplate.constrain.text import UTF8_COST, Avoid
from untemplate.constrain.together import enter_together
from untemplate.dialect import Hole
from untemplate.errors import LimitError
from untemplate.grammar import Grammar, nodes
from untemplate.grammar.expand import expand_call
from untemplate.grammar.markers import marker_tokens
from untemplate.vocabulary import TokenKind, Vocabulary

if TYPE_CHECKING:
    from untemplate.constrain.state import Enter, Go, State
    from untemplate.message import JSON

__all__ = ["TurnMachine"]

_NOTHING = nodes.End(())
"""Behind the end of the turn."""


class _Tools:
    """What follows the first literal of a call: one of its tools."""

    def __init__(self, call: nodes.Call) -> None:
        self._call = call
        self._made: dict[int, nodes.Node] = {}
        self._cost: int | None = None

    def alternatives(self) -> Iterator[tuple[Step, ...]]:
        for number in range(len(self._call.tools)):
            yield (self._tool(number),)

    def cost(self, of: Callable[[Step], int]) -> int:
        # That of the first tool which can be called at all: no schema is read before it is needed.
        # Which is the nearest way is decided where the names are told apart.
        if self._cost is None:
            costs = (of(self._tool(n)) for n in range(len(self._call.tools)))
            self._cost = next((cost for cost in costs if cost < INFINITE), INFINITE)
        return self._cost

    def _tool(self, number: int) -> nodes.Node:
        found = self._made.get(number)
        if found is None:
            found = expand_call(self._call, self._call.tools[number])
            if isinstance(found, nodes.Sequence) and isinstance(found.items[0], nodes.Literal):
                found = nodes.Sequence(found.items[1:])
            self._made[number] = found
        return found


class TurnMachine:
    """All positions of one grammar."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, sources: Sources) -> None:
        self.grammar = grammar
        self.markers = marker_tokens(
            grammar.dialect,
            vocabulary.special,
            lambda i: vocabulary.kinds[i] == TokenKind.CONTROL,
        )
        """Bytes of each marker of the grammar that is one token, and its id."""
        self._sources = sources
        self.ends = tuple(sorted(vocabulary.ends))
        self._rests: dict[object, Rest] = {}
        self._texts: list[tuple[nodes.Text, Avoid]] = []
        self._numbers: dict[int, int] = {}
        self._tools: dict[int, tuple[nodes.Call, _Tools]] = {}
        self._positions: dict[Rest | None, tuple[Position, ...]] = {None: ()}
        self._inside: dict[InText | InRaw, tuple[Position, ...]] = {}
        self._costs: dict[Rest, int] = {}
        self._splits: dict[bytes, tuple[bytes, int | None, bytes]] = {}
        self.spelt: dict[InLiteral, Go] = {}
        """States of literals that stand alone."""
        self._rules = dict.fromkeys(grammar.rules, INFINITE)
        self._find_rule_costs()

    def begin(self) -> tuple[Position, ...]:
        """Before the first byte of the turn."""
        return self.after(self._link(self.grammar.start, None))

    def avoid(self, text: int) -> Avoid:
        """What a free text must not hold."""
        return self._texts[text][1]

    def enter_together(
        self, values: Sequence[AtValue], following: Callable[[tuple[Position, ...]], "State"]
    ) -> "tuple[bytes, Enter]":
        """The first bytes of arguments that stand before the names of their tools."""
        schemas: dict[str, JSON] = {f"tool {t.name}": t.parameters for t in self.grammar.tools}
        if any(position.value.origin not in schemas for position in values):
            raise LimitError("an answer and the arguments of a call may stand at one place")
        return enter_together(
            values,
            [schemas[position.value.origin] for position in values],
            self.grammar.options,
            following,
            lambda position: self.after(position.rest),
        )

    # ---------------------------------------------------------------------------------- positions

    def _link(self, step: Step, more: Rest | None) -> Rest:
        is_small = isinstance(step, nodes.Literal | nodes.ByteSet | nodes.Reference | nodes.Repeat)
        # Other nodes may hold schemas, which can't be hashed; the link keeps them alive.
        key = (step if is_small else id(step), more)
        found = self._rests.get(key)
        if found is None:
            found = self._rests[key] = Rest(step, more)
        return found

    def after(self, rest: Rest | None) -> tuple[Position, ...]:
        """The positions at the beginning of `rest`; only those that lead to an end."""
        found = self._positions.get(rest)
        if found is None:
            assert rest is not None
            found = self._positions[rest] = self._living(self._after(rest.step, rest.more))
        return found

    def inside(self, position: InText | InRaw) -> tuple[Position, ...]:
        """Free text or a raw string, with its exits."""
        found = self._inside.get(position)
        if found is None:
            found = self._living(
                self._text(position) if isinstance(position, InText) else self._raw(position)
            )
            self._inside[position] = found
        return found

    def _living(self, positions: Iterable[Position]) -> tuple[Position, ...]:
        return tuple(dict.fromkeys(p for p in positions if self.cost(p) < INFINITE))

    def _after(self, step: Step, more: Rest | None) -> Iterator[Position]:
        match step:
            case nodes.Literal(data):
                yield from self._literal(data, more)
            case nodes.ByteSet(members):
                yield AtByte(members, more)
            case nodes.Sequence(items):
                yield from self.after(self._linked(items, more))
            case nodes.Choice(options):
                for option in options:
                    yield from self.after(self._link(option, more))
            case nodes.Repeat(item, least, most):
                if not least:
                    yield from self.after(more)
                if most != 0:
                    left = None if most is None else most - 1
                    again = self._link(nodes.Repeat(item, max(least - 1, 0), left), more)
                    yield from self.after(self._link(item, again))
            case nodes.Reference(rule):
                yield from self.after(self._link(self.grammar.rules[rule], more))
            case nodes.Tag(_, item):
                yield from self.after(self._link(item, more))
            case nodes.Text():
                yield from self.inside(InText(self._number(step), 0, 0))
            case nodes.Call():
                first = step.block.pattern[0]
                lead = b"" if isinstance(first, Hole) else first.encode()
                yield from self._literal(lead, self._link(self._tools_of(step), more))
            case nodes.Value():
                yield from self.after(self._link(self._sources.step(step), more))
            case nodes.End(stops):
                yield from (AfterEnd(),) if step is _NOTHING else self._end(stops)
            case ValueStart():
                yield AtValue(step, more)
            case Raw():
                yield from self.inside(InRaw(step, 0, 0, False, 0, b"", False, more))
            case _:
                for steps in step.alternatives():
                    yield from self.after(self._linked(steps, more))

    def _number(self, node: nodes.Text) -> int:
        """The number of a text, by which it is compared."""
        found = self._numbers.get(id(node))
        if found is None:
            found = self._numbers[id(node)] = len(self._texts)
            self._texts.append((node, Avoid(node.forbidden)))
        return found

    def _tools_of(self, call: nodes.Call) -> _Tools:
        # Every call of a block is of the same tools; the call keeps the block's number its own.
        found = self._tools.get(id(call.block))
        if found is None:
            found = self._tools[id(call.block)] = (call, _Tools(call))
        return found[1]

    def _linked(self, steps: Sequence[Step], more: Rest | None) -> Rest | None:
        following = more.step if more else None
        for step in reversed(steps):
            if isinstance(step, nodes.Literal) and self._is_text(following):
                more = self._link(nodes.Literal(step.data.rstrip()), more)
            else:
                more = self._link(step, more)
            following = step
        return more

    def _is_text(self, step: Step | None) -> bool:
        if isinstance(step, nodes.Reference):
            step = self.grammar.rules[step.rule]
        return isinstance(step, nodes.Text)

    def _literal(self, data: bytes, more: Rest | None) -> Iterator[Position]:
        if not data:
            yield from self.after(more)
            return
        before, token_id, tail = self._split(data)
        if token_id is None:
            yield InLiteral(before, more)
        elif before:
            yield InLiteral(before, self._link(nodes.Literal(data[len(before) :]), more))
        else:
            yield AtSymbol(token_id, self._link(nodes.Literal(tail), more) if tail else more)

    def _split(self, data: bytes) -> tuple[bytes, int | None, bytes]:
        """What stands before the first marker that is one token, its id, and what follows."""
        known = self._splits.get(data)
        if known is None:
            known = self._splits[data] = self._find_split(data)
        return known

    def _find_split(self, data: bytes) -> tuple[bytes, int | None, bytes]:
        found = [(at, -len(m), m) for m in self.markers if (at := data.find(m)) >= 0]
        if not found:
            return data, None, b""
        at, _, marker = min(found)
        return data[:at], self.markers[marker], data[at + len(marker) :]

    def _text(self, position: InText) -> Iterator[Position]:
        yield position
        if not position.utf8:
            for way in self._texts[position.text][0].exits:
                items = (nodes.Literal(way.literal.lstrip()), nodes.Reference(way.target))
                yield from self.after(self._linked(items, None))

    def _raw(self, position: InRaw) -> Iterator[Position]:
        yield position
        machine = position.raw.machine
        if not position.pending and machine.exit(position.place, position.region):
            yield from self.after(position.rest)

    def _end(self, stops: tuple[bytes, ...]) -> Iterator[Position]:
        ids = tuple(
            dict.fromkeys((*(self.markers[s] for s in stops if s in self.markers), *self.ends))
        )
        if ids:
            yield AtEnd(ids)
        elif stops:
            for stop in stops:
                yield InLiteral(stop, self._link(_NOTHING, None))
        else:
            yield AfterEnd()

    # -------------------------------------------------------------------------------------- costs

    def cost(self, position: Position) -> int:
        """Fewest bytes and special tokens to the end of the turn."""
        match position:
            case InLiteral(data, rest):
                return len(data) + self._rest_cost(rest)
            case AtSymbol(_, rest) | AtByte(_, rest):
                return 1 + self._rest_cost(rest)
            case InText(text, _, utf8):
                return UTF8_COST[utf8] + self._step_cost(self._texts[text][0])
            case InRaw():
                cost = _raw_cost(position)
                return INFINITE if cost is None else cost + self._rest_cost(position.rest)
            case AtValue(value, rest):
                return self._step_cost(value) + self._rest_cost(rest)
            case AtEnd():
                return 1
            case AfterEnd():
                return 0

    def _rest_cost(self, rest: Rest | None) -> int:
        if rest is None:
            return 0
        found = self._costs.get(rest)
        if found is None:
            cost = self._step_cost(rest.step) + self._rest_cost(rest.more)
            found = self._costs[rest] = min(cost, INFINITE)
        return found

    def _step_cost(self, step: Step) -> int:
        match step:
            case nodes.Literal(data):
                before, token_id, tail = self._split(data)
                rest = 0 if token_id is None else 1 + self._step_cost(nodes.Literal(tail))
                return len(before) + rest
            case nodes.ByteSet():
                return 1
            case nodes.Sequence(items):
                return min(sum(map(self._step_cost, items)), INFINITE)
            case nodes.Choice(options):
                return min(map(self._step_cost, options), default=INFINITE)
            case nodes.Repeat(item, least, _):
                return least * self._step_cost(item)
            case nodes.Reference(rule):
                return self._rules[rule]
            case nodes.Tag(_, item):
                return self._step_cost(item)
            case nodes.Text(_, exits):
                return min(map(self._exit_cost, exits), default=INFINITE)
            case nodes.Call():
                first = step.block.pattern[0]
                lead = 0 if isinstance(first, Hole) else self._step_cost(_literal(first))
                return min(lead + self._tools_of(step).cost(self._step_cost), INFINITE)
            case nodes.Value():
                return self._step_cost(self._sources.step(step))
            case nodes.End(stops):
                if step is _NOTHING:
                    return 0
                return min(map(self.cost, self._end(stops)), default=INFINITE)
            case ValueStart(state):
                cost = state.cost()
                return INFINITE if cost is None else cost
            case Raw(machine):
                cost = machine.shortest()
                return INFINITE if cost is None else cost
            case _:
                return step.cost(self._step_cost)

    def _exit_cost(self, way: nodes.Exit) -> int:
        literal = way.literal.lstrip()
        if self._is_text(nodes.Reference(way.target)):
            literal = literal.rstrip()
        return min(self._step_cost(nodes.Literal(literal)) + self._rules[way.target], INFINITE)

    def _find_rule_costs(self) -> None:
        """Costs of all rules: repeated until nothing gets cheaper."""
        while True:
            before = dict(self._rules)
            for name, node in self.grammar.rules.items():
                self._rules[name] = min(self._step_cost(node), INFINITE)
            if before == self._rules:
                return


def _literal(text: str) -> nodes.Literal:
    return nodes.Literal(text.encode())


def _raw_cost(at: InRaw) -> int | None:
    """Bytes to the end of a raw string, beside the slope."""
    machine, pending = at.raw.machine, at.pending
    if not pending:
        return machine.cost(at.place, at.region)
    places = [at.place] if at.is_decided else [s[2] for s in machine.spans(at.place)]
    costs = [machine.arrival_cost(p, at.region, is_zero=at.is_zero) for p in places]
    least = min((c for c in costs if c is not None), default=None)
    if least is None:
        return None
    left = 1 + (pending[0] >= 0xE0) + (pending[0] >= 0xF0) + 1 - len(pending)
    slope = 0 if at.is_zero else machine.slope(at.place, at.region)
    return least + left - slope
