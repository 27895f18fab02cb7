r"""A grammar compiled for a vocabulary: lazily, and shared by threads.

    compiled = compile_grammar(grammar, vocabulary)     # see `cache`
    compiled.constraint()                               # one for each turn

Compiling itself only sets up the start; states and masks are found when a turn first comes to them,
under a lock. What was found before at a place is read from there without one.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.common import common_table
from untemplate.constrain.constraint import Constraint
from untemplate.constrain.distance import Distance
from untemplate.constrain.envelope import Envelope, Finished
from untemplate.constrain.masks import Masks, MaskStatistics
from untemplate.constrain.place import UNKNOWN, Configuration, Forced, Place, Places
from untemplate.constrain.repeats import Repeats, may_open, remember_all
from untemplate.constrain.sources import Sources
from untemplate.constrain.spellable import check_spelling
from untemplate.constrain.table import GROWTH, Limits, Table
from untemplate.constrain.trie import token_trie
from untemplate.constrain.turn import TurnMachine
from untemplate.errors import LimitError, SchemaError
from untemplate.grammar import Grammar
from untemplate.vocabulary import Vocabulary

__all__ = ["CompiledGrammar"]


class _Growing:
    """Under the lock; a bound that is passed names the tool. Steps are too many for a generator."""

    __slots__ = ("_compiled", "at")

    def __init__(self, compiled: "CompiledGrammar", at: Configuration | None = None) -> None:
        self._compiled = compiled
        self.at = at

    def __enter__(self) -> Self:
        GROWTH.acquire()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, RecursionError):
                error = LimitError("nested too deep, or references lead too deep")
            if isinstance(error, LimitError) and not error.place:
                raise LimitError(error.message, place=self._compiled.place_of(self.at)) from error
        finally:
            GROWTH.release()


STATE_BYTES = 1_700
PLACE_BYTES = 1_000
"""Of a state with its entries and stacks, and of a place with its steps."""


class CompiledGrammar:
    """One grammar in one vocabulary."""

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self._limits = limits
        check_spelling(grammar, vocabulary)
        with _Growing(self):
            self._tokens = token_trie(vocabulary)
            self._table = Table(limits, common_table())
            self._machine = TurnMachine(grammar, vocabulary, Sources(grammar))
            number = self._table.state_id(Envelope(self._machine, self._machine.begin()))
        if not number:
            raise SchemaError(
                "no value that can be written is as the schema says", place=grammar.origin
            )
        self._start = Configuration(number, 0)
        self._places = Places(limits.places)
        self._known_repeats: Repeats | None = None
        self._distance = Distance(self._table, self._tokens)
        self._markers = frozenset(self._machine.markers.values())
        self._masks = Masks(
            self._table,
            self._tokens,
            self._distance,
            markers=self._markers,
            ends=vocabulary.ends,
        )
        self._only: dict[int, int] = {}

    @property
    def words(self) -> int:
        """Length of a mask in int32 words."""
        return self._tokens.words

    @property
    def states(self) -> int:
        """States found so far."""
        return self._table.size

    @property
    def places(self) -> int:
        """Configurations met so far."""
        return len(self._places)

    @property
    def masks(self) -> MaskStatistics:
        """What the cache of masks holds and how it was used."""
        return self._masks.statistics

    @property
    def size(self) -> int:
        """About how many bytes are held; see `tests/constrain/test_memory.py`."""
        masks = self._masks.statistics.bytes
        return masks + self.states * STATE_BYTES + self.places * PLACE_BYTES

    def constraint(self) -> Constraint:
        """A constraint at the start of a turn."""
        return Constraint(self, self._place(self._start))

    # ------------------------------------------------------------------- asked by constraints

    def _place(self, at: Configuration) -> Place:
        is_finished = isinstance(self._table.states[at.number], Finished)
        with GROWTH:
            return self._places.at(at, is_finished=is_finished)

    def _growing(self, at: Configuration) -> "_Growing":
        return _Growing(self, at)

    def where(self, place: Place) -> Configuration:
        """The configuration of a place."""
        at = place.configuration
        if at is None:
            assert place.inside is not None
            begin, data = place.inside
            with self._growing(begin):
                found = self._table.read(begin.number, begin.ctx, data)
                at = place.configuration = Configuration(*found)
        return at

    def place_of(self, at: Configuration | None) -> str:
        """What an error at a configuration is about."""
        if at is None:
            return self.grammar.origin
        return self._table.origin(at.number, at.ctx) or self.grammar.origin

    def mask(self, place: Place, remaining: int | None) -> NDArray[np.int32]:
        """The mask of a place, not to be changed."""
        with self._growing(at := self.where(place)):
            row = place.row
            if row is None:
                number, ctx, _ = at
                row = place.row = self._without_repeats(place, self._masks.row(number, ctx))
            if remaining is not None:
                row = self._within(place, row, remaining)
            if self._masks.statistics.bytes > self._limits.mask_bytes:
                self._masks.forget()
                self._places.forget()
            return row

    def _within(self, place: Place, row: NDArray[np.int32], remaining: int) -> NDArray[np.int32]:
        number, ctx, _ = self.where(place)
        if place.far == UNKNOWN:
            place.far = self._masks.far(number, ctx)
        if remaining > place.far:
            return row
        found = place.near.get(remaining)
        if found is None:
            found = self._without_repeats(place, self._masks.within(number, ctx, remaining))
            place.near[remaining] = found
        return found

    def _without_repeats(self, place: Place, row: NDArray[np.int32]) -> NDArray[np.int32]:
        number, ctx, memory = self.where(place)
        if memory is None and not self._table.has_memory:
            return row
        found = self._repeats.without(row, (number, ctx), memory)
        if found is None:
            # What may be written repeats something in any case, and is checked afterwards.
            place.let_repeat()
            return row
        return row if found is row else self._masks.kept(found)

    @property
    def _repeats(self) -> Repeats:
        if self._known_repeats is None:
            self._known_repeats = Repeats(self._table, self._tokens)
        return self._known_repeats

    def step(self, place: Place, token_id: int) -> Place | None:
        """The place after a token; None when it is not allowed."""
        try:
            return place.steps[token_id]
        except KeyError:
            pass
        at = self.where(place)
        with self._growing(at):
            found = self._step(at.number, at.ctx, token_id)
            after: Configuration | None = None
            if found[0]:
                after = Configuration(*found)
                data = self._data(token_id)
                if at.memory is not None or (self._table.has_memory and may_open(data)):
                    after = self._remembered(place, at, data, found)
            if after is None:
                self._places.refuse(place, token_id)
                return None
            following = place.steps[token_id] = self._place(after)
            return following

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
        return self._table.read(number, ctx, data)

    def _remembered(
        self, place: Place | None, at: Configuration, data: bytes, found: tuple[int, int]
    ) -> Configuration | None:
        """The configuration after bytes, with what was written; None if it repeats something.

        Where the mask of the place has nothing else, that is taken as well.
        """
        memory = at.memory
        repeats = False
        for memory in remember_all(self._table, at, data):
            repeats |= memory is not None and memory.is_repeated
        if repeats or self._repeats.is_stuck(found, memory):
            place = place or self._place(at)
            self.mask(place, None)
            if not place.may_repeat:
                return None
        return Configuration(*found, memory)

    def step_bytes(self, place: Place, data: bytes) -> Place | None:
        """The place after text in which markers are tokens where the grammar asks it."""
        at = self.where(place)
        with self._growing(at):
            while data:
                number, ctx, _ = at
                symbol = self._marker_at(data)
                target = (0, 0) if symbol is None else self._table.step_symbol(number, ctx, symbol)
                if symbol is not None and target[0]:
                    at = Configuration(*target)
                    data = data[len(self.vocabulary.tokens[symbol]) :]
                    continue
                target = self._table.step(number, ctx, data[0])
                following = self._remembered(None, at, data[:1], target) if target[0] else None
                if following is None:
                    return None
                at, data = following, data[1:]
            return self._place(at)

    def _marker_at(self, data: bytes) -> int | None:
        """The id of the longest marker that the text begins with."""
        found = [m for m in self._machine.markers if data.startswith(m)]
        return self._machine.markers[max(found, key=len)] if found else None

    def min_tokens(self, place: Place) -> int:
        """Tokens to the nearest proper end, the end token among them."""
        number, ctx, _ = at = self.where(place)
        with self._growing(at):
            return self._distance.tokens(number, ctx)

    def forced(self, place: Place) -> Forced:
        """Tokens that must follow, as the vocabulary itself would write them."""
        if self.vocabulary.encode is None:
            return ()
        with self._growing(self.where(place)):
            if place.forced is None:
                place.forced = tuple(self._forced(place))
            return place.forced

    def _forced(self, place: Place) -> list[int]:
        found: list[int] = []
        while True:
            data, symbol, end = self._forced_run(self.where(place))
            ids, after, is_whole = self._spelt(place, data, end, is_open=symbol < 0)
            found += ids
            if symbol < 0 or not is_whole:
                return found
            following = self.step(after, symbol)
            if following is None:
                return found
            found.append(symbol)
            place = following

    def _forced_run(self, at: Configuration) -> tuple[bytes, int, tuple[int, int]]:
        """Bytes that must follow, the special token that must then, or -1, and where they lead."""
        data = bytearray()
        number, ctx, _ = at
        while not isinstance(self._table.states[number], Finished):
            only = self._only_symbol(number, ctx)
            if only == -1:
                break
            if only >= 256:
                return bytes(data), only - 256, (number, ctx)
            run = self._table.run(number)
            data += run
            number, ctx = self._table.read(number, ctx, run)
        return bytes(data), -1, (number, ctx)

    def _only_symbol(self, number: int, ctx: int) -> int:
        """The one byte, or 256 + the one special token, that may follow; -1: there are several."""
        found = self._only.get(number)
        if found is None:
            table = self._table
            run = table.run(number)
            has_bytes = table.has_texts[number] or bool(table.row(number))
            found = self._only[number] = run[0] if run else -1 if has_bytes else -2
        if found == -1:
            return -1
        symbols = self._table.symbols(number, ctx)
        if found >= 0:
            return -1 if symbols else found
        return 256 + next(iter(symbols)) if len(symbols) == 1 else -1

    def _spelt(
        self, at: Place, data: bytes, end: tuple[int, int], *, is_open: bool
    ) -> tuple[list[int], Place, bool]:
        """Tokens for forced bytes, where they lead, and whether they spell all.

        `end`: where all bytes lead. `is_open`: what follows the bytes is not known, so a token that
        might reach past them ends the run, and all before it stay.
        """
        encode = self.vocabulary.encode
        assert encode is not None
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            text, is_open = data[: error.start].decode(), True
            data, end = data[: error.start], (0, 0)
        begin = self.where(at)
        found: list[int] = []
        done = 0
        if is_open and self._tokens.has_longer(data):
            return found, at, False
        for token_id in encode(text, special=False) if text else []:
            piece = self.vocabulary.tokens[token_id]
            if data[done : done + len(piece)] != piece:
                return found, at, False
            if is_open and self._tokens.has_longer(data[done:]):
                return found, at, False
            done += len(piece)
            after = at.steps.get(token_id)
            if after is None and piece in self._tokens.ids and self._data(token_id):
                # Nothing but these bytes is allowed, so the token is: what lies between is not
                # looked at. Where keys are remembered they are followed token by token.
                if done < len(data) and not self._table.has_memory:
                    after = at.steps[token_id] = self._places.inside(begin, data[:done])
                elif done == len(data) and end[0] and not self._table.has_memory:
                    after = at.steps[token_id] = self._place(Configuration(*end))
            if after is None:
                after = self.step(at, token_id)
            if after is None:
                return found, at, False
            found.append(token_id)
            at = after
        return found, at, done == len(data)
