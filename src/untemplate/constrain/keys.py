r"""Keys of an object: which may come next, told apart as they are spelt.

The keys that a schema names have numbers from 0 on. All others are of a *class*, numbered -1, -2
and so on: keys that agree in every pattern and in what `propertyNames` asks. Without those there is
one class.

    space = KeySpace(("a", "ab"), {})    names 0 and 1, one class: -1
    machine.close(place)                 after `"ab`: Pop(1); after `"abc`: Pop(-1)

A name that may not come again is still followed: where other keys are allowed, `"ab"` may be one
while `"a"` is not.
"""

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cached_property, lru_cache

from untemplate.constrain.characters import Arrival
from untemplate.constrain.letters import JSON, Quote
from untemplate.constrain.patterns import automaton_of
from untemplate.constrain.state import Action, Pop, Spell, Text
from untemplate.constrain.verdicts import Exit
from untemplate.constrain.words import LAST, Product, Span, Words
from untemplate.grammar.schema_formula import Formula, conj, evaluate, leaves, neg

__all__ = ["FreeKeys", "KeyMachine", "KeySpace", "free_keys"]

_MOST_STATES = 2_000
"""States that are looked at to find the classes of other keys."""
_NONE = 1
"""State of the names where the key is none of them."""


class Names:
    """The names as an automaton: a state is a range of the sorted names that begin so."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        order = sorted(range(len(names)), key=names.__getitem__)
        self._sorted = [names[n] for n in order]
        self._numbers = order
        self._states = [(0, len(names), 0), (0, 0, -1)]
        self._spans: dict[int, tuple[Span, ...]] = {}
        self._ids = {state: n for n, state in enumerate(self._states)}

    def name(self, state: int) -> int | None:
        """The number of the name that ends here."""
        low, high, size = self._states[state]
        ends = low < high and len(self._sorted[low]) == size
        return self._numbers[low] if ends else None

    def rests(self, state: int) -> Iterator[tuple[int, str]]:
        """The names that may still come, and what is missing of them."""
        low, high, size = self._states[state]
        for n in range(low, high):
            yield self._numbers[n], self._sorted[n][size:]

    def holds(self, state: int) -> bool:
        return self.name(state) is not None

    def after(self, state: int, code: int) -> int | None:
        """The state after a character; None where that leads away from all names."""
        spans = self.spans(state)
        found = spans[bisect_right(spans, (code, LAST, len(self._states))) - 1][2]
        return None if found == _NONE else found

    def spans(self, state: int) -> tuple[Span, ...]:
        """Where characters lead, that away from all names included."""
        found = self._spans.get(state)
        if found is None:
            found = self._spans[state] = tuple(self._make_spans(state))
        return found

    def _make_spans(self, state: int) -> list[Span]:
        low, high, size = self._states[state]
        if size < 0:
            return [(0, LAST, _NONE)]
        if self.name(state) is not None:
            low += 1
        found: list[Span] = []
        at = 0
        while low < high:
            code = ord(self._sorted[low][size])
            end = low + 1
            while end < high and ord(self._sorted[end][size]) == code:
                end += 1
            if at < code:
                found.append((at, code - 1, _NONE))
            found.append((code, code, self._number((low, end, size + 1))))
            low, at = end, code + 1
        if at <= LAST:
            found.append((at, LAST, _NONE))
        return found

    def _number(self, state: tuple[int, int, int]) -> int:
        found = self._ids.setdefault(state, len(self._states))
        if found == len(self._states):
            self._states.append(state)
        return found


class KeySpace:
    """The keys of one object, as far as its schema tells them apart."""

    def __init__(self, names: tuple[str, ...], tests: Mapping[Hashable, Formula]) -> None:
        """`tests`: what is asked of keys, by what asks it; formulas over strings."""
        self.names = names
        self._tests = tests
        atoms = {leaf: automaton_of(leaf) for f in tests.values() for leaf in leaves(f)}
        self.tree = Names(names)
        self.product = Product({self: self.tree, **atoms})
        self._classes: list[tuple[bool, ...]] = [] if tests else [()]
        self._found: tuple[tuple[int, int], ...] | None = None
        self._keys: dict[int, int] = {}
        self._ascii: dict[int, bool] = {}

    @property
    def is_plain(self) -> bool:
        """Whether all keys that are no names are alike."""
        return not self._tests

    def is_ascii(self, quote: Quote) -> bool:
        """Whether it is plain, and each name is written in one way only."""
        found = self._ascii.get(quote.byte)
        if found is None:
            codes = {ord(c) for name in self.names for c in name}
            found = self.is_plain and all(map(quote.is_plain, codes))
            self._ascii[quote.byte] = found
        return found

    def of_name(self, number: int) -> dict[Hashable, bool]:
        """Which tests a name passes."""
        if self.is_plain:
            return {}
        truth = self.product.truth(self.product.after(self.names[number]))
        return {asks: evaluate(f, truth.__getitem__) for asks, f in self._tests.items()}

    def of_class(self, number: int) -> dict[Hashable, bool]:
        """Which tests the keys of a class pass."""
        return dict(zip(self._tests, self._classes[-1 - number], strict=True))

    def formula_of(self, number: int) -> Formula:
        """What the keys of a class have in common."""
        passed = self.of_class(number)
        return conj(*(f if passed[asks] else neg(f) for asks, f in self._tests.items()))

    def key_at(self, state: int) -> int:
        """The number of the name, or of the class, of a key that ends here."""
        if state not in self._keys:
            self._keys[state] = self._key_at(state)
        return self._keys[state]

    def _key_at(self, state: int) -> int:
        name = self.tree.name(self.product.parts(state)[0])
        if name is not None:
            return name
        if self.is_plain:
            return -1
        truth = self.product.truth(state).__getitem__
        passed = tuple(evaluate(f, truth) for f in self._tests.values())
        if passed not in self._classes:
            self._classes.append(passed)
        return -1 - self._classes.index(passed)

    def classes(self) -> tuple[tuple[int, int], ...]:
        """Every class that some key is of, with the bytes of its shortest key."""
        if self._found is None and self.is_plain and "" not in self.names:
            self._found = ((-1, 0),)
        if self._found is None:
            shortest: dict[int, int] = {}
            most = 2 if self.is_plain else _MOST_STATES
            for state, cost in self.product.reach(JSON.quotes[0].cost, most):
                key = self.key_at(state)
                if key < 0:
                    shortest.setdefault(key, cost)
            self._found = tuple(shortest.items())
        return self._found


class FreeKeys:
    """Keys that are no names: any characters, and one class at the end. Place 0 is the start."""

    is_shared = True

    def __init__(self, quote: Quote) -> None:
        self.quote = quote

    def spans(self, place: int) -> tuple[Span, ...]:  # noqa: ARG002  as for all machines
        return ((0, LAST, 0),)

    def close(self, place: int, region: int) -> Action | None:  # noqa: ARG002
        return Pop(-1)

    def close_cost(self) -> int:
        return 1

    def is_loop(self, place: int) -> bool:  # noqa: ARG002
        return True

    def free(self, place: int) -> "FreeKeys | None":  # noqa: ARG002
        return None

    def ending(self, place: int) -> Spell | None:  # noqa: ARG002
        return None

    def cost(self, place: int, region: int) -> int | None:  # noqa: ARG002
        return 0

    def slope(self, place: int, region: int) -> int:  # noqa: ARG002
        return 0

    def arrival(self, place: int, region: int, *, is_zero: bool) -> Arrival | None:  # noqa: ARG002
        return Arrival(0, 0)

    def arrival_cost(self, place: int, region: int, *, is_zero: bool) -> int | None:  # noqa: ARG002
        return 0


@lru_cache
def free_keys(quote: Quote) -> FreeKeys:
    """One for all grammars."""
    return FreeKeys(quote)


class KeyMachine:
    """The keys that may come next in one place of an object.

    What it says of costs is beside `base`, which the frame counts.
    """

    is_shared = False

    def __init__(self, space: KeySpace, quote: Quote, after: Callable[[int], int | None]) -> None:
        """`after`: fewest bytes from behind a key to the end of the object; None: not now."""
        self._space = space
        self.quote = quote
        self._words = Words(space.product, quote.cost, self._end)
        self._after = after
        self._afters: dict[int, int | None] = {}
        self._costs: dict[int, int | None] = {}
        self._living: dict[int, tuple[Span, ...]] = {}

    def _end(self, state: int) -> Exit | None:
        key = self._space.key_at(state)
        cost = self._cost_after(key)
        return None if cost is None else Exit(key, cost - self.base)

    def _cost_after(self, key: int) -> int | None:
        if key not in self._afters:
            self._afters[key] = self._after(key)
        return self._afters[key]

    def shortest(self) -> int | None:
        """Bytes from the opening quote to the end of the object."""
        cost = self.cost(0, 0)
        return None if cost is None else self.base + cost + 2

    @cached_property
    def base(self) -> int:
        """Bytes from behind a key that is no name to the end of the object, if it may come."""
        return (self._cost_after(-1) or 0) if self._space.is_plain else 0

    @property
    def tree(self) -> Names:
        return self._space.tree

    @property
    def has_texts(self) -> bool:
        """Whether there are just names in plain ASCII to tell apart; see `naming`."""
        return self._space.is_ascii(self.quote)

    def texts(self, place: int) -> tuple[Text, ...]:
        """What is missing of the names, the closing quote included, and what that does.

        Of names that may not come only where other keys may.
        """
        ways = (
            (rest, None if self._cost_after(key) is None else Pop(key))
            for key, rest in self.tree.rests(place)
        )
        has_others = self._cost_after(-1) is not None
        end = bytes((self.quote.byte,))
        return tuple((r.encode() + end, then) for r, then in ways if has_others or then)

    def farthest(self, place: int) -> int:
        """Bytes from here to the end of the object by the name that is farthest from it."""
        rests = ((len(rest), self._cost_after(key)) for key, rest in self.tree.rests(place))
        known = (size + after for size, after in rests if after is not None)
        return 1 + max(known, default=self.base) - self.base

    def close(self, place: int, region: int) -> Action | None:  # noqa: ARG002  keys are not counted
        if not self._space.is_plain:
            found = self._words.exit(place)
            return None if found is None else Pop(found.result)
        name = self._space.tree.name(place)
        key = -1 if name is None else name
        return None if self._cost_after(key) is None else Pop(key)

    def close_cost(self) -> int:
        return 1

    def is_loop(self, place: int) -> bool:
        if not self._space.is_plain:
            return self.spans(place) == ((0, LAST, place),)
        return place == _NONE and self.cost(place, 0) is not None

    def free(self, place: int) -> FreeKeys | None:
        return self.others() if self._space.is_plain and place == _NONE else None

    def others(self) -> FreeKeys | None:
        """The keys that are no names, where they may come."""
        return None if self._cost_after(-1) is None else free_keys(self.quote)

    def ending(self, place: int) -> Spell | None:  # noqa: ARG002  `texts` says it
        return None

    def spans(self, place: int) -> tuple[Span, ...]:
        if not self._space.is_plain:
            return self._words.spans(place)
        found = self._living.get(place)
        if found is None:
            spans = self._space.tree.spans(place)
            found = tuple(s for s in spans if self.cost(s[2], 0) is not None)
            self._living[place] = found
        return found

    def cost(self, place: int, region: int) -> int | None:  # noqa: ARG002  keys are not counted
        if not self._space.is_plain:
            return self._words.cost(place)
        if place not in self._costs:
            self._costs[place] = self._plain_cost(place)
        return self._costs[place]

    def _plain_cost(self, place: int) -> int | None:
        """The same without a search: the names that may still come are at hand."""
        tree = self._space.tree
        options: list[int] = []
        for key, rest in tree.rests(place):
            if (after := self._cost_after(key)) is not None:
                options.append(self.quote.size(rest) + after)
        if (other := self._cost_after(-1)) is not None:
            options.append(other + (tree.name(place) is not None))
        return min(options) - self.base if options else None

    def slope(self, place: int, region: int) -> int:  # noqa: ARG002  keys are not counted
        return 0

    def arrival(self, place: int, region: int, *, is_zero: bool) -> Arrival | None:  # noqa: ARG002
        return Arrival(place, 0)

    def arrival_cost(self, place: int, region: int, *, is_zero: bool) -> int | None:  # noqa: ARG002
        return self.cost(place, 0)
