r"""Numbers of a case -> rules.

    (Whole(), Range(low=1), Range(high=31))   [1-9] | [1-2] [0-9] | "3" [0-1]
    (Range(low=0), Multiple(0.01))            any number of at most two places (then zeros)
    (Numbers((1, 2.5)),)                      "1" | "2.5", with zeros behind, or an exponent

Numbers without bounds are any JSON number. Rules can say bounds, or steps of a power of ten; of
both together the bounds are said.
"""

from collections.abc import Callable
from decimal import Decimal

from untemplate.grammar.export.cases import Case
from untemplate.grammar.export.decimals import decimals, places, scaled_places
from untemplate.grammar.export.digits import Interval, integers
from untemplate.grammar.export.literals import Literals
from untemplate.grammar.export.rules import Lexeme, Literal, Node, choice, optional, sequence
from untemplate.grammar.schema_atoms import Multiple, Numbers, Range, Whole
from untemplate.grammar.schema_formula import Not

__all__ = ["number_text"]

Wider = Callable[[str], None]


def number_text(case: Case, notation: Literals, wider: Wider) -> Node:
    """A number in which all atoms of the case hold."""
    sets = [set(a.members) for a in case if isinstance(a, Numbers)]
    if sets:
        left = sorted(
            m for m in set[Decimal].intersection(*sets) if all(_holds(a, m) for a in case)
        )
        return Lexeme(choice(*(_spellings(m, is_whole=Whole() in case) for m in left)))
    for atom in case:
        if isinstance(atom, Not):
            wider(f"the opposite of {type(atom.part).__name__.lower()} is left out")
    interval = _interval(case)
    steps = [a.step for a in case if isinstance(a, Multiple)]
    if Whole() in case:
        if any(step != 1 for step in steps):
            wider("multipleOf is left out")
        if interval == Interval():
            return notation.integer
        return Lexeme(integers(interval))
    if interval != Interval():
        if steps:
            wider("multipleOf beside bounds is left out")
        return Lexeme(decimals(interval))
    if not steps:
        return notation.number
    fitting = [n for step in steps if (n := _places(step)) is not None]
    if len(fitting) < len(steps):
        wider("multipleOf other than a power of ten is left out")
    if not fitting:
        return notation.number
    most = min(fitting)
    scaled = sequence(optional(Literal("-")), scaled_places(most))
    return Lexeme(choice(sequence(integers(Interval()), places(most)), scaled))


def _places(step: Decimal) -> int | None:
    """How many places the multiples of a step have, if they are all numbers with so many."""
    exponent = step.normalize().as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent if step == Decimal(10) ** exponent and exponent <= 0 else None


def _interval(case: Case) -> Interval:
    """What all ranges of the case have in common."""
    out = Interval()
    for atom in case:
        if isinstance(atom, Range):
            out = out.above(atom.low, is_open=atom.low_open) if atom.low is not None else out
            out = out.below(atom.high, is_open=atom.high_open) if atom.high is not None else out
    return out


def _spellings(number: Decimal, *, is_whole: bool) -> Node:
    """A number in all its spellings."""
    just = Interval(number, number)
    return integers(just) if is_whole else decimals(just)


def _holds(atom: object, number: Decimal) -> bool:
    match atom:
        case Whole():
            return number == number.to_integral_value()
        case Range(low, high, low_open, high_open):
            above = low is None or (number > low if low_open else number >= low)
            return above and (high is None or (number < high if high_open else number <= high))
        case Multiple(step):
            return number % step == 0
        case Numbers(members):
            return number in members
        case Not(part):
            return not _holds(part, number)
        case _:
            return True
