r"""Patterns and formats -> formulas over expressions that have an automaton.

    pattern_formula(Pattern("^(?!a)b"))   -> All((Expression(^b), Not(Expression(^a))))
    pattern_formula(Pattern("^[ab]{2,9}$"))  -> All((Expression(^[ab]*$), Length(2, 9)))
    pattern_formula(Pattern("(a)\\1"))      -> None: a back-reference has no automaton

Look-ahead at the beginning is a formula of its own; elsewhere it has no automaton here. A class
that is only counted becomes a length, because lengths are counted beside the automaton.
"""

from functools import lru_cache
from typing import NamedTuple

from untemplate.grammar.schema_atoms import MOST_CHARACTERS, MOST_LEAST, Format, Length, Pattern
from untemplate.grammar.schema_formats import CHECKED, FORMATS
from untemplate.grammar.schema_formula import Formula, conj, disj, neg
from untemplate.grammar.schema_regex import (
    Alt,
    Assert,
    Cat,
    Look,
    Regex,
    Repeat,
    Set,
    Unsupported,
    parse,
)

__all__ = ["MOST_STEPS", "Expression", "pattern_formula", "pattern_problem"]

MOST_STEPS = 20_000
"""Steps of the program of an expression, its repeats unrolled."""


class Expression(NamedTuple):
    """The leaf of a formula for a tree without look-ahead."""

    tree: Regex


@lru_cache(maxsize=1024)
def pattern_formula(atom: Pattern | Format) -> Formula | None:
    """What a pattern or a format asks, as a formula over expressions; None: it has no automaton."""
    if isinstance(atom, Format):
        if atom.name in CHECKED:
            return None
        source = FORMATS.get(atom.name)
        if source is None:
            return True
    else:
        source = atom.source
    try:
        return expression_formula(parse(source))
    except Unsupported:
        return None


@lru_cache(maxsize=1024)
def pattern_problem(atom: Pattern | Format) -> str | None:
    """Why a pattern or a format has no automaton; None: it has one, or asks nothing."""
    if pattern_formula(atom) is not None:
        return None
    if isinstance(atom, Format):
        return f"the format {atom.name} has no automaton"
    try:
        expression_formula(parse(atom.source))
    except Unsupported as reason:
        return f"the pattern has no automaton: {reason}"
    raise AssertionError(atom)


def expression_formula(tree: Regex) -> Formula:
    """The same of a tree, or Unsupported."""
    match tree:
        case Alt(options):
            return disj(*map(expression_formula, options))
        case Cat(parts):
            pass
        case _:
            parts = (tree,)
    looks = [p for p in parts if isinstance(p, Look)]
    if looks:
        at = next(n for n, p in enumerate(parts) if not isinstance(p, Assert))
        ahead = [p for p in parts[at:] if isinstance(p, Look)]
        if parts[:1] != (Assert("start"),) or any(
            isinstance(p, Look) for p in parts[at + len(ahead) :]
        ):
            raise Unsupported("look-ahead that is not at the beginning")
        tests = [expression_formula(Cat((Assert("start"), *_parts(p.part)))) for p in ahead]
        rest = expression_formula(Cat((Assert("start"), *parts[at + len(ahead) :])))
        return conj(
            rest,
            *(neg(t) if p.is_negative else t for p, t in zip(ahead, tests, strict=True)),
        )
    if _has_look(tree):
        raise Unsupported("look-ahead that is not at the beginning")
    match parts:
        case (Assert("start"), Repeat(Set() as part, least, most), Assert("end")):
            # Characters are counted beside the table, not unrolled.
            one = Cat((Assert("start"), Repeat(part, 0, None), Assert("end")))
            if least > MOST_LEAST:
                raise Unsupported(f"more than {MOST_LEAST} characters at least")
            most = None if most is None else min(most, MOST_CHARACTERS)
            bounds = Length(least, most) if least or most is not None else True
            return conj(Expression(one), bounds)
        case _:
            if _steps(tree) > MOST_STEPS:
                raise Unsupported(f"more than {MOST_STEPS} steps")
            return Expression(tree)


def _parts(tree: Regex) -> tuple[Regex, ...]:
    return tree.parts if isinstance(tree, Cat) else (tree,)


def _has_look(tree: Regex) -> bool:
    match tree:
        case Look():
            return True
        case Cat(parts) | Alt(parts):
            return any(map(_has_look, parts))
        case Repeat(part):
            return _has_look(part)
        case _:
            return False


def _steps(tree: Regex) -> int:
    """How many steps the program of a tree has."""
    match tree:
        case Cat(parts) | Alt(parts):
            return 1 + sum(map(_steps, parts))
        case Repeat(part, least, most):
            return (1 + _steps(part)) * max(least, most or 0, 1)
        case Look(part):
            return _steps(part)
        case _:
            return 1
