"""One llama.cpp context: the KV caches of several sequences, and the evaluation of batches.

In: token ids for one sequence. Out: its logits, as a numpy view that the next evaluation
overwrites. Each sequence has a cache of its own (`kv_unified` off), so what one request does can't
change a bit of another's result, and one batch never mixes sequences, for the same reason.

    context = Context(model, context_tokens=2048, sequences=2)
    sequence = Sequence(context, 0)
    sequence.evaluate([1, 4093, 198])
    context.logits().argmax()

Results depend on how tokens were cut into batches: the same split gives the same bits, another
split differs in the last digits, which is enough to flip a greedy choice. A `Sequence` therefore
keeps the batches beside the tokens.

Nothing here is safe for threads: the engine holds its turnstile around every call. llama.cpp
answers a broken promise by ending the process, so each count is checked before C sees it.
"""

import ctypes
import threading
import weakref
from collections.abc import Callable, Generator
from collections.abc import Sequence as SequenceOf
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untemplate.engines.llama.layout import BatchStruct
from untemplate.engines.llama.model import Model
from untemplate.errors import EngineError

__all__ = ["Batch", "Context", "SavedSequence", "Sequence", "shared_prefix"]

Batch = tuple[int, int]
"""Half-open range of positions that were evaluated together."""

_ABORTED = 2
_WATCHED_TOKENS = 16
"""Batches from this size on may be aborted inside; smaller ones end soon by themselves."""
_WATCH_INTERVAL_S = 0.02
_SMALL_TOKENS = 16
"""Smaller batches (forced tokens, the end of a prompt) run on the threads of single tokens: on a
busy machine threads that wait for each other cost more than they save there."""
_MAX_CELLS = 1 << 30


