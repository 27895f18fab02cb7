r"""What a case of an object or an array asks for, whatever notation it is written in.

    (Properties((("n", Place("#/properties/n")),), (), rest=False), HasKey("n"))
    -> ObjectShape((Member("n", Place("#/properties/n"), is_required=True),), (), 0, None)

Rules keep the order of keys and count, but can't compare two values; what needs that is left out.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from untemplate.grammar.export.cases import Case
from untemplate.grammar.export.strings import is_string
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import (
    Contains,
    HasKey,
    Items,
    Keys,
    Pattern,
    Properties,
    Schema,
    Size,
    Strings,
    Unchecked,
    Unique,
)
from untemplate.grammar.schema_formula import All, Formula, Not, conj, disj

__all__ = ["ArrayShape", "Member", "ObjectShape", "Other", "array_shape", "goal_of", "object_shape"]

Wider = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Member:
    """One key that an object may or must have."""

    key: str
    goal: Formula
    """What its value is: a formula over subschemas."""
    is_required: bool


@dataclass(frozen=True, slots=True)
class Other:
    """Keys that are not named: what they and their values are."""

    names: Formula
    """A formula over atoms of strings."""
    goal: Formula


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """The keys of an object in their order, and how many there are."""

    members: tuple[Member, ...]
    others: tuple[Other, ...]
    """Which other keys there may be; any of these."""
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
    names: Formula = True
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
                names = conj(names, schemas.typed(schema).string)
            case Unchecked(keyword):
                wider(f"{keyword} is left out")
            case _:
                wider("a negated keyword is left out")
    least, most = _smallest(sizes)
    keys = dict.fromkeys(k for p in properties for k, _ in p.named) | needed
    others = _others(properties, names, wider)
    finite = _finite(names)
    if finite is not None:
        keys |= dict.fromkeys(finite)
        others = ()
    barred |= {k for k in keys if not is_string(names, k, wider)}
    members = tuple(
        Member(k, False if k in barred else goal_of(k, properties, wider), k in needed)
        for k in keys
    )
    return ObjectShape(members, others, least, most)


def _smallest(sizes: Iterable[Size]) -> tuple[int, int | None]:
    least = max((s.least for s in sizes), default=0)
    return least, min((s.most for s in sizes if s.most is not None), default=None)


def goal_of(key: str, properties: Iterable[Properties], wider: Wider) -> Formula:
    """What the value of a key is by all `Properties` together."""
    parts: list[Formula] = []
    for one in properties:
        own: list[Schema] = [schema for name, schema in one.named if name == key]
        own += [
            schema for pattern, schema in one.patterns if is_string(Pattern(pattern), key, wider)
        ]
        parts += own or [one.rest]
    return conj(*parts)


def _others(properties: Iterable[Properties], names: Formula, wider: Wider) -> tuple[Other, ...]:
    """Keys that are not named, and what their values are."""
    patterned = [p for p in properties if p.patterns]
    rest = conj(*(p.rest for p in properties if not p.patterns))
    if not patterned:
        return (Other(names, rest),) if rest is not False else ()
    if len(patterned) == 1 and patterned[0].rest is False:
        patterns = patterned[0].patterns
        if len(patterns) > 1:
            wider("a key that several patternProperties match may follow any one of them")
        return tuple(Other(conj(names, Pattern(p)), conj(rest, schema)) for p, schema in patterns)
    wider("any key may follow any of the patternProperties")
    either = (disj(p.rest, *(schema for _, schema in p.patterns)) for p in patterned)
    return (Other(names, conj(rest, *either)),)


def _finite(formula: Formula) -> tuple[str, ...] | None:
    """Strings that hold all for which the formula holds, if such are listed in it."""
    match formula:
        case False:
            return ()
        case Strings(members):
            return members
        case All(parts):
            return next((f for f in map(_finite, parts) if f is not None), None)
        case _:
            return None
