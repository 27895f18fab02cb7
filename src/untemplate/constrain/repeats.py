r"""Takes tokens out of a mask that would write a key, or a unique item, for the second time.

    {"a": 1, "       the token `a":` is not allowed, `ab":` is, and `a` alone is as well

The tokens that can do that are few: those on the way to something written before, which a walk of
the trie follows and nothing else; and those that hold a whole key or item, tried one by one.
"""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.escapes import Escape, Hex, Pair
from untemplate.constrain.keys import FreeKeys
from untemplate.constrain.memory import Container, Memory, remember
from untemplate.constrain.strings import Chars, Partial
from untemplate.constrain.table import Table
from untemplate.constrain.trie import TokenTrie

__all__ = ["Repeats", "may_open", "remember_all"]

Row = NDArray[np.int32]
Longs = NDArray[np.int64]
_WHOLE = re.compile(rb"[\"'].*[\"']|[0-9elEL].*[,\]} \n\t].*[0-9elEL].*[,\]} \n\t]", re.DOTALL)
"""Tokens that may hold a whole key or item."""
_BRACKETS = re.compile(rb"\{.*\}|\[.*\]", re.DOTALL)
"""Tokens that may hold a whole array or object."""
_TWICE = re.compile(rb"[{\[].*[0-9elEL\"'].*,.*[0-9elEL\"'].*[,\]}: \n\t\"']", re.DOTALL)
"""Tokens that may open an object or array and hold two of its keys or items."""
_SPECIAL = re.compile(rb"[\"'\\]")
_ESCAPED = re.compile(rb"[^ -~]|[\"'\\]")
_TELLING = b"{}[]\"'"
"""Bytes behind which the state says more than the text."""
_SPACE = b" \t\r\n"
_MOST_SEEN = 256
"""Sets of elements for which the tokens are kept that may hold one."""
_MOST_STEPS = 500
"""States that are looked at for something that was not written before."""
_MOST_BYTES = 2_000
"""The same in steps, for arrays and objects."""


Place = tuple[int, int, Memory | None]
"""State, ctx, and what was written."""


def may_open(data: bytes) -> bool:
    """Whether the text may open an object or array, behind which something is remembered."""
    return b"{" in data or b"[" in data


def remember_all(table: Table, at: Place, data: bytes) -> Iterator[Memory | None]:
    """What is remembered after each of some pieces of text that is allowed; one at a time.

    Strings that are not kept and need no escapes are one piece, O(1).
    """
    number, ctx, memory = at
    size = read = 0
    while size < len(data):
        if memory is not None and memory.quote and not memory.is_escaped:
            end = _SPECIAL.search(data, size)
            plain = data[size : end.start() if end else len(data)]
            if plain:
                size += len(plain)
                memory = memory.written(plain)
                yield memory
                continue
        size += 1
        byte = data[size - 1]
        if byte in _TELLING:
            number, ctx = table.read(number, ctx, data[read:size])
            read = size
        state = table.states[number]
        assert state is not None
        memory = remember(memory, byte, state)
        yield memory


