"""Whether the calls of a block can be written in pieces, as its `continued_by` says."""

from untemplate.dialect import CallBlock, Hole, JsonText, Whole
from untemplate.errors import DialectError
from untemplate.grammar.envelope import find_envelope
from untemplate.grammar.marks import is_distinctive, marks

__all__ = ["check_continued"]


def check_continued(block: CallBlock) -> None:
    """Checks that each piece says whose it is, and where it ends.

    Raises:
        DialectError: the arguments are not one JSON value between marks, or what names the call
            stands behind them.
    """
    if not block.continued_by:
        return
    pattern = block.pattern
    is_json = isinstance(block.arguments, Whole) and isinstance(block.arguments.encoding, JsonText)
    if not is_json or Hole.ARGUMENTS not in pattern or find_envelope(pattern) is not None:
        raise DialectError("calls in pieces need arguments that are one JSON value", place=_PLACE)
    at = pattern.index(Hole.ARGUMENTS)
    header = {p for p in pattern[:at] if isinstance(p, Hole)}
    made = {p for p in block.id_pattern if isinstance(p, Hole)}
    by_id = made if made and Hole.ID not in header else {Hole.ID}
    named = by_id if block.continued_by == "id" else {Hole.INDEX}
    if not {Hole.NAME, *named} <= header:
        message = f"calls in pieces need name and {block.continued_by} in front of the arguments"
        raise DialectError(message, place=_PLACE)
    after = pattern[at + 1 : at + 2]
    found = marks(after[0]) if after and not isinstance(after[0], Hole) else ()
    if not found or not is_distinctive(found[0]):
        raise DialectError("calls in pieces need a mark behind the arguments", place=_PLACE)


_PLACE = "dialect continued_by"
