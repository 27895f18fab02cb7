r"""Strings as they are, between two literals -> rules.

    <parameter=city>\nParis\n</parameter>\n    "<parameter=city>" TEXT "</parameter>\n"

A raw string ends where the mark of what follows it begins, so it never holds that mark. White space
between a literal and a free string is soft: it is left to the string. Where the schema asks for
something, the string stands between the literals as they are written.
"""

from collections.abc import Callable

from untemplate.grammar.export.cases import Case, cases
from untemplate.grammar.export.rules import (
    EMPTY,
    NEVER,
    Characters,
    Choice,
    Exit,
    Lexeme,
    Literal,
    Node,
    Repeat,
    Sequence,
    Text,
    choice,
    sequence,
)
from untemplate.grammar.export.spelling import raw_character
from untemplate.grammar.export.strings import string_text
from untemplate.grammar.schema_atoms import Length, Strings
from untemplate.grammar.schema_formula import Formula

__all__ = ["raw_text"]

Wider = Callable[[str], None]
_MOST_COUNTED = 10_000
"""Most states of a counted raw text."""


def raw_text(
    formula: Formula, before: str, after: str, marks: tuple[str, ...], wider: Wider
) -> Node:
    """A string that satisfies the formula between two literals.

    Args:
        formula: over atoms of strings.
        before: the literal before it.
        after: the literal after it.
        marks: what the string never holds: the mark of `after`, or of what follows, and what would
            begin another pair.
        wider: is told what is left out.
    """
    marks = tuple(m for m in marks if m)
    if formula is True:
        after = after.lstrip() or after
        way = (Exit(after, EMPTY),) if after else ()
        text = Text(marks, way, NEVER if after else EMPTY)
        return sequence(Literal(before.rstrip()), text)
    options = (_of_case(c, marks, after, wider) for c in cases(formula, wider))
    return sequence(Literal(before), choice(*options))


def _of_case(case: Case, marks: tuple[str, ...], after: str, wider: Wider) -> Node:
    """A string of a case, and the literal after it."""
    end = Literal(after)
    if any(isinstance(a, Strings) for a in case):
        kept = tuple(_without(a, marks) if isinstance(a, Strings) else a for a in case)
        return sequence(string_text(kept, raw_character, wider), end)
    if all(isinstance(a, Length) for a in case):
        least = max((a.least for a in case if isinstance(a, Length)), default=0)
        bounds = [a.most for a in case if isinstance(a, Length) and a.most is not None]
        most = min(bounds, default=None)
        if sum(map(len, marks)) * max(least, most or 0) <= _MOST_COUNTED:
            return Text(marks, (), end, least, most)
    missing: list[str] = []
    node = string_text(case, raw_character, missing.append)
    if marks and not missing and not any(_may_hold_all(node, mark) for mark in marks):
        return Lexeme(sequence(node, end))
    wider("what is asked of raw text is left out")
    return Text(marks, (), end)


def _without(atom: Strings, marks: tuple[str, ...]) -> Strings:
    """The constants that hold none of the marks."""
    return Strings(tuple(m for m in atom.members if not any(mark in m for mark in marks)))


def _may_hold_all(node: Node, mark: str) -> bool:
    return all(_may_hold(node, character) for character in mark)


def _may_hold(node: Node, character: str) -> bool:
    """Whether a text of the node, which refers to no rule, may hold the character."""
    match node:
        case Literal(text):
            return character in text
        case Characters(ranges):
            return any(first <= ord(character) <= last for first, last in ranges)
        case Sequence(items) | Choice(items):
            return any(_may_hold(i, character) for i in items)
        case Repeat(item):
            return _may_hold(item, character)
        case _:
            return True