class Context:
    """A llama_context with `sequences` caches of `context_tokens` each."""

    def __init__(
        self,
        model: Model,
        *,
        context_tokens: int,
        sequences: int = 1,
        batch_tokens: int = 256,
        threads: int = 1,
        prompt_threads: int = 2,
    ) -> None:
        if not 1 <= sequences <= 64:
            raise EngineError(f"sequences must be 1 to 64, not {sequences}")
        if not 1 <= context_tokens <= _MAX_CELLS // sequences:
            raise EngineError(f"a context of {context_tokens} tokens is not possible")
        if not (1 <= threads <= 512 and 1 <= prompt_threads <= 512):
            raise EngineError("thread counts must be 1 to 512")
        c = model.library.c
        params: Any = model.library.layouts.context()
        params.n_ctx = context_tokens * sequences
        params.n_batch = params.n_ubatch = max(1, min(batch_tokens, context_tokens))
        params.n_seq_max = sequences
        assert not params.kv_unified  # each sequence has a cache of its own
        model.library.complaint()
        pointer: int | None = c.llama_init_from_model(model.pointer, params)
        if not pointer:
            reason = model.library.complaint() or "llama.cpp gave no reason (out of memory?)"
            raise EngineError(f"no context of {sequences} x {context_tokens} tokens: {reason}")
        self.model = model
        self._pointer: int = pointer
        self._c = c
        self._free = weakref.finalize(self, c.llama_free, pointer)
        model.adopt(self)
        # C may round or cap what was asked for; what it says now is what its assertions check.
        self.context_tokens: int = c.llama_n_ctx_seq(pointer)
        self.batch_tokens: int = c.llama_n_batch(pointer)
        self.sequences: int = c.llama_n_seq_max(pointer)
        self._threads, self._prompt_threads = threads, prompt_threads
        memory: int | None = c.llama_get_memory(pointer)
        if not memory or self.batch_tokens < 1 or self.sequences < sequences:
            raise EngineError("llama.cpp made a context without a cache", place=str(model.path))
        self._memory: int = memory
        self._abort = _AbortFlag()
        self._arrays = _BatchArrays(self.batch_tokens)

    @property
    def pointer(self) -> int:
        """Address of the llama_context; an error once it was freed."""
        if not self._free.alive:
            raise EngineError("the context was closed")
        return self._pointer

    def evaluate(
        self,
        sequence: int,
        tokens: SequenceOf[int],
        start: int,
        should_stop: Callable[[], bool] | None = None,
    ) -> bool:
        """Evaluates one batch at positions `start`...; False if `should_stop` ended it midway.

        After False, or after an error, the caller has to trim the sequence back to `start`.
        """
        n_vocab = self.model.n_vocab
        if not 1 <= len(tokens) <= self.batch_tokens:
            raise EngineError(f"a batch of {len(tokens)} tokens, where 1-{self.batch_tokens} fit")
        if start < 0 or start + len(tokens) > self.context_tokens:
            raise EngineError(f"{start} + {len(tokens)} tokens pass the {self.context_tokens}")
        if min(tokens) < 0 or max(tokens) >= n_vocab:
            raise EngineError(f"token ids must be 0 to {n_vocab - 1}")
        batch = self._arrays.fill(self._checked(sequence), tokens, start)
        is_small = len(tokens) < _SMALL_TOKENS
        batch_threads = self._threads if is_small else self._prompt_threads
        self._c.llama_set_n_threads(self.pointer, self._threads, batch_threads)
        if should_stop is None or len(tokens) < _WATCHED_TOKENS:
            code: int = self._c.llama_decode(self.pointer, batch)
        else:
            c, flag = self._c, self._abort
            with flag.raised_by(should_stop):
                c.llama_set_abort_callback(self.pointer, flag.callback, flag.address)
                try:
                    code = c.llama_decode(self.pointer, batch)
                finally:  # a callback that stayed would abort what has nothing to do with this
                    c.llama_set_abort_callback(self.pointer, None, None)
        if code not in (0, _ABORTED):
            reason = self.model.library.complaint()
            raise EngineError(f"llama_decode failed with {code}: {reason or 'no reason given'}")
        return code == 0

    def logits(self) -> NDArray[np.float32]:
        """Logits after the last evaluated token: a view, overwritten by the next evaluation."""
        address: int | None = self._c.llama_get_logits_ith(self.pointer, -1)
        if not address:
            raise EngineError("llama.cpp has no logits: nothing was evaluated")
        row = (ctypes.c_float * self.model.n_vocab).from_address(address)
        return np.frombuffer(memoryview(row), dtype=np.float32)

    def trim(self, sequence: int, length: int) -> bool:
        """Forgets positions from `length` on; False when this kind of model can't do that."""
        self._checked(sequence)
        return bool(self._c.llama_memory_seq_rm(self._memory, sequence, max(length, 0), -1))

    def save(self, sequence: int) -> NDArray[np.uint8]:
        """The whole cache of a sequence as bytes; empty when C can't give it."""
        size: int = self._c.llama_state_seq_get_size(self.pointer, self._checked(sequence))
        state = np.empty(size, np.uint8)
        written: int = self._c.llama_state_seq_get_data(
            self.pointer, state.ctypes.data, size, sequence
        )
        return state if written == size else state[:0]

    def restore(self, sequence: int, state: NDArray[np.uint8]) -> bool:
        """Puts a saved cache into a sequence, whatever it held; False when C refuses it."""
        size = state.nbytes
        read: int = self._c.llama_state_seq_set_data(
            self.pointer, state.ctypes.data, size, self._checked(sequence)
        )
        return 0 < read == size

    def close(self) -> None:
        """Frees the caches."""
        self._free()

    def _checked(self, sequence: int) -> int:
        if not self._free.alive:
            raise EngineError("the context was closed")
        if not 0 <= sequence < self.sequences:
            raise EngineError(f"no sequence {sequence} among {self.sequences}")
        return sequence


