r"""A formula over atoms -> the cases in which it holds, each a plain list of atoms.

    All((Length(0, 5), Some((Pattern("a"), Pattern("b")))))
    -> [(Length(0, 5), Pattern("a")), (Length(0, 5), Pattern("b"))]

Of options of which exactly one may hold, each gets the opposite of those that may hold beside it,
as far as rules can say that. Where they can't, or where there are too many cases, the cases are
wider than the formula, and `wider` is told why.
"""

from collections.abc import Callable, Iterator
from itertools import product

from untemplate.grammar.schema_atoms import HasKey, Strings
from untemplate.grammar.schema_formula import All, Formula, Not, One, Some, conj, disj, neg

__all__ = ["MOST_CASES", "Apart", "Case", "cases"]

MOST_CASES = 64

Case = tuple[object, ...]
"""Atoms, and `Not` around atoms, that hold together."""


Apart = Callable[[Case, Case], bool]
"""Whether nothing is as both cases say, as far as is easily seen."""


def cases(formula: Formula, wider: Callable[[str], None], apart: Apart | None = None) -> list[Case]:
    """The cases of a formula; without any, it never holds."""
    match formula:
        case bool():
            return [()] if formula else []
        case Some(parts):
            return _bounded([c for p in parts for c in cases(p, wider, apart)], wider)
        case One(parts):
            return _bounded(list(_just_one(parts, wider, apart)), wider)
        case Not(One()):
            wider("that not exactly one of the options holds can't be said")
            return [()]
        case All(parts):
            out: list[Case] = [()]
            for part in parts:
                found = cases(part, wider, apart)
                out = _bounded([a + b for a, b in product(out, found)], wider)
            return out
        case _:
            return [(formula,)]


def _just_one(
    parts: tuple[Formula, ...], wider: Callable[[str], None], apart: Apart | None
) -> Iterator[Case]:
    found = [cases(p, wider, apart) for p in parts]
    for n, own in enumerate(found):
        for case in own:
            others = [
                neg(part)
                for m, part in enumerate(parts)
                if m != n and not (apart and all(apart(case, c) for c in found[m]))
            ]
            said = [_sayable(o) for o in others]
            if said != others:
                wider("more than one of the options may hold")
            yield from cases(conj(*case, *said), wider, apart)


def _sayable(formula: Formula) -> Formula:
    """The formula without those opposites that rules can't say."""
    match formula:
        case Not(HasKey() | Strings()):
            return formula
        case Not() | One():
            return True
        case All(parts):
            return conj(*map(_sayable, parts))
        case Some(parts):
            return disj(*map(_sayable, parts))
        case _:
            return formula


def _bounded(found: list[Case], wider: Callable[[str], None]) -> list[Case]:
    unique = list(dict.fromkeys(tuple(dict.fromkeys(c)) for c in found))
    if len(unique) <= MOST_CASES:
        return unique
    wider(f"more than {MOST_CASES} cases")
    return [()]
