r"""Arguments pair by pair in a dialect's own notation, keys in any order.

    <parameter=to>\nx\n</parameter>\n<parameter=days>\n3\n</parameter>\n

What may stand at a place depends on the keys seen: `plan.at(seen, count)` gives it as literals,
values and raw strings. What the set of positions makes of those, closers and special tokens, is not
the business of this module.

A raw string never holds the mark of its closer. Where a schema allows a free raw string, other
types need no writing of their own: their text is a raw string as well.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from untemplate.constrain.characters import StringMachine
from untemplate.constrain.objects import At, ObjectMachine, is_plain
from untemplate.constrain.positions import INFINITE, Raw, Step, ValueStart
from untemplate.constrain.relax import relax
from untemplate.constrain.text import Avoid
from untemplate.constrain.values import Goal, Values
from untemplate.constrain.verdicts import Verdicts, top_parts
from untemplate.dialect import KEY_IN_LITERAL, JsonText, Pairs, Written
from untemplate.dialect import Raw as RawEncoding
from untemplate.dialect.pattern import JsonType
from untemplate.errors import LimitError
from untemplate.grammar import GrammarOptions, nodes
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import Strings, Typed
from untemplate.grammar.schema_formula import Formula, conj, substitute

__all__ = ["PairsPlan"]

_KINDS: tuple[tuple[JsonType, int], ...] = (
    ("string", 4), ("integer", 3), ("number", 3), ("boolean", 1), ("boolean", 2), ("null", 0),
    ("array", 5), ("object", 6),
)  # fmt: skip
"""JSON types, and which part of `Typed` says whether one is allowed."""


class PairsPlan:
    """The pairs of one schema in one notation."""

    def __init__(self, schemas: Schemas, pairs: Pairs, options: GrammarOptions) -> None:
        self.pairs = pairs
        self._schemas = schemas
        self._options = options
        self._values: dict[JsonText, Values] = {}
        values = self._json(JsonText())
        formula = relax(schemas.typed(schemas.root).object, values.is_known)
        # Keywords that may fail are checked afterwards: they would need every value to be judged.
        plain = conj(*(p for p in top_parts(formula) if is_plain(p)))
        self._machine = ObjectMachine(values, Verdicts((plain,)))
        self._nodes: dict[tuple[At, bool], _At] = {}
        self._written: dict[int, tuple[tuple[Step, ...], ...]] = {}

    def start(self) -> "_At":
        return self.node(At(), is_start=True)

    def node(self, at: At, *, is_start: bool = False) -> "_At":
        key = (at, is_start)
        if key not in self._nodes:
            self._nodes[key] = _At(self, at, is_start)
        return self._nodes[key]

    def _json(self, style: JsonText) -> Values:
        if style not in self._values:
            self._values[style] = Values(self._schemas, style, self._options)
        return self._values[style]

    def alternatives(self, node: "_At") -> Iterator[tuple[Step, ...]]:
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
        for number, name in enumerate(machine.keys):
            seen = machine.saw(number, at)
            if seen is None or self.rest(self.node(seen), _size) >= INFINITE:
                continue
            for written in self.written(number):
                yield (nodes.Literal((lead + name).encode()), *written, self.node(seen))

    def written(self, key: int) -> tuple[tuple[Step, ...], ...]:
        """The ways to write a value of this key, from behind the key on."""
        found = self._written.get(key)
        if found is None:
            found = self._written[key] = tuple(self._write(key))
        return found

    def _write(self, number: int) -> Iterator[tuple[Step, ...]]:
        name, key = self._machine.keys[number], self._machine.key(number)
        if key is None:
            return
        typed = self._schemas.typed_goal(key.must)
        by_form: dict[tuple[str, str, object], Written] = {}
        parts: dict[tuple[str, str, object], set[int]] = {}
        for kind, part in _KINDS:
            written = self.pairs.types.get(kind)
            if written is None or typed.parts[part] is False:
                continue
            form = (written.before, written.after, written.encoding)
            by_form[form] = written
            parts.setdefault(form, set()).add(part)
        ways = [(w, parts[form]) for form, w in by_form.items()]
        raw = [w for w, _ in ways if isinstance(w.encoding, RawEncoding)]
        free = raw if typed.string is True else []
        for written, allowed in ways:
            if any(w is not written and w.before == written.before for w in free):
                continue
            yield tuple(self._one(written, name, _only(typed, allowed)))

    def _one(self, written: Written, name: str, typed: Typed) -> Iterator[Step]:
        before = written.before.replace(KEY_IN_LITERAL, name).encode()
        after = written.after.replace(KEY_IN_LITERAL, name).encode()
        match written.encoding:
            case RawEncoding():
                mark = after.strip() or after
                formula = relax(typed.string, self._json(JsonText()).is_known)
                if formula is True:
                    # The text itself may hold the space of the literals, or not.
                    before, after = before.rstrip(), after.lstrip() or after
                yield nodes.Literal(before)
                yield Raw(raw_machine(formula, mark), Avoid((mark,)))
                yield nodes.Literal(after)
            case JsonText() as style:
                values = self._json(style)
                goal = Goal((), only=typed)
                first = values.kinds(goal).first_bytes
                yield nodes.Literal(before)
                yield ValueStart(values.begin(goal, space=False), first, self._schemas.origin)
                yield nodes.Literal(after)
            case encoding:
                raise LimitError(
                    f"values as {type(encoding).__name__} are not constrained yet",
                    place=self._schemas.origin,
                )

    def rest(self, node: "_At", of: Callable[[Step], int]) -> int:
        """Fewest bytes and special tokens after the pairs seen."""
        pairs, machine, at = self.pairs, self._machine, node.at
        missing = machine.all_missing(at)
        taken = at.seen | sum(1 << n for n in missing)
        costs = [self._pair(n, of) for n in missing]
        others = sorted(self._pair(n, of) for n in range(len(machine.keys)) if not taken >> n & 1)
        need = machine.least - at.total - len(costs)
        if not at.total and not costs and not node.is_start and need <= 0:
            need = 1
        if need > len(others):
            return INFINITE
        costs += others[: max(need, 0)]
        if machine.most is not None and at.total + len(costs) > machine.most:
            return INFINITE
        if node.is_start and not costs:
            return of(nodes.Literal(pairs.none.encode()))
        head = of(nodes.Literal(pairs.head.encode())) if node.is_start else 0
        separators = len(costs) - (0 if at.total or not costs else 1)
        between = separators * of(nodes.Literal(pairs.separator.encode()))
        tail = of(nodes.Literal(pairs.tail.encode()))
        return min(head + sum(costs) + between + tail, INFINITE)

    def _pair(self, key: int, of: Callable[[Step], int]) -> int:
        lead = of(nodes.Literal((self.pairs.open + self._machine.keys[key]).encode()))
        ways = (sum(map(of, steps)) for steps in self.written(key))
        return lead + min(ways, default=INFINITE)


@dataclass(frozen=True, slots=True, eq=False)
class _At:
    """Between two pairs."""

    plan: PairsPlan
    at: At
    is_start: bool
    _cost: list[int] = field(default_factory=list[int])

    def alternatives(self) -> Iterator[tuple[Step, ...]]:
        return self.plan.alternatives(self)

    def cost(self, of: Callable[[Step], int]) -> int:
        if not self._cost:
            self._cost.append(self.plan.rest(self, of))
        return self._cost[0]


def _size(step: Step) -> int:
    """Whether a step can be written at all; how long it is does not matter."""
    match step:
        case ValueStart(state):
            return INFINITE if state.cost() is None else 0
        case Raw(machine):
            return INFINITE if machine.shortest() is None else 0
        case _:
            return 0


def _only(typed: Typed, parts: set[int]) -> Typed:
    return Typed(*(p if n in parts else False for n, p in enumerate(typed.parts)))


def raw_machine(formula: Formula, mark: bytes) -> StringMachine:
    """The raw strings that satisfy a formula; members that hold the mark are left out."""

    def keep(atom: object) -> Formula:
        if not isinstance(atom, Strings):
            return atom
        members = tuple(m for m in atom.members if mark not in m.encode())
        return Strings(members) if members else False

    return StringMachine(Verdicts((substitute(formula, keep),)), _utf8_size)


def _utf8_size(low: int, high: int) -> int:  # noqa: ARG001  the first of a span is the shortest
    return 1 + (low > 0x7F) + (low > 0x7FF) + (low > 0xFFFF)
