r"""JSON values of a schema: which bytes a value may begin with, and what is inside.

    values = Values(schemas, JsonText(), GrammarOptions())
    values.begin(Goal((schemas.root,)))     # a state: before the value, white space allowed

A *goal* is what is asked of a value: a formula over subschemas that has to hold, and further ones
whose truth the frame wants to know. It is split by kind of value: a goal that allows a string and
an object has one machine for each, made when the first byte says which it is. Values inside arrays
and objects have goals of their own, so a schema that refers to itself is no problem.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from untemplate.constrain.arrays import ArrayMachine
from untemplate.constrain.letters import JSON, PYTHON, Letters, Quote
from untemplate.constrain.numbers import NumberMachine
from untemplate.constrain.objects import ObjectMachine
from untemplate.constrain.space import MOST_BLANKS, allow_space
from untemplate.constrain.state import Edges, Pop, Spell, State
from untemplate.constrain.strings import QuotedString, start_of
from untemplate.constrain.verdicts import Exit, Verdicts
from untemplate.dialect import JsonText, Python
from untemplate.errors import LimitError
from untemplate.grammar.build import GrammarOptions
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import Typed, Whole
from untemplate.grammar.schema_formula import Formula, conj, neg
from untemplate.grammar.schema_relax import Known, relax

__all__ = ["Begin", "Goal", "Outcome", "Values", "is_plain", "plain_kinds"]

_MOST_OUTCOMES = 256

Outcome = tuple[tuple[bool, ...], int]
"""Truth of the further formulas, and the bytes of the shortest value that gives it."""


@dataclass(slots=True, unsafe_hash=True)
class Goal:
    """What is asked of a value."""

    formulas: tuple[Formula, ...]
    """Over subschemas. The first has to hold; the truth of the others is the value's result."""
    judge: State | None = None
    only: Typed | None = None
    """Set where just some kinds of value are meant: what each has to be, in place of formulas."""


