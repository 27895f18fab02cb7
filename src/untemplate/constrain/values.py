r"""JSON values of a schema: which bytes a value may begin with, and what is inside.

    values = Values(schemas, JsonText(), GrammarOptions())
    values.begin(schemas.root)          # a state: before the value, white space allowed

A *goal* is a formula over subschemas that the value has to satisfy; mostly one subschema. It is
split by kind of value: a goal that allows a string and an object has one machine for each, made
when the first byte says which it is. Values inside arrays and objects have goals of their own, so a
schema that refers to itself is no problem.
"""

from dataclasses import dataclass
from functools import cached_property

from untemplate.constrain.arrays import ArrayMachine
from untemplate.constrain.numbers import NumberMachine
from untemplate.constrain.objects import ObjectMachine
from untemplate.constrain.relax import relax
from untemplate.constrain.space import allow_space
from untemplate.constrain.state import Edges, Pop, Spell, State
from untemplate.constrain.strings import JsonString, start_of
from untemplate.dialect import JsonText
from untemplate.grammar.build import GrammarOptions
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import Typed
from untemplate.grammar.schema_formula import Formula

__all__ = ["Goal", "Values"]

_WORDS = (b"null", b"false", b"true")


class Values:
    """The values of one root schema in JSON."""

    def __init__(self, schemas: Schemas, style: JsonText, options: GrammarOptions) -> None:
        self.schemas = schemas
        self.style = style
        self.is_exact = options.whitespace == "exact"
        self.is_ordered = options.key_order == "declared"
        self.most_blanks = max(20, style.margin + 12 * (style.indent or 0))
        comma, colon = (style.item_separator, style.key_separator) if self.is_exact else (",", ":")
        self.comma = comma.encode()
        self.colon = colon.encode()
        self._goals: dict[Formula, Goal] = {}
        self._costs: dict[Formula, int | None] = {}
        self._guesses: dict[Formula, int | None] = {}
        self._seen: set[Formula] = set()
        self._is_solving = False

    def goal(self, goal: Formula) -> "Goal":
        found = self._goals.get(goal)
        if found is None:
            found = self._goals[goal] = Goal(self, goal)
        return found

    def narrowed(self, goal: Formula, typed: Typed) -> Formula:
        """A goal of its own for a part of the kinds that a goal allows."""
        narrow = Narrowed(goal, typed)
        self.goal(narrow).typed = typed
        return narrow

    def begin(self, goal: Formula, *, space: bool = True) -> State:
        """Before a value."""
        return Begin(self.goal(goal), space and not self.is_exact)

    def cost(self, goal: Formula) -> int | None:
        """Bytes of the shortest value; None: there is none.

        A least fixed point: a goal inside itself counts as without value until a round finds one.
        """
        if goal in self._costs:
            return self._costs[goal]
        if self._is_solving:
            if goal not in self._seen:
                self._seen.add(goal)
                self._guesses[goal] = self.goal(goal).shortest()
            return self._guesses.get(goal)
        self._is_solving = True
        try:
            while True:
                before = dict(self._guesses)
                self._seen = {goal}
                self._guesses[goal] = self.goal(goal).shortest()
                if self._guesses == before:
                    break
        finally:
            self._is_solving = False
        self._costs |= self._guesses
        self._guesses = {}
        return self._costs[goal]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A goal, but only for some kinds of value."""

    goal: Formula
    typed: Typed


@dataclass(slots=True, eq=False)
class _Parts:
    """Machines by kind."""

    words: tuple[bytes, ...]
    number: NumberMachine | None
    string: JsonString | None
    array: ArrayMachine | None
    object: ObjectMachine | None


@dataclass(eq=False)
class Goal:
    """What a value has to be, by kind."""

    values: Values
    formula: Formula

    @cached_property
    def typed(self) -> Typed:
        return self.values.schemas.typed_goal(self.formula)

    @cached_property
    def parts(self) -> _Parts:
        typed = self.typed
        allowed = zip(_WORDS, (typed.null, typed.false, typed.true), strict=True)
        number, string = relax(typed.number), relax(typed.string)
        array, object_ = relax(typed.array), relax(typed.object)
        return _Parts(
            tuple(word for word, is_allowed in allowed if is_allowed),
            None if number is False else NumberMachine(number),
            None if string is False else JsonString(string),
            None if array is False else ArrayMachine(self.values, array),
            None if object_ is False else ObjectMachine(self.values, object_),
        )

    def shortest(self) -> int | None:
        """Bytes of the shortest value."""
        parts = self.parts
        costs: list[int | None] = [len(w) for w in parts.words]
        if parts.number is not None:
            costs.append(parts.number.begin().cost())
        if parts.string is not None and (cost := parts.string.shortest()) is not None:
            costs.append(cost + 2)
        costs += [m.shortest() for m in (parts.array, parts.object) if m is not None]
        return min((c for c in costs if c is not None), default=None)

    @cached_property
    def first_bytes(self) -> bytes:
        """Bytes that a value may begin with."""
        parts = self.parts
        found = bytearray(word[0] for word in parts.words)
        if parts.number is not None:
            found += parts.number.first_bytes()
        for machine, byte in ((parts.string, 0x22), (parts.array, 0x5B), (parts.object, 0x7B)):
            if machine is not None and machine.shortest() is not None:
                found.append(byte)
        return bytes(found)

    def edges(self, out: Edges) -> None:
        """The first byte of a value."""
        parts = self.parts
        for word in parts.words:
            out.go(word[0], Spell(word[1:], Pop()))
        if parts.number is not None:
            parts.number.begin().edges(out)
        if parts.string is not None and parts.string.shortest() is not None:
            out.do(0x22, start_of(parts.string, parts.string.begin()))
        if parts.array is not None and parts.array.shortest() is not None:
            out.go(0x5B, parts.array.begin())
        if parts.object is not None and parts.object.shortest() is not None:
            out.go(0x7B, parts.object.begin())


@dataclass(frozen=True, slots=True)
class Begin(State):
    """Before a value."""

    goal: Goal
    space: bool

    def cost(self) -> int | None:
        return self.goal.values.cost(self.goal.formula)

    def edges(self, out: Edges) -> None:
        self.goal.edges(out)
        if self.space:
            allow_space(out, Begin(self.goal, False), self.goal.values.most_blanks)
