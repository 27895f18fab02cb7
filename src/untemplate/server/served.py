"""What a server serves: one engine with one template under one name."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from untemplate.engines.events import DrivenTurn, Event, ShouldStop
from untemplate.engines.sampling import Sampling
from untemplate.turn import ChatTemplate

__all__ = ["Engine", "Served"]


class Engine(Protocol):
    """What the server asks of an engine; called in threads, several at once."""

    def generate(
        self,
        turn: DrivenTurn,
        *,
        max_tokens: int | None = None,
        sampling: Sampling | None = None,
        stop: Sequence[str] = (),
        should_stop: ShouldStop = ...,
    ) -> Generator[Event]: ...


@dataclass(frozen=True, slots=True)
class Served:
    """A model as clients see it."""

    engine: Engine
    template: ChatTemplate
    model: str
    """Its name in `/v1/models` and in requests."""
    created: int
    """Seconds since 1970."""
    meta: Mapping[str, str | int | None] = field(default_factory=dict[str, str | int | None])
    """What else `/v1/models` tells of it: context size, file."""
