r"""Which characters may follow in a string, and how their number is counted.

    lengths = StringMachine(Length(2, 80), json_cost)
    lengths.begin()                     # Arrival(place=0, region=0, begins=1)

Lengths are counted beside the table: a string whose only bounds are lengths has one state for each
stretch between two bounds (a *region*), and the count of the configuration says how many characters
may still come in it. Where a pattern and a length meet, the number is part of the place instead.

    Length(2, 80)    region 0: 0 and 1 characters; region 1: 2 to 80; region 2: more, dead
"""

from collections.abc import Callable, Hashable
from functools import partial
from math import inf
from typing import Literal, NamedTuple, Protocol

from untemplate.constrain.patterns import automaton_of
from untemplate.constrain.state import Action, Count, Go, Set, State
from untemplate.constrain.verdicts import Exit, Verdicts, top_parts
from untemplate.constrain.words import Ending, Nearby, Product, Span, Words
from untemplate.grammar.schema_atoms import Length
from untemplate.grammar.schema_formula import Formula, conj, evaluate, leaves, substitute

__all__ = ["Arrival", "Characters", "StringMachine", "arrive"]


class Arrival(NamedTuple):
    """A border between two characters, and what happens to the count on the way there."""

    place: int
    region: int
    counts: bool = False
    """One character less is left in the region."""
    begins: int | None = None
    """So many characters may follow in the region, from now on."""


def arrive(arrival: Arrival, state: State, *, was_counted: bool = False) -> Action:
    """The action that leads to the state of a border."""
    if arrival.counts:
        return Count(state)
    if arrival.begins is not None:
        return Set(state, arrival.begins)
    return Set(state, 0) if was_counted else Go(state)


class Characters(Protocol):
    """What the states of a string ask."""

    def spans(self, place: int) -> tuple[Span, ...]:
        """Where characters lead from here; only to where the string can still end."""
        ...

    def arrival(self, place: int, region: int, *, is_zero: bool) -> Arrival | None:
        """The border after a character that leads to a place; None: no character may come."""
        ...

    def cost(self, place: int, region: int) -> int | None:
        """Bytes from a border to the end of the string, beside the slope."""
        ...

    def arrival_cost(self, place: int, region: int, *, is_zero: bool) -> int | None:
        """Bytes after a character that leads to a place, beside the slope."""
        ...

    def slope(self, place: int, region: int) -> int:
        """1 if each character left in the region has to be written."""
        ...


class StringMachine:
    """The strings that satisfy a formula."""

    def __init__(self, verdicts: Verdicts, cost: Callable[[int, int], int]) -> None:
        """`cost` says how many bytes the cheapest character of a range takes."""
        lengths, words = _split(verdicts.must) if verdicts.is_single else (True, True)
        product = Product({atom: automaton_of(atom) for atom in verdicts.leaves()})
        if lengths is True:
            self.is_counted = False
            has_length = any(isinstance(atom, Length) for atom in product.atoms)
            between = _Between(verdicts, cost, product).ending if has_length else None
            self._words = _words_of(verdicts, cost, product, between)
        else:
            rest = Verdicts((words,))
            asked = set(rest.leaves())
            loose = product.part([n for n, atom in enumerate(product.atoms) if atom in asked])
            self._words = _words_of(rest, cost, loose)
            self.is_counted = self._words.is_steady()
            if not self.is_counted:
                unbounded = _Unbounded(self._words, loose, product, lengths)
                self._words = _words_of(verdicts, cost, product, unbounded.ending)
        self._bounds = _bounds(lengths) if self.is_counted else ()
        self._holds = tuple(
            self.is_counted and evaluate(lengths, partial(_holds, length=n))
            for n in (0, *self._bounds)
        )
        self._regions = self._region_costs()

    def _region_costs(self) -> tuple[int | None, ...]:
        """For each region: bytes from its first border to the end."""
        found: list[int | None] = [0 if self._holds[-1] else None]
        for region in range(len(self._bounds) - 1, -1, -1):
            later = found[-1]
            if self._holds[region]:
                found.append(0)
            else:
                found.append(None if later is None else later + self._size(region) + 1)
        return tuple(reversed(found))

    def _size(self, region: int) -> int:
        """How many characters may follow the first border of a region without leaving it."""
        return self._bounds[region] - 1 - (self._bounds[region - 1] if region else 0)

    def _is_last(self, region: int) -> bool:
        return region == len(self._bounds)

    @property
    def is_free(self) -> bool:
        """Whether any character may follow any other, but for their number."""
        return self._words.is_free

    def counts(self, region: int) -> bool:
        """Whether characters are counted in a region."""
        return self.is_counted and not self._is_last(region)

    def begin(self) -> Arrival:
        """The border before the first character."""
        return self._enter(0, 0) if self.is_counted else Arrival(0, 0)

    def _enter(self, place: int, region: int) -> Arrival:
        if self._is_last(region):
            return Arrival(place, region)
        return Arrival(place, region, begins=self._size(region))

    def shortest(self) -> int | None:
        """Bytes of the shortest string."""
        return self._regions[0] if self.is_counted else self._words.cost(0)

    def exit(self, place: int, region: int) -> Exit | None:
        """Whether the string may end at this border, and what follows."""
        if self.is_counted:
            return Exit(None, 0) if self._holds[region] else None
        return self._words.exit(place)

    def spans(self, place: int) -> tuple[Span, ...]:
        return self._words.spans(place)

    def arrival(self, place: int, region: int, *, is_zero: bool) -> Arrival | None:
        if not self.counts(region):
            return Arrival(place, region)
        if not is_zero:
            return Arrival(place, region, counts=True)
        return None if self._regions[region + 1] is None else self._enter(place, region + 1)

    def cost(self, place: int, region: int) -> int | None:
        if not self.is_counted:
            return self._words.cost(place)
        if self._holds[region] or self._is_last(region):
            return self._regions[region] if self._is_last(region) else 0
        later = self._regions[region + 1]
        return None if later is None else later + 1

    def arrival_cost(self, place: int, region: int, *, is_zero: bool) -> int | None:
        if self.is_counted and is_zero and not self._is_last(region):
            return self._regions[region + 1]
        return self.cost(place, region)

    def slope(self, place: int, region: int) -> int:  # noqa: ARG002  as for all machines
        return int(self.counts(region) and not self._holds[region])


