r"""The shortest way to end an object: where all keywords have to hold, and where they may fail.

Where they may fail, what is still asked of the object is a formula. A *cube* is one way to make it
true: keys that must come, keys that must not, keywords that must hold and keywords that must fail.
Cubes are tried cheapest first, by branch and bound: the keys that must come give a lower bound of
what a cube costs, and no cube is looked at that can't be cheaper than one already found. For
`oneOf` that means: one branch true, and in each other branch one thing that is not so, which mostly
costs nothing (a key that does not come).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from untemplate.errors import LimitError
from untemplate.grammar.schema_atoms import HasKey, Size
from untemplate.grammar.schema_formula import (
    All,
    Formula,
    Not,
    One,
    Some,
    conj,
    disj,
    neg,
    substitute,
)

if TYPE_CHECKING:
    from untemplate.constrain.objects import At, ObjectMachine

__all__ = ["Shortest", "plain_rest"]

_MOST_CUBES = 20_000
_MOST_VISITED = 2_000_000
"""Leaves of formulas that all searches of one object look at: some ten seconds."""
_MOST_RESULTS = 1_024
_MOST_ASKED = 8
"""With more questions beside an object a judge that only wants more of them true is asked which."""
_FAR = 1 << 40


@dataclass(frozen=True, slots=True)
class _Cube:
    """One way to make a formula true."""

    literals: dict[object, bool] = field(default_factory=dict[object, bool])

    def with_literal(self, leaf: object, *, truth: bool) -> "_Cube":
        return _Cube({**self.literals, leaf: truth})

    def decide(self, formula: Formula, visited: list[int]) -> Formula:
        """What is left of a formula, given the literals; counts the leaves."""
        literals = self.literals

        def known(leaf: object) -> object:
            visited[0] += 1
            return literals.get(leaf, leaf)

        return substitute(formula, known)


def plain_rest(machine: "ObjectMachine", at: "At") -> int | None:
    """Fewest bytes to the end of an object whose keywords all have to hold: its pairs are known."""
    missing = machine.all_missing(at)
    if machine.values.is_ordered and any(n < at.seen.bit_length() for n in missing):
        return None
    pairs = [machine.pair(n) for n in missing]
    short = machine.least - at.total - len(pairs)
    spare = 0
    if short > 0:
        taken = at.seen | sum(1 << n for n in missing)
        names = [n for n in range(len(machine.keys)) if not taken >> n & 1]
        free = sorted(c for n in names if (c := machine.pair(n)) is not None)
        classes = [c for n, _ in machine.space.classes() if (c := machine.pair(n)) is not None]
        pairs += free[:short]
        others = short - len(free[:short])
        pairs += [min(classes, default=None)] * others
        spare = machine.spare(at, others)
    if machine.most is not None and at.total + len(pairs) > machine.most:
        return None
    total = 1
    for pair in pairs:
        if pair is None:
            return None
        total += pair
    commas = len(pairs) - (0 if at.total or not pairs else 1)
    return total + commas * len(machine.values.comma) + spare


class Shortest:
    """One search, from one place of an object."""

    def __init__(self, machine: "ObjectMachine", at: "At") -> None:
        self._machine = machine
        self._at = at
        self._best = _FAR
        self._left = _MOST_CUBES

    def search(self) -> int | None:
        """Fewest bytes to the end of the object, and of what its judge says to follow."""
        for extra, formula in sorted(self._options(), key=lambda option: option[0]):
            for cube in self._cubes([formula], _Cube(), extra):
                self._best = min(self._best, extra + self._cost(cube, self._best - extra))
        return None if self._best >= _FAR else self._best

    def _options(self) -> Iterator[tuple[int, Formula]]:
        """What the object may come to, and what that costs afterwards."""
        verdicts = self._machine.verdicts
        must, *asked = self._machine.residual(self._at)
        if verdicts.is_single:
            yield 0, must
            return
        if sum(not isinstance(f, bool) for f in asked) > _MOST_ASKED and verdicts.judge is not None:
            needed = verdicts.judge.supports()
            if needed is not None:
                for some in needed:
                    result = tuple(f is True or n in some for n, f in enumerate(asked))
                    yield from self._option(result, conj(must, *(asked[n] for n in some)))
                return
        truths = [(f,) if isinstance(f, bool) else (True, False) for f in asked]
        for count, result in enumerate(product(*truths)):
            if count >= _MOST_RESULTS:
                raise LimitError("an object may come to too many results")
            wanted = (f if truth else neg(f) for f, truth in zip(asked, result, strict=True))
            yield from self._option(result, conj(must, *wanted))

    def _option(self, result: tuple[bool, ...], formula: Formula) -> Iterator[tuple[int, Formula]]:
        judge = self._machine.verdicts.judge
        state = None if judge is None else judge.resume(result)
        cost = None if state is None else state.cost()
        if cost is not None:
            yield cost, formula

    # -------------------------------------------------------------------------------------- cubes

    def _cubes(self, pending: list[Formula], cube: _Cube, extra: int) -> Iterator[_Cube]:
        """The ways to make all pending formulas true that may be cheaper than the best."""
        pending = list(pending)
        branching: list[Formula] = []
        visited = self._machine.visited
        while pending:
            formula = cube.decide(pending.pop(), visited)
            if formula is False:
                return
            match formula:
                case bool():
                    continue
                case All(parts):
                    pending += parts
                    continue
                case Some() | One() | Not(One()):
                    branching.append(formula)
                    continue
                case Not(Size(least, most)):
                    # Too few, or too many.
                    few = Size(0, least - 1) if least else False
                    branching.append(disj(few, False if most is None else Size(most + 1, None)))
                    continue
                case Not(leaf):
                    cube = cube.with_literal(leaf, truth=False)
                case _:
                    cube = cube.with_literal(formula, truth=True)
            # What was set aside may be decided by now.
            pending += branching
            branching = []
        self._left -= 1
        if self._left < 0 or visited[0] > _MOST_VISITED:
            raise LimitError("an object has too many ways to be completed")
        if extra + self._at_least(cube) >= self._best:
            return
        if not branching:
            yield cube
            return
        first, *rest = branching
        for option in sorted(_options_of(first), key=lambda f: self._weight(f, cube)):
            yield from self._cubes([*rest, option], cube, extra)

    def _weight(self, formula: Formula, cube: _Cube) -> int:
        """Roughly what an option costs: the keys that it asks for."""
        match formula:
            case HasKey(key):
                return 0 if cube.literals.get(formula) else self._pair(key)
            case All(parts):
                return sum(self._weight(p, cube) for p in parts)
            case Some(parts) | One(parts):
                return min(self._weight(p, cube) for p in parts)
            case Not(HasKey()):
                return 0
            case Not():
                return 8  # a value that fails a keyword has to be written somewhere
            case _:
                return 0

    def _pair(self, key: str) -> int:
        cost = self._machine.pair(self._machine.number_of(key))
        return _FAR if cost is None else cost

    def _at_least(self, cube: _Cube) -> int:
        keys = [leaf.key for leaf, truth in cube.literals.items() if truth and _is_key(leaf)]  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        return 1 + sum(map(self._pair, keys))  # pyright: ignore[reportUnknownArgumentType]

    # --------------------------------------------------------------------------------------- cost

    def _cost(self, cube: _Cube, most: int) -> int:
        """Bytes of the cheapest object of a cube, the closing bracket included."""
        machine, at = self._machine, self._at
        needed: dict[int, list[Formula]] = {}
        banned: set[int] = set()
        holds = fails = 0
        low, high = machine.least, machine.most
        for leaf, truth in cube.literals.items():
            match leaf:
                case HasKey(key) if truth:
                    needed[machine.number_of(key)] = []
                case HasKey(key):
                    banned.add(machine.number_of(key))
                case Size(least, upper):
                    low = max(low, least)
                    high = min((m for m in (high, upper) if m is not None), default=None)
                case _:
                    bit = machine.bit_of(leaf)
                    holds |= bit if truth else 0
                    fails |= 0 if truth else bit
        fails &= ~at.failed
        plan = _Plan((machine, at), holds, banned, needed, (low, high))
        return plan.cheapest(fails, most)


def _is_key(leaf: object) -> bool:
    return isinstance(leaf, HasKey)


def _options_of(formula: Formula) -> list[Formula]:
    """Formulas of which one has to be true; together they say the same."""
    match formula:
        case Some(parts):
            return list(parts)
        case One(parts):
            return [
                conj(part, *(neg(p) for m, p in enumerate(parts) if m != n))
                for n, part in enumerate(parts)
            ]
        case Not(One(parts)):
            pairs = [conj(a, b) for n, a in enumerate(parts) for b in parts[n + 1 :]]
            return [conj(*map(neg, parts)), *pairs]
        case _:
            return [formula]


class _Plan:
    """The pairs that a cube needs."""

    def __init__(
        self,
        place: "tuple[ObjectMachine, At]",
        holds: int,
        banned: set[int],
        needed: dict[int, list[Formula]],
        bounds: tuple[int, int | None],
    ) -> None:
        self._machine, self._at = place
        self._holds = holds
        self._banned = banned
        self._needed = needed
        self._bounds = bounds

    def cheapest(self, fails: int, most: int) -> int:
        """Bytes to the end once each keyword of `fails` has failed; `most` or more: no matter."""
        pairs: dict[int, int] = {}
        for number, beside in self._needed.items():
            cost = self._pair(number, beside)
            if cost is None:
                return _FAR
            pairs[number] = cost
        bit = fails & -fails
        if not bit:
            return self._closed(pairs)
        best = _FAR
        if self._total(pairs) >= most:
            return best
        for number in self._candidates():
            key = self._machine.key(number)
            assert key is not None
            failing = [neg(f) for b, f in key.asks if b == bit]
            against = True if key.fails & bit else failing[0] if failing else False
            if against is False:
                continue
            is_new = number not in self._needed
            self._needed.setdefault(number, []).append(against)
            best = min(best, self.cheapest(fails & ~bit, min(most, best)))
            self._needed[number].pop()
            if is_new:
                del self._needed[number]
        return best

    def _candidates(self) -> list[int]:
        """Keys whose value might fail a keyword: those that come anyway first."""
        machine = self._machine
        names = [n for n in range(len(machine.keys)) if self._is_free(n)]
        others = [n for n, _ in machine.space.classes()]
        found = [*self._needed, *(n for n in (*names, *others) if n not in self._needed)]
        return [n for n in found if machine.key(n) is not None]

    def _is_free(self, number: int) -> bool:
        return not self._at.seen >> number & 1 and number not in self._banned

    def _pair(self, number: int, against: list[Formula]) -> int | None:
        """Bytes of a pair whose value lets every keyword hold that has to."""
        machine = self._machine
        key = machine.key(number)
        if key is None or key.fails & self._holds or not machine.may_come(number, self._at):
            return None
        asks = (f for bit, f in key.asks if bit & self._holds)
        value = machine.values.cost(conj(key.must, *asks, *against))
        return None if value is None else key.size + len(machine.values.colon) + value

    def _total(self, pairs: dict[int, int]) -> int:
        commas = len(pairs) - (0 if self._at.total or not pairs else 1)
        return 1 + sum(pairs.values()) + commas * len(self._machine.values.comma)

    def _closed(self, pairs: dict[int, int]) -> int:
        """The total with as many further pairs as the bounds ask for."""
        machine, (low, high) = self._machine, self._bounds
        short = low - self._at.total - len(pairs)
        spare = 0
        if short > 0:
            names = [n for n in range(len(machine.keys)) if self._is_free(n) and n not in pairs]
            costs = sorted((c, n) for n in names if (c := self._pair(n, [])) is not None)
            pairs = {**pairs, **{n: c for c, n in costs[:short]}}
            short = low - self._at.total - len(pairs)
        if short > 0:
            others = [c for n, _ in machine.space.classes() if (c := self._pair(n, [])) is not None]
            if not others:
                return _FAR
            pairs = {**pairs, **{-1 - len(pairs) - n: min(others) for n in range(short)}}
            spare = machine.spare(self._at, short)
        if high is not None and self._at.total + len(pairs) > high:
            return _FAR
        return self._total(pairs) + spare
