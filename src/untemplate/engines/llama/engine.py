"""The engine in this process: a GGUF model, several requests at once, their caches kept.

    engine = LlamaEngine(Model("smollm2.gguf"))
    for event in engine.generate(turn, max_tokens=200, sampling=Sampling(temperature=0)):
        ...

`generate` is a plain generator: run it in a thread, one thread per request. Evaluations alternate
between requests step by step; sampling and reading run outside the model's lock.

Prompts are evaluated in batches that end at multiples of 64 tokens. On a CPU that is as quick as
larger ones, lets other requests in between, and gives every prompt the same batch borders whenever
it is evaluated afresh (`reuse="exact"`).
"""

import threading
from collections.abc import Callable, Generator
from collections.abc import Sequence as SequenceOf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from untemplate.engines.driver import Options, Prepared, drive
from untemplate.engines.events import Batch, DrivenTurn, Event, Reuse, ShouldStop, Timings, never
from untemplate.engines.llama.context import Context, Sequence
from untemplate.engines.llama.model import Model
from untemplate.engines.llama.pool import Pool
from untemplate.engines.llama.vocabulary import model_vocabulary
from untemplate.engines.sampling import Sampling
from untemplate.engines.turnstile import Turnstile
from untemplate.errors import EngineError
from untemplate.vocabulary import Vocabulary

__all__ = ["LlamaEngine"]

_GRID_TOKENS = 64
_DEFAULT_CONTEXT = 4096


class LlamaEngine:
    """One model, its context, and whoever is using them. May be shared by threads."""

    def __init__(
        self,
        model: Model,
        *,
        context_tokens: int | None = None,
        sequences: int = 4,
        threads: int = 1,
        prompt_threads: int = 2,
        saved_bytes: int = 1 << 28,
    ) -> None:
        """Makes room for requests on a model.

        Args:
            model: the model; `close` of the engine closes it too.
            context_tokens: room for prompt and reply of one request; the default is what the model
                was trained for, 4096 at most.
            sequences: how many requests may run at once; each has a cache of its own.
            threads: threads that evaluate single tokens. More than one is quicker on an idle
                machine and slower on a busy one.
            prompt_threads: threads that evaluate longer batches.
            saved_bytes: memory for the caches of requests that had to make room.
        """
        trained = model.trained_context or _DEFAULT_CONTEXT
        self.model = model
        self.vocabulary: Vocabulary = model_vocabulary(model)
        self._context = Context(
            model,
            context_tokens=context_tokens or min(trained, _DEFAULT_CONTEXT),
            sequences=sequences,
            threads=threads,
            prompt_threads=prompt_threads,
        )
        self._turnstile = Turnstile()
        lent = [Sequence(self._context, i) for i in range(sequences)]
        self._pool = Pool(lent, self._turnstile, saved_bytes)
        self._counting = threading.Lock()
        self._generated_tokens = 0

    @property
    def context_tokens(self) -> int:
        """Room for prompt and reply of one request."""
        return self._context.context_tokens

    @property
    def generated_tokens(self) -> int:
        """Tokens written since the engine was made, by all requests."""
        return self._generated_tokens

    @property
    def waiting(self) -> int:
        """Requests that wait for a sequence."""
        return self._pool.waiting

    def generate(
        self,
        turn: DrivenTurn,
        *,
        max_tokens: int | None = None,
        sampling: Sampling | None = None,
        stop: SequenceOf[str] = (),
        reuse: Reuse = "longest",
        close_at_limit: bool = False,
        extend_tokens: int = 0,
        reasoning_tokens: int | None = None,
        should_stop: ShouldStop = never,
    ) -> Generator[Event]:
        """Drives a turn, new or resumed, to its end.

        Args:
            turn: its prompt, constraint and reader; belongs to this call until the end.
            max_tokens: how many more tokens may be written; None: as many as the context holds.
            sampling: how they are chosen.
            stop: texts that end the turn, beside those of the turn itself; they are not read.
            reuse: how much of a cache that is already there may be used.
            close_at_limit: let the constraint end the turn properly within `max_tokens`.
            extend_tokens: how many more may be written if a call is open at `max_tokens`.
            reasoning_tokens: after how many the reasoning is ended; None: it ends by itself.
            should_stop: polled at each token and during long evaluations; true ends the turn as
                `cancelled`.
        """
        options = Options(
            max_tokens=max_tokens,
            sampling=sampling or Sampling(),
            stop=tuple(stop),
            reuse=reuse,
            close_at_limit=close_at_limit,
            extend_tokens=extend_tokens,
            reasoning_tokens=reasoning_tokens,
            should_stop=should_stop,
        )
        session = _LlamaSession(self.vocabulary, self._context, self._pool, options, self._count)
        try:
            yield from drive(turn, session, options)
        finally:
            session.close()

    def close(self) -> None:
        """Frees model and caches; what still runs ends with an EngineError at its next step."""
        with self._turnstile:
            self.model.close()

    def _count(self) -> None:
        with self._counting:
            self._generated_tokens += 1


