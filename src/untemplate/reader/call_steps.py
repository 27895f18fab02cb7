r"""The steps of a call that is not one JSON object: its marks and words, its arguments, its end.

    "<call>functions." NAME ":" INDEX "<args>" ARGUMENTS "</call>"
    header        -> Word(NAME, (b":",)), b":", Word(INDEX, (b"<args>",)), b"<args>", ARGUMENTS
    closing_marks -> b"</call>"

The first literal is not among them: it belongs to the way that leads to the call.
"""

from collections.abc import Container, Iterable, Iterator

from untemplate.dialect import Hole, Pattern
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.reader.group_plan import GroupPlan
from untemplate.reader.ways import ARGUMENTS, Arguments, CallPlan, Step, Word

__all__ = [
    "behind_name",
    "closing_marks",
    "commit_step",
    "encoded",
    "header",
    "later_marks",
    "size_of_word",
]


def header(pattern: Pattern, group: GroupPlan | None, closers: tuple[bytes, ...]) -> Iterator[Step]:
    """Marks and words behind the first literal, and the arguments."""
    for at, part in enumerate(pattern):
        if not isinstance(part, Hole):
            if at:
                yield from encoded(marks(part))
            continue
        if part is Hole.ARGUMENTS:
            yield ARGUMENTS
            return
        following = pattern[at + 1] if at + 1 < len(pattern) else ""
        text = "" if isinstance(following, Hole) else following
        ends = encoded(marks(text)[:1])
        if not ends:
            opened = (group.head, group.open, b"{") if group else (b"{",)
            ends = tuple(dict.fromkeys(e for e in (*opened, *closers[:1]) if e))
            ends += (b"\n",) if "\n" in text else ()
        yield Word(part, ends)


def closing_marks(pattern: Pattern, opening: str) -> Iterator[bytes]:
    """Marks behind the arguments. One that begins as a pair does is not split into marks."""
    at = pattern.index(Hole.ARGUMENTS) if Hole.ARGUMENTS in pattern else len(pattern)
    for part in pattern[at + 1 :]:
        for piece in "" if isinstance(part, Hole) else part.split():
            found = marks(piece)
            whole = bool(opening) and opening.startswith(found[0])
            yield from encoded((piece,) if whole else found)


def commit_step(steps: tuple[Step, ...]) -> int:
    """How many steps it takes until it is clear that it is a call: its name, and a mark."""
    for number, step in enumerate(steps):
        if isinstance(step, Arguments):
            return number
        if isinstance(step, Word) and step.hole is Hole.NAME:
            following = steps[number + 1 : number + 2]
            return number + 1 + any(isinstance(s, bytes) for s in following)
    return len(steps)


def behind_name(pattern: Pattern) -> Iterator[bytes]:
    """The mark behind the name of a call that has none before it."""
    if pattern[0] is Hole.NAME and not isinstance(pattern[1], Hole):
        yield from encoded(marks(pattern[1])[:1])


def later_marks(plan: CallPlan, step: int) -> Iterator[tuple[int, bytes]]:
    """Marks behind a step, up to where arguments begin; or the call's end, without them."""
    for number in range(step + 1, len(plan.steps)):
        later = plan.steps[number]
        if isinstance(later, bytes):
            yield number, later
        elif isinstance(later, Arguments):
            group = plan.group
            yield number, (group.head or group.open or b"\0") if group else b"{"
            closers = enumerate(plan.closing, number + 1)
            yield from ((n, c) for n, c in closers if is_distinctive(c.decode()))
            return


def size_of_word(hole: Hole, word: bytes, tools: Container[str]) -> int:
    """How much of a word is meant; a tool's name may go on to more of a header: `f code`."""
    first = word.split(maxsplit=1)[:1]
    is_more = hole is Hole.NAME and word.strip().decode("utf-8", "replace") not in tools
    is_known = is_more and bool(first) and first[0].decode("utf-8", "replace") in tools
    return word.index(first[0]) + len(first[0]) if is_known else len(word)


def encoded(found: Iterable[str]) -> tuple[bytes, ...]:
    """Marks as bytes."""
    return tuple(m.encode() for m in found)
