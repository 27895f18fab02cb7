"""Where frames tell what they read, in the order of the bytes.

A frame is handed the data, a position and a sink. Positions it tells are positions in that data.
The sink that counts is the `Tape`; the small ones here stand in for it where a value is wanted for
itself (`Word`) or is not to be told (`Muted`).
"""

from dataclasses import dataclass
from typing import Protocol

from untemplate.message import DiagnosticCode
from untemplate.reader.chain import Chain, joined
from untemplate.reader.events import PartKind
from untemplate.reader.utf8 import Data

__all__ = [
    "SPELT",
    "SPELT_MARKER",
    "CallSink",
    "Collected",
    "Muted",
    "Note",
    "Sink",
    "Word",
]

SPELT = "a marker that ordinary tokens spell is text"
SPELT_MARKER = "a marker that ordinary tokens spell stands where nothing else can"
"""Messages of the diagnostic `spelt_marker`."""


@dataclass(frozen=True, slots=True)
class Note:
    """Why something can't be read: a diagnostic code and a sentence."""

    code: DiagnosticCode
    message: str


class Sink(Protocol):
    """What a value frame may tell."""

    def text(self, text: str, end: int) -> None:
        """More of the arguments as JSON text; the bytes up to `end` are used up."""

    def lost(self, end: int) -> None:
        """Bytes up to `end` that are kept out of the arguments."""

    def cursor(self) -> object:
        """A place in the arguments' text, for `argument`."""

    def begin_argument(self, name: str) -> None:
        """An argument begins; what is told next is its key."""

    def argument(self, name: str, cursor: object, *, ambiguous: bool = False) -> None:
        """An argument is complete; its JSON text began at the cursor."""

    def note(self, code: DiagnosticCode, message: str, start: int, end: int) -> None:
        """A slip that was set right."""

    def is_spelt(self, mark: bytes, at: int) -> bool:
        """Whether the mark at `at` is not the token that the vocabulary has for it."""
        ...


class CallSink(Sink, Protocol):
    """What is told of a call besides its arguments."""

    def part(self, kind: PartKind, end: int) -> None:
        """Bytes up to `end` belong to no field."""

    def written_id(self, written: str) -> None:
        """The id that the model wrote."""

    def past_space(self, data: Data, at: int) -> int:
        """The position of the next byte that is no white space."""
        ...


class Collected:
    """Collects the text of a value for itself."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Chain[str] = None) -> None:
        self.pieces = pieces

    def text(self, text: str, end: int) -> None:  # noqa: ARG002  there is nobody to tell
        self.pieces = (self.pieces, text)

    def lost(self, end: int) -> None:
        """Nobody to tell."""

    def cursor(self) -> object:
        return None

    def begin_argument(self, name: str) -> None:
        """Nobody to tell."""

    def argument(self, name: str, cursor: object, *, ambiguous: bool = False) -> None:
        """Nobody to tell."""

    def note(self, code: DiagnosticCode, message: str, start: int, end: int) -> None:
        """Nobody to tell."""

    def is_spelt(self, mark: bytes, at: int) -> bool:  # noqa: ARG002  nobody knows
        return False

    def all_text(self) -> str:
        return joined(self.pieces)


class Word(Collected):
    """Collects the text of a key or a name, which is a part of this kind."""

    __slots__ = ("_kind", "_sink")

    def __init__(self, pieces: Chain[str], kind: PartKind, sink: CallSink) -> None:
        super().__init__(pieces)
        self._kind: PartKind = kind
        self._sink = sink

    def note(self, code: DiagnosticCode, message: str, start: int, end: int) -> None:
        self._sink.part(self._kind, end)
        self._sink.note(code, message, start, end)


class Muted(Collected):
    """Takes a value that is kept out: its bytes are lost, its text goes into a diagnostic."""

    __slots__ = ("_sink",)

    def __init__(self, sink: Sink, pieces: Chain[str]) -> None:
        super().__init__(pieces)
        self._sink = sink

    def text(self, text: str, end: int) -> None:
        super().text(text, end)
        self._sink.lost(end)

    def lost(self, end: int) -> None:
        self._sink.lost(end)

    def is_spelt(self, mark: bytes, at: int) -> bool:
        return self._sink.is_spelt(mark, at)