class _LlamaSession:
    """One request's sequence, and its steps through the turnstile."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        context: Context,
        pool: Pool,
        options: Options,
        count: Callable[[], None],
    ) -> None:
        self.vocabulary = vocabulary
        self.context_tokens = context.context_tokens
        self.count = count
        self.batches: SequenceOf[Batch] = ()
        self._context = context
        self._pool = pool
        self._reuse: Reuse = options.reuse
        self._should_stop = options.should_stop
        self._sequence: Sequence | None = None
        self._row = np.empty(vocabulary.size, np.float32)

    def prepare(
        self,
        prompt: SequenceOf[int],
        written: SequenceOf[int],
        batches: SequenceOf[Batch],
        timings: Timings,
    ) -> Prepared | None:
        """Takes a sequence and evaluates all but the last batch, from the cache where it can."""
        tokens = [*prompt, *written]
        self.batches = batches
        started = perf_counter()
        sequence = self._pool.take(tokens, self._should_stop)
        timings.queue_s += perf_counter() - started
        if sequence is None:
            return None
        self._sequence = sequence
        self.batches = sequence.batches
        # A cut run had evaluated up to its last border, and what is written behind that waits to
        # be evaluated with what comes next, here as there.
        border = batches[-1][1] if written and batches else 0
        is_known = bool(written) and (bool(batches) or len(prompt) <= _GRID_TOKENS)
        end = border if written else (len(tokens) - 1) // _GRID_TOKENS * _GRID_TOKENS
        shared = min(sequence.shared(tokens), len(tokens) - 1)
        if is_known and shared >= border and _begins_with(sequence.batches, batches):
            kept = border
        elif self._reuse == "longest":
            kept = shared
        else:
            kept = _on_grid(sequence, shared) if self._reuse == "exact" else 0
        with self._pool.turnstile:
            kept = sequence.trim(kept)
        position = kept
        while position < end:
            stop = min((position // _GRID_TOKENS + 1) * _GRID_TOKENS, end)
            seconds = self._step(sequence, tokens[position:stop], timings)
            if seconds is None:
                return None
            timings.prompt_s += seconds
            position = stop
        is_exact = not written or (is_known and list(batches) == sequence.batches)
        return Prepared(min(kept, len(prompt)), tokens[position:], is_exact)

    def evaluate(
        self, tokens: SequenceOf[int], timings: Timings
    ) -> tuple[NDArray[np.float32], float] | None:
        """Evaluates tokens in as few batches as possible and copies the last logits."""
        if self._sequence is None:
            raise EngineError("a session evaluates only what it has prepared")
        total = 0.0
        size = self._context.batch_tokens
        for start in range(0, len(tokens), size):
            is_last = start + size >= len(tokens)
            part = tokens[start : start + size]
            seconds = self._step(self._sequence, part, timings, wants_logits=is_last)
            if seconds is None:
                return None
            total += seconds
        return self._row, total

    def close(self) -> None:
        """Gives the sequence back, with its cache."""
        if self._sequence is not None:
            self.batches = tuple(self.batches)
            self._pool.give(self._sequence)
            self._sequence = None

    def _step(
        self,
        sequence: Sequence,
        tokens: SequenceOf[int],
        timings: Timings,
        *,
        wants_logits: bool = False,
    ) -> float | None:
        """One batch in the turnstile: the seconds it took, or None when told to stop."""
        if self._should_stop():
            return None
        asked = perf_counter()
        with self._pool.turnstile:
            started = perf_counter()
            timings.queue_s += started - asked
            is_done = sequence.evaluate(tokens, self._should_stop)
            if is_done and wants_logits:
                # A copy: the next request's evaluation overwrites them, and sampling changes them.
                np.copyto(self._row, self._context.logits())
            return perf_counter() - started if is_done else None


def _begins_with(batches: SequenceOf[Batch], beginning: SequenceOf[Batch]) -> bool:
    return list(batches[: len(beginning)]) == list(beginning)


def _on_grid(sequence: Sequence, limit: int) -> int:
    """How many tokens, at most `limit`, stand in the batches of a run without a cache."""
    border = 0
    # Where the next batch begins inside one, that one was cut and partly evaluated again.
    nexts = [*(start for start, _ in sequence.batches[1:]), len(sequence.tokens)]
    for (start, stop), next_start in zip(sequence.batches, nexts, strict=False):
        is_whole = next_start >= stop
        if start != border or stop != border + _GRID_TOKENS or stop > limit or not is_whole:
            break
        border = stop
    return border
