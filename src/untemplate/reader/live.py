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

from untemplate.message import (
    JSON,
    BlockKind,
    Diagnostic,
    ToolCall,
    arguments_object,
    pointer_token,
)
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
    """One call, as far as it was received. It may be looked at until the reader is restored."""

    __slots__ = ("_catch_up", "_ended", "_frame_of", "_index", "_look", "_pieces")

    def __init__(
        self,
        index: int,
        frame_of: Callable[[int], CallFrame | None],
        look: Callable[[], None],
        catch_up: Callable[[], None],
    ) -> None:
        self._index = index
        self._frame_of = frame_of
        """Gives what reads the call of an index, if it is open."""
        self._look = look
        """Tells the calls that have ended."""
        self._catch_up = catch_up
        """Reads what waits for more, as far as it goes."""
        self._ended: ToolCall | None = None
        self._pieces: _Pieces[str] = _Pieces()

    def end(self, call: ToolCall) -> None:
        """The call has ended."""
        self._ended = call

    def _open(self) -> tuple[CallFrame, CallRecord] | None:
        """What reads the call and what it has put down, until it has ended."""
        frame = None if self._ended else self._frame_of(self._index)
        if frame is not None and frame.record is not None:
            return frame, frame.record
        self._look()
        return None

    @property
    def _whole(self) -> ToolCall:
        assert self._ended is not None
        return self._ended

    @property
    def index(self) -> int:
        return self._index

    @property
    def id(self) -> str:
        found = self._open()
        return found[1].id if found else self._whole.id

    @property
    def name(self) -> str:
        found = self._open()
        return found[1].name if found else self._whole.name

    @property
    def is_open(self) -> bool:
        return self._open() is not None

    @property
    def pieces(self) -> Sequence[str]:
        """JSON text of the arguments so far, in pieces; the list grows in place."""
        found = self._open()
        return self._pieces.follow(found[1].pieces.chain()) if found else (self._whole.arguments,)

    @property
    def arguments(self) -> str:
        """The same as one string."""
        return "".join(self.pieces)

    @property
    def closing(self) -> str:
        """What makes `arguments` valid JSON."""
        found = self._open()
        if found is None:
            return self._whole.closing
        arguments = found[0].arguments
        return arguments.closing if arguments and arguments.has_begun else "{}"

    @property
    def open_pointer(self) -> str:
        """JSON pointer of the value that is being written, or nothing."""
        self._catch_up()
        found = self._open()
        arguments = found[0].arguments if found else None
        return arguments.pointer if arguments else ""

    @property
    def values(self) -> Mapping[str, JSON]:
        """The arguments that are complete, by name. O(size) once the call has ended."""
        found = self._open()
        if found is not None:
            return MappingProxyType(dict(listed(found[1].values)))
        call = self._whole
        received = arguments_object(call.arguments + call.closing) or {}
        whole = (
            k for k in received if call.arguments_state.get("/" + pointer_token(k)) == "complete"
        )
        return MappingProxyType({key: received[key] for key in whole})


class LiveTurn:
    """The turn, as far as it was received. `Reader.live` gives it."""

    __slots__ = ("_calls", "_catch_up", "_ended", "_source", "_texts")

    def __init__(self, source: Callable[[], Machine], catch_up: Callable[[], None]) -> None:
        self._source = source
        self._catch_up = catch_up
        self._ended: Chain[ToolCall] = None
        """Calls that had ended at the last look."""
        self._calls: list[LiveCall] = []
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
        """All calls that have a name, by their index; those that are open grow in place."""
        self._look()
        return self._calls

    def _frame_of(self, index: int) -> CallFrame | None:
        return self._source().open_call(index)

    def _look(self) -> None:
        """Takes note of the calls that have begun and ended since the last look."""
        record = self._source().tape.record
        ended, calls = record.calls, self._calls
        new: list[ToolCall] = []
        while ended is not None and ended is not self._ended:
            ended, call = ended
            new.append(call)
        if ended is not self._ended or len(calls) > record.calls_begun:
            calls.clear()  # the reader went back to a snapshot
            new = listed(record.calls)
        numbers = range(len(calls), record.calls_begun)
        of = (self._frame_of, self._look, self._catch_up)
        calls += [LiveCall(n, *of) for n in numbers]
        for call in new:
            calls[call.index].end(call)
        self._ended = record.calls

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        return self._source().tape.record.diagnostics()
