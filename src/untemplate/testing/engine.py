r"""An engine whose model is a script: it writes given bytes, in given pieces, through a real turn.

    engine = ScriptedEngine([b"Hel", b"lo"], [b"never mind"])
    for event in engine.generate(turn): ...        # reads the first script through the turn
    engine.generate(other_turn)                    # the second

Everything behind the model is real: stop strings, reading, finish reasons, cancellation. A piece
counts as a token. Scripts are read lazily, so a generator may wait in the middle, or look at what
the test has done meanwhile. Masks are not asked: a script may break every rule, as text that comes
from an engine without constraints does.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Sequence

from untemplate.engines.events import (
    DrivenTurn,
    Event,
    Finished,
    Generated,
    Prompted,
    ShouldStop,
    Timings,
    never,
)
from untemplate.engines.sampling import Sampling
from untemplate.engines.stops import StopScanner
from untemplate.errors import EngineError
from untemplate.message import FinishReason, Usage

__all__ = ["Script", "ScriptedEngine"]

Script = Iterable[bytes] | Callable[[], Iterable[bytes]]
"""The pieces that a model writes in one turn, or a function that gives them."""


class ScriptedEngine:
    """Plays one script for each turn, in order; threads may share it."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self._lock = threading.Lock()
        self.turns: list[DrivenTurn] = []
        """The turns that were driven, to look at what was asked."""
        self.options: list[tuple[bool, int, int | None]] = []
        """For each turn: `close_at_limit`, `extend_tokens`, `reasoning_tokens`."""
        self.generated_tokens = 0
        """Pieces written since the engine was made, by all turns."""

    @property
    def left(self) -> int:
        """Scripts not played yet."""
        return len(self._scripts)

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
        should_stop: ShouldStop = never,
    ) -> Generator[Event]:
        """Drives a turn to its end; the sampling has nothing to choose from.

        A script writes what it writes, so nothing closes it in time and nothing ends its reasoning.

        Raises:
            EngineError: all scripts were played.
        """
        script = self._next(turn)
        self.options.append((close_at_limit, extend_tokens, reasoning_tokens))
        yield Prompted(1, 0)
        scanner = StopScanner([s.encode() for s in (*turn.stops, *stop)])
        reason: FinishReason = "stop"
        count = 0
        for piece in script() if callable(script) else script:
            if should_stop():
                reason = "cancelled"
                break
            count += 1
            self.generated_tokens += 1
            yield _read(turn, scanner.feed(piece))
            if scanner.stopped:
                break
            if count == max_tokens and extend_tokens and turn.is_in_call:
                max_tokens, extend_tokens = count + extend_tokens, 0
            elif count == max_tokens:
                reason = "length"
                break
        if held := scanner.finish():
            yield _read(turn, held)
        message = turn.finish(reason)
        if events := turn.finish_events():
            yield Generated((), b"", tuple(events))
        seed = sampling.seed if sampling and sampling.seed is not None else 0
        yield Finished(message, message.finish_reason, Usage(1, count), Timings(), seed)

    def _next(self, turn: DrivenTurn) -> Script:
        with self._lock:
            if not self._scripts:
                raise EngineError("all scripts were played; give ScriptedEngine one for each turn")
            self.turns.append(turn)
            return self._scripts.pop(0)


def _read(turn: DrivenTurn, data: bytes) -> Generated:
    return Generated((), data, tuple(turn.feed(data)) if data else ())
