"""What an engine tells while it drives a turn, and what it needs from a turn.

    for event in engine.generate(turn, max_tokens=200):
        match event:
            case Prompted(): ...     # the prompt is in; how much of it was cached
            case Generated(): ...    # new tokens, their bytes, what the reader made of them
            case Finished(): ...     # the message; always the last event

A resumed turn is driven like a new one: its `tokens` are not empty, and `batches` says how they
were evaluated, so that the engine can go on as the uncut run would have.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from untemplate.message import FinishReason, Message, Usage
from untemplate.turn import Event as ReadEvent
from untemplate.turn import Spelled
from untemplate.vocabulary import Vocabulary

__all__ = [
    "Batch",
    "DrivenConstraint",
    "DrivenTurn",
    "Event",
    "Finished",
    "Generated",
    "Prompted",
    "ReadEvent",
    "Reuse",
    "ShouldStop",
    "Timings",
    "never",
]

Batch = tuple[int, int]
"""Half-open range of positions that were evaluated together."""

ShouldStop = Callable[[], bool]
"""Polled while generating, also from another thread while a long batch is evaluated."""

Reuse = Literal["longest", "exact", "none"]
"""How much of a cache that is already there a prompt may use. `longest`: every token that is the
same. `exact`: only as far as it was evaluated in the batches of a run without a cache, so that the
reply does not depend on what ran before."""


def never() -> bool:
    """The `should_stop` of who never stops."""
    return False


class DrivenConstraint(Protocol):
    """What the driver asks of a constraint."""

    @property
    def is_finished(self) -> bool: ...
    def fill(self, row: NDArray[np.int32], remaining: int | None = None) -> None: ...
    def advance(self, token_id: int) -> bool: ...
    def forced(self) -> Sequence[int]: ...


@runtime_checkable
class DrivenTurn(Protocol):
    """What the driver asks of a turn, and the two lists that it keeps there for a resume."""

    tokens: list[int]
    """Ids written so far; the driver appends."""
    batches: list[Batch]
    """How prompt and reply were evaluated; the driver replaces the content."""
    reasoning_tokens: int
    """How many of `tokens` are reasoning; the driver counts."""
    unsettled: int
    """Bytes at the end of what was fed that may still become a stop string; the driver says."""

    @property
    def stops(self) -> tuple[str, ...]: ...
    @property
    def is_reasoning(self) -> bool: ...
    @property
    def is_in_call(self) -> bool: ...
    def prompt_tokens(self, vocabulary: Vocabulary) -> Sequence[int]: ...
    def constraint(self, vocabulary: Vocabulary) -> DrivenConstraint | None: ...
    def spelled(self, ids: Sequence[int], vocabulary: Vocabulary) -> Spelled: ...
    def feed_spelled(self, spelled: Spelled) -> Sequence[ReadEvent]: ...
    def feed(self, data: bytes) -> Sequence[ReadEvent]: ...
    def finish(self, reason: FinishReason) -> Message: ...
    def finish_events(self) -> Sequence[ReadEvent]: ...
    def end_of_reasoning(self, vocabulary: Vocabulary) -> Sequence[int]: ...
    def limit_decides(self) -> None: ...


@dataclass(slots=True)
class Timings:
    """Where the time of one generation went: sums in seconds."""

    queue_s: float = 0.0
    """Waiting for a sequence, and for other requests' evaluations."""
    prompt_s: float = 0.0
    """Evaluating what stood before the first new token."""
    decode_s: float = 0.0
    mask_s: float = 0.0
    """`constraint.fill` and `constraint.forced`."""
    apply_s: float = 0.0
    """Masking the logits."""
    sample_s: float = 0.0
    advance_s: float = 0.0
    """`constraint.advance`."""
    read_s: float = 0.0
    """`turn.feed_spelled`."""
    steps: int = 0
    """Evaluations after the prompt."""

    @property
    def overhead(self) -> float:
        """Mask, advance, apply and read as a share of the evaluations."""
        ours = self.mask_s + self.advance_s + self.apply_s + self.read_s
        return ours / self.decode_s if self.decode_s else 0.0


@dataclass(frozen=True, slots=True)
class Prompted:
    """The prompt was evaluated, up to a last batch."""

    prompt_tokens: int
    cached_tokens: int
    is_exact: bool = True
    """False if a resumed turn had to be evaluated in other batches than before: the continuation
    may then differ from that of the uncut run."""


@dataclass(frozen=True, slots=True)
class Generated:
    """One step: a chosen token and those that the grammar forced after it."""

    token_ids: tuple[int, ...]
    data: bytes
    """What was given to the reader: without end markers, and without what is held back because it
    may become a stop string."""
    events: tuple[ReadEvent, ...]
    """What the reader made of it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The turn has ended."""

    message: Message
    finish_reason: FinishReason
    usage: Usage
    timings: Timings = field(compare=False)
    seed: int
    """With which the same request gives the same reply."""


Event = Prompted | Generated | Finished
