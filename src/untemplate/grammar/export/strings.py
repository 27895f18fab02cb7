r"""Strings of a case -> rules: lengths, constants, all strings but a few, in any spelling.

    Strings of at most 80 characters    json-character{0,80}
    "C" or "F"                          "C" | "F"
    all but "ab"                        "a" ("b" any+ | other any*)? | other any*

Only what stands between the quotes is said here.
"""

from collections.abc import Callable, Sequence
from itertools import groupby

from untemplate.grammar.export.cases import Case
from untemplate.grammar.export.patterns import Expression, expression
from untemplate.grammar.export.rules import (
    ANY,
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
from untemplate.grammar.schema_formula import Formula, Not, evaluate
from untemplate.grammar.schema_regex import Unsupported

__all__ = ["constant", "is_string", "other_than", "string_text"]

Wider = Callable[[str], None]


def constant(text: str, spelling: Spelling) -> Node:
    """The text, in every spelling; a lone surrogate has none."""
    if any("\ud800" <= c <= "\udfff" for c in text):
        return NEVER
    return sequence(*(spelling(characters(c)) for c in text))


def other_than(texts: Sequence[str], spelling: Spelling) -> Node:
    """Every string but these."""
    return _other(sorted(set(texts)), 0, spelling, repeat(spelling(ANY), 0, None))


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


def string_text(case: Case, spelling: Spelling, wider: Wider) -> Node:
    """The characters of a string in which all atoms of the case hold, without its quotes."""
    members = _common(case)
    if members is not None:
        order = [m for a in case if isinstance(a, Strings) for m in a.members if m in members]
        kept = (m for m in dict.fromkeys(order) if all(_holds(a, m, wider) for a in case))
        return choice(*(constant(m, spelling) for m in kept))
    least, most = 0, None
    others: list[str] = []
    patterns: list[Pattern | Format] = []
    for atom in case:
        match atom:
            case Length(low, high):
                least = max(least, low)
                most = high if most is None else most if high is None else min(most, high)
            case Not(Strings(excluded)):
                others += excluded
            case Pattern() | Format():
                patterns.append(atom)
            case Not(part):
                wider(f"the opposite of {_keyword(part)} is left out")
            case _:
                pass
    found = _first_pattern(patterns, spelling, wider)
    if found is not None:
        others = [o for o in others if all(_holds(p, o, wider) for p in patterns)]
        within = found.within(least, most) if (least, most) != (0, None) else found
        if others or within is None:
            wider("what is asked beside a pattern is left out")
        return (within or found).node(spelling, wider)
    if max(least, most or 0) > MOST_REPEATS:
        wider(f"lengths above {MOST_REPEATS} are not counted")
        least, most = min(least, MOST_REPEATS), None
    if others and (least, most) == (0, None):
        return other_than(others, spelling)
    if others:
        wider("excluded strings beside a length are left out")
    return repeat(spelling(ANY), least, most)


def _first_pattern(
    atoms: Sequence[Pattern | Format], spelling: Spelling, wider: Wider
) -> Expression | None:
    """The first pattern that rules can say."""
    out: Expression | None = None
    for atom in atoms:
        try:
            found = expression(atom)
            if found is None:
                continue
            if out is None:
                found.node(spelling, lambda _: None)
                out = found
                continue
        except Unsupported:
            pass
        wider(f"{_keyword(atom)} is left out")
    return out


def _holds(atom: object, text: str, wider: Wider) -> bool:
    """Whether the atom holds for a constant; True, and a note, where that can't be told."""
    match atom:
        case Length(low, high):
            return low <= len(text) and (high is None or len(text) <= high)
        case Strings(members):
            return text in members
        case Pattern() | Format():
            try:
                found = expression(atom)
            except Unsupported:
                wider(f"{_keyword(atom)} is left out")
                return True
            return found is None or found.is_match(text)
        case Not(part):
            if isinstance(part, Pattern | Format):
                try:
                    expression(part)
                except Unsupported:
                    wider(f"the opposite of {_keyword(part)} is left out")
                    return True
            return not _holds(part, text, wider)
        case _:
            return True


def _keyword(atom: object) -> str:
    match atom:
        case Pattern():
            return "pattern"
        case Format(name):
            return f"format {name}"
        case _:
            return type(atom).__name__.lower()


def is_string(formula: Formula, text: str, wider: Wider) -> bool:
    """Whether the formula holds for a constant."""
    return evaluate(formula, lambda atom: _holds(atom, text, wider))


def _common(case: Case) -> set[str] | None:
    """The constants that all enumerations of the case hold; None without any."""
    found = [set(a.members) for a in case if isinstance(a, Strings)]
    return set[str].intersection(*found) if found else None
