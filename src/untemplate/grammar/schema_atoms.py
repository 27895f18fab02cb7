"""What one keyword asks of one type of value: the leaves of a schema's formulas.

A schema is seven formulas, one for each kind of value (`Typed`); their leaves are the atoms here.
`{"type": ["string", "null"], "maxLength": 5}` is

    Typed(null=True, false=False, true=False, number=False,
          string=Length(0, 5), array=False, object=False)

so boolean keywords act on each kind by itself; `anyOf` of a string and a number needs no thought.
Atoms compare by content and never hold a subschema, only its `Place`: recursion is no matter.
"""

from dataclasses import dataclass
from decimal import MAX_PREC, Context, Decimal

from untemplate.grammar.schema_formula import All, Formula, Some, conj, disj, neg, one

__all__ = [
    "ANYTHING",
    "MOST_CHARACTERS",
    "MOST_DIGITS",
    "MOST_LEAST",
    "NOTHING",
    "Atom",
    "Constant",
    "Contains",
    "Format",
    "HasKey",
    "Items",
    "Keys",
    "Length",
    "Multiple",
    "Number",
    "Numbers",
    "Pattern",
    "Place",
    "Properties",
    "Range",
    "Size",
    "Strings",
    "Typed",
    "Unchecked",
    "Unique",
    "Whole",
    "all_of",
    "any_of",
    "not_",
    "one_of",
]


@dataclass(frozen=True, slots=True)
class Place:
    """A subschema, by its JSON pointer."""

    pointer: str
    scope: tuple[tuple[str, str], ...] = ()
    """Dynamic anchors met on the way here, by name, and where they are."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A schema that only this JSON text satisfies."""

    text: str


Schema = Place | Constant | bool


# ---------------------------------------------------------------------------------------- numbers

MOST_CHARACTERS = 1_000_000
"""Of a string whose length is bounded: so many are counted beside a state."""
MOST_LEAST = 10_000
"""What a schema may ask for at least, of characters, items or keys: each is paid for in masks."""
MOST_DIGITS = 40
"""Most digits that a number has before the point, and after it."""
MOST_REMAINDERS = 100_000
"""A `multipleOf` with a fraction and more of them is not followed digit by digit."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Without a fraction."""


@dataclass(frozen=True, slots=True)
class Range:
    """Between two bounds; None: no bound."""

    low: Decimal | None = None
    high: Decimal | None = None
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Multiple:
    """A multiple of `step`."""

    step: Decimal

    @property
    def scaled(self) -> tuple[int, int]:
        """The step as an integer, and by how many powers of ten that is larger."""
        _, digits, exponent = self.step.normalize(Context(prec=MAX_PREC)).as_tuple()
        assert isinstance(exponent, int)
        whole = int("".join(map(str, digits))) * 10 ** int(max(exponent, 0))
        return whole, max(-exponent, 0)

    @property
    def is_followed(self) -> bool:
        """Whether digits can be held against it one by one, with some left to reach a multiple."""
        whole, places = self.scaled
        if places and whole > MOST_REMAINDERS:
            return False
        return len(str(whole)) + places <= MOST_DIGITS // 2


@dataclass(frozen=True, slots=True)
class Numbers:
    """One of these numbers."""

    members: tuple[Decimal, ...]


Number = Whole | Range | Multiple | Numbers

# ---------------------------------------------------------------------------------------- strings


@dataclass(frozen=True, slots=True)
class Length:
    """So many characters."""

    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression matches somewhere."""

    source: str


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Strings:
    """One of these strings."""

    members: tuple[str, ...]


# ------------------------------------------------------------------------------ arrays and objects


@dataclass(frozen=True, slots=True)
class Items:
    """The first items by `prefix`, all others by `rest`."""

    prefix: tuple[Schema, ...]
    rest: Schema


@dataclass(frozen=True, slots=True)
class Size:
    """So many items, or so many keys."""

    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Contains:
    """So many items are as `item` says."""

    item: Schema
    least: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Unique:
    """No item equals another."""


@dataclass(frozen=True, slots=True)
class Properties:
    """Values by their key: those named, those whose key matches, all others by `rest`."""

    named: tuple[tuple[str, Schema], ...]
    patterns: tuple[tuple[str, Schema], ...]
    rest: Schema


@dataclass(frozen=True, slots=True)
class HasKey:
    """The object has this key."""

    key: str


@dataclass(frozen=True, slots=True)
class Keys:
    """Each key, as a string, is as `schema` says."""

    schema: Schema


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A keyword that is checked only after the value was written."""

    keyword: str
    pointer: str


Atom = (
    Number | Length | Pattern | Format | Strings | Items | Size | Contains | Unique | Properties
    | HasKey | Keys | Unchecked
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Typed:
    """What a schema says of each kind of value."""

    null: Formula
    false: Formula
    true: Formula
    number: Formula
    string: Formula
    array: Formula
    object: Formula

    @property
    def members(self) -> int | None:
        """How many values there are at most, where all are listed; None where they are not."""
        count = sum(part is True for part in (self.null, self.false, self.true))
        for part in self.parts[3:]:
            found = _listed(part)
            if found is None:
                return None
            count += found
        return count

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The formulas in the order of the fields."""
        return (
            self.null, self.false, self.true, self.number, self.string, self.array, self.object
        )  # fmt: skip


def _listed(part: Formula) -> int | None:
    match part:
        case False:
            return 0
        case Numbers(members) | Strings(members):
            return len(members)
        case All(parts):
            counts = [count for p in parts if (count := _listed(p)) is not None]
            return min(counts, default=None)
        case Some(parts):
            counts = [count for p in parts if (count := _listed(p)) is not None]
            return sum(counts) if len(counts) == len(parts) else None
        case _:
            return None


ANYTHING = Typed(True, True, True, True, True, True, True)
NOTHING = Typed(False, False, False, False, False, False, False)


def all_of(*schemas: Typed) -> Typed:
    """As every schema says."""
    return Typed(*(conj(*parts) for parts in zip(*(s.parts for s in schemas), strict=True)))


def any_of(*schemas: Typed) -> Typed:
    """As at least one schema says."""
    return Typed(*(disj(*parts) for parts in zip(*(s.parts for s in schemas), strict=True)))


def one_of(*schemas: Typed) -> Typed:
    """As exactly one schema says."""
    return Typed(*(one(parts) for parts in zip(*(s.parts for s in schemas), strict=True)))


def not_(schema: Typed) -> Typed:
    """Not as the schema says."""
    return Typed(*map(neg, schema.parts))
