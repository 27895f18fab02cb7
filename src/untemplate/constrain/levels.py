"""Steps of a walk where a level of the trie has many nodes: all of them at once, in numpy.

    wide = WideLevels(table, tokens, trie, found, apart)
    level = wide.step(*level)       # the children that are alive; tokens that end are in `found`

A level is four columns, a row for each node whose children are to be looked at: its first child,
how many it has, its state and its ctx. A step is a gather in the table: state and byte of all
children at once. Only entries that are actions (push, pop) go through Python, once for each pair of
action and stack.

`walk` takes the levels with few nodes, and those whose states let few texts follow.
"""

from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.findings import Findings
from untemplate.constrain.fragments import Outlet
from untemplate.constrain.table import COUNT, COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import TokenTrie, Trie

__all__ = ["Level", "WideLevels"]

Longs = NDArray[np.int64]
Level = tuple[Longs, Longs, Longs, Longs]
"""First child, number of children, state and ctx of each node."""


class WideLevels:
    """The steps of one walk that are taken a level at once."""

    def __init__(
        self,
        table: Table,
        tokens: TokenTrie,
        trie: Trie,
        found: Findings,
        apart: AbstractSet[int],
    ) -> None:
        """Of a walk of `trie` that leaves out the nodes in `apart`, which may grow meanwhile."""
        self._table = table
        self._tokens = tokens
        self._trie = trie
        self._found = found
        self._apart = apart
        self._is_full = trie is tokens.full

    def step(self, first: Longs, children: Longs, states: Longs, ctxs: Longs) -> Level:
        """One level, all nodes at once: the next one."""
        trie, found = self._trie, self._found
        ahead = np.cumsum(children) - children
        nodes = np.repeat(first - ahead, children) + np.arange(int(children.sum()))
        after, at = self._move(np.repeat(states, children), np.repeat(ctxs, children), nodes)
        if self._apart:
            after[np.isin(nodes, list(self._apart))] = 0
        live = np.flatnonzero(after)
        nodes, after, at = nodes[live], after[live], at[live]
        ranks = trie.rank[nodes]
        ends = np.flatnonzero(ranks >= 0)
        if len(ends):
            found.many.append((trie.order[ranks[ends]], after[ends], at[ends]))
        if self._is_full:
            nodes, after, at = self._settle(nodes, after, at)
        below = trie.children[nodes]
        inner = np.flatnonzero(below)
        return trie.first[nodes[inner]], below[inner], after[inner], at[inner]

    def _settle(self, nodes: Longs, states: Longs, at: Longs) -> tuple[Longs, Longs, Longs]:
        """Takes the nodes out whose tokens below all stay in a loop."""
        table = self._table
        table.columns.update()
        looping = np.unique(states[table.columns.is_loop[states]])
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
            self._found.take(loop, nodes[here], number, at[here])
        return nodes[keep], states[keep], at[keep]

    def _move(self, states: Longs, at: Longs, nodes: Longs) -> tuple[Longs, Longs]:
        """The byte of each node."""
        table = self._table
        byte = self._trie.byte[nodes]
        entries = table.columns.entries(states, byte)
        counted = np.flatnonzero(entries >= COUNT)
        if len(counted):
            entries[counted] -= COUNT
            at = at.copy()
            at[counted] -= 1
            self._found.counts_to(at[counted])
            zero = counted[(at[counted] & COUNT_MASK) == 0]
            for number in np.unique(entries[zero]).tolist():
                entries[zero[entries[zero] == number]] = table.at_zero(number)
        acting = np.flatnonzero(entries < 0)
        if len(acting):
            entries, at = self._act(entries, at, nodes, acting)
        return entries, at

    def _act(self, entries: Longs, at: Longs, nodes: Longs, acting: Longs) -> tuple[Longs, Longs]:
        table, byte = self._table, self._trie.byte[nodes]
        at = at.copy()
        while len(acting):
            stacks = at[acting] >> COUNT_BITS
            pairs = (-entries[acting] << 40) | stacks
            unique, where = np.unique(pairs, return_inverse=True)
            done = [self._found.act(-(p >> 40), p & ((1 << 40) - 1)) for p in unique.tolist()]
            results = np.array(done, np.int64)[where]
            for number, _, is_again in set(done):
                if number and isinstance(table.states[number], Outlet):
                    ended = (results[:, 0] == number) & (results[:, 2] == is_again)
                    for node in nodes[acting[ended]].tolist():
                        self._found.is_exit(node, number, again=is_again)
                    results[ended, 0] = 0
            entries[acting], at[acting] = results[:, 0], results[:, 1]
            again = acting[(results[:, 2] == 1) & (results[:, 0] > 0)]
            if not len(again):
                break
            entries[again] = table.columns.entries(entries[again], byte[again])
            # What follows an action is never counted: a count begins inside a value.
            acting = again[entries[again] < 0]
        return entries, at