class Repeats:
    """The search in one table; owned by who owns the table."""

    def __init__(self, table: Table, tokens: TokenTrie) -> None:
        self._table = table
        self._tokens = tokens
        self._data = tokens.data
        self._whole = tokens.matching(_WHOLE)
        self._twice = tokens.matching(_TWICE)
        self._brackets = tokens.matching(_BRACKETS)
        self._holding: dict[frozenset[str], Longs] = {}

    def without(self, row: Row, at: tuple[int, int], memory: Memory | None) -> Row | None:
        """The mask without what would be repeated; None where nothing is left.

        There the schema asks for more than there is, or the budget is at its end.
        """
        trie = self._tokens.full
        gone: list[NDArray[np.int32]] = []
        tried = [self._twice]
        if memory is not None and (seen := _seen(memory)):
            if (memory.is_element and memory.inner.seen) or memory.may_become:
                gone += [trie.order[low:high] for low, high in self._repeated(at, memory)]
            tried.append(self._may_hold(seen))
        for ids in tried:
            candidates: list[int] = ids[row[ids >> 5] >> (ids & 31) & 1 == 1].tolist()
            gone += [
                np.array([token_id], np.int32)
                for token_id in candidates
                if self._repeats(at, memory, self._data[token_id])
            ]
        if not gone:
            return row
        left = row & ~self._tokens.row_of(np.concatenate(gone))
        return left if left.any() else None

    def _may_hold(self, seen: frozenset[str]) -> Longs:
        """Tokens that may hold one of these elements whole."""
        found = self._holding.get(seen)
        if found is None:
            if len(self._holding) >= _MOST_SEEN:
                self._holding = {}
            found = self._whole
            flat = {element for element in seen if element[0] not in "[{"}
            if all(element[0] == '"' for element in flat):
                texts = [element[1:].encode() for element in flat]
                if any(map(_has_escapes, texts)):
                    texts.append(b"\\")
                pattern = re.compile(b"|".join(map(re.escape, texts)))
                ids: list[int] = found.tolist()
                ids = [i for i in ids if texts and pattern.search(self._data[i])]
                found = np.array(ids, np.int64)
            if len(flat) < len(seen):
                found = np.union1d(found, self._brackets)
            self._holding[seen] = found
        return found

    def _repeats(self, at: tuple[int, int], memory: Memory | None, data: bytes) -> bool:
        found = memory
        for found in remember_all(self._table, (*at, memory), data):
            if found is not None and found.is_repeated:
                return True
        return self.is_stuck(self._table.read(*at, data), found)

    def is_stuck(self, at: tuple[int, int], memory: Memory | None) -> bool:
        """Whether what was begun can only become something that was written before."""
        if memory is None:
            return False
        is_begun = memory.is_element and bool(memory.quote or memory.text)
        if is_begun and memory.may_repeat and not self._goes_on(at, memory):
            return True
        return memory.may_become and not self._ends_otherwise(at, memory)

    def _repeated(self, at: tuple[int, int], memory: Memory) -> list[tuple[int, int]]:
        """Ranges of the sorted tokens that end, or must end, in what was written before."""
        table, trie = self._table, self._tokens.full
        found: list[tuple[int, int]] = []
        pending = [(0, trie.levels[1], at, memory)]
        while pending:
            first, count, (number, ctx), known = pending.pop()
            is_flat = not known.may_become
            rests = _rests(known) if is_flat and self._is_free(number) else None
            if rests is not None:
                ends = (trie.find(rest, first, count) for rest in rests)
                found += [(int(trie.low[n]), int(trie.high[n])) for n in ends if n >= 0]
                continue
            for byte in _ways(known) or table.row(number):
                node = trie.data.find(byte, first, first + count)
                if node < 0:
                    continue
                after = table.step(number, ctx, byte)
                state = table.states[after[0]]
                if state is None:
                    continue
                following = remember(known, byte, state)
                if following is None or not (
                    following.is_repeated or following.may_become or _is_open(following)
                ):
                    continue
                if following.is_repeated or self.is_stuck(after, following):
                    found.append((int(trie.low[node]), int(trie.high[node])))
                    continue
                pending.append((int(trie.first[node]), int(trie.children[node]), after, following))
        return found

    def _is_free(self, number: int) -> bool:
        """Whether any characters may follow, whatever they are, so that none is stuck."""
        state = self._table.states[self._table.shadow(number) or number]
        return isinstance(state, Chars) and isinstance(state.lane.machine, FreeKeys)

    def _is_loose(self, number: int) -> bool:
        """Whether any character may follow, or comes already."""
        table, state = self._table, self._table.states[number]
        if table.leaving[number] is not None or table.shadow(number):
            return True
        return isinstance(state, Escape | Partial | Hex | Pair) and state.leads_to_loop

    def _goes_on(self, at: tuple[int, int], memory: Memory) -> bool:
        """Whether what is being written may become something that was not written before."""
        table = self._table
        if self._is_loose(at[0]):
            return True
        pending = [(at, memory)]
        looked_at: set[tuple[int, str]] = set()
        for _ in range(_MOST_STEPS):
            if not pending:
                return False
            (number, ctx), known = pending.pop()
            place = (number, known.so_far if known.quote else known.nearest)
            if place in looked_at:
                continue
            looked_at.add(place)
            for byte in table.row(number):
                after = table.step(number, ctx, byte)
                state = table.states[after[0]]
                if state is None:
                    continue
                following = remember(known, byte, state)
                if following is None or following.closed is not None:
                    if following is None or not following.is_repeated:
                        return True
                elif not following.may_repeat:
                    return True
                else:
                    pending.append((after, following))
        return True

    def _ends_otherwise(self, at: tuple[int, int], memory: Memory) -> bool:
        """Whether an array or object may become another than those before it."""
        table = self._table
        left = _MOST_BYTES
        pending = [(at, memory)]
        looked_at: set[tuple[int, Memory]] = set()
        while pending and left > 0:
            (number, ctx), known = pending.pop()
            if self._is_loose(number):
                return True
            ways = bytes(table.row(number))
            # Space changes nothing of a value; where it must be written there is nothing else.
            ways = ways if known.quote else ways.translate(None, _SPACE) or ways
            left -= len(ways)
            for byte in ways:
                after = table.step(number, ctx, byte)
                state = table.states[after[0]]
                if state is None:
                    continue
                following = remember(known, byte, state)
                if following is None:
                    return True
                if following.is_repeated:
                    continue
                if not following.may_become:
                    return True
                place = (after[0], following.rounded)
                if place not in looked_at:
                    looked_at.add(place)
                    pending.append((after, following))
        return left <= 0


