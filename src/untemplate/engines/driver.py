"""The only loop that makes tokens: one turn, one session of a model, events out.

    forced tokens ─┐                          ┌─► constraint.advance
                   ├─► evaluate ─► mask ─► choose ─► stop? ─► turn reads ─► event
    last batch ────┘

In: a turn (prompt, constraint, reader) and a `Session`, which evaluates batches of token ids and
gives back logits. Out: events, the last of them `Finished`. The loop knows nothing of llama.cpp,
threads or queues; a session knows nothing of turns.

Tokens are evaluated as late as possible: what was chosen and what the grammar forces after it wait
in `pending` until logits are needed, and go in as one batch. That is what makes resuming exact: a
turn cut at any token has evaluated nothing beyond a batch border of the uncut run, so it goes on
with the very batch that the uncut run would have evaluated.

A turn ends with `stop` (an end token, a stop string, or the grammar's end), `length` (max_tokens,
or the context is full), or `cancelled`. None of these is an error.

Three things can soften the limit. `close_at_limit` lets the constraint end the turn in time: each
token is chosen as if there were no limit, and only if the end could not be reached from there is it
chosen again; from then on the turn is marked as decided by the limit. `extend_tokens` lets a call
that is open at the limit go on. `reasoning_tokens` ends the reasoning, by writing its end, while
there is room for what it was for.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain import apply_mask, mask_words
from untemplate.engines.events import (
    Batch,
    DrivenConstraint,
    DrivenTurn,
    Event,
    Finished,
    Generated,
    Prompted,
    ReadEvent,
    Reuse,
    ShouldStop,
    Timings,
    never,
)
from untemplate.engines.sampling import Sampler, Sampling
from untemplate.engines.stops import StopScanner
from untemplate.errors import RequestError
from untemplate.message import FinishReason, Usage
from untemplate.vocabulary import Vocabulary

__all__ = ["Options", "Prepared", "Session", "drive"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A session that holds a prompt up to its last batch."""

    cached_tokens: int
    pending: list[int]
    """What is still to be evaluated; never empty."""
    is_exact: bool = True


class Session(Protocol):
    """One request's hold on a model."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def context_tokens(self) -> int: ...
    @property
    def batches(self) -> Sequence[Batch]: ...

    def prepare(
        self,
        prompt: Sequence[int],
        written: Sequence[int],
        batches: Sequence[Batch],
        timings: Timings,
    ) -> Prepared | None:
        """Evaluates all but the last batch; None when it was told to stop."""
        ...

    def evaluate(
        self, tokens: Sequence[int], timings: Timings
    ) -> tuple[NDArray[np.float32], float] | None:
        """Logits after the tokens, ours to change, and the seconds it took; None when stopped."""
        ...

    def count(self) -> None:
        """Told of each token that was written."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How one generation is to run; see `generate` of an engine."""

    max_tokens: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    reuse: Reuse = "longest"
    close_at_limit: bool = False
    extend_tokens: int = 0
    reasoning_tokens: int | None = None
    should_stop: ShouldStop = never


def drive(turn: DrivenTurn, session: Session, options: Options) -> Generator[Event]:
    """Generates one turn. Run it in a thread; leaving it early is safe at every event."""
    vocabulary = session.vocabulary
    prompt = list(turn.prompt_tokens(vocabulary))
    room = session.context_tokens - len(prompt) - len(turn.tokens)
    if not prompt:
        raise RequestError("the prompt is empty", place="messages")
    # A turn that is resumed where it had filled the context is still cut there, nothing more.
    if room < (0 if turn.tokens else 1):
        raise RequestError(
            f"the prompt has {len(prompt) + len(turn.tokens)} tokens, "
            f"the context holds {session.context_tokens}",
            place="messages",
        )
    if options.max_tokens is not None and options.max_tokens < 0:
        raise RequestError("must not be negative", place="max_tokens")
    writer = _Writer(turn, session, options, prompt, room)
    try:
        yield from _write(turn, session, options, prompt, writer)
    finally:
        turn.batches[:] = session.batches


def _write(
    turn: DrivenTurn,
    session: Session,
    options: Options,
    prompt: Sequence[int],
    writer: "_Writer",
) -> Generator[Event]:
    timings = writer.timings
    prepared = session.prepare(prompt, tuple(turn.tokens), tuple(turn.batches), timings)
    if prepared is None:
        yield writer.finished("cancelled", cached_tokens=0)
        return
    yield Prompted(len(prompt), prepared.cached_tokens, prepared.is_exact)
    pending = prepared.pending
    step: list[int] = []
    is_prompt = True
    while True:
        writer.write(step)
        if step:
            pending += step
            yield writer.generated(step)
        if writer.reason or options.should_stop():
            break
        evaluated = session.evaluate(pending, timings)
        if evaluated is None or options.should_stop():
            break
        row, seconds = evaluated
        if is_prompt:
            timings.prompt_s += seconds
        else:
            timings.decode_s += seconds
            timings.steps += 1
        is_prompt = False
        pending = []
        step = writer.end_of_reasoning() or [writer.choose(row)]
    if tail := writer.rest():
        yield tail
    finished = writer.finished(writer.reason or "cancelled", cached_tokens=prepared.cached_tokens)
    if events := turn.finish_events():
        yield Generated((), b"", tuple(events))
    yield finished


@lru_cache(maxsize=8)
def _silent(vocabulary: Vocabulary) -> NDArray[np.intp]:
    """Ids that write nothing and end nothing; without a mask a model could write them for ever."""
    ends = vocabulary.ends
    silent = [i for i, data in enumerate(vocabulary.tokens) if not data and i not in ends]
    return np.array(silent, np.intp)


