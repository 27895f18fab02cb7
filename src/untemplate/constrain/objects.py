r"""Objects in JSON: keys in any order, each once, required ones before the end.

    {"to": "x", "days": 3}   open -> key -> colon -> value -> after -> next -> key -> ... -> out

The keys that the schema names are numbered; a state holds the set of those seen, as an integer. So
the mask inside a key allows just the keys that may still come, and the closing bracket is allowed
once the required ones are there. Other keys, where the schema takes any, are one kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from untemplate.constrain.keys import OTHER, KeyMachine
from untemplate.constrain.relax import relax_compound
from untemplate.constrain.space import allow_space
from untemplate.constrain.state import Edges, Go, Pop, Push, Result, Spell, State
from untemplate.constrain.strings import Chars, Lane, json_cost
from untemplate.grammar.schema_atoms import HasKey, Properties, Size
from untemplate.grammar.schema_formula import Formula, conj

if TYPE_CHECKING:
    from untemplate.constrain.values import Values

__all__ = ["ObjectMachine"]

Phase = Literal["open", "next", "key", "colon", "value", "after"]


class ObjectMachine:
    """The objects that satisfy a formula."""

    def __init__(self, values: "Values", formula: Formula) -> None:
        self.values = values
        atoms = relax_compound(formula)
        self._properties = tuple(a for a in atoms if isinstance(a, Properties))
        required = {a.key: None for a in atoms if isinstance(a, HasKey)}
        sizes = tuple(a for a in atoms if isinstance(a, Size))
        self.least = max((s.least for s in sizes), default=0)
        self.most = min((s.most for s in sizes if s.most is not None), default=None)
        self.enough = max([self.least, *(s.most + 1 for s in sizes if s.most is not None)])
        named = {k: None for a in self._properties for k, _ in a.named}
        self.keys = tuple(named | required)
        self.required = tuple(n for n, k in enumerate(self.keys) if k in required)
        self._needed = sum(1 << n for n in self.required)
        self._machines: dict[tuple[int, int], KeyMachine] = {}

    @cached_property
    def goals(self) -> tuple[Formula, ...]:
        """What the value of each key has to be, and last of any other key."""
        goals = [conj(*(dict(p.named).get(k, p.rest) for p in self._properties)) for k in self.keys]
        return (*goals, conj(*(p.rest for p in self._properties)))

    @cached_property
    def allowed(self) -> tuple[bool, ...]:
        """For each key, and last for any other key: whether there is a value for it."""
        return tuple(self.values.cost(g) is not None for g in self.goals)

    def begin(self) -> State:
        return Object(self, "open", 0, 0)

    def shortest(self) -> int | None:
        """Bytes of the shortest object."""
        rest = self.rest(0, 0)
        return None if rest is None else rest + 1

    def rest(self, seen: int, count: int) -> int | None:
        """Fewest bytes after the pairs seen, the closing bracket included."""
        pairs = [self._pair(n) for n in self.required if not seen >> n & 1]
        after = count + len(pairs)
        if after < self.least:
            others = (n for n in range(len(self.keys)) if n not in self.required)
            free = sorted(
                c for n in others if not seen >> n & 1 if (c := self._pair(n)) is not None
            )
            pairs += free[: self.least - after]
            pairs += [self._pair(OTHER)] * (self.least - count - len(pairs))
        if None in pairs or (self.most is not None and count + len(pairs) > self.most):
            return None
        total = sum(p for p in pairs if p is not None)
        commas = len(pairs) - (0 if count or seen or not pairs else 1)
        return 1 + total + commas * len(self.values.comma)

    def _pair(self, key: int) -> int | None:
        value = self.values.cost(self.goals[key])
        if value is None:
            return None
        name = 1 if key == OTHER else json_size(self.keys[key])
        return name + 2 + len(self.values.colon) + value

    def key_machine(self, seen: int, count: int) -> "KeyMachine":
        """The keys that may come next."""
        found = self._machines.get((seen, count))
        if found is None:
            found = self._machines[seen, count] = KeyMachine(
                {self.keys[n]: (n, self._key_cost(n, seen, count)) for n in range(len(self.keys))},
                self._key_cost(OTHER, seen, count),
            )
        return found

    def _key_cost(self, key: int, seen: int, count: int) -> int | None:
        """Fewest bytes after the closing quote of this key to the end; None: it may not come."""
        if key != OTHER and seen >> key & 1:
            return None
        value = self.values.cost(self.goals[key])
        rest = self.rest(*self.saw(key, seen, count))
        if value is None or rest is None:
            return None
        return len(self.values.colon) + value + rest

    def saw(self, key: int, seen: int, count: int) -> tuple[int, int]:
        """Keys seen and their number after one more."""
        # Without bounds the number only says whether a pair was written.
        count = min(count + 1, max(self.enough, 1))
        return (seen if key == OTHER else seen | 1 << key), count

    def is_complete(self, seen: int, count: int) -> bool:
        return seen & self._needed == self._needed and count >= self.least

    def orders(self, seen: int) -> Iterator[int]:
        """Keys that may come next where keys stand in declared order."""
        yield from (n for n in range(seen.bit_length(), len(self.keys)))


def json_size(key: str) -> int:
    """Bytes of a key in JSON without its quotes, written shortest."""
    return sum(json_cost(ord(c), ord(c)) for c in key)


@dataclass(frozen=True, slots=True)
class Object(State):
    """Inside an object, between its parts; as `key` and `value`, the frame of one."""

    machine: ObjectMachine
    phase: Phase
    seen: int
    count: int
    key: int = OTHER
    """In `colon` and `value`: the key, counted as seen already."""
    space: bool = True

    def cost(self) -> int | None:
        machine, values = self.machine, self.machine.values
        match self.phase:
            case "open" | "after":
                return machine.rest(self.seen, self.count)
            case "next" | "key":
                return machine.key_machine(self.seen, self.count).shortest()
            case "colon" | "value":
                value = values.cost(machine.goals[self.key])
                rest = machine.rest(self.seen, self.count)
                if value is None or rest is None:
                    return None
                return value + rest + (len(values.colon) if self.phase == "colon" else 0)

    def edges(self, out: Edges) -> None:
        machine, values = self.machine, self.machine.values
        seen, count = self.seen, self.count
        if self.space and not values.is_exact:
            without = Object(machine, self.phase, seen, count, self.key, space=False)
            allow_space(out, without, values.most_blanks)
        if self.phase in ("open", "after") and machine.is_complete(seen, count):
            out.do(0x7D, Pop())
        if self.phase == "after":
            following = Object(machine, "next", seen, count)
            if following.cost() is not None:
                out.do(values.comma[0], spelt(values.comma[1:], following))
        elif self.phase in ("open", "next"):
            keys = machine.key_machine(seen, count)
            if keys.shortest() is not None:
                frame = Object(machine, "key", seen, count)
                out.do(0x22, Push(frame, Chars(Lane(keys, 0), 0)))
        elif self.phase == "colon":
            frame = Object(machine, "value", seen, count, self.key)
            value = values.begin(machine.goals[self.key])
            if len(values.colon) == 1:
                out.do(values.colon[0], Push(frame, value))
            else:
                out.go(values.colon[0], Spell(values.colon[1:], Push(frame, value)))

    def resume(self, result: Result) -> State | None:
        machine = self.machine
        if self.phase == "value":
            return Object(machine, "after", self.seen, self.count)
        assert isinstance(result, int)
        seen, count = machine.saw(result, self.seen, self.count)
        return Object(machine, "colon", seen, count, result)

    def after(self) -> int:
        # What a key costs depends on which it is, so its states count on to the end of the object.
        if self.phase == "key":
            return 0
        cost = Object(self.machine, "after", self.seen, self.count).cost()
        assert cost is not None
        return cost


def spelt(rest: bytes, state: State) -> Go:
    """The state once the rest of a separator is written."""
    return Go(Spell(rest, Go(state)) if rest else state)