def _is_open(memory: Memory) -> bool:
    """Whether a key or item is being written that may repeat one."""
    is_watched = memory.is_element and bool(memory.inner.seen) and memory.closed is None
    return is_watched and memory.may_repeat


def _seen(memory: Memory) -> frozenset[str]:
    """All that was written that must not be written again."""
    found: frozenset[str] = frozenset()
    container: Container | None = memory.inner
    while container is not None:
        if container.keeps and container.seen:
            found = found | container.seen if found else container.seen
        container = container.outer
    return found


def _rests(memory: Memory) -> list[bytes] | None:
    """What is missing of the strings that were written before, up to their closing quote.

    None where they may be written in several ways, or outside of strings.
    """
    if not memory.quote or memory.is_escaped or b"\\" in memory.text:
        return None
    size, end = len(memory.text), bytes((memory.quote,))
    texts = _coming(memory)
    return None if any(map(_has_escapes, texts)) else [text[size:] + end for text in texts]


def _coming(memory: Memory) -> list[bytes]:
    """Strings that were written before and begin as this one does."""
    elements = set(memory.inner.seen) if memory.is_element else set[str]()
    container: Container | None = memory.inner
    while container is not None:
        elements |= {*memory.words(container)}
        container = container.outer
    texts = (s[1:].encode() for s in elements if s[0] == '"')
    return [text for text in texts if text.startswith(memory.text)]


def _ways(memory: Memory) -> bytes:
    """In a string, the bytes that may lead to one written before; nothing: any byte may."""
    if not memory.quote or memory.is_escaped or b"\\" in memory.text:
        return b""
    size = len(memory.text)
    ways = {text[size] for text in _coming(memory) if len(text) > size}
    escape = () if not _has_escapes(bytes(ways)) else (0x5C,)
    return bytes({*ways, *escape, memory.quote})


def _has_escapes(text: bytes) -> bool:
    """Whether some character may be written by an escape."""
    return _ESCAPED.search(text) is not None
