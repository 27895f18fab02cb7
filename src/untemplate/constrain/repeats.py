r"""Takes tokens out of a mask that would write a key, or a unique item, for the second time.

    {"a": 1, "       the token `a":` is not allowed, `ab":` is, and `a` alone is as well

The tokens that can do that are few: those on the way to something written before, which a walk of
the trie follows and nothing else; and those that hold a whole key or item, tried one by one.
"""

import re

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.memory import Container, Memory, remember
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
        if not _has_seen(memory):
            return row
        bits = np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)
        before = bits.copy()
        trie = self._tokens.full
        if memory.is_element:
            for low, high in self._repeated(at, memory):
                bits[trie.order[low:high]] = False
        candidates: list[int] = self._whole[bits[self._whole]].tolist()
        for token_id in candidates:
            if self._repeats(at, memory, self._data[token_id]):
                bits[token_id] = False
        twins = self._tokens.twins
        if len(twins):
            bits[twins[:, 1]] &= bits[twins[:, 0]] | ~before[twins[:, 0]]
        # With nothing left the schema asks for more than there is: it is checked afterwards.
        return np.packbits(bits, bitorder="little").view(np.int32) if bits.any() else row

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
            for node in range(first, first + count):
                byte = trie.data[node]
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


def _has_seen(memory: Memory) -> bool:
    """Whether anything was written that must not be written again."""
    container: Container | None = memory.inner
    while container is not None:
        if container.keeps and container.seen:
            return True
        container = container.outer
    return False