class _Writer:
    """What has been written in this generation, and whether it has ended."""

    def __init__(
        self,
        turn: DrivenTurn,
        session: Session,
        options: Options,
        prompt: Sequence[int],
        room: int,
    ) -> None:
        vocabulary = session.vocabulary
        self.timings = Timings()
        self.reason: FinishReason | None = None
        self._turn = turn
        self._session = session
        self._vocabulary = vocabulary
        self._prompt_tokens = len(prompt)
        self._left = room if options.max_tokens is None else min(options.max_tokens, room)
        self._extra = min(options.extend_tokens, room - self._left)
        self._closes = options.close_at_limit
        self._reasoning_tokens = options.reasoning_tokens
        self._new_tokens = 0
        self._constraint: DrivenConstraint | None = turn.constraint(vocabulary)
        self._sampler = Sampler(
            options.sampling, size=vocabulary.size, prompt=prompt, written=turn.tokens
        )
        # A stop that is one token of its own ends the turn by id; the same characters spelt by
        # ordinary tokens, inside a JSON string say, are text.
        by_id = {vocabulary.special[text] for text in turn.stops if text in vocabulary.special}
        self._ends = vocabulary.ends | by_id
        texts = (*(s for s in turn.stops if s not in vocabulary.special), *options.stop)
        last = turn.spelled(turn.tokens[-64:], vocabulary)
        before, self._held = last.cut(len(last.data) - turn.unsettled)
        self._scanner = StopScanner([text.encode() for text in texts], before=before.data)
        self._scanner.feed(self._held.data)
        turn.unsettled = 0
        self._mask = np.empty(mask_words(vocabulary.size), np.int32)
        self._data = b""
        self._events: list[ReadEvent] = []
        if self._left == 0:
            self.reason = "length"

    def write(self, step: list[int]) -> None:
        """Writes the chosen token, and appends to the step those that the grammar now forces."""
        for number, token_id in enumerate(step):
            if self.reason:
                del step[number:]
                break
            self._write(token_id)
        if self._constraint is None or self.reason:
            return
        started = perf_counter()
        forced = self._constraint.forced()
        self.timings.mask_s += perf_counter() - started
        for token_id in forced:
            if self.reason:
                break
            step.append(token_id)
            self._write(token_id)

    def end_of_reasoning(self) -> list[int]:
        """What ends the reasoning, if it has used up its budget and may end here."""
        turn = self._turn
        if self._reasoning_tokens is None or turn.reasoning_tokens < self._reasoning_tokens:
            return []
        return list(turn.end_of_reasoning(self._vocabulary)) if turn.is_reasoning else []

    def choose(self, row: NDArray[np.float32]) -> int:
        """Chooses the next token from its logits; changes the row."""
        timings = self.timings
        started = perf_counter()
        self._sampler.adjust(row)
        adjusted = perf_counter()
        if self._constraint is None:
            row[_silent(self._vocabulary)] = -np.inf
            filled = adjusted
        else:
            self._constraint.fill(self._mask)
            filled = perf_counter()
            apply_mask(row, self._mask)
        applied = perf_counter()
        token_id = self._sampler.choose(row, index=len(self._turn.tokens))
        if self._closes and self._constraint is not None:
            token_id = self._within_limit(self._constraint, token_id, row)
        timings.mask_s += filled - adjusted
        timings.apply_s += applied - filled
        timings.sample_s += (adjusted - started) + (perf_counter() - applied)
        return token_id

    def _within_limit(
        self, constraint: DrivenConstraint, token_id: int, row: NDArray[np.float32]
    ) -> int:
        """The token, or another one if the turn could not end in time behind it."""
        constraint.fill(self._mask, self._left)
        if self._mask[token_id // 32] >> (token_id % 32) & 1:
            return token_id
        self._turn.limit_decides()
        apply_mask(row, self._mask)
        return self._sampler.choose(row, index=len(self._turn.tokens))

    def generated(self, step: Iterable[int]) -> Generated:
        """The event of one step."""
        event = Generated(tuple(step), self._data, tuple(self._events))
        self._data = b""
        self._events = []
        return event

    def rest(self) -> Generated | None:
        """What was held back for a stop string that did not come."""
        held = self._scanner.finish()
        self._turn.unsettled = len(held)
        self._read(held)
        return self.generated(()) if self._data else None

    def finished(self, reason: FinishReason, *, cached_tokens: int) -> Finished:
        """Ends the turn."""
        message = self._turn.finish(reason)
        usage = Usage(self._prompt_tokens, self._new_tokens, cached_tokens)
        return Finished(message, message.finish_reason, usage, self.timings, self._sampler.seed)

    def _write(self, token_id: int) -> None:
        self._turn.tokens.append(token_id)
        self._turn.reasoning_tokens += self._turn.is_reasoning
        self._sampler.accept(token_id)
        self._session.count()
        self._new_tokens += 1
        self._left -= 1
        is_end = token_id in self._ends
        if self._constraint is not None:
            started = perf_counter()
            is_taken = self._constraint.advance(token_id)
            assert is_taken or is_end, "what a mask allows is taken"
            is_end = is_end or self._constraint.is_finished
            self.timings.advance_s += perf_counter() - started
        if token_id not in self._ends:
            piece = self._turn.spelled((token_id,), self._vocabulary)
            self._held += piece
            self._read(self._scanner.feed(piece.data))
        if is_end or self._scanner.stopped:
            self.reason = "stop"
        elif self._left == 0:
            if self._extra and self._turn.is_in_call:
                self._left, self._extra = self._extra, 0
            else:
                self.reason = "length"

    def _read(self, data: bytes) -> None:
        if data:
            started = perf_counter()
            given, self._held = self._held.cut(len(data))
            self._events += self._turn.feed_spelled(given)
            self._data += data
            self.timings.read_s += perf_counter() - started
