r"""Reads arguments that come in pieces, each in a block of its own, with other calls between them.

    <call id="a" name="f">{"city": "Zü</call>       PieceFrame, put aside
    <call id="b" name="g">{}</call>
    <call id="a" name="f">rich"}</call>             the same PieceFrame goes on

All pieces are one JSON document, cut anywhere: inside a key, a number, an escape, a character. What
the inner frame could not use yet is kept and read with the next piece.

A piece ends at the closing mark. Outside of strings the mark can be nothing else. Inside a string
it ends the piece if what may follow a call follows it; else it is text, and the argument is
ambiguous. White space that the template writes around a piece is taken off, once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from untemplate.message import DiagnosticCode
from untemplate.reader.copies import copied
from untemplate.reader.follow import MORE, NO, YES, Follow, stands
from untemplate.reader.json_text import JsonFrame
from untemplate.reader.marks import MarkSet
from untemplate.reader.plain import Plain
from untemplate.reader.quoted import QuotedFrame
from untemplate.reader.sink import SPELT, Note, Sink
from untemplate.reader.utf8 import Data

__all__ = ["PieceFrame", "PiecePlan", "piece_plan"]


@dataclass(frozen=True, slots=True, eq=False)
class PiecePlan:
    """What stands around the pieces of one kind of call."""

    skip: bytes
    """White space of the template's own in front of a piece."""
    closer: bytes
    ends: MarkSet
    """The closer with and without the white space of the template's own before it."""
    follow: Follow
    """What may stand behind the closer."""


def piece_plan(
    before: str, after: str, closing: Sequence[bytes], behind: Sequence[bytes]
) -> PiecePlan:
    """The tables of pieces between two literals.

    Args:
        before: the literal in front of the arguments.
        after: the literal behind them.
        closing: its marks.
        behind: first marks of what may follow a call.
    """
    lead = after[: len(after) - len(after.lstrip())].encode()
    follow = [tuple(closing[1:2])] if len(closing) > 1 else [(mark,) for mark in behind]
    return PiecePlan(
        skip=before[len(before.rstrip()) :].encode(),
        closer=closing[0],
        ends=MarkSet((closing[0], lead + closing[0])),
        follow=Follow(tuple(follow)),
    )


