r"""A grammar compiled for a vocabulary: lazily, shared by threads, kept by hash.

    compiled = compile_grammar(grammar, vocabulary)
    compiled.constraint()               # one for each turn
    compilations().hits                 # the cache can be watched

Compiling itself only sets up the start; states and masks are found when a turn first comes to them,
under a lock. A mask that was found before is read without one.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.constraint import Constraint
from untemplate.constrain.distance import Distance
from untemplate.constrain.envelope import Envelope, Finished
from untemplate.constrain.masks import Masks, MaskStatistics
from untemplate.constrain.memory import Memory, remember
from untemplate.constrain.repeats import Repeats
from untemplate.constrain.sources import Sources
from untemplate.constrain.table import Limits, Table
from untemplate.constrain.trie import token_trie
from untemplate.constrain.turn import TurnMachine
from untemplate.errors import VocabularyError
from untemplate.grammar import Grammar
from untemplate.vocabulary import Vocabulary

__all__ = ["CacheStatistics", "CompiledGrammar", "compilations", "compile_grammar"]

_MOST_STEPS = 200_000


class Configuration(NamedTuple):
    """Where a turn stands."""

    number: int
    """The state."""
    ctx: int
    """The stack and the count."""
    memory: Memory | None = None
    """What must not be written again."""


class CompiledGrammar:
    """One grammar in one vocabulary."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self._lock = threading.RLock()
        self._tokens = token_trie(vocabulary)
        self._table = Table(limits)
        self._sources = Sources(grammar)
        self._machine = TurnMachine(grammar, vocabulary, self._sources)
        number = self._table.state_id(Envelope(self._machine, self._machine.begin()))
        if not number:
            raise VocabularyError("the turn can't end: no call satisfies its schema")
        self._start = Configuration(number, 0)
        self._repeats: Repeats | None = None
        self._distance = Distance(self._table, self._tokens)
        self._markers = frozenset(self._machine.markers.values())
        self._masks = Masks(
            self._table,
            self._tokens,
            self._distance,
            markers=self._markers,
            ends=vocabulary.ends,
            most_bytes=limits.mask_bytes,
        )
        self._steps: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._plain_steps: dict[tuple[Configuration, int], Configuration] = {}
        """Steps that nothing has to be remembered of: the way most turns go."""
        self._only: dict[int, int] = {}

    @property
    def words(self) -> int:
        """Length of a mask in int32 words."""
        return self._tokens.words

    @property
    def states(self) -> int:
        """States found so far."""
        return len(self._table.states) - 1

    @property
    def masks(self) -> MaskStatistics:
        """What the cache of masks holds and how it was used."""
        return self._masks.statistics

    def constraint(self) -> Constraint:
        """A constraint at the start of a turn."""
        return Constraint(self, self._start)

    # ------------------------------------------------------------------- asked by constraints

    def is_finished(self, at: Configuration) -> bool:
        return isinstance(self._table.states[at.number], Finished)

    @property
    def rows(self) -> Mapping[tuple[int, int, Memory | None], NDArray[np.int32]]:
        """Masks that are there already, by configuration; they are not to be changed."""
        return self._masks.rows

    def mask(self, at: Configuration, remaining: int | None) -> NDArray[np.int32]:
        """The mask of a configuration, not to be changed."""
        number, ctx, memory = at
        with self._lock:
            if remaining is None:
                row = self._masks.row(number, ctx)
            else:
                row = self._masks.within(number, ctx, remaining)
            if memory is None:
                return row
            if self._repeats is None:
                self._repeats = Repeats(self._table, self._tokens, self.vocabulary.tokens)
            return self._repeats.without(row, (number, ctx), memory)

    def step(self, at: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token; None when it is not allowed."""
        plain = self._plain_steps.get((at, token_id))
        if plain is not None:
            return plain
        number, ctx, memory = at
        key = (number, ctx, token_id)
        found = self._steps.get(key)
        if found is None:
            with self._lock:
                found = self._step(number, ctx, token_id)
                if len(self._steps) >= _MOST_STEPS:
                    self._steps.clear()
                    self._plain_steps.clear()
                self._steps[key] = found
        if not found[0]:
            return None
        if memory is None and not self._table.is_remembering(*found):
            plain = self._plain_steps[at, token_id] = Configuration(*found)
            return plain
        with self._lock:
            return self._remembered(at, self._data(token_id), found)

    def _data(self, token_id: int) -> bytes:
        """Bytes of a token that is read as text; none of a marker."""
        is_marker = token_id in self._markers or token_id in self.vocabulary.ends
        return b"" if is_marker else self.vocabulary.tokens[token_id]

    def _step(self, number: int, ctx: int, token_id: int) -> tuple[int, int]:
        if not 0 <= token_id < self.vocabulary.size:
            return 0, 0
        if isinstance(self._table.states[number], Finished):
            return (number, ctx) if token_id in self.vocabulary.ends else (0, 0)
        data = self._data(token_id)
        if not data and self.vocabulary.tokens[token_id]:
            return self._table.step_symbol(number, ctx, token_id)
        if data not in self._tokens.ids:
            return self._table.step_symbol(number, ctx, token_id)
        for byte in data:
            number, ctx = self._table.step(number, ctx, byte)
            if not number:
                break
        return number, ctx

    def _remembered(
        self, at: Configuration, data: bytes, found: tuple[int, int]
    ) -> Configuration | None:
        """The configuration after bytes, with what was written; None if it repeats something."""
        number, ctx, memory = at
        for byte in data:
            number, ctx = self._table.step(number, ctx, byte)
            state = self._table.states[number]
            assert state is not None
            memory = remember(memory, byte, state)
            if memory is not None and memory.is_repeated:
                return None
        return Configuration(*found, memory)

    def step_bytes(self, at: Configuration, data: bytes) -> Configuration | None:
        """The configuration after text in which markers are tokens where the grammar asks it."""
        with self._lock:
            while data:
                number, ctx, _ = at
                symbol = self._marker_at(data)
                target = (0, 0) if symbol is None else self._table.step_symbol(number, ctx, symbol)
                if symbol is not None and target[0]:
                    at = Configuration(*target)
                    data = data[len(self.vocabulary.tokens[symbol]) :]
                    continue
                target = self._table.step(number, ctx, data[0])
                following = self._remembered(at, data[:1], target) if target[0] else None
                if following is None:
                    return None
                at, data = following, data[1:]
            return at

    def _marker_at(self, data: bytes) -> int | None:
        """The id of the longest marker that the text begins with."""
        found = [m for m in self._machine.markers if data.startswith(m)]
        return self._machine.markers[max(found, key=len)] if found else None

    def min_tokens(self, at: Configuration) -> int:
        with self._lock:
            return self._distance.tokens(at.number, at.ctx)

    def forced(self, at: Configuration) -> list[int]:
        """Tokens that must follow, as the vocabulary itself would write them."""
        if self.vocabulary.encode is None or self._only.get(at.number) == -1:
            return []
        found: list[int] = []
        with self._lock:
            while True:
                data, symbol = self._forced_run(at)
                ids, after, is_whole = self._spelt(at, data, is_open=symbol < 0)
                found += ids
                if symbol < 0 or not is_whole:
                    return found
                following = self.step(after, symbol)
                if following is None:
                    return found
                found.append(symbol)
                at = following

    def _forced_run(self, at: Configuration) -> tuple[bytes, int]:
        """Bytes that must follow, then the special token that must, or -1."""
        data = bytearray()
        number, ctx, _ = at
        while not isinstance(self._table.states[number], Finished):
            only = self._only_symbol(number, ctx)
            if only == -1:
                break
            if only >= 256:
                return bytes(data), only - 256
            data.append(only)
            number, ctx = self._table.step(number, ctx, only)
        return bytes(data), -1

    def _only_symbol(self, number: int, ctx: int) -> int:
        """The one byte, or 256 + the one special token, that may follow; -1: there are several."""
        found = self._only.get(number)
        if found is None:
            found = self._only[number] = self._table.only_byte(number)
        if found == -1:
            return -1
        symbols = self._table.symbols(number, ctx)
        if found >= 0:
            return -1 if symbols else found
        return 256 + next(iter(symbols)) if len(symbols) == 1 else -1

    def _spelt(
        self, at: Configuration, data: bytes, *, is_open: bool
    ) -> tuple[list[int], Configuration, bool]:
        """Tokens for forced bytes, where they lead, and whether they spell all.

        `is_open`: what follows the bytes is not known, so a token that might reach past them ends
        the run, and all before it stay.
        """
        encode = self.vocabulary.encode
        assert encode is not None
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            text, is_open = data[: error.start].decode(), True
            data = data[: error.start]
        found: list[int] = []
        done = 0
        for token_id in encode(text, special=False) if text else []:
            piece = self.vocabulary.tokens[token_id]
            if data[done : done + len(piece)] != piece:
                return found, at, False
            if is_open and self._tokens.has_longer(data[done:]):
                return found, at, False
            after = self.step(at, token_id)
            if after is None:
                return found, at, False
            found.append(token_id)
            done += len(piece)
            at = after
        return found, at, done == len(data)


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """The cache of compiled grammars."""

    entries: int
    most: int
    hits: int
    misses: int


class _Cache:
    """Compiled grammars, the one used longest ago dropped first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, str, bool], CompiledGrammar] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def get(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> CompiledGrammar:
        # Equal vocabularies may differ in whether they encode.
        key = (grammar.key, vocabulary.digest, vocabulary.encode is None)
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._hits += 1
                self._found.move_to_end(key)
                return found
            self._misses += 1
        compiled = CompiledGrammar(grammar, vocabulary, limits)
        with self._lock:
            # Another thread may have been faster; all share its states.
            compiled = self._found.setdefault(key, compiled)
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        return compiled

    def statistics(self) -> CacheStatistics:
        with self._lock:
            return CacheStatistics(len(self._found), self._most, self._hits, self._misses)


_CACHE = _Cache(64)


def compile_grammar(
    grammar: Grammar, vocabulary: Vocabulary, *, limits: Limits | None = None
) -> CompiledGrammar:
    """The grammar compiled for a vocabulary; the same object for equal ones.

    Args:
        grammar: what a turn may hold.
        vocabulary: the tokens of the model.
        limits: bounds of the compilation; given, the cache is not used.

    Raises:
        SchemaError: a tool's schema is not valid.
        VocabularyError: the vocabulary can't spell what the grammar needs.
        LimitError: a bound was passed; names the tool.
    """
    if limits is not None:
        return CompiledGrammar(grammar, vocabulary, limits)
    return _CACHE.get(grammar, vocabulary, Limits())


def compilations() -> CacheStatistics:
    """How the cache of compiled grammars stands."""
    return _CACHE.statistics()
