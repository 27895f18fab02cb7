r"""Walks the trie of tokens from one configuration, level by level.

    found = walk(table, trie, state, ctx)
    found.ids(), found.targets()               # the allowed tokens, and where they lead

Down the trie it goes node by node, in plain Python; a level with many nodes is one step in numpy
(`levels`). Where a node stands in a loop that all tokens below it stay in, they are taken together
and not looked at. With `fragments` the inside of values that are alike in all grammars is not
walked either: `found.rows` holds masks of it.

`findings` gathers what is found on the way, and how far it holds: `found.depth` is how far down the
stack was looked, `found.used` how many characters were counted. A mask found here holds for every
configuration that is the same so far down and has more characters left.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.findings import Findings
from untemplate.constrain.fragments import Fragment, Fragments, Rests
from untemplate.constrain.levels import Level, WideLevels
from untemplate.constrain.table import COUNT, COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import TokenTrie, Trie

__all__ = ["walk", "walk_value"]


def walk(
    table: Table, tokens: TokenTrie, number: int, ctx: int, fragments: Fragments | None = None
) -> Findings:
    """All tokens that are allowed in a configuration, but those that `loop.rows` gives."""
    leaving = table.leaving[number]
    trie = tokens.full
    if leaving is not None:
        loop = tokens.loop(leaving)
        # Tokens longer than the count may go on behind it; they stay in the loop of no mask.
        is_short = table.counts(number) and ctx & COUNT_MASK < loop.most and table.goes_on(number)
        trie = tokens.full if is_short else loop.rest
    by_text = fragments is not None
    walking = _Walk(table, tokens, trie, ctx, fragments, by_text=by_text)
    found = walking.found
    found.is_whole = fragments is not None and (
        (table.is_shared[number] and walking.enter(-1, number, ctx))
        or walking.enter_beside(-1, number, ctx)
    )
    if leaving is not None and table.counts(number):
        found.uses(tokens.loop(leaving).most - 1)
    if not found.is_whole:
        walking.run([(0, trie.roots, number, ctx)])
    return found


def walk_value(
    table: Table, tokens: TokenTrie, number: int, ctx: int, node: int
) -> tuple[Findings, Trie]:
    """From inside a value on, behind a node of the whole trie (-1: its root), to its end.

    The frame is a hole. With the walk comes the trie that was walked.
    """
    leaving = table.leaving[number]
    is_loop = node < 0 and leaving is not None
    trie = tokens.loop(leaving).rest if is_loop and leaving is not None else tokens.full
    walking = _Walk(table, tokens, trie, ctx, None, by_text=False)
    if node < 0:
        walking.run([(0, trie.roots, number, ctx)])
    else:
        walking.run([(int(trie.first[node]), int(trie.children[node]), number, ctx)])
    return walking.found, trie


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
        ctx: int,
        fragments: Fragments | None,
        *,
        by_text: bool,
    ) -> None:
        """Sets up a walk.

        Args:
            table: the states.
            tokens: the vocabulary.
            trie: the tokens that are walked.
            ctx: where it begins.
            fragments: walks that need not be made again.
            by_text: states inside of texts are not found, so targets are not exact.
        """
        self._table = table
        self._tokens = tokens
        self._trie = trie
        self._fragments = fragments
        self._by_text = by_text
        self._is_full = trie is tokens.full
        self.found = Findings(table, trie, ctx)
        self._apart: set[int] = set()
        """Nodes that were taken in another way than the walk comes to them."""
        self._wide: WideLevels | None = None

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
            if self._wide is None:
                self._wide = WideLevels(
                    self._table, self._tokens, self._trie, self.found, self._apart
                )
            level = self._wide.step(first, children, states, ctxs)
            first, children, states, ctxs = self._followed(level) if self._by_text else level

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
        self.found.edges.append((number, ctx))
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
        found = self.found
        found.rows.append(row)
        found.edges.append((number, ctx))
        found.rise = max(found.rise, fragment.rise)
        if count:
            found.uses(found.spent(ctx) + fragment.used)
        self._leave(fragment, ctx >> COUNT_BITS, gone)
        return True

    def _leave(self, fragment: Fragment, stack: int, gone: NDArray[np.bool_] | None) -> None:
        """What stands behind the end of a value that is the same in all grammars."""
        table = self._table
        if not stack:
            return
        parent = table.parents[stack]
        self.found.looks(table.depths[parent])
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
        table, trie, found, (number, ctx) = self._table, rests.trie, self.found, at
        whole = rests.whole if gone is None else rests.whole[~gone[rests.whole]]
        if len(whole):
            found.behind.append((whole, {at}))
        inner = _Walk(table, self._tokens, trie, ctx, None, by_text=self._by_text)
        inner.run([(0, trie.roots, number, ctx)])
        walked = inner.found
        found.edges += walked.edges
        numbers: list[int] = walked.ids().tolist()
        if numbers:
            ids = np.concatenate([rests.ids[number] for number in numbers])
            ids = ids if gone is None else ids[~gone[ids]]
            found.behind.append((ids, walked.targets()))
        found.looks(table.depths[ctx >> COUNT_BITS] - walked.depth)

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
        following: list[tuple[int, int, int, int]] = []
        for first, count, number, ctx in small:
            if table.has_texts[number] and self._by_text:
                self._follow((first, count, number, ctx), following)
                continue
            row = table.row(number)
            if len(row) <= count:
                for byte, entry in row.items():
                    node = data.find(byte, first, first + count)
                    if node >= 0:
                        self._visit(node, entry, byte, ctx, following)
            else:
                for node in range(first, first + count):
                    byte = data[node]
                    entry = row.get(byte, 0)
                    if entry:
                        self._visit(node, entry, byte, ctx, following)
        return following

    def _follow(
        self, at: tuple[int, int, int, int], following: list[tuple[int, int, int, int]]
    ) -> None:
        """Down the trie where few texts may follow, or few that differ from a shadow."""
        first, count, number, ctx = at
        shadow = self._table.shadow(number)
        for node, byte, entry in self._ends(first, count, number):
            if entry:
                self._visit(node, entry, byte, ctx, following)
            if shadow:
                self._apart.add(node)
        self.found.edges.append((number, ctx))
        if shadow:
            following += self._step_few([(first, count, shadow, ctx)])

    def _ends(self, first: int, count: int, number: int) -> list[tuple[int, int, int]]:
        """Nodes at which texts end, with their last byte and its entry.

        Tokens that end inside of texts are noted on the way, unless a shadow has them too.
        """
        table, trie = self._table, self._trie
        is_all = not table.shadow(number)
        ends: list[tuple[int, int, int]] = []
        for data, entry in table.texts(number):
            low, size = first, count
            for byte in data[:-1]:
                node = trie.data.find(byte, low, low + size)
                if node < 0:
                    break
                rank = trie.rank.item(node) if is_all else -1
                if rank >= 0:
                    self.found.ranks.append(rank)
                low, size = trie.first.item(node), trie.children.item(node)
                if not size:
                    break
            else:
                node = trie.data.find(data[-1], low, low + size)
                if node >= 0:
                    ends.append((node, data[-1], entry))
        return ends

    def _visit(
        self,
        node: int,
        entry: int,
        byte: int,
        ctx: int,
        following: list[tuple[int, int, int, int]],
    ) -> None:
        table, trie = self._table, self._trie
        if node in self._apart:
            return
        while entry < 0:
            number, ctx, again = self.found.act(entry, ctx >> COUNT_BITS)
            if not number or self.found.is_exit(node, number, again=again):
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
                self.found.uses(self.found.spent(ctx))
                if not number:
                    return
        rank = trie.rank.item(node)
        if rank >= 0:
            self.found.few.append((rank, number, ctx))
        count = trie.children.item(node)
        if not count:
            return
        if self._is_entered(node, number, ctx):
            return
        leaving = table.leaving[number]
        if self._is_full and leaving is not None:
            loop = self._tokens.loop(leaving)
            if loop.clean[node] and (
                not table.counts(number) or loop.characters[node] <= ctx & COUNT_MASK
            ):
                self.found.take(loop, np.array([node]), number, np.array([ctx]))
                return
        following.append((trie.first.item(node), count, number, ctx))

    def _followed(self, level: Level) -> Level:
        """The level without states of few texts; what is behind those is walked."""
        columns = self._table.columns
        columns.update()
        has_texts = columns.has_texts[level[2]]
        if not has_texts.any():
            return level
        lists = (column[has_texts].tolist() for column in level)
        self.run(self._step_few(list(zip(*lists, strict=True))))
        first, children, states, ctxs = (column[~has_texts] for column in level)
        return first, children, states, ctxs
