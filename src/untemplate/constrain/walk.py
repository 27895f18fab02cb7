r"""Walks the trie of tokens from one configuration, level by level, in numpy.

    found = walk(table, trie, state, ctx)
    found.ranks, found.states, found.ctxs      # each allowed token, and where it leads

A level is a gather in the table: state and byte of all nodes at once. Only entries that are actions
(push, pop) go through Python, once for each pair of action and stack. Where a node stands in a loop
that all tokens below it stay in, they are taken together and not looked at.

`depth` is how far down the stack was looked: a mask found here holds for every configuration that
is the same so far down. `used` is how many characters were counted: it holds for larger counts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.table import COUNT, COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import Loop, TokenTrie, Trie

__all__ = ["Walked", "walk"]

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Walked:
    """What a walk found."""

    ids: NDArray[np.int32]
    """Tokens that are allowed, but for those that stay in a loop."""
    states: Longs
    """Where each of them leads."""
    ctxs: Longs
    loops: tuple[tuple[NDArray[np.int32], int, int], ...]
    """Tokens that stay in a loop, the state and the ctx of the loop before them."""
    depth: int
    used: int


def walk(table: Table, tokens: TokenTrie, number: int, ctx: int) -> Walked:
    """All tokens that are allowed in a configuration, but those that `loop.rows` gives."""
    leaving = table.leaving[number]
    trie = tokens.full if leaving is None else tokens.loop(leaving).rest
    return _Walk(table, tokens, trie, number, ctx).run()


_FEW = 64
"""So many table entries are looked up one by one rather than by a gather."""


class _Walk:
    """One walk."""

    def __init__(self, table: Table, tokens: TokenTrie, trie: Trie, number: int, ctx: int) -> None:
        self._table = table
        self._tokens = tokens
        self._trie = trie
        self._is_full = trie is tokens.full
        self._number = number
        self._ctx = ctx
        self._depth = table.depths[ctx >> COUNT_BITS]
        self._lowest = self._depth
        self._used = 0
        self._loops: list[tuple[NDArray[np.int32], int, int]] = []
        self._ids: list[NDArray[np.int32]] = []
        self._states: list[Longs] = []
        self._ctxs: list[Longs] = []
        self._few: list[tuple[int, int, int]] = []
        """Rank, state and ctx of tokens found one by one."""

    def run(self) -> Walked:
        trie = self._trie
        count = trie.levels[1] if len(trie.levels) > 1 else 0
        small: list[tuple[int, int, int, int]] | None = [(0, count, self._number, self._ctx)]
        first = children = states = ctxs = np.zeros(0, np.int64)
        while True:
            if small is None and len(states) <= _FEW >> 2:
                lists = (first.tolist(), children.tolist(), states.tolist(), ctxs.tolist())
                small = list(zip(*lists, strict=True))
            if small is not None:
                if not small:
                    break
                if self._work(small) <= _FEW:
                    small = self._step_few(small)
                    continue
                columns = np.array(small, np.int64)
                first, children, states, ctxs = columns.T
                small = None
            if not len(states):
                break
            first, children, states, ctxs = self._step_many(first, children, states, ctxs)
        return self._walked()

    def _walked(self) -> Walked:
        if self._few:
            ranks, states, ctxs = np.array(self._few, np.int64).T
            self._ids.append(self._trie.order[ranks])
            self._states.append(states)
            self._ctxs.append(ctxs)
        none = np.zeros(0, np.int64)
        return Walked(
            np.concatenate(self._ids) if self._ids else none.astype(np.int32),
            np.concatenate(self._states) if self._states else none,
            np.concatenate(self._ctxs) if self._ctxs else none,
            tuple(self._loops),
            self._depth - self._lowest,
            self._used,
        )

    def _work(self, small: list[tuple[int, int, int, int]]) -> int:
        """How many entries would be looked up one by one."""
        table = self._table
        total = 0
        for _, count, number, _ in small:
            if not table.is_filled[number]:
                table.fill(number)
            total += min(count, table.width[number])
        return total

    def _step_few(self, small: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
        """One level, node by node."""
        table, trie = self._table, self._trie
        data = trie.data
        found: list[tuple[int, int, int, int]] = []
        for first, count, number, ctx in small:
            if table.width[number] <= count:
                for byte, entry in table.moves(number):
                    node = data.find(byte, first, first + count)
                    if node >= 0:
                        self._visit(node, entry, byte, ctx, found)
            else:
                row = number << 8
                for node in range(first, first + count):
                    byte = data[node]
                    entry = table.flat.item(row | byte)
                    if entry:
                        self._visit(node, entry, byte, ctx, found)
        return found

    def _visit(
        self,
        node: int,
        entry: int,
        byte: int,
        ctx: int,
        found: list[tuple[int, int, int, int]],
    ) -> None:
        table, trie = self._table, self._trie
        while entry < 0:
            number, ctx, again = self._one(entry, ctx >> COUNT_BITS)
            if not number:
                return
            if not again:
                break
            if not table.is_filled[number]:
                table.fill(number)
            entry = table.flat.item(number << 8 | byte)
        else:
            if not entry:
                return
            number = entry
            if entry >= COUNT:
                number, ctx, _ = table.settle(entry, ctx)
                if ctx >> COUNT_BITS == self._ctx >> COUNT_BITS:
                    self._used = max(self._used, self._ctx - ctx)
                if not number:
                    return
        rank = trie.rank.item(node)
        if rank >= 0:
            self._few.append((rank, number, ctx))
        count = trie.children.item(node)
        if not count:
            return
        if self._is_full and table.is_loop[number]:
            loop = self._tokens.loop(table.leaving[number] or b"")
            if loop.clean[node] and (
                not table.counts(number) or loop.characters[node] <= ctx & COUNT_MASK
            ):
                self._take(loop, np.array([node]), number, np.array([ctx]))
                return
        found.append((trie.first.item(node), count, number, ctx))

    def _step_many(
        self, first: Longs, children: Longs, states: Longs, ctxs: Longs
    ) -> tuple[Longs, Longs, Longs, Longs]:
        """One level, all nodes at once."""
        trie = self._trie
        ahead = np.cumsum(children) - children
        nodes = np.repeat(first - ahead, children) + np.arange(int(children.sum()))
        after, at = self._move(
            np.repeat(states, children), np.repeat(ctxs, children), trie.byte[nodes]
        )
        live = np.flatnonzero(after)
        nodes, after, at = nodes[live], after[live], at[live]
        ranks = trie.rank[nodes]
        ends = np.flatnonzero(ranks >= 0)
        if len(ends):
            self._ids.append(trie.order[ranks[ends]])
            self._states.append(after[ends])
            self._ctxs.append(at[ends])
        if self._is_full:
            nodes, after, at = self._settle(nodes, after, at)
        below = trie.children[nodes]
        inner = np.flatnonzero(below)
        return trie.first[nodes[inner]], below[inner], after[inner], at[inner]

    def _settle(self, nodes: Longs, states: Longs, at: Longs) -> tuple[Longs, Longs, Longs]:
        """Takes the nodes out whose tokens below all stay in a loop."""
        table = self._table
        looping = np.unique(states[table.is_loop[states]])
        if not len(looping):
            return nodes, states, at
        keep = np.ones(len(nodes), np.bool_)
        numbers: list[int] = looping.tolist()
        for number in numbers:
            loop = self._tokens.loop(table.leaving[number] or b"")
            here = np.flatnonzero(states == number)
            here = here[loop.clean[nodes[here]]]
            if table.counts(number):
                here = here[(at[here] & COUNT_MASK) >= loop.characters[nodes[here]]]
            keep[here] = False
            self._take(loop, nodes[here], number, at[here])
        return nodes[keep], states[keep], at[keep]

    def _take(self, loop: Loop, nodes: Longs, number: int, at: Longs) -> None:
        trie = self._trie
        has_below = trie.children[nodes] > 0
        nodes, at = nodes[has_below], at[has_below]
        for ctx in np.unique(at).tolist():
            chosen = nodes[at == ctx]
            low = trie.low[chosen] + (trie.rank[chosen] >= 0)
            size = trie.high[chosen] - low
            ahead = np.cumsum(size) - size
            ranks = np.repeat(low - ahead, size) + np.arange(int(size.sum()))
            self._loops.append((trie.order[ranks], number, ctx))
            if ctx & COUNT_MASK:
                self._used = max(self._used, self._spent(ctx) + int(loop.characters[chosen].max()))

    def _spent(self, ctx: int) -> int:
        """Characters counted so far, if the count is still the one that the walk began with."""
        if ctx >> COUNT_BITS != self._ctx >> COUNT_BITS:
            return 0
        return max((self._ctx & COUNT_MASK) - (ctx & COUNT_MASK), 0)

    def _move(self, states: Longs, at: Longs, byte: Longs) -> tuple[Longs, Longs]:
        """One byte for each node."""
        table = self._table
        self._fill(states)
        entries = table.flat[(states << 8) + byte].astype(np.int64)
        counted = np.flatnonzero(entries >= COUNT)
        if len(counted):
            entries[counted] -= COUNT
            at = at.copy()
            at[counted] -= 1
            own = at[counted][at[counted] >> COUNT_BITS == self._ctx >> COUNT_BITS]
            if len(own):
                self._used = max(self._used, self._ctx - int(own.min()))
            zero = counted[(at[counted] & COUNT_MASK) == 0]
            for number in np.unique(entries[zero]).tolist():
                entries[zero[entries[zero] == number]] = table.at_zero(number)
        acting = np.flatnonzero(entries < 0)
        if len(acting):
            entries, at = self._act(entries, at, byte, acting)
        return entries, at

    def _fill(self, states: Longs) -> None:
        table = self._table
        missing = states[~table.is_filled[states]]
        if len(missing):
            for number in np.unique(missing).tolist():
                table.fill(number)

    def _act(self, entries: Longs, at: Longs, byte: Longs, acting: Longs) -> tuple[Longs, Longs]:
        table = self._table
        at = at.copy()
        while len(acting):
            stacks = at[acting] >> COUNT_BITS
            pairs = (-entries[acting] << 40) | stacks
            unique, where = np.unique(pairs, return_inverse=True)
            done = [self._one(-(p >> 40), p & ((1 << 40) - 1)) for p in unique.tolist()]
            results = np.array(done, np.int64)[where]
            entries[acting], at[acting] = results[:, 0], results[:, 1]
            again = acting[(results[:, 2] == 1) & (results[:, 0] > 0)]
            if not len(again):
                break
            states = entries[again]
            self._fill(states)
            entries[again] = table.flat[(states << 8) + byte[again]]
            # What follows an action is never counted: a count begins inside a value.
            acting = again[entries[again] < 0]
        return entries, at

    def _one(self, entry: int, stack: int) -> tuple[int, int, bool]:
        result = self._table.act(entry, stack << COUNT_BITS)
        if result[1] >> COUNT_BITS != stack:
            self._lowest = min(self._lowest, self._table.depths[result[1] >> COUNT_BITS])
        if not result[0] and stack:
            self._lowest = min(self._lowest, self._table.depths[stack] - 1)
        return result
