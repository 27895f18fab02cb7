r"""What a case of an object or an array asks for, whatever notation it is written in.

    (Properties((("n", Place("#/properties/n")),), (), rest=False), HasKey("n"))
    -> ObjectShape((Member("n", Place("#/properties/n"), is_required=True),), rest=False, 0, None)

Rules keep the order of keys and count, but can't compare two values; what needs that is left out.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from untemplate.grammar.export.cases import Case
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import (
    Contains,
    HasKey,
    Items,
    Keys,
    Properties,
    Schema,
    Size,
    Strings,
    Unchecked,
    Unique,
)
from untemplate.grammar.schema_formula import All, Formula, Not, conj, disj

__all__ = ["ArrayShape", "Member", "ObjectShape", "array_shape", "object_shape"]

Wider = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Member:
    """One key that an object may or must have."""

    key: str
    goal: Formula
    """What its value is: a formula over subschemas."""
    is_required: bool


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """The keys of an object in their order, and how many there are."""

    members: tuple[Member, ...]
    rest: Formula
    """What values of other keys are; False: there are none."""
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """The items of an array."""

    prefix: tuple[Formula, ...]
    rest: Formula
    least: int
    most: int | None


def array_shape(case: Case, wider: Wider) -> ArrayShape:
    """The shape of an array in which all atoms of the case hold."""
    items: list[Items] = []
    sizes: list[Size] = []
    for atom in case:
        match atom:
            case Items():
                items.append(atom)
            case Size():
                sizes.append(atom)
            case Contains() | Not(Contains()):
                wider("contains is left out")
            case Unique():
                wider("uniqueItems is left out")
            case Unchecked(keyword):
                wider(f"{keyword} is left out")
            case _:
                wider("a negated keyword is left out")
    least, most = _smallest(sizes)
    count = max((len(i.prefix) for i in items), default=0)
    prefix = tuple(
        conj(*(i.prefix[n] if n < len(i.prefix) else i.rest for i in items)) for n in range(count)
    )
    return ArrayShape(prefix, conj(*(i.rest for i in items)), least, most)


def object_shape(case: Case, schemas: Schemas, wider: Wider) -> ObjectShape:
    """The shape of an object in which all atoms of the case hold."""
    properties: list[Properties] = []
    sizes: list[Size] = []
    needed: dict[str, None] = {}
    barred: set[str] = set()
    only: list[frozenset[str]] = []
    for atom in case:
        match atom:
            case Properties():
                properties.append(atom)
            case Size():
                sizes.append(atom)
            case HasKey(key):
                needed[key] = None
            case Not(HasKey(key)):
                barred.add(key)
            case Keys(schema):
                found = _finite(schemas.typed(schema).string)
                if found is None:
                    wider("propertyNames is left out")
                else:
                    only.append(found)
            case Unchecked(keyword):
                wider(f"{keyword} is left out")
            case _:
                wider("a negated keyword is left out")
    least, most = _smallest(sizes)
    rest = conj(*(_other(p, wider) for p in properties))
    keys = dict.fromkeys(k for p in properties for k, _ in p.named) | needed
    if only:
        allowed = frozenset[str].intersection(*only)
        keys |= dict.fromkeys(sorted(allowed))
        barred |= keys.keys() - allowed
        rest = False
    members = tuple(
        Member(k, False if k in barred else _goal(k, properties, wider), k in needed) for k in keys
    )
    return ObjectShape(members, rest, least, most)


def _smallest(sizes: Iterable[Size]) -> tuple[int, int | None]:
    least = max((s.least for s in sizes), default=0)
    return least, min((s.most for s in sizes if s.most is not None), default=None)


def _goal(key: str, properties: Iterable[Properties], wider: Wider) -> Formula:
    """What the value of a key is by all `Properties` together."""
    parts: list[Formula] = []
    for one in properties:
        own: list[Schema] = [schema for name, schema in one.named if name == key]
        own += [schema for pattern, schema in one.patterns if _matches(pattern, key, wider)]
        parts += own or [one.rest]
    return conj(*parts)


def _other(properties: Properties, wider: Wider) -> Formula:
    """What the values of keys are that are not named."""
    if not properties.patterns:
        return properties.rest
    wider("patternProperties: any other key may have a value of any of its patterns")
    return disj(properties.rest, *(schema for _, schema in properties.patterns))


def _matches(pattern: str, key: str, wider: Wider) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:
        wider(f"the pattern {pattern} of patternProperties is left out")
        return False


def _finite(formula: Formula) -> frozenset[str] | None:
    """The strings of which the formula is one, if it is just that."""
    match formula:
        case False:
            return frozenset()
        case Strings(members):
            return frozenset(members)
        case All(parts):
            found = [_finite(p) for p in parts]
            return frozenset[str].intersection(*(f for f in found if f)) if all(found) else None
        case _:
            return None