class PieceFrame:
    """The state of arguments in pieces; `is_done` says that this piece is over."""

    __slots__ = (
        "_holds_closer",
        "_inner",
        "_left",
        "_plan",
        "_read",
        "_skip",
        "bad",
        "cursor",
        "is_ambiguous",
        "is_done",
    )

    def __init__(self, inner: JsonFrame | QuotedFrame, plan: PiecePlan) -> None:
        self._inner = inner
        self._plan = plan
        self._left = b""
        """What the inner frame did not use yet: the beginning of an escape or of a character."""
        self._read = 0
        """Bytes of this piece so far."""
        self._holds_closer = False
        """Whether a closer was passed over in the argument that is being read."""
        self._skip = b""
        """White space of the template's own that may stand here; the first piece begins with its
        value."""
        self.cursor: object = None
        self.is_ambiguous = False
        self.is_done = False
        self.bad: Note | None = None

    def clone(self) -> "PieceFrame":
        other = copied(self)
        other._inner = self._inner.clone()  # noqa: SLF001
        return other

    def go_on(self) -> None:
        """Another piece begins."""
        self.is_done, self._read, self._skip = False, 0, self._plan.skip

    # ------------------------------------------------------------------------------------- state

    @property
    def is_whole(self) -> bool:
        """Whether the pieces so far are one whole value."""
        return self._inner.is_done

    @property
    def has_begun(self) -> bool:
        return self._inner.has_begun

    @property
    def is_undecided(self) -> bool:
        """Never: whichever way a closer is read, the value that it stands in has not ended."""
        return False

    @property
    def closing(self) -> str:
        return self._inner.closing

    @property
    def pointer(self) -> str:
        return self._inner.pointer

    @property
    def plain(self) -> Plain | None:
        """None: any piece of data may hold a closer."""
        return None

    @property
    def skim(self) -> None:
        """None, for the same reason."""

    def settle(self, data: Data, at: int, sink: Sink) -> None:
        """Nothing to tell: the argument is cut either way."""

    @property
    def _is_in_string(self) -> bool:
        inner = self._inner
        return not isinstance(inner, JsonFrame) or inner.is_in_string

    # -------------------------------------------------------------------------------------- read

    def read(self, data: Data, at: int, sink: Sink, *, final: bool = False) -> int:
        """Read on, up to the closer; gives the position. O(bytes) amortised."""
        if self._skip:
            verdict = stands(self._skip, data, at)
            if verdict == MORE and not final:
                return at
            at += len(self._skip) * (verdict == YES)
            self._skip = b""
        while not self.is_done and self.bad is None:
            start, mark = self._plan.ends.find(data, at, final=final)
            at = self._pass(data, at, start, sink)
            if not mark or self.is_done or self.bad is not None:
                break
            verdict = self._ends(data, start + len(mark), sink, final=final)
            if verdict == MORE:
                break
            if verdict == YES:
                self.is_done = True
            else:
                self._holds_closer = True
                at = self._pass(data, at, start + len(mark), sink)
        return at

    def _ends(self, data: Data, end: int, sink: Sink, *, final: bool) -> int:
        """Whether the closer that ends at `end` ends the piece."""
        if not self._is_in_string:
            return YES
        closer = self._plan.closer
        start = end - len(closer)
        if sink.is_spelt(closer, start):
            sink.note("spelt_marker", SPELT, start, end)
            return NO
        return self._plan.follow.test(data, end, final=final)

    def _pass(self, data: Data, at: int, end: int, sink: Sink) -> int:
        """Gives data[at:end] to the inner frame; the position behind what belongs to the piece.

        Where that shows that what was left over is not right, it is a position before it.
        """
        piece = self._left + bytes(data[at:end])
        shift, begin = at - len(self._left), at - self._read
        used = self._inner.read(piece, 0, _Shifted(self, sink, shift, begin))
        self.bad, self.is_done = self._inner.bad, self._inner.is_done
        if self.bad is None and not self.is_done:
            self._left, used = piece[used:], len(piece)
        else:
            self._left = b""
        end = max(begin, shift + used)
        self._read += end - at
        return end

    def argument_ends(self) -> bool:
        """An argument is complete; whether a closer was passed over in it."""
        held, self._holds_closer = self._holds_closer, False
        return held


class _Shifted:
    """Turns positions in what the inner frame was given into positions in the data."""

    __slots__ = ("_begin", "_frame", "_shift", "_sink")

    def __init__(self, frame: PieceFrame, sink: Sink, shift: int, begin: int) -> None:
        self._frame = frame
        self._sink = sink
        self._shift = shift
        self._begin = begin
        """Where the piece begins: what was left over from the one before stands there, too."""

    def _outer(self, position: int) -> int:
        return max(self._begin, self._shift + position)

    def text(self, text: str, end: int) -> None:
        self._sink.text(text, self._outer(end))

    def lost(self, end: int) -> None:
        self._sink.lost(self._outer(end))

    def cursor(self) -> object:
        return self._sink.cursor()

    def begin_argument(self, name: str) -> None:
        self._sink.begin_argument(name)

    def argument(self, name: str, cursor: object, *, ambiguous: bool = False) -> None:
        ambiguous = self._frame.argument_ends() or ambiguous
        self._sink.argument(name, cursor, ambiguous=ambiguous)

    def is_spelt(self, mark: bytes, at: int) -> bool:
        return self._sink.is_spelt(mark, self._outer(at))

    def note(self, code: DiagnosticCode, message: str, start: int, end: int) -> None:
        self._sink.note(code, message, self._outer(start), self._outer(end))