class _BatchArrays:
    """The arrays of a llama_batch in numpy memory, filled again for each evaluation."""

    def __init__(self, size: int) -> None:
        self._token = np.zeros(size, np.int32)
        self._position = np.zeros(size, np.int32)
        self._count = np.ones(size, np.int32)
        self._sequence = np.zeros(1, np.int32)
        int_pointer = ctypes.POINTER(ctypes.c_int32)
        one_sequence = self._sequence.ctypes.data_as(int_pointer)
        # Every token belongs to the one sequence, so all entries point at the same cell.
        self._sequences = (int_pointer * size)(*([one_sequence] * size))
        self._wants_logits = np.zeros(size, np.int8)
        self._batch = BatchStruct(
            0,
            self._token.ctypes.data_as(int_pointer),
            None,
            self._position.ctypes.data_as(int_pointer),
            self._count.ctypes.data_as(int_pointer),
            self._sequences,
            self._wants_logits.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def fill(self, sequence: int, tokens: SequenceOf[int], start: int) -> BatchStruct:
        count = len(tokens)
        self._token[:count] = tokens
        self._position[:count] = range(start, start + count)
        self._sequence[0] = sequence
        self._wants_logits[:count] = 0
        self._wants_logits[count - 1] = 1
        self._batch.n_tokens = count
        return self._batch


class _AbortFlag:
    """Lets `should_stop` end a running evaluation without any Python inside it.

    llama.cpp asks its abort callback some 500 times per batch. A Python callback would wait for
    the interpreter lock each time, up to 5 ms while another thread computes. C's own `strlen` has
    the shape of that callback: it is true as soon as the text it is given is not empty. A thread
    that lives as long as the evaluation asks `should_stop` and writes the byte.
    """

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(2)
        self.address = ctypes.addressof(self._text)
        # On Windows the process itself exports nothing, the C runtime does.
        runtime = ctypes.CDLL("msvcrt" if hasattr(ctypes, "windll") else None)
        self.callback = ctypes.cast(runtime.strlen, ctypes.c_void_p)

    @contextmanager
    def raised_by(self, should_stop: Callable[[], bool]) -> Generator[None]:
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_WATCH_INTERVAL_S):
                if should_stop():
                    self._text[0] = b"x"
                    return

        self._text[0] = b"\0"
        watcher = threading.Thread(target=watch, name="untemplate-abort", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


@dataclass(frozen=True, slots=True, eq=False)
class SavedSequence:
    """A sequence outside the context: a value that can be put back bit by bit."""

    tokens: tuple[int, ...]
    batches: tuple[Batch, ...]
    state: NDArray[np.uint8]


class Sequence:
    """One cache: which tokens it holds, and in which batches they were evaluated."""

    def __init__(self, context: Context, index: int) -> None:
        self.context = context
        self.index = index
        self.tokens: list[int] = []
        self.batches: list[Batch] = []
        self.clear()

    def evaluate(
        self, tokens: SequenceOf[int], should_stop: Callable[[], bool] | None = None
    ) -> bool:
        """Appends one batch; False, and nothing appended, if `should_stop` ended it."""
        start = len(self.tokens)
        try:
            whole = self.context.evaluate(self.index, tokens, start, should_stop)
        except BaseException:  # also a Ctrl-C, which is raised once C has come back
            self.trim(start, force=True)
            raise
        if not whole:
            # Parts of the batch may stand in the cache.
            self.trim(start, force=True)
            return False
        self.tokens += tokens
        self.batches.append((start, start + len(tokens)))
        return True

    def trim(self, length: int, *, force: bool = False) -> int:
        """Keeps at most `length` tokens; gives how many stayed: all of them, or none."""
        if length >= len(self.tokens) and not force:
            return len(self.tokens)
        if length <= 0 or not self.context.trim(self.index, length):
            self.clear()  # a recurrent state has no past to go back to
            return 0
        del self.tokens[length:]
        while self.batches and self.batches[-1][0] >= length:
            self.batches.pop()
        return length

    def clear(self) -> None:
        self.context.trim(self.index, 0)
        self.tokens.clear()
        self.batches.clear()

    def save(self) -> SavedSequence | None:
        """All of this sequence as a value; None when there is nothing, or C can't give it."""
        if not self.tokens:
            return None
        state = self.context.save(self.index)
        return SavedSequence(tuple(self.tokens), tuple(self.batches), state) if state.size else None

    def restore(self, saved: SavedSequence) -> bool:
        """Becomes what was saved; False, and empty, when C refuses the state."""
        self.clear()
        if not self.context.restore(self.index, saved.state):
            self.clear()
            return False
        self.tokens[:] = saved.tokens
        self.batches[:] = saved.batches
        return True

    def shared(self, tokens: SequenceOf[int]) -> int:
        """Length of the beginning that these tokens have in common with the cache."""
        return shared_prefix(self.tokens, tokens)


def shared_prefix(a: SequenceOf[int], b: SequenceOf[int]) -> int:
    """Length of the common beginning of two texts in tokens."""
    pairs = zip(a, b, strict=False)
    return next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