class _Unbounded:
    """The same words of any length: where their cheapest end keeps to the bounds, it is theirs too.

    They have few states, where there is one for each length with the bounds.
    """

    def __init__(self, words: Words, loose: Product, product: Product, lengths: Formula) -> None:
        self._words = words
        self._loose = loose
        self._lengths = lengths
        self._where = {atom: n for n, atom in enumerate(product.atoms)}
        self._shared = [self._where[atom] for atom in loose.atoms]
        self._product = product

    def ending(self, state: int) -> Ending | Literal["unknown"] | None:
        """The way to the end from a state of the product with lengths."""
        parts = self._product.parts(state)
        found = self._words.ending(self._loose.state_of(tuple(parts[n] for n in self._shared)))
        if found is None:
            return None

        def holds(atom: object) -> bool:
            assert isinstance(atom, Length)
            return _holds(atom, length=parts[self._where[atom]] + found.size)

        return found if evaluate(self._lengths, holds) else "unknown"


class _Between:
    """The same words while no length changes a verdict: the end is there if none beyond is nearer.

    Where lengths stand in several verdicts an end beyond a bound may be one too, but it takes all
    the characters up to the bound.
    """

    def __init__(
        self, verdicts: Verdicts, cost: Callable[[int, int], int], product: Product
    ) -> None:
        self._verdicts = verdicts
        self._cost = cost
        self._least = verdicts.least() or 0
        self._product = product
        atoms = list(enumerate(product.atoms))
        self._lengths = [(n, atom) for n, atom in atoms if isinstance(atom, Length)]
        self._others = [n for n, atom in atoms if not isinstance(atom, Length)]
        self._loose = product.part(self._others)
        self._words: dict[tuple[bool, ...], Words] = {}

    def ending(self, state: int) -> Ending | Literal["unknown"] | None:
        """The way to the end from a state of the product with lengths."""
        parts = self._product.parts(state)
        held = tuple(_holds(atom, length=parts[n]) for n, atom in self._lengths)
        words = self._words.get(held)
        if words is None:
            words = self._words[held] = self._words_where(held)
        found = words.ending(self._loose.state_of(tuple(parts[n] for n in self._others)))
        room = min(_room(atom, parts[n]) for n, atom in self._lengths)
        if room == inf:
            return found
        is_nearest = found and found.size <= room and found.cost <= room + 1 + self._least
        return found if is_nearest else "unknown"

    def _words_where(self, held: tuple[bool, ...]) -> Words:
        known: dict[Hashable, bool] = {
            atom: holds for (_, atom), holds in zip(self._lengths, held, strict=True)
        }

        def end(state: int) -> Exit | None:
            truth = self._loose.truth(state)
            truth.update(known)
            return self._verdicts.exit(truth.__getitem__)

        must = substitute(self._verdicts.must, lambda leaf: known.get(leaf, leaf))
        return Words(self._loose, self._cost, end, least=self._least, must=must)


def _room(atom: Length, length: int) -> float:
    """How many characters may follow before a verdict on the length changes."""
    if length < atom.least:
        return atom.least - 1 - length
    return inf if atom.most is None or length > atom.most else atom.most - length


def _words_of(
    verdicts: Verdicts,
    cost: Callable[[int, int], int],
    product: Product,
    nearby: Nearby | None = None,
) -> Words:
    return Words(
        product,
        cost,
        lambda state: verdicts.exit(product.truth(state).__getitem__),
        least=verdicts.least() or 0,
        must=verdicts.must,
        nearby=nearby,
    )


def _split(formula: Formula) -> tuple[Formula, Formula]:
    """The part of a formula that is about lengths alone, and the rest."""
    parts = top_parts(formula)
    about = [{isinstance(a, Length) for a in leaves(p)} for p in parts]
    lengths = [p for p, kinds in zip(parts, about, strict=True) if kinds == {True}]
    if any(len(kinds) > 1 for kinds in about):
        return True, formula
    words = [p for p, kinds in zip(parts, about, strict=True) if kinds != {True}]
    return conj(*lengths), conj(*words)


def _bounds(formula: Formula) -> tuple[int, ...]:
    """The lengths at which some verdict changes: `Length(2, 5)` gives 2 and 6."""
    found: set[int] = set()
    for leaf in leaves(formula):
        assert isinstance(leaf, Length)
        found.add(leaf.least)
        if leaf.most is not None:
            found.add(leaf.most + 1)
    return tuple(sorted(found - {0}))


def _holds(atom: object, *, length: int) -> bool:
    assert isinstance(atom, Length)
    return length >= atom.least and (atom.most is None or length <= atom.most)
