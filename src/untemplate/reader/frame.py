"""What every value syntax has in common: a small frame that reads one value.

    JSON object                  JsonFrame                       a stack of its own inside
    JSON in a JSON string        QuotedFrame > JsonFrame
    pair by pair                 GroupFrame  > TextValue         <parameter=city>Paris</parameter>
                                             > JsonFrame         days=3
                                             > GroupFrame > ...  a notation of the family's own

A frame holds state only: the data, the position and the sink are given to each `read`. So a copy of
a frame is a snapshot of it.
"""

from typing import Protocol

from untemplate.reader.plain import Plain, Skim
from untemplate.reader.sink import Note, Sink
from untemplate.reader.utf8 import Data

__all__ = ["Frame"]


class Frame(Protocol):
    """One value that is being read."""

    is_done: bool
    bad: Note | None
    cursor: object
    """Where its text begins, for `Sink.argument`."""
    is_ambiguous: bool
    """Whether its text has another reading."""

    def read(self, data: Data, at: int, sink: Sink, *, final: bool = False) -> int:
        """Read on; gives the position of the first byte that was not used.

        `final`: no byte follows because the model ended its turn, not because it was cut.
        """
        ...

    def clone(self) -> "Frame":
        """An independent copy."""
        ...

    @property
    def has_begun(self) -> bool:
        """Whether anything of the value was told."""
        ...

    @property
    def is_undecided(self) -> bool:
        """A closer was seen, but not yet what follows it."""
        ...

    @property
    def closing(self) -> str:
        """What makes the text told by this frame a whole value."""
        ...

    @property
    def pointer(self) -> str:
        """JSON pointer, from this value, of the innermost one that is open."""
        ...

    @property
    def plain(self) -> Plain | None:
        """What may be told without `read`; None where a piece may be anything else."""
        ...

    @property
    def skim(self) -> Skim | None:
        """Reads structure that is plain, without `read`; None where there is none."""
        ...

    def settle(self, data: Data, at: int, sink: Sink) -> None:
        """The data ends while a closer is undecided: tell the reading as it stands."""
        ...
