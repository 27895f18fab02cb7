r"""Marks of a family where they have no place: closers too many, reasoning closed twice.

    strays_of(hermes)                              # {b"</tool_call>": b""}
    find_stray(b"}\n</tool_call>", 0, ...)         # (1, YES): a bracket too many, a mark follows

Inside of text such a mark stays text. Where structure is expected, or at the beginning of a text,
it is structure; both with a diagnostic.
"""

import re
from typing import TYPE_CHECKING

from untemplate.dialect import KEY_IN_LITERAL, CallBlock, Dialect, Hole, Pairs
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.reader.follow import NO, YES, stands
from untemplate.reader.utf8 import Data, past_space

if TYPE_CHECKING:
    from untemplate.message import DiagnosticCode
    from untemplate.reader.match import Match
    from untemplate.reader.plan import Plans
    from untemplate.reader.tape import Tape

__all__ = ["find_stray", "note_stray", "strays_of"]

_SURPLUS = re.compile(rb"[}\])]{1,8}")


def strays_of(dialect: Dialect) -> dict[bytes, bytes]:
    """Marks that stand alone and can't be taken for anything else, and the space behind them.

    A fence can be anything.
    """
    literals = [e.literal for e in dialect.edges]
    literals += [o.literal for p in dialect.prompts for o in p.openings]
    for block in dialect.blocks.values():
        if isinstance(block, CallBlock):
            literals += [p for p in block.pattern if not isinstance(p, Hole)]
            pairs = block.arguments
            if isinstance(pairs, Pairs):
                literals += [w.after for w in pairs.types.values() if KEY_IN_LITERAL not in w.after]
    found: dict[bytes, bytes] = {}
    for literal in literals:
        trail = literal[len(literal.rstrip()) :].encode()
        for mark in marks(literal):
            if is_distinctive(mark) and not mark.startswith("```"):
                last = literal.rstrip().endswith(mark)
                found[mark.encode()] = max(found.get(mark.encode(), b""), trail if last else b"")
    return found


def find_stray(
    data: Data, at: int, plans: "Plans", tape: "Tape", *, is_over: bool, final: bool
) -> tuple[int, int]:
    """The end of a mark that has no place at `at`, and a verdict: YES, MORE or NO.

    Brackets are too many, and structure too, if such a mark, a stop or the end of the data follows.

    Args:
        data: what is read.
        at: where a mark may stand, without white space before it.
        plans: know the marks.
        tape: knows which of them ordinary tokens spell.
        is_over: the calls have ended: what may open another one is no such mark.
        final: no more bytes come.
    """
    strays = plans.late_strays if is_over else plans.strays
    verdict = NO
    for mark in strays:
        found = stands(mark, data, at)
        if found == YES:
            if not tape.is_spelt(mark, at):
                return at + len(mark), YES
        else:
            verdict = max(verdict, found)
    surplus = _SURPLUS.match(data, at)
    if surplus is None:
        return 0, verdict
    behind = past_space(data, surplus.end())
    if final and behind == len(data):
        return surplus.end(), YES
    return surplus.end(), max(stands(m, data, behind) for m in (*strays, *plans.stop_marks, b"\0"))


def note_stray(match: "Match", data: Data, at: int, tape: "Tape") -> None:
    """Says of the first mark of ways that led nowhere that it is text, if it is no common one."""
    mark = bytes(data[at : at + match.first_mark])
    if match.is_bare or not is_distinctive(mark.decode("utf-8", "replace")):
        return
    code: DiagnosticCode = "not_a_call" if match.may_be_call else "stray_marker"
    tape.note(code, "a marker that leads nowhere is text", at, at + len(mark))
