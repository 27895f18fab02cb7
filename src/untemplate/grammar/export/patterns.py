r"""Patterns and formats -> rules for the whole string.

    ^[a-z]{2}$    [a-z]{2}
    b|^c          any* "b" any* | "c" any*

An expression keeps its shape; only where it is anchored decides whether anything may stand before
and behind it. Rules know no borders of words and no look-ahead: what needs the former is
`Unsupported`, the latter is left out. Constants are matched by `is_match`, which knows both, in
time linear in the expression and in the square of the text.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from untemplate.grammar.export.rules import (
    ANY,
    MOST_REPEATS,
    Characters,
    Node,
    choice,
    complement,
    repeat,
    sequence,
)
from untemplate.grammar.export.spelling import Spelling
from untemplate.grammar.schema_atoms import Format, Pattern
from untemplate.grammar.schema_formats import CHECKED, FORMATS
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

__all__ = ["Expression", "expression"]

_MOST_BRANCHES = 64


def expression(atom: Pattern | Format) -> "Expression | None":
    """What the atom asks; None: nothing.

    Raises:
        Unsupported: it is not a regular expression that can be read.
    """
    if isinstance(atom, Pattern):
        return Expression(parse(atom.source))
    if atom.name in CHECKED:
        raise Unsupported(atom.name)
    source = FORMATS.get(atom.name)
    return Expression(parse(source)) if source is not None else None


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression that has to match somewhere in a string."""

    tree: Regex

    def is_match(self, text: str) -> bool:
        """Whether it matches somewhere."""
        return any(_ends(self.tree, text, {at}) for at in range(len(text) + 1))

    def lengths(self) -> tuple[int, int | None]:
        """Fewest and most characters of the strings that it matches; None: without end."""
        found = [b.lengths() for b in _branches(self.tree)]
        longest = [m for _, m in found if m is not None]
        most = max(longest, default=0) if len(longest) == len(found) else None
        return min((least for least, _ in found), default=0), most

    def within(self, least: int, most: int | None) -> "Expression | None":
        """The expression for strings of these lengths; None: that can't be said.

        It can where all but one run of characters has a fixed length, as in `^[a-z]+$`.
        """
        options: list[Regex] = []
        for branch in _branches(self.tree):
            parts = _trimmed(branch, least, most)
            if parts is None:
                return None
            look = (Look(Set(()), is_negative=True),) if branch.has_look else ()
            options += [Cat((Assert("start"), *look, *found, Assert("end"))) for found in parts]
        return Expression(Alt(tuple(options)))

    def node(self, spelling: Spelling, wider: Callable[[str], None]) -> Node:
        """The strings in which it matches.

        Raises:
            Unsupported: it asks for what rules can't say.
        """
        anything = repeat(spelling(ANY), 0, None)
        options: list[Node] = []
        for branch in _branches(self.tree):
            if branch.has_look:
                wider("look-ahead is left out")
            before = () if branch.starts else (anything,)
            behind = () if branch.ends else (anything,)
            options.append(sequence(*before, *(_inner(p, spelling) for p in branch.parts), *behind))
        return choice(*options)


@dataclass(frozen=True, slots=True)
class _Branch:
    """A way through an expression, without the anchors at its ends."""

    parts: tuple[Regex, ...]
    starts: bool
    ends: bool
    has_look: bool

    def lengths(self) -> tuple[int, int | None]:
        least, most = _length(Cat(self.parts))
        return least, most if self.starts and self.ends else None


def _trimmed(branch: _Branch, least: int, most: int | None) -> list[tuple[Regex, ...]] | None:
    """The parts of a branch for strings of these lengths: none, or one way; None: can't be said."""
    low, high = branch.lengths()
    if low >= least and (most is None or (high is not None and high <= most)):
        return [branch.parts] if branch.starts and branch.ends else None
    free = [n for n, p in enumerate(branch.parts) if len({*_length(p)}) > 1]
    if not (branch.starts and branch.ends) or len(free) != 1:
        return None
    part = branch.parts[free[0]]
    if not isinstance(part, Repeat) or _length(part.part) != (1, 1):
        return None
    fixed = low - part.least
    first = max(part.least, least - fixed)
    last = part.most if most is None else min(most - fixed, part.most or most)
    if last is not None and last < first:
        return []
    return [
        (*branch.parts[: free[0]], Repeat(part.part, first, last), *branch.parts[free[0] + 1 :])
    ]


