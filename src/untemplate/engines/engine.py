"""What the server and the tool loop ask of an engine: to drive a turn to its end.

    for event in engine.generate(turn, max_tokens=200): ...

Anything with this method will do: the llama.cpp engine, a `ScriptedEngine` in tests, one of yours.
An engine may take more options; these are the ones that others rely on.
"""

from collections.abc import Generator, Sequence
from typing import Protocol

from untemplate.engines.events import DrivenTurn, Event, ShouldStop
from untemplate.engines.sampling import Sampling

__all__ = ["Engine"]


class Engine(Protocol):
    """Makes the tokens of turns; called in threads, several at once."""

    def generate(
        self,
        turn: DrivenTurn,
        *,
        max_tokens: int | None = None,
        sampling: Sampling | None = None,
        stop: Sequence[str] = (),
        close_at_limit: bool = False,
        extend_tokens: int = 0,
        reasoning_tokens: int | None = None,
        should_stop: ShouldStop = ...,
    ) -> Generator[Event]:
        """The events of a turn, the last of them `Finished`. Leaving early is safe.

        Args:
            turn: new or resumed; belongs to this call until the end.
            max_tokens: how many more tokens may be written; None: as many as the context holds.
            sampling: how they are chosen.
            stop: texts that end the turn, beside those of the turn itself.
            close_at_limit: let the constraint end the turn properly within `max_tokens`.
            extend_tokens: how many more may be written if a call is open at `max_tokens`.
            reasoning_tokens: after how many the reasoning is ended; None: it ends by itself.
            should_stop: polled between tokens; the turn then ends as `cancelled`.
        """
        ...
