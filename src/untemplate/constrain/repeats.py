r"""Takes tokens out of a mask that would write a key, or a unique item, for the second time.

    {"a": 1, "       the token `a":` is not allowed, `ab":` is, and `a` alone is as well

The tokens that can do that are few: those on the way to something written before, which a walk of
the trie follows and nothing else; and those that hold a whole key or item, tried one by one.
"""

import re

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.memory import Container, Memory, remember
from untemplate.constrain.strings import Escape, Hex, Pair, Partial
from untemplate.constrain.table import Table
from untemplate.constrain.trie import TokenTrie

__all__ = ["Repeats"]

Row = NDArray[np.int32]
_WHOLE = re.compile(rb"[\"'].*[\"']|[0-9elEL].*[,\]} \n\t].*[0-9elEL].*[,\]} \n\t]", re.DOTALL)
"""Tokens that may hold a whole key or item."""
_MOST_STEPS = 500
"""States that are looked at for something that was not written before."""


class Repeats:
    """The search in one table; owned by who owns the table."""

    def __init__(self, table: Table, tokens: TokenTrie) -> None:
        self._table = table
        self._tokens = tokens
        self._data = tokens.data
        self._whole = tokens.matching(_WHOLE)

    def without(self, row: Row, at: tuple[int, int], memory: Memory) -> Row:
        """The mask without what would be repeated."""
        seen = _seen(memory)
        if not seen:
            return row
        trie = self._tokens.full
        gone: list[NDArray[np.int32]] = []
        if memory.is_element:
            gone += [trie.order[low:high] for low, high in self._repeated(at, memory)]
        whole = self._whole[row[self._whole >> 5] >> (self._whole & 31) & 1 == 1]
        texts = {element[1:].encode() for element in seen if element[0] == '"'}
        is_open = any(element[0] != '"' for element in seen)
        has_escapes = not all(all(map(_is_plain, text)) for text in texts)
        candidates: list[int] = whole.tolist()
        gone += [
            np.array([token_id], np.int32)
            for token_id in candidates
            if (is_open or _may_hold(self._data[token_id], texts, has_escapes=has_escapes))
            and self._repeats(at, memory, self._data[token_id])
        ]
        if not gone:
            return row
        left = row & ~self._tokens.row_of(np.concatenate(gone))
        # With nothing left the schema asks for more than there is: it is checked afterwards.
        return left if left.any() else row

    def _repeats(self, at: tuple[int, int], memory: Memory, data: bytes) -> bool:
        found: Memory | None = memory
        number, ctx = at
        for byte in data:
            number, ctx = self._table.step(number, ctx, byte)
            state = self._table.states[number]
            if state is None:
                return False
            found = remember(found, byte, state)
            if found is None:
                return False
            if found.is_repeated:
                return True
        return self._is_stuck((number, ctx), found)

    def _is_stuck(self, at: tuple[int, int], memory: Memory | None) -> bool:
        """Whether what was begun can only become something that was written before."""
        if memory is None or not memory.is_element or not (memory.quote or memory.text):
            return False
        return memory.may_repeat and not self._goes_on(at, memory)

    def _repeated(self, at: tuple[int, int], memory: Memory) -> list[tuple[int, int]]:
        """Ranges of the sorted tokens that end, or must end, in what was written before."""
        table, trie = self._table, self._tokens.full
        found: list[tuple[int, int]] = []
        pending = [(0, trie.levels[1], at, memory)]
        while pending:
            first, count, (number, ctx), known = pending.pop()
            for byte in _ways(known) or table.row(number):
                node = trie.data.find(byte, first, first + count)
                if node < 0:
                    continue
                after = table.step(number, ctx, byte)
                state = table.states[after[0]]
                if state is None:
                    continue
                following = remember(known, byte, state)
                if following is None or following.closed is not None:
                    if following is not None and following.is_repeated:
                        found.append((int(trie.low[node]), int(trie.high[node])))
                    continue
                if not following.may_repeat:
                    continue
                if self._is_stuck(after, following):
                    found.append((int(trie.low[node]), int(trie.high[node])))
                    continue
                pending.append((int(trie.first[node]), int(trie.children[node]), after, following))
        return found

    def _goes_on(self, at: tuple[int, int], memory: Memory) -> bool:
        """Whether what is being written may become something that was not written before."""
        table = self._table
        if table.leaving[at[0]] is not None or table.shadow(at[0]):
            # Any character may follow.
            return True
        state = table.states[at[0]]
        if isinstance(state, Escape | Partial | Hex | Pair) and state.leads_to_loop:
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


def _seen(memory: Memory) -> set[str]:
    """All that was written that must not be written again."""
    found: set[str] = set()
    container: Container | None = memory.inner
    while container is not None:
        if container.keeps:
            found |= container.seen
        container = container.outer
    return found


def _ways(memory: Memory) -> bytes:
    """In a string, the bytes that may lead to one written before; nothing: any byte may."""
    if not memory.quote or memory.is_escaped or b"\\" in memory.text:
        return b""
    size = len(memory.text)
    known = (element[1:].encode() for element in memory.inner.seen if element[0] == '"')
    ways = {text[size] for text in known if len(text) > size and text.startswith(memory.text)}
    escape = () if all(_is_plain(byte) for byte in ways) else (0x5C,)
    return bytes({*ways, *escape, memory.quote})


def _is_plain(byte: int) -> bool:
    """Whether a character is never written by an escape."""
    return 0x20 <= byte < 0x7F and byte not in b"\"'\\"


def _may_hold(data: bytes, texts: set[bytes], *, has_escapes: bool) -> bool:
    """Whether a token may hold one of some strings; `has_escapes`: some may be written by them."""
    return (has_escapes and b"\\" in data) or any(text in data for text in texts)
