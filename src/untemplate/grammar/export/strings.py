r"""Strings of a case -> rules: lengths, constants, all strings but a few, in any spelling.

    Strings of at most 80 characters    json-character{0,80}
    "C" or "F"                          "C" | "F"
    all but "ab"                        "a" ("b" any+ | other any*)? | other any*

Only what stands between the quotes is said here.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from untemplate.grammar.export.cases import Case
from untemplate.grammar.export.rules import (
    EMPTY,
    MOST_REPEATS,
    NEVER,
    Node,
    characters,
    choice,
    complement,
    repeat,
    sequence,
)
from untemplate.grammar.export.spelling import Spelling
from untemplate.grammar.schema_atoms import Format, Length, Pattern, Strings
from untemplate.grammar.schema_formula import Not

__all__ = ["constant", "other_than", "string_text"]

Wider = Callable[[str], None]


def constant(text: str, spelling: Spelling) -> Node:
    """The text, in every spelling."""
    return sequence(*(spelling(characters(c)) for c in text))


def other_than(texts: Sequence[str], spelling: Spelling, anything: Node) -> Node:
    """Every string but these; `anything` is one character of any kind."""
    return _other(sorted(set(texts)), 0, spelling, repeat(anything, 0, None))


def _other(texts: Sequence[str], at: int, spelling: Spelling, rest: Node) -> Node:
    """What may follow the common beginning, `at` characters long, of these sorted texts."""
    if not texts:
        return rest
    longer = [t for t in texts if len(t) > at]
    is_whole = len(longer) == len(texts)
    heads = characters(t[at] for t in longer)
    options: list[Node] = [EMPTY] if is_whole else []
    for head, members in groupby(longer, key=lambda t: t[at]):
        inner = _other(list(members), at + 1, spelling, rest)
        options.append(sequence(spelling(characters(head)), inner))
    options.append(sequence(spelling(complement(heads)), rest))
    return choice(*options) if options else NEVER


def string_text(case: Case, spelling: Spelling, anything: Node, wider: Wider) -> Node:
    """The characters of a string in which all atoms of the case hold, without its quotes.

    `anything` is one character of any kind.
    """
    members = _common(case)
    if members is not None:
        return _constants(case, members, spelling, wider)
    least, most = 0, None
    others: list[str] = []
    for atom in case:
        match atom:
            case Length(low, high):
                least = max(least, low)
                most = high if most is None else most if high is None else min(most, high)
            case Not(Strings(excluded)):
                others += excluded
            case Pattern() | Format() | Not():
                wider(f"{_keyword(atom)} is left out")
            case _:
                pass
    if max(least, most or 0) > MOST_REPEATS:
        wider(f"lengths above {MOST_REPEATS} are not counted")
        least, most = min(least, MOST_REPEATS), None
    if others and (least, most) == (0, None):
        return other_than(others, spelling, anything)
    if others:
        wider("excluded strings beside a length are left out")
    return repeat(anything, least, most)


def _constants(case: Case, members: set[str], spelling: Spelling, wider: Wider) -> Node:
    """Those of the members in which every atom holds."""
    left = members
    for atom in case:
        match atom:
            case Length(low, high):
                left = {m for m in left if low <= len(m) and (high is None or len(m) <= high)}
            case Not(Strings(excluded)):
                left = left - {*excluded}
            case Pattern() | Format() | Not():
                wider(f"{_keyword(atom)} is left out")
            case _:
                pass
    order = [m for a in case if isinstance(a, Strings) for m in a.members if m in left]
    return choice(*(constant(m, spelling) for m in dict.fromkeys(order)))


def _keyword(atom: object) -> str:
    match atom:
        case Pattern():
            return "pattern"
        case Format(name):
            return f"format {name}"
        case Not(part):
            return f"the opposite of {_keyword(part)}"
        case _:
            return type(atom).__name__.lower()


def _common(case: Case) -> set[str] | None:
    """The constants that all enumerations of the case hold; None without any."""
    found = [set(a.members) for a in case if isinstance(a, Strings)]
    return set[str].intersection(*found) if found else None