class Values:
    """The values of one root schema in JSON."""

    def __init__(self, schemas: Schemas, style: JsonText | Python, options: GrammarOptions) -> None:
        self.schemas = schemas
        self.style = style
        self.is_known = Known(schemas)
        self.letters = JSON if isinstance(style, JsonText) else PYTHON
        style = style if isinstance(style, JsonText) else JsonText()
        self.is_exact = options.whitespace == "exact"
        self.is_ordered = options.key_order == "declared"
        self.most_blanks = max(20, style.margin + 12 * (style.indent or 0))
        comma, colon = (style.item_separator, style.key_separator) if self.is_exact else (",", ":")
        self.comma = comma.encode()
        self.colon = colon.encode()
        self._kinds: dict[Goal, Kinds] = {}
        self._by_type: dict[Typed, Kinds] = {}
        self._costs: dict[Goal, int | None] = {}
        self._guesses: dict[Goal, int | None] = {}
        self._open: set[Goal] = set()
        self._passed: set[Goal] = set()
        self._is_cyclic = False
        self._outcomes: dict[Goal, tuple[Outcome, ...]] = {}
        self._numbers: dict[Verdicts, NumberMachine] = {}
        self._strings: dict[tuple[Verdicts, int], QuotedString] = {}

    def kinds(self, goal: Goal) -> "Kinds":
        found = self._kinds.get(goal)
        if found is None:
            found = self._kinds[goal] = self._make_kinds(goal)
        return found

    def _make_kinds(self, goal: Goal) -> "Kinds":
        typed = goal.only
        if typed is None:
            must, *asked = goal.formulas
            if asked or goal.judge is not None:
                return Kinds(self, goal)
            typed = self.schemas.typed_goal(must)
        if self.most_blanks == MOST_BLANKS and is_plain(typed):
            return plain_kinds(typed, self.letters)
        # Whatever place asks it: what is asked alike has the same states.
        found = self._by_type.get(typed)
        if found is None:
            found = self._by_type[typed] = Kinds(self, Goal((), only=typed))
        return found

    def begin(self, goal: Goal, *, space: bool = True) -> State:
        """Before a value."""
        return self.kinds(goal).begin(space=space and not self.is_exact)

    def numbers(self, verdicts: Verdicts) -> NumberMachine:
        """The numbers that end as they are asked to; what is asked alike shares its states."""
        if verdicts not in self._numbers:
            self._numbers[verdicts] = NumberMachine.of(verdicts)
        return self._numbers[verdicts]

    def strings(self, verdicts: Verdicts, quote: Quote) -> QuotedString:
        """The same of strings in one kind of quotes."""
        key = (verdicts, quote.byte)
        if key not in self._strings:
            self._strings[key] = QuotedString.of(verdicts, quote)
        return self._strings[key]

    @property
    def is_solving(self) -> bool:
        """Whether costs are still guesses, and nothing made of them may be kept."""
        return bool(self._open)

    def cost(self, formula: Formula) -> int | None:
        """Bytes of the shortest value that satisfies a formula; None: there is none."""
        return self.goal_cost(Goal((formula,)))

    def goal_cost(self, goal: Goal) -> int | None:
        """The same of a goal, and of what its judge says to follow.

        A least fixed point: a goal inside itself counts as without value until a round finds one.
        """
        if goal in self._costs:
            return self._costs[goal]
        if goal.judge is not None:
            # What follows is known, so nothing here is inside itself.
            found = self._costs[goal] = self.kinds(goal).shortest()
            return found
        if goal in self._open:
            self._is_cyclic = True
            return self._guesses.get(goal)
        if goal in self._passed:
            return self._guesses[goal]
        if self._open:
            return self._guess(goal)
        while True:
            before = dict(self._guesses)
            self._is_cyclic = False
            self._passed.clear()
            self._guess(goal)
            if not self._is_cyclic or self._guesses == before:
                break
        self._costs |= self._guesses
        self._guesses.clear()
        self._passed.clear()
        return self._costs[goal]

    def _guess(self, goal: Goal) -> int | None:
        self._open.add(goal)
        try:
            found = self._guesses[goal] = self.kinds(goal).shortest()
        finally:
            self._open.discard(goal)
        self._passed.add(goal)
        return found

    def outcomes(self, formulas: tuple[Formula, ...]) -> tuple[Outcome, ...]:
        """Every truth of the further formulas that some value gives, with its shortest value."""
        goal = Goal(formulas)
        found = self._outcomes.get(goal)
        if found is None:
            found = tuple(self._find_outcomes(formulas[0], formulas[1:], ()))
            if len(found) > _MOST_OUTCOMES:
                raise LimitError(f"more than {_MOST_OUTCOMES} outcomes of one value")
            if not self.is_solving:
                self._outcomes[goal] = found
        return found

    def _find_outcomes(
        self, must: Formula, rest: tuple[Formula, ...], so_far: tuple[bool, ...]
    ) -> Iterator[Outcome]:
        cost = self.cost(must)
        if cost is None:
            return
        if not rest:
            yield so_far, cost
            return
        yield from self._find_outcomes(conj(must, rest[0]), rest[1:], (*so_far, True))
        yield from self._find_outcomes(conj(must, neg(rest[0])), rest[1:], (*so_far, False))


