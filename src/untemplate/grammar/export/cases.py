r"""A formula over atoms -> the cases in which it holds, each a plain list of atoms.

    All((Length(0, 5), Some((Pattern("a"), Pattern("b")))))
    -> [[Length(0, 5), Pattern("a")], [Length(0, 5), Pattern("b")]]

Rules can say "one of" but neither "exactly one of" nor "at most so many cases"; where that is
needed, the cases are wider than the formula, and `wider` is told why.
"""

from collections.abc import Callable
from itertools import product

from untemplate.grammar.schema_formula import All, Formula, Not, One, Some

__all__ = ["MOST_CASES", "Case", "cases"]

MOST_CASES = 64

Case = tuple[object, ...]
"""Atoms, and `Not` around atoms, that hold together."""


def cases(formula: Formula, wider: Callable[[str], None]) -> list[Case]:
    """The cases of a formula; without any, it never holds."""
    match formula:
        case bool():
            return [()] if formula else []
        case Some(parts):
            return _bounded([c for p in parts for c in cases(p, wider)], wider)
        case One(parts):
            wider("more than one of the options may hold")
            return _bounded([c for p in parts for c in cases(p, wider)], wider)
        case Not(One()):
            wider("that not exactly one of the options holds can't be said")
            return [()]
        case All(parts):
            out: list[Case] = [()]
            for part in parts:
                out = _bounded([a + b for a, b in product(out, cases(part, wider))], wider)
            return out
        case _:
            return [(formula,)]


def _bounded(found: list[Case], wider: Callable[[str], None]) -> list[Case]:
    unique = list(dict.fromkeys(tuple(dict.fromkeys(c)) for c in found))
    if len(unique) <= MOST_CASES:
        return unique
    wider(f"more than {MOST_CASES} cases")
    return [()]
