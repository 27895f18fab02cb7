"""A read-only view of a turn that is being read; it grows in place.

    live = reader.live
    live.content, live.reasoning_content       # joined when asked for
    call = live.calls[-1]
    call.name, call.arguments, call.closing    # valid JSON once `closing` is added
    call.values, call.open_pointer             # what is complete, and what is being written

Looking costs what is new since the last look, not what was read before: the pieces of a text are
kept in lists that grow. Joining them costs the size of the text.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, TypeVar

from untemplate.message import JSON, BlockKind, Diagnostic, ToolCall
from untemplate.reader.call import CallFrame
from untemplate.reader.chain import Chain, listed
from untemplate.reader.machine import Machine
from untemplate.reader.record import CallRecord

__all__ = ["LiveCall", "LiveTurn"]

T = TypeVar("T")


class _Pieces(Generic[T]):
    """A list that follows a chain: a look costs what was added since the last one."""

    __slots__ = ("_link", "items")

    def __init__(self) -> None:
        self._link: Chain[T] = None
        self.items: list[T] = []

    def follow(self, chain: Chain[T]) -> list[T]:
        new: list[T] = []
        link = chain
        while link is not None and link is not self._link:
            link, item = link
            new.append(item)
        if link is not self._link:  # the reader went back to a snapshot
            self.items.clear()
        self.items.extend(reversed(new))
        self._link = chain
        return self.items


class LiveCall:
    """One call, as far as it was received."""

    __slots__ = ("_closed", "_frame", "_pieces", "_record")

    def __init__(
        self, record: CallRecord | None, frame: CallFrame | None, closed: ToolCall | None
    ) -> None:
        self._record = record
        self._frame = frame
        self._closed = closed
        self._pieces: _Pieces[str] = _Pieces()

    def goes_on(self, record: CallRecord) -> bool:
        """Whether this is the view of that record."""
        return self._record is record

    @property
    def _call(self) -> CallRecord | ToolCall:
        call = self._closed or self._record
        assert call is not None
        return call

    @property
    def index(self) -> int:
        return self._call.index

    @property
    def id(self) -> str:
        return self._call.id

    @property
    def name(self) -> str:
        return self._call.name

    @property
    def is_open(self) -> bool:
        return self._closed is None

    @property
    def pieces(self) -> Sequence[str]:
        """JSON text of the arguments so far, in pieces; the list grows in place."""
        if self._record is None:
            return (self.arguments,)
        return self._pieces.follow(self._record.pieces.chain())

    @property
    def arguments(self) -> str:
        """The same as one string."""
        return self._closed.arguments if self._closed else "".join(self.pieces)

    @property
    def closing(self) -> str:
        """What makes `arguments` valid JSON."""
        if self._closed is not None:
            return self._closed.closing
        arguments = self._frame.arguments if self._frame else None
        return arguments.closing if arguments and arguments.has_begun else "{}"

    @property
    def open_pointer(self) -> str:
        """JSON pointer of the value that is being written, or nothing."""
        arguments = self._frame.arguments if self._frame and self._closed is None else None
        return arguments.pointer if arguments else ""

    @property
    def values(self) -> Mapping[str, JSON]:
        """The arguments that are complete, by name."""
        if self._record is None:
            return MappingProxyType({})
        return MappingProxyType(dict(listed(self._record.values)))


class LiveTurn:
    """The turn, as far as it was received. `Reader.live` gives it."""

    __slots__ = ("_calls", "_closed", "_open", "_source", "_texts")

    def __init__(self, source: Callable[[], Machine]) -> None:
        self._source = source
        self._closed: _Pieces[ToolCall] = _Pieces()
        self._calls: list[LiveCall] = []
        self._open: LiveCall | None = None
        self._texts: _Pieces[str] = _Pieces()

    def text_pieces(self) -> Sequence[str]:
        """Pieces of the text block that is open; the list grows in place until it ends."""
        return self._texts.follow(self._source().tape.record.pieces.chain())

    @property
    def kind(self) -> BlockKind | None:
        """Of the text block that is open."""
        return self._source().tape.record.kind

    @property
    def content(self) -> str:
        return self._text("content")

    @property
    def reasoning_content(self) -> str:
        return self._text("reasoning")

    def _text(self, kind: BlockKind) -> str:
        record = self._source().tape.record
        closed = "".join(b.text for b in listed(record.closed) if b.kind == kind)
        return closed + ("".join(self.text_pieces()) if record.kind == kind else "")

    @property
    def calls(self) -> Sequence[LiveCall]:
        """All calls that have a name; the last may be open."""
        machine = self._source()
        record = machine.tape.record
        closed = self._closed.follow(record.calls)
        if self._open is not None:
            self._calls.pop()
        del self._calls[len(closed) :]
        for number in range(len(self._calls), len(closed)):
            self._calls.append(LiveCall(None, None, closed[number]))
        if record.call is None:
            self._open = None
            return self._calls
        if self._open is None or not self._open.goes_on(record.call):
            self._open = LiveCall(record.call, machine.call, None)
        self._calls.append(self._open)
        return self._calls

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        return self._source().tape.record.diagnostics()