class Kinds:
    """The machines of one goal, by kind of value."""

    def __init__(self, values: Values, goal: Goal, *, is_shared: bool = False) -> None:
        """`is_shared`: the same in all grammars."""
        self.values = values
        self.goal = goal
        self.is_shared = is_shared
        self._begins = (Begin(self, False), Begin(self, True))

    def begin(self, *, space: bool) -> "Begin":
        """The one state before such a value."""
        return self._begins[space]

    @cached_property
    def _typed(self) -> tuple[Typed, ...]:
        if self.goal.only is not None:
            return (self.goal.only,)
        return tuple(self.values.schemas.typed_goal(f) for f in self.goal.formulas)

    def _verdicts(self, part: int) -> Verdicts | None:
        """What is asked of one kind; None: it is not allowed."""
        parts = [relax(t.parts[part], self.values.is_known) for t in self._typed]
        if parts[0] is False:
            return None
        verdicts = Verdicts(tuple(parts), self.goal.judge)
        return None if verdicts.least() is None else verdicts

    @cached_property
    def words(self) -> tuple[tuple[bytes, Exit], ...]:
        """Of null, false and true those that are allowed, and what follows."""
        found: list[tuple[bytes, Exit]] = []
        for part, word in enumerate(self.values.letters.words):
            verdicts = self._verdicts(part)
            if verdicts is not None and (exit_ := verdicts.exit(bool)) is not None:
                found.append((word, exit_))
        return tuple(found)

    @cached_property
    def number(self) -> NumberMachine | None:
        verdicts = self._verdicts(3)
        return None if verdicts is None else self.values.numbers(verdicts)

    @cached_property
    def strings(self) -> tuple[QuotedString, ...]:
        """One for each quote; none where there is no string."""
        verdicts = self._verdicts(4)
        if verdicts is None:
            return ()
        found = (self.values.strings(verdicts, q) for q in self.values.letters.quotes)
        return tuple(machine for machine in found if machine.shortest() is not None)

    @cached_property
    def array(self) -> ArrayMachine | None:
        verdicts = self._verdicts(5)
        return None if verdicts is None else ArrayMachine(self.values, verdicts)

    @cached_property
    def object(self) -> ObjectMachine | None:
        verdicts = self._verdicts(6)
        return None if verdicts is None else ObjectMachine(self.values, verdicts)

    def shortest(self) -> int | None:
        """Bytes of the shortest value, and of what follows it."""
        costs: list[int | None] = [len(word) + exit_.cost for word, exit_ in self.words]
        if self.number is not None:
            costs.append(self.number.begin().cost())
        costs += [2 + cost for s in self.strings if (cost := s.shortest()) is not None]
        costs += [m.shortest() for m in (self.array, self.object) if m is not None]
        return min((c for c in costs if c is not None), default=None)

    @cached_property
    def first_bytes(self) -> bytes:
        """Bytes that a value may begin with."""
        found = bytearray(word[0] for word, _ in self.words)
        if self.number is not None:
            found += self.number.first_bytes()
        found += bytes(s.quote.byte for s in self.strings)
        machines = ((self.array, 0x5B), (self.object, 0x7B))
        found += bytes(b for m, b in machines if m is not None and m.shortest() is not None)
        return bytes(found)

    def edges(self, out: Edges) -> None:
        """The first byte of a value."""
        for word, exit_ in self.words:
            out.go(word[0], Spell(word[1:], Pop(exit_.result), exit_.cost))
        if self.number is not None:
            self.number.begin().edges(out)
        for string in self.strings:
            out.do(string.quote.byte, start_of(string))
        if self.array is not None and self.array.shortest() is not None:
            out.go(0x5B, self.array.begin())
        if self.object is not None and self.object.shortest() is not None:
            out.go(0x7B, self.object.begin())


def is_plain(typed: Typed) -> bool:
    """Whether nothing but the kind of a value is asked, and none that holds other values."""
    holding = typed.array is False and typed.object is False
    is_number = isinstance(typed.number, bool) or typed.number == Whole()
    return holding and is_number and isinstance(typed.string, bool)


@lru_cache(maxsize=256)
def plain_kinds(typed: Typed, letters: Letters) -> Kinds:
    """The machines of such values, one for all grammars: there are not many of them."""
    style = JsonText() if letters is JSON else Python()
    values = Values(Schemas(True, origin=""), style, GrammarOptions())
    return Kinds(values, Goal((), only=typed), is_shared=True)


@dataclass(slots=True, eq=False)
class Begin(State):
    """Before a value. Made by `Kinds.begin` alone."""

    kinds: Kinds
    space: bool

    @property
    def is_shared(self) -> bool:
        return self.kinds.is_shared

    def cost(self) -> int | None:
        return self.kinds.values.goal_cost(self.kinds.goal)

    def edges(self, out: Edges) -> None:
        if self.space:
            allow_space(out, self.kinds.begin(space=False), self.kinds.values.most_blanks)
        else:
            self.kinds.edges(out)
