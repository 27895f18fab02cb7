r"""Walks the trie of tokens from one configuration, level by level, in numpy.

    found = walk(table, trie, state, ctx)
    found.ids, found.states, found.ctxs        # each allowed token, and where it leads

A level is a gather in the table: state and byte of all nodes at once. Only entries that are actions
(push, pop) go through Python, once for each pair of action and stack; where a level has few nodes
all of it does. Where a node stands in a loop that all tokens below it stay in, they are taken
together and not looked at. With `fragments` the inside of values that are alike in all grammars is
not walked either: `found.rows` holds masks of it.

`depth` is how far down the stack was looked: a mask found here holds for every configuration that
is the same so far down. `used` is how many characters were counted: it holds for larger counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.fragments import Exit, Fragment, Fragments, Outlet, Rests
from untemplate.constrain.table import COUNT, COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import Loop, TokenTrie, Trie

__all__ = ["Walked", "walk", "walk_value"]

Longs = NDArray[np.int64]
_CTX_BITS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Walked:
    """What a walk found."""

    ids: NDArray[np.int32]
    """Tokens that are allowed, but for those that stay in a loop or a fragment."""
    states: Longs
    """Where each of them leads, if that was asked."""
    ctxs: Longs
    targets: set[tuple[int, int]]
    """States and ctxs that tokens lead to, but for the insides of loops, fragments and texts."""
    loops: tuple[tuple[NDArray[np.int32], int, int], ...]
    """Tokens that stay in a loop, the state and the ctx of the loop before them."""
    rows: tuple[NDArray[np.int32], ...]
    """Masks of the tokens that stay in a fragment."""
    rise: int
    """How much farther from the end than before it a token of a fragment leads at most."""
    edges: tuple[tuple[int, int], ...]
    """States and ctxs in which fragments were entered."""
    is_whole: bool
    """Whether the tokens that stay in the loop it begins in are among them."""
    depth: int
    used: int


def walk(
    table: Table, tokens: TokenTrie, number: int, ctx: int, fragments: Fragments | None = None
) -> Walked:
    """All tokens that are allowed in a configuration, but those that `loop.rows` gives."""
    leaving = table.leaving[number]
    trie = tokens.full
    if leaving is not None:
        loop = tokens.loop(leaving)
        # Tokens longer than the count may go on behind it; they stay in the loop of no mask.
        is_short = table.counts(number) and ctx & COUNT_MASK < loop.most and table.goes_on(number)
        trie = tokens.full if is_short else loop.rest
    by_text = fragments is not None
    found = _Walk(
        table, tokens, trie, (number, ctx), fragments, by_text=by_text, is_exact=not by_text
    )
    found.is_whole = fragments is not None and (
        (table.is_shared[number] and found.enter(-1, number, ctx))
        or found.enter_beside(-1, number, ctx)
    )
    if leaving is not None and table.counts(number):
        found.uses(tokens.loop(leaving).most - 1)
    if not found.is_whole:
        found.run([(0, trie.roots, number, ctx)])
    return found.walked()


def walk_value(
    table: Table, tokens: TokenTrie, number: int, ctx: int, node: int
) -> tuple[Walked, Trie, list[Exit]]:
    """From inside a value on, behind a node of the whole trie (-1: its root), to its end.

    The frame is a hole. With the walk comes the trie that was walked, and where the value ended.
    """
    leaving = table.leaving[number]
    is_loop = node < 0 and leaving is not None
    trie = tokens.loop(leaving).rest if is_loop and leaving is not None else tokens.full
    found = _Walk(table, tokens, trie, (number, ctx), None, by_text=False)
    if node < 0:
        found.run([(0, trie.roots, number, ctx)])
    else:
        found.run([(int(trie.first[node]), int(trie.children[node]), number, ctx)])
    return found.walked(), trie, found.exits


_FEW = 64
"""So many table entries are looked up one by one rather than by a gather."""
_MANY = 48
"""A fragment is used where so many tokens would be walked."""


class _Walk:
    """One walk."""

    def __init__(
        self,
        table: Table,
        tokens: TokenTrie,
        trie: Trie,
        at: tuple[int, int],
        fragments: Fragments | None,
        *,
        by_text: bool,
        is_exact: bool = False,
    ) -> None:
        """Sets up a walk.

        Args:
            table: the states.
            tokens: the vocabulary.
            trie: the tokens that are walked.
            at: state and ctx.
            fragments: walks that need not be made again.
            by_text: states inside of texts are not found, so targets are not exact.
            is_exact: the state of each token is kept.
        """
        self._table = table
        self._tokens = tokens
        self._trie = trie
        self._fragments = fragments
        self._by_text = by_text
        self._is_exact = is_exact
        self._is_full = trie is tokens.full
        self._number, self._ctx = at
        self._depth = table.depths[self._ctx >> COUNT_BITS]
        self._lowest = self._depth
        self._used = 0
        self._loops: list[tuple[NDArray[np.int32], int, int]] = []
        self._ids: list[NDArray[np.int32]] = []
        self._states: list[Longs] = []
        self._ctxs: list[Longs] = []
        self._targets: set[tuple[int, int]] = set()
        self._few: list[tuple[int, int, int]] = []
        """Rank, state and ctx of tokens found one by one."""
        self._ranks: list[int] = []
        """Ranks of tokens that end where one way alone is allowed."""
        self._rows: list[NDArray[np.int32]] = []
        self._edges: list[tuple[int, int]] = []
        self._rise = 0
        self._apart: set[int] = set()
        """Nodes that were taken in another way than the walk comes to them."""
        self.is_whole = False
        self.exits: list[Exit] = []

    def run(self, small: list[tuple[int, int, int, int]] | None) -> None:
        """From nodes on: their first child, how many they have, their state and ctx."""
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

    def uses(self, count: int) -> None:
        """What is found holds only where more than this is left of the count."""
        self._used = max(self._used, count)

    # ----------------------------------------------------------------------------------- fragments

    def enter_beside(self, node: int, number: int, ctx: int) -> bool:
        """The same in a state of which most bytes lead to the same as from its shadow.

        Only nodes where the two differ are walked: those on the way of some name, say.
        """
        table, trie = self._table, self._trie
        shadow = table.shadow(number)
        if not shadow or not self._is_full:
            return False
        first, count = (
            (0, trie.roots) if node < 0 else (trie.first.item(node), trie.children.item(node))
        )
        apart: list[tuple[int, int]] = []
        following: list[tuple[int, int, int, int]] = []
        pending = [(first, count, number)]
        if table.has_texts[number]:
            pending = []
            for child, byte, entry in self._ends(first, count, number):
                apart.append((trie.low.item(child), trie.high.item(child)))
                if entry:
                    self._visit(child, entry, byte, ctx, following)
        while pending:
            first, count, state = pending.pop()
            for byte, entry, stays in table.differing(state, shadow):
                child = trie.data.find(byte, first, first + count)
                if child < 0:
                    continue
                if stays and 0 < entry < COUNT:
                    # Both are in the middle of a string; a token may end here for both.
                    inner = (trie.first.item(child), trie.children.item(child), entry)
                    pending.append(inner)
                    continue
                apart.append((trie.low.item(child), trie.high.item(child)))
                if entry:
                    self._visit(child, entry, byte, ctx, following)
        if not self.enter(node, shadow, ctx + (table.shadow_count(number) or 0), apart):
            return False
        self._edges.append((number, ctx))
        self.run(following)
        return True

    def enter(
        self,
        node: int,
        number: int,
        ctx: int,
        apart: Sequence[tuple[int, int]] = (),
    ) -> bool:
        """Takes the tokens behind a node in a state that has fragments; False: it does not hold.

        `apart`: ranges of tokens that are no matter.
        """
        assert self._fragments is not None
        state = self._table.states[number]
        assert state is not None
        count = ctx & COUNT_MASK
        fragment = self._fragments.get(state, node, is_counted=bool(count))
        if fragment is None or (count and count <= fragment.used):
            return False
        row, gone = fragment.row, None
        if apart:
            ids = np.concatenate([self._trie.order[low:high] for low, high in apart])
            gone = np.zeros(self._tokens.words * 32, np.bool_)
            gone[ids] = True
            row = row & ~self._tokens.row_of(ids)
        self._rows.append(row)
        self._edges.append((number, ctx))
        self._rise = max(self._rise, fragment.rise)
        if count:
            self._used = max(self._used, self._spent(ctx) + fragment.used)
        self._leave(fragment, ctx >> COUNT_BITS, gone)
        return True

    def _leave(self, fragment: Fragment, stack: int, gone: NDArray[np.bool_] | None) -> None:
        """What stands behind the end of a value that is the same in all grammars."""
        table = self._table
        if not stack:
            return
        parent = table.parents[stack]
        self._lowest = min(self._lowest, table.depths[parent])
        for result, nodes in fragment.leaves:
            number, ctx = table.resume(table.frames[stack], result), parent << COUNT_BITS
            row = table.row(number)
            following: list[tuple[int, int, int, int]] = []
            for byte in row.keys() & nodes.keys():
                for node in nodes[byte]:
                    self._visit(node, row[byte], byte, ctx, following)
            self.run(following)
        for rests in fragment.rests:
            number, ctx = table.resume(table.frames[stack], rests.result), parent << COUNT_BITS
            if number:
                self._walk_rests(rests, (number, ctx), gone)

    def _walk_rests(
        self, rests: Rests, at: tuple[int, int], gone: NDArray[np.bool_] | None
    ) -> None:
        table, trie, (number, ctx) = self._table, rests.trie, at
        whole = rests.whole if gone is None else rests.whole[~gone[rests.whole]]
        if len(whole):
            self._ids.append(whole)
            self._targets.add((number, ctx))
        inner = _Walk(table, self._tokens, trie, (number, ctx), None, by_text=self._by_text)
        inner.run([(0, trie.roots, number, ctx)])
        found = inner.walked()
        self._edges += found.edges
        if len(found.ids):
            ids = rests.expand(found.ids)
            self._ids.append(ids if gone is None else ids[~gone[ids]])
            self._targets |= found.targets
        self._lowest = min(self._lowest, table.depths[ctx >> COUNT_BITS] - found.depth)

    def _is_entered(self, node: int, number: int, ctx: int) -> bool:
        """Whether the tokens behind a node are taken from a fragment; they are then."""
        table, trie = self._table, self._trie
        if self._fragments is None or not self._is_full or self._apart:
            return False
        is_shared = table.is_shared[number]
        if not is_shared and not table.shadow(number):
            return False
        if trie.high.item(node) - trie.low.item(node) < _MANY:
            return False
        if is_shared:
            return self.enter(node, number, ctx)
        return self.enter_beside(node, number, ctx)

    def walked(self) -> Walked:
        order, few, targets = self._trie.order, self._few, self._targets
        if self._states:
            keys = np.concatenate(self._states) << _CTX_BITS | np.concatenate(self._ctxs)
            many: list[int] = np.unique(keys).tolist()
            targets.update((key >> _CTX_BITS, key & ((1 << _CTX_BITS) - 1)) for key in many)
        targets.update((number, ctx) for _, number, ctx in few)
        targets.update((number, ctx) for _, number, ctx in self._loops)
        if few and self._is_exact:
            self._states.append(np.array([number for _, number, _ in few], np.int64))
            self._ctxs.append(np.array([ctx for _, _, ctx in few], np.int64))
        if few or self._ranks:
            self._ids.append(order[[*(rank for rank, _, _ in few), *self._ranks]])
        return Walked(
            np.concatenate(self._ids) if self._ids else np.zeros(0, np.int32),
            np.concatenate(self._states or [np.zeros(0, np.int64)]),
            np.concatenate(self._ctxs or [np.zeros(0, np.int64)]),
            targets,
            tuple(self._loops),
            tuple(self._rows),
            self._rise,
            tuple(self._edges),
            self.is_whole,
            self._depth - self._lowest,
            self._used,
        )

    def _work(self, small: list[tuple[int, int, int, int]]) -> int:
        """How many entries would be looked up one by one."""
        table, total = self._table, 0
        for _, count, number, _ in small:
            is_followed = table.has_texts[number] and self._by_text
            total += 1 if is_followed else min(count, len(table.row(number)))
        return total

    def _step_few(self, small: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
        """One level, node by node."""
        table, trie = self._table, self._trie
        data = trie.data
        found: list[tuple[int, int, int, int]] = []
        for first, count, number, ctx in small:
            if table.has_texts[number] and self._by_text:
                self._follow((first, count, number, ctx), found)
                continue
            row = table.row(number)
            if len(row) <= count:
                for byte, entry in row.items():
                    node = data.find(byte, first, first + count)
                    if node >= 0:
                        self._visit(node, entry, byte, ctx, found)
            else:
                for node in range(first, first + count):
                    byte = data[node]
                    entry = row.get(byte, 0)
                    if entry:
                        self._visit(node, entry, byte, ctx, found)
        return found

    def _follow(
        self, at: tuple[int, int, int, int], found: list[tuple[int, int, int, int]]
    ) -> None:
        """Down the trie where few texts may follow, or few that differ from a shadow."""
        first, count, number, ctx = at
        shadow = self._table.shadow(number)
        for node, byte, entry in self._ends(first, count, number):
            if entry:
                self._visit(node, entry, byte, ctx, found)
            if shadow:
                self._apart.add(node)
        self._edges.append((number, ctx))
        if shadow:
            found += self._step_few([(first, count, shadow, ctx)])

    def _ends(self, first: int, count: int, number: int) -> list[tuple[int, int, int]]:
        """Nodes at which texts end, with their last byte and its entry.

        Tokens that end inside of texts are noted on the way, unless a shadow has them too.
        """
        table, trie = self._table, self._trie
        is_all = not table.shadow(number)
        found: list[tuple[int, int, int]] = []
        for data, entry in table.texts(number):
            low, size = first, count
            for byte in data[:-1]:
                node = trie.data.find(byte, low, low + size)
                if node < 0:
                    break
                rank = trie.rank.item(node) if is_all else -1
                if rank >= 0:
                    self._ranks.append(rank)
                low, size = trie.first.item(node), trie.children.item(node)
                if not size:
                    break
            else:
                node = trie.data.find(data[-1], low, low + size)
                if node >= 0:
                    found.append((node, data[-1], entry))
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
        if node in self._apart:
            return
        while entry < 0:
            number, ctx, again = self._one(entry, ctx >> COUNT_BITS)
            if not number or self._is_exit(node, number, again=again):
                return
            if not again:
                break
            entry = table.look(number, byte)
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
        if self._is_entered(node, number, ctx):
            return
        if self._is_full and table.is_loop[number]:
            loop = self._tokens.loop(table.leaving[number] or b"")
            if loop.clean[node] and (
                not table.counts(number) or loop.characters[node] <= ctx & COUNT_MASK
            ):
                self._take(loop, np.array([node]), number, np.array([ctx]))
                return
        found.append((trie.first.item(node), count, number, ctx))

    def _is_exit(self, node: int, number: int, *, again: bool) -> bool:
        """Whether the value of a fragment has ended; if so it is noted."""
        state = self._table.states[number]
        if not isinstance(state, Outlet):
            return False
        self.exits.append(Exit(node, state.result, is_read=not again))
        return True

    def _step_many(
        self, first: Longs, children: Longs, states: Longs, ctxs: Longs
    ) -> tuple[Longs, Longs, Longs, Longs]:
        """One level, all nodes at once."""
        trie = self._trie
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
            self._ids.append(trie.order[ranks[ends]])
            self._states.append(after[ends])
            self._ctxs.append(at[ends])
        if self._is_full:
            nodes, after, at = self._settle(nodes, after, at)
        below = trie.children[nodes]
        inner = np.flatnonzero(below)
        level = trie.first[nodes[inner]], below[inner], after[inner], at[inner]
        return self._followed(level) if self._by_text else level

    def _followed(
        self, level: tuple[Longs, Longs, Longs, Longs]
    ) -> tuple[Longs, Longs, Longs, Longs]:
        """The level without states of few texts; what is behind those is walked."""
        has_texts = self._table.has_texts[level[2]]
        if not has_texts.any():
            return level
        lists = (column[has_texts].tolist() for column in level)
        self.run(self._step_few(list(zip(*lists, strict=True))))
        first, children, states, ctxs = (column[~has_texts] for column in level)
        return first, children, states, ctxs

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

    def _move(self, states: Longs, at: Longs, nodes: Longs) -> tuple[Longs, Longs]:
        """The byte of each node."""
        table = self._table
        byte = self._trie.byte[nodes]
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
            entries, at = self._act(entries, at, nodes, acting)
        return entries, at

    def _fill(self, states: Longs) -> None:
        table = self._table
        missing = states[~table.is_flat[states]]
        if len(missing):
            for number in np.unique(missing).tolist():
                table.flatten(number)

    def _act(self, entries: Longs, at: Longs, nodes: Longs, acting: Longs) -> tuple[Longs, Longs]:
        table, byte = self._table, self._trie.byte[nodes]
        at = at.copy()
        while len(acting):
            stacks = at[acting] >> COUNT_BITS
            pairs = (-entries[acting] << 40) | stacks
            unique, where = np.unique(pairs, return_inverse=True)
            done = [self._one(-(p >> 40), p & ((1 << 40) - 1)) for p in unique.tolist()]
            results = np.array(done, np.int64)[where]
            for number, _, is_again in set(done):
                if number and isinstance(table.states[number], Outlet):
                    ended = (results[:, 0] == number) & (results[:, 2] == is_again)
                    for node in nodes[acting[ended]].tolist():
                        self._is_exit(node, number, again=is_again)
                    results[ended, 0] = 0
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
