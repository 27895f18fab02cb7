"""What a walk finds, and how far that holds for other configurations.

    found = Findings(table, trie, ctx)
    found.few.append((rank, number, ctx))      # a token is allowed, and where it leads
    found.act(entry, stack)                    # an action, and how far down the stack it looked
    found.uses(3)                              # three characters were counted
    found.ids(), found.targets()               # the tokens, and where they lead

A walk finds tokens in several ways: one by one, a level at once, all that stay in a loop, a mask of
those that stay in a fragment. They are only gathered here, and become arrays once, at the end.
What holds of a configuration holds of others too: of all whose stack is the same as far down as an
action looked (`depth`), and that have more characters left than were counted (`used`).

Which tokens there are is not decided here: `walk` goes from node to node, `levels` over many.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.fragments import Exit, Outlet
from untemplate.constrain.table import COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import Loop, Trie

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

__all__ = ["Findings"]

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
_CTX_BITS = 40


class Findings:
    """What one walk has found so far."""

    def __init__(self, table: Table, trie: Trie, ctx: int) -> None:
        """Nothing yet of a walk of `trie` from `ctx`."""
        self._table = table
        self._trie = trie
        self._ctx = ctx
        self._depth = table.depths[ctx >> COUNT_BITS]
        self._lowest = self._depth
        self.used = 0
        """How many characters were counted: it holds where more are left."""
        self.few: list[tuple[int, int, int]] = []
        """Rank, state and ctx of tokens found one by one."""
        self.ranks: list[int] = []
        """Ranks of tokens that end where one way alone is allowed."""
        self.many: list[tuple[Ints, Longs, Longs]] = []
        """Tokens found many at once, with the state and the ctx of each."""
        self.behind: list[tuple[Ints, AbstractSet[tuple[int, int]]]] = []
        """Tokens found by what they hold behind the end of a value, and where those lead."""
        self.loops: list[tuple[Ints, int, int]] = []
        """Tokens that stay in a loop, the state and the ctx of the loop before them."""
        self.rows: list[Ints] = []
        """Masks of the tokens that stay in a fragment."""
        self.rise = 0
        """How much farther from the end than before it a token of a fragment leads at most."""
        self.edges: list[tuple[int, int]] = []
        """States and ctxs in which fragments were entered."""
        self.is_whole = False
        """Whether the tokens that stay in the loop it begins in are among them."""
        self.exits: list[Exit] = []
        """Where the value of a fragment ended."""

    @property
    def depth(self) -> int:
        """How many frames down the stack was looked."""
        return self._depth - self._lowest

    def take(self, loop: Loop, nodes: Longs, number: int, at: Longs) -> None:
        """The tokens below nodes, all of which stay in a loop."""
        trie = self._trie
        has_below = trie.children[nodes] > 0
        nodes, at = nodes[has_below], at[has_below]
        for ctx in np.unique(at).tolist():
            chosen = nodes[at == ctx]
            low = trie.low[chosen] + (trie.rank[chosen] >= 0)
            size = trie.high[chosen] - low
            ahead = np.cumsum(size) - size
            ranks = np.repeat(low - ahead, size) + np.arange(int(size.sum()))
            self.loops.append((trie.order[ranks], number, ctx))
            if ctx & COUNT_MASK:
                self.uses(self.spent(ctx) + int(loop.characters[chosen].max()))

    def is_exit(self, node: int, number: int, *, again: bool) -> bool:
        """Whether the value of a fragment has ended; if so it is noted."""
        state = self._table.states[number]
        if not isinstance(state, Outlet):
            return False
        self.exits.append(Exit(node, state.result, is_read=not again))
        return True

    def act(self, entry: int, stack: int) -> tuple[int, int, bool]:
        """Does an action: the state and ctx it leads to, and whether the byte is read again."""
        table = self._table
        result = table.act(entry, stack << COUNT_BITS)
        if result[1] >> COUNT_BITS != stack:
            self.looks(table.depths[result[1] >> COUNT_BITS])
        if not result[0] and stack:
            self.looks(table.depths[stack] - 1)
        return result

    def looks(self, depth: int) -> None:
        """What is found holds only where the stack is the same from there up."""
        self._lowest = min(self._lowest, depth)

    def uses(self, count: int) -> None:
        """What is found holds only where more than this is left of the count."""
        self.used = max(self.used, count)

    def counts_to(self, ctxs: Longs) -> None:
        """Characters were counted on many ways, up to there."""
        own = ctxs[ctxs >> COUNT_BITS == self._ctx >> COUNT_BITS]
        if len(own):
            self.uses(self._ctx - int(own.min()))

    def spent(self, ctx: int) -> int:
        """Characters counted so far, if the count is still the one that the walk began with."""
        if ctx >> COUNT_BITS != self._ctx >> COUNT_BITS:
            return 0
        return max((self._ctx & COUNT_MASK) - (ctx & COUNT_MASK), 0)

    def ids(self) -> Ints:
        """Tokens that are allowed, but for those that stay in a loop or a fragment."""
        parts = [ids for ids, _, _ in self.many]
        parts += [ids for ids, _ in self.behind]
        if self.few or self.ranks:
            parts.append(self._trie.order[[*(rank for rank, _, _ in self.few), *self.ranks]])
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.zeros(0, np.int32)

    def tokens(self) -> tuple[Ints, Longs, Longs]:
        """The same with the state and the ctx that each leads to, of a walk to all states."""
        assert not self.ranks
        assert not self.behind
        ranks, numbers, ctxs = np.array(self.few, np.int64).reshape(-1, 3).T
        parts = [*self.many, (self._trie.order[ranks], numbers, ctxs)]
        ids, *at = (np.concatenate(column) for column in zip(*parts, strict=True))
        return ids, at[0], at[1]

    def forget_ids(self) -> None:
        """Keeps only what `targets` asks for."""
        if self.many:
            self.behind.append((np.zeros(0, np.int32), self._targets_of_many()))
            self.many = []
        self.behind = [(ids[:0], targets) for ids, targets in self.behind]
        self.loops = [(ids[:0], number, ctx) for ids, number, ctx in self.loops]
        self.rows = []

    def targets(self) -> set[tuple[int, int]]:
        """States and ctxs that tokens lead to, but for insides of loops, fragments and texts."""
        found = {(number, ctx) for _, number, ctx in self.few}
        found.update((number, ctx) for _, number, ctx in self.loops)
        for _, targets in self.behind:
            found |= targets
        return found | self._targets_of_many() if self.many else found

    def _targets_of_many(self) -> set[tuple[int, int]]:
        keys = np.concatenate([numbers << _CTX_BITS | ctxs for _, numbers, ctxs in self.many])
        many: list[int] = np.unique(keys).tolist()
        return {(key >> _CTX_BITS, key & ((1 << _CTX_BITS) - 1)) for key in many}
