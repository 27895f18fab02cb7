"""Where a turn was cut, as a value: enough to go on exactly there.

    point = turn.resume_point()          # also after `finish`
    later = Turn.resumed(point)
    engine.generate(later, max_tokens=200)

A point is not tied to the turn that it came from: keep it, compare it, resume it twice. It holds
what was written, not the state of the machines that read it. Reader and constraint are brought to
the place by reading it again, which costs less than one evaluated token, and can't disagree with
what was written.
"""

from dataclasses import dataclass, field

from untemplate.grammar import Grammar
from untemplate.reader import Snapshot
from untemplate.reader.events import TextKind
from untemplate.reader.specials import Spelled

__all__ = ["ResumePoint", "TurnSnapshot"]


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A turn up to the byte at which it was cut."""

    prompt: str
    """What was sent, with the text of a message that was continued."""
    prompt_tokens: tuple[int, ...] = field(repr=False)
    """The same as token ids; empty if no engine asked for them."""
    digest: str
    """Of the vocabulary whose ids these are."""
    grammar: Grammar
    continued: bytes
    """What a continued message had written; the end of `prompt`."""
    written: bytes
    """What the model wrote in this turn, as it was read."""
    unsettled: int
    """Bytes at its end that may still become a stop string."""
    tokens: tuple[int, ...]
    """The same as token ids; empty if the engine has none."""
    batches: tuple[tuple[int, int], ...]
    """In which batches prompt and turn were evaluated."""
    reasoning_tokens: int = 0
    """How many of `tokens` were reasoning."""
    nonce: str = ""
    spelled: Spelled | None = field(default=None, repr=False)
    """`written` with what of it is a marker by its token; None: it was read by its text."""
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """The state of a turn's reader, and how much had been read; good for that turn alone."""

    reader: Snapshot = field(repr=False)
    fed: int
    spelled: int
    tokens: int
    text: TextKind | None
    text_end: int
    has_call: bool