def _branches(tree: Regex) -> Iterator[_Branch]:
    for path in _paths(tree):
        inner = tuple(p for p in path if not isinstance(p, Look))
        parts = list(inner)
        starts = ends = False
        while parts and parts[0] == Assert("start"):
            starts = bool(parts.pop(0))
        while parts and parts[-1] == Assert("end"):
            ends = bool(parts.pop())
        yield _Branch(tuple(parts), starts, ends, len(inner) < len(path))


def _paths(tree: Regex) -> list[tuple[Regex, ...]]:
    """Ways through the expression in which anchors stand by themselves."""
    if not _has_anchor(tree) or isinstance(tree, Assert | Look):
        return [(tree,)]
    match tree:
        case Alt(options):
            found = [p for o in options for p in _paths(o)]
        case Repeat(part, 0, 1):
            found = [(), *_paths(part)]
        case Cat(parts):
            found = [()]
            for part in parts:
                found = [a + b for a in found for b in _paths(part)]
                if len(found) > _MOST_BRANCHES:
                    raise Unsupported("too many anchored ways")
        case _:
            raise Unsupported("a repeated anchor")
    return found


def _has_anchor(tree: Regex) -> bool:
    match tree:
        case Assert() | Look():
            return True
        case Cat(parts) | Alt(parts):
            return any(map(_has_anchor, parts))
        case Repeat(part):
            return _has_anchor(part)
        case Set():
            return False


def _inner(tree: Regex, spelling: Spelling) -> Node:
    match tree:
        case Set(ranges):
            return spelling(complement(complement(Characters(ranges)), ANY))
        case Cat(parts):
            return sequence(*(_inner(p, spelling) for p in parts))
        case Alt(options):
            return choice(*(_inner(o, spelling) for o in options))
        case Repeat(part, least, most):
            if max(least, most or 0) > MOST_REPEATS:
                raise Unsupported(f"more than {MOST_REPEATS} repetitions")
            return repeat(_inner(part, spelling), least, most)
        case Assert() | Look():
            raise Unsupported("an assertion inside the expression")


def _length(tree: Regex) -> tuple[int, int | None]:
    match tree:
        case Set():
            return 1, 1
        case Cat(parts):
            found = [_length(p) for p in parts]
            most = [m for _, m in found if m is not None]
            return sum(n for n, _ in found), sum(most) if len(most) == len(found) else None
        case Alt(options):
            found = [_length(o) for o in options]
            most = [m for _, m in found if m is not None]
            return min(n for n, _ in found), max(most) if len(most) == len(found) else None
        case Repeat(part, least, most_times):
            low, high = _length(part)
            endless = most_times is None or high is None
            return low * least, None if endless else (high or 0) * (most_times or 0)
        case Assert() | Look():
            return 0, 0


def _ends(tree: Regex, text: str, places: set[int]) -> set[int]:
    """Where the expression may end when it begins at one of the places."""
    match tree:
        case Set(ranges):
            return {
                at + 1
                for at in places
                if at < len(text) and any(a <= ord(text[at]) <= b for a, b in ranges)
            }
        case Cat(parts):
            for part in parts:
                places = _ends(part, text, places)
            return places
        case Alt(options):
            return {end for o in options for end in _ends(o, text, places)}
        case Repeat(part, least, most):
            return _repeated(part, text, places, least, most)
        case Assert(what):
            return {at for at in places if _asserted(what, text, at)}
        case Look(part, is_negative):
            return {at for at in places if bool(_ends(part, text, {at})) is not is_negative}


def _repeated(part: Regex, text: str, places: set[int], least: int, most: int | None) -> set[int]:
    found: set[int] = set() if least else set(places)
    count = 0
    while places and (most is None or count < most):
        places = _ends(part, text, places)
        count += 1
        if count >= least:
            if places <= found:
                break
            found |= places
        elif count > len(text) + 1:
            # Every part was empty once; it can be so any number of times.
            least = count
    return found


def _asserted(what: str, text: str, at: int) -> bool:
    if what in ("start", "end"):
        return at == (0 if what == "start" else len(text))
    before, behind = (0 <= n < len(text) and _is_word(text[n]) for n in (at - 1, at))
    return (before != behind) is (what == "border")


def _is_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
