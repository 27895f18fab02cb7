r"""Objects in JSON: keys in any order, each once, required ones before the end.

    {"to": "x", "days": 3}   open -> key -> colon -> value -> after -> next -> key -> ... -> out

A state holds the set of named keys seen, as an integer, how many keys there were, as far as that
matters, and which keywords have failed. A keyword that has to hold lets no value through that it
does not accept. Where it may also fail (inside `anyOf`, `oneOf`, `not`, `if`) its values are read
with the question beside them whether it accepts them, and the answer moves the state: a keyword
that has failed is left out from then on, so of several branches the right one remains.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from untemplate.constrain.keys import KeyMachine, KeySpace
from untemplate.constrain.naming import start_of_key
from untemplate.constrain.shortest import Shortest, plain_rest
from untemplate.constrain.space import allow_space
from untemplate.constrain.state import Edges, Pop, Push, Result, Spell, State, spelt
from untemplate.constrain.verdicts import Exit, Verdicts, top_parts
from untemplate.grammar.schema_atoms import HasKey, Keys, Pattern, Properties, Size
from untemplate.grammar.schema_formula import Formula, Not, conj, substitute, supports
from untemplate.grammar.schema_patterns import pattern_formula
from untemplate.grammar.schema_relax import relax

if TYPE_CHECKING:
    from collections.abc import Hashable

    from untemplate.constrain.values import Goal, Values

__all__ = ["SPARE", "At", "ObjectMachine", "is_plain"]

Phase = Literal["open", "next", "key", "colon", "value", "after"]
SPARE = 3
"""The shortest key, or item, may have been written before: with so many bytes more there are
thousands, and always one more behind an escape."""


class At(NamedTuple):
    """What matters of the pairs so far."""

    seen: int = 0
    """Bit n: the key with number n was there."""
    total: int = 0
    """Number of keys, as far as it matters."""
    failed: int = 0
    """Bit n: keyword n has failed, or does not matter any more."""


class _Key(NamedTuple):
    """What a key brings."""

    must: Formula
    """What its value has to be."""
    asks: tuple[tuple[int, Formula], ...]
    """For keywords that may fail: their bit, and what they ask of the value."""
    fails: int
    """Keywords that fail by the key itself."""
    size: int
    """Bytes of the shortest such key in JSON, quotes included."""


class ObjectMachine:
    """The objects that end as they are asked to."""

    def __init__(self, values: "Values", verdicts: Verdicts) -> None:
        self.values = values
        self.verdicts = verdicts
        self.visited = [0]
        """Leaves of formulas that searches have looked at, which is bounded."""
        leaves, top = verdicts.leaves(), top_parts(verdicts.must)
        self._failing = [a for a in leaves if isinstance(a, Properties | Keys)]
        self._optional = sum(1 << n for n, a in enumerate(self._failing) if a not in top)
        named = {k: None for a in leaves if isinstance(a, Properties) for k, _ in a.named}
        named |= {a.key: None for a in leaves if isinstance(a, HasKey)}
        self.keys = tuple(named)
        numbers = {k: n for n, k in enumerate(self.keys)}
        self._needed = [numbers[a.key] for a in top if isinstance(a, HasKey)]
        self._banned = {
            numbers[a.part.key] for a in top if isinstance(a, Not) and isinstance(a.part, HasKey)
        }
        self.least = max((a.least for a in top if isinstance(a, Size)), default=0)
        mosts = [a.most for a in top if isinstance(a, Size) and a.most is not None]
        self.most = min(mosts, default=None)
        sizes = [a for a in leaves if isinstance(a, Size)]
        ends = [s.least for s in sizes] + [s.most + 1 for s in sizes if s.most is not None]
        self._enough = max(1, *ends) if ends else 1
        self._is_plain = verdicts.is_single and all(map(is_plain, top))
        self._numbers = numbers
        self._keys: dict[int, _Key | None] = {}
        self._machines: dict[At, tuple[KeyMachine, ...]] = {}
        self._settled: dict[At, At | None] = {}
        self._rests: dict[At, int | None] = {}
        self._values: dict[int, int | None] = {}
        self._goals: dict[int, Goal] = {}
        self._exits: dict[At, Exit | None] = {}
        self._states: dict[tuple[Phase, At, int, bool], Object] = {}

    @property
    def has_choices(self) -> bool:
        """Whether what has to come hangs on what was written."""
        return not self._is_plain

    @cached_property
    def space(self) -> KeySpace:
        """How keys are told apart."""
        tests: dict[Hashable, Formula] = {}
        for atom in self._failing:
            if isinstance(atom, Keys):
                string = self.values.schemas.typed_goal(atom.schema).string
                tests[atom] = relax(string, self.values.is_known)
            else:
                for source, _ in atom.patterns:
                    tests[source] = pattern_formula(Pattern(source))
        return KeySpace(self.keys, tests)

    @cached_property
    def takes_others(self) -> bool:
        """Whether keys may come that the schema does not name."""
        return any(self.key(number) is not None for number, _ in self.space.classes())

    # --------------------------------------------------------------------------------------- keys

    def key(self, number: int) -> _Key | None:
        """What a key, or a key of a class, brings; None: it may never come."""
        if number not in self._keys:
            self._keys[number] = self._make_key(number)
        return self._keys[number]

    def _make_key(self, number: int) -> _Key | None:
        if number in self._banned:
            return None
        space = self.space
        if number >= 0:
            passed = space.of_name(number)
            size = 2 + self.values.letters.quotes[0].size(self.keys[number])
        else:
            passed = space.of_class(number)
            size = 2 + dict(space.classes()).get(number, 1)
        name = self.keys[number] if number >= 0 else None
        must: list[Formula] = []
        asks: list[tuple[int, Formula]] = []
        fails = 0
        for bit, atom in enumerate(self._failing):
            if isinstance(atom, Keys):
                asked: Formula = passed[atom]
            else:
                matching = [s for source, s in atom.patterns if passed[source]]
                own = [s for k, s in atom.named if k == name]
                asked = conj(*own, *matching) if own or matching else atom.rest
            if not self._optional >> bit & 1:
                must.append(asked)
            elif asked is False:
                fails |= 1 << bit
            elif asked is not True:
                asks.append((1 << bit, asked))
        together = conj(*must)
        return None if together is False else _Key(together, tuple(asks), fails, size)

    def goal(self, number: int, at: At) -> "Goal":
        """What is asked of the value of a key, which is counted as seen already."""
        from untemplate.constrain.values import Goal  # noqa: PLC0415  they need each other

        key = self.key(number)
        assert key is not None
        asked = self._asked(key, at)
        if not asked:
            found = self._goals.get(number)
            if found is None:
                found = self._goals[number] = Goal((key.must,))
            return found
        return Goal((key.must, *asked), self.state("value", at, number))

    def _asked(self, key: _Key, at: At) -> tuple[Formula, ...]:
        if not key.asks:
            return ()
        return tuple(dict.fromkeys(f for bit, f in key.asks if not at.failed & bit))

    def supports(self, number: int, at: At) -> frozenset[frozenset[int]] | None:
        """See `State.supports`; of the value of a key."""
        key = self.key(number)
        assert key is not None
        if not self.verdicts.is_single:
            return None
        asked = self._asked(key, at)
        numbers = {
            self._failing[b.bit_length() - 1]: asked.index(f) for b, f in key.asks if f in asked
        }
        found = supports(self.residual(at)[0], numbers)
        return None if found is None else frozenset(frozenset(numbers[a] for a in s) for s in found)

    def after_value(self, number: int, at: At, result: Result) -> At | None:
        """What matters after the value of a key."""
        if result is None:
            return at
        key = self.key(number)
        assert key is not None
        assert not isinstance(result, int)
        truth = dict(zip(self._asked(key, at), result, strict=True))
        failed = sum(bit for bit, f in key.asks if truth.get(f) is False)
        return self.settle(at._replace(failed=at.failed | failed))

    def saw(self, number: int, at: At) -> At | None:
        """What matters once a key was written; None: no way leads on."""
        key = self.key(number)
        if key is None or (number >= 0 and at.seen >> number & 1):
            return None
        if self.values.is_ordered and not self._in_order(number, at):
            return None
        seen = at.seen if number < 0 else at.seen | 1 << number
        return self.settle(At(seen, min(at.total + 1, self._enough), at.failed | key.fails))

    def _in_order(self, number: int, at: At) -> bool:
        """Whether a key may come where keys stand in declared order, others last."""
        last = at.seen.bit_length()
        if number < 0:
            return all(at.seen >> n & 1 for n in self._needed)
        return number >= last and all(at.seen >> n & 1 for n in self._needed if n < number)

    def settle(self, at: At) -> At | None:
        """Without what does not matter any more; None: no way leads to an end."""
        if not self._optional:
            return at
        if at not in self._settled:
            self._settled[at] = self._settle(at)
        return self._settled[at]

    def _settle(self, at: At) -> At | None:
        left = self.residual(at)
        if left[0] is False:
            return None
        mattering = {leaf for f in left for leaf in Verdicts((f,)).leaves()}
        bits = sum(
            1 << n
            for n, atom in enumerate(self._failing)
            if self._optional >> n & 1 and atom not in mattering
        )
        return at._replace(failed=at.failed | bits)

    def residual(self, at: At) -> tuple[Formula, ...]:
        """What is still to be decided of each formula."""

        def left(leaf: object) -> Formula:
            match leaf:
                case HasKey(key):
                    number = self._numbers[key]
                    if at.seen >> number & 1:
                        return True
                    return leaf if self.key(number) is not None else False
                case Size(least, most):
                    if most is not None and at.total > most:
                        return False
                    return True if most is None and at.total >= least else leaf
                case _:
                    bit = 1 << self._failing.index(leaf)  # type: ignore[arg-type]
                    return False if at.failed & bit else leaf

        return tuple(substitute(f, left) for f in self.verdicts.formulas)

    # --------------------------------------------------------------------------------------- ends

    def exit(self, at: At) -> Exit | None:
        """Whether the object may end here, and what follows."""
        if at not in self._exits:

            def truth(leaf: object) -> bool:
                match leaf:
                    case HasKey(key):
                        return bool(at.seen >> self._numbers[key] & 1)
                    case Size(least, most):
                        return at.total >= least and (most is None or at.total <= most)
                    case _:
                        return not at.failed >> self._failing.index(leaf) & 1  # type: ignore[arg-type]

            self._exits[at] = self.verdicts.exit(truth)
        return self._exits[at]

    def state(self, phase: Phase, at: At, key: int = 0, *, space: bool = True) -> "Object":
        """The one state of a place, so that states need not be compared by what they hold."""
        place = (phase, at, key, space)
        found = self._states.get(place)
        if found is None:
            found = self._states[place] = Object(self, *place)
        return found

    def begin(self) -> State | None:
        at = self.settle(At())
        return None if at is None else self.state("open", at)

    def shortest(self) -> int | None:
        """Bytes of the shortest object, and of what follows it."""
        at = self.settle(At())
        rest = None if at is None else self.rest(at)
        return None if rest is None else rest + 1

    def rest(self, at: At) -> int | None:
        """Fewest bytes after the pairs seen, the closing bracket and what follows included."""
        if at in self._rests:
            return self._rests[at]
        found = plain_rest(self, at) if self._is_plain else Shortest(self, at).search()
        if not self.values.is_solving:
            self._rests[at] = found
        return found

    @staticmethod
    def spare(at: At, others: int) -> int:
        """Bytes to tell keys apart from those that were written, where names do not do it."""
        is_first = at.total <= at.seen.bit_count()
        return SPARE * max(others - is_first, 0)

    def pair(self, number: int) -> int | None:
        """Bytes of the shortest pair with a key."""
        key = self.key(number)
        value = None if key is None else self._value(number, key)
        if key is None or value is None:
            return None
        return key.size + len(self.values.colon) + value

    def _value(self, number: int, key: _Key) -> int | None:
        """Bytes of the shortest value that a key must have."""
        if number in self._values:
            return self._values[number]
        found = self.values.cost(key.must)
        if not self.values.is_solving:
            self._values[number] = found
        return found

    def after_key(self, at: At, number: int) -> int | None:
        """Fewest bytes from behind a key to the end of the object; None: it may not come."""
        seen = self.saw(number, at)
        if seen is None:
            return None
        value = self.value_cost(number, seen)
        return None if value is None else len(self.values.colon) + value

    def value_cost(self, number: int, at: At) -> int | None:
        """Fewest bytes of the value of a key and of all that follows."""
        key = self.key(number)
        assert key is not None
        if self._asked(key, at):
            return self.values.goal_cost(self.goal(number, at))
        value = self._value(number, key)
        if value is None:
            return None
        rest = self.rest(at)
        return None if rest is None else value + rest

    def key_machines(self, at: At) -> tuple[KeyMachine, ...]:
        """The keys that may come next, for each quote that they may stand in."""
        found = self._machines.get(at)
        if found is None:
            quotes = self.values.letters.quotes
            found = tuple(KeyMachine(self.space, q, partial(self.after_key, at)) for q in quotes)
            self._machines[at] = found
        return found

    def key_cost(self, at: At) -> int | None:
        """Fewest bytes from before the next key to the end of the object."""
        costs = (m.shortest() for m in self.key_machines(at))
        return min((c for c in costs if c is not None), default=None)

    def next_cost(self, at: At) -> int | None:
        """The same behind a comma, with what is spared until the key begins."""
        key, rest = self.key_cost(at), self.rest(at)
        if key is None:
            return None
        if rest is not None and self.exit(at) is None:
            return max(key, rest - len(self.values.comma))
        return key + (SPARE if self.takes_others else 0)

    # ----------------------------------------------------------------------------- for the search

    def all_missing(self, at: At) -> list[int]:
        """Keys that have to come in any case."""
        return [n for n in self._needed if not at.seen >> n & 1]

    def number_of(self, key: str) -> int:
        """The number of a key that the schema names."""
        return self._numbers[key]

    def bit_of(self, keyword: object) -> int:
        """The bit of a keyword in `At.failed`."""
        return 1 << self._failing.index(keyword)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    def may_come(self, number: int, at: At) -> bool:
        """Whether a key may come at all after those seen."""
        if number < 0:
            return True
        if at.seen >> number & 1:
            return False
        return not self.values.is_ordered or number >= at.seen.bit_length()


def is_plain(part: Formula) -> bool:
    if isinstance(part, Not):
        return isinstance(part.part, HasKey)
    return isinstance(part, Properties | Keys | HasKey | Size)


@dataclass(slots=True, eq=False)
class Object(State):
    """Inside an object, between its parts; as `key` and `value`, the frame of one.

    Made by `ObjectMachine.state` alone.
    """

    machine: ObjectMachine
    phase: Phase
    at: At
    key: int
    """In `colon` and `value`: the key, counted as seen already."""
    space: bool

    @property
    def origin(self) -> str:
        return self.machine.values.schemas.origin

    @property
    def remembers(self) -> bool:
        return self.machine.takes_others

    def cost(self) -> int | None:
        machine = self.machine
        match self.phase:
            case "open" | "after":
                return machine.rest(self.at)
            case "next":
                return machine.next_cost(self.at)
            case "key":
                return machine.key_cost(self.at)
            case "colon" | "value":
                value = machine.value_cost(self.key, self.at)
                if value is None or self.phase == "value":
                    return value
                return value + len(machine.values.colon)

    def edges(self, out: Edges) -> None:
        machine, values, at = self.machine, self.machine.values, self.at
        if self.space and not values.is_exact:
            without = machine.state(self.phase, at, self.key, space=False)
            allow_space(out, without, values.most_blanks)
            return
        if self.phase in ("open", "after") and (ending := machine.exit(at)) is not None:
            out.do(0x7D, Pop(ending.result))
        if self.phase == "after":
            following = machine.state("next", at)
            if following.cost() is not None:
                out.do(values.comma[0], spelt(values.comma[1:], following))
        elif self.phase in ("open", "next"):
            for keys in machine.key_machines(at):
                if keys.shortest() is not None:
                    out.do(keys.quote.byte, start_of_key(keys, machine.state("key", at)))
        elif self.phase == "colon":
            value = Push(
                machine.state("value", at, self.key), values.begin(machine.goal(self.key, at))
            )
            if len(values.colon) == 1:
                out.do(values.colon[0], value)
            else:
                out.go(values.colon[0], Spell(values.colon[1:], value))

    def resume(self, result: Result) -> State | None:
        machine = self.machine
        if self.phase == "value":
            at = machine.after_value(self.key, self.at, result)
            return None if at is None else machine.state("after", at)
        assert isinstance(result, int)
        seen = machine.saw(result, self.at)
        return None if seen is None else machine.state("colon", seen, result)

    def supports(self) -> frozenset[frozenset[int]] | None:
        return self.machine.supports(self.key, self.at)

    def after(self) -> int:
        # What a key costs depends on which it is, and what a judged value costs on its result: the
        # states inside count on to the end of the object; inside keys less what `base` says.
        if self.phase == "key":
            return self.machine.key_machines(self.at)[0].base
        if self.machine.goal(self.key, self.at).judge is not None:
            return 0
        cost = self.machine.rest(self.at)
        assert cost is not None
        return cost
