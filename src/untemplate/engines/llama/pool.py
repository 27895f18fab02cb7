"""Which request gets which cache.

A context holds a few sequences, each with a cache. A request takes one for as long as it lives; if
all are taken it waits, in order of arrival. It gets the cache that begins with most of its tokens.
What a cache loses thereby is saved to memory first, within a bound, the least recently used state
out first: a conversation that comes back, or a cut turn that is resumed, finds its cache whoever
was served in between.

    sequence = pool.take(token_ids, never)
    ...
    pool.give(sequence)

Everything that touches C happens inside the turnstile, which is shared with the evaluations.
"""

import threading
from collections import deque
from collections.abc import Sequence as SequenceOf

from untemplate.engines.events import ShouldStop
from untemplate.engines.llama.context import SavedSequence, Sequence, shared_prefix
from untemplate.engines.turnstile import Turnstile

__all__ = ["Pool", "SavedStates"]

_WORTH_TOKENS = 16
"""Moving a state costs about as much as evaluating this many tokens."""
_POLL_S = 0.05


class SavedStates:
    """Caches outside the context, bounded by bytes. Not safe for threads."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._states: deque[SavedSequence] = deque()

    @property
    def size_bytes(self) -> int:
        return sum(saved.state.nbytes for saved in self._states)

    def __len__(self) -> int:
        return len(self._states)

    def add(self, saved: SavedSequence) -> None:
        """Keeps a state, and drops those that it contains and those that no longer fit."""
        self._states = deque(other for other in self._states if not _contains(saved, other))
        self._states.append(saved)
        while self._states and self.size_bytes > self._limit:
            self._states.popleft()

    def best(self, tokens: SequenceOf[int]) -> tuple[int, SavedSequence | None]:
        """The state that begins with most of these tokens, and with how many."""
        best: tuple[int, SavedSequence | None] = (0, None)
        for saved in self._states:
            shared = shared_prefix(saved.tokens, tokens)
            if shared > best[0]:
                best = (shared, saved)
        return best

    def take(self, saved: SavedSequence) -> None:
        """Forgets a state that lives in a sequence again."""
        if saved in self._states:
            self._states.remove(saved)


class Pool:
    """The sequences of one context, lent to requests. Safe for threads."""

    def __init__(
        self, sequences: SequenceOf[Sequence], turnstile: Turnstile, saved_bytes: int
    ) -> None:
        self.turnstile = turnstile
        self.saved = SavedStates(saved_bytes)
        self._free = list(sequences)
        """Least recently used first."""
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    def take(self, tokens: SequenceOf[int], should_stop: ShouldStop) -> Sequence | None:
        """A sequence for these tokens, as soon as it is our turn; None when told to stop."""
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
            try:
                while self._queue[0] is not ticket or not self._free:
                    if should_stop():
                        return None
                    self._changed.wait(_POLL_S)
                sequence = max(self._free, key=lambda free: _worth(free, tokens))
                self._free.remove(sequence)
            finally:
                self._queue.remove(ticket)
                self._changed.notify_all()
        try:
            with self.turnstile:
                self._make_room(sequence, tokens)
        except BaseException:
            self.give(sequence)
            raise
        return sequence

    def give(self, sequence: Sequence) -> None:
        """Takes a sequence back, with what its cache holds now."""
        with self._changed:
            self._free.append(sequence)
            self._changed.notify_all()

    @property
    def waiting(self) -> int:
        """How many requests wait for a sequence."""
        return len(self._queue)

    def _make_room(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        shared = sequence.shared(tokens)
        in_store, stored = self.saved.best(tokens)
        if shared < len(sequence.tokens) and (saved := sequence.save()):
            self.saved.add(saved)
        if stored is not None and in_store >= shared + _WORTH_TOKENS:
            self.saved.take(stored)
            sequence.restore(stored)


def _contains(state: SavedSequence, other: SavedSequence) -> bool:
    batches, tokens = other.batches, other.tokens
    return state.batches[: len(batches)] == batches and state.tokens[: len(tokens)] == tokens


def _worth(sequence: Sequence, tokens: SequenceOf[int]) -> tuple[int, bool]:
    """What speaks for a free sequence; `max` takes the first, least recently used, of equals."""
    shared = sequence.shared(tokens)
    return (shared if shared >= _WORTH_TOKENS else 0, not sequence.tokens)
