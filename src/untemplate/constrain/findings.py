"""What a walk finds, and how far that holds for other configurations.

    found = Findings(table, trie, ctx)
    found.few.append((rank, number, ctx))      # a token is allowed, and where it leads
    found.act(entry, stack)                    # an action, and how far down the stack it looked
    found.uses(3)                              # three characters were counted
    found.walked()                             # all of it, as arrays

A walk finds tokens in several ways: one by one, a level at once, all that stay in a loop, a mask of
those that stay in a fragment. They are only gathered here, and become arrays once, at the end.
What holds of a configuration holds of others too: of all whose stack is the same as far down as an
action looked (`depth`), and that have more characters left than were counted (`used`).

Which tokens there are is not decided here: `walk` goes from node to node, `levels` over many.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.fragments import Exit, Outlet
from untemplate.constrain.table import COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import Loop, Trie

__all__ = ["Findings", "Walked"]

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
    """How many frames down the stack was looked."""
    used: int
    """How many characters were counted: it holds where more are left."""


class Findings:
    """What one walk has found so far."""

    def __init__(self, table: Table, trie: Trie, ctx: int, *, is_exact: bool) -> None:
        """Nothing yet of a walk of `trie` from `ctx`; `is_exact`: keeps the state of each token."""
        self._table = table
        self._trie = trie
        self._ctx = ctx
        self._is_exact = is_exact
        self._depth = table.depths[ctx >> COUNT_BITS]
        self._lowest = self._depth
        self._used = 0
        self.few: list[tuple[int, int, int]] = []
        """Rank, state and ctx of tokens found one by one."""
        self.ranks: list[int] = []
        """Ranks of tokens that end where one way alone is allowed."""
        self.ids: list[NDArray[np.int32]] = []
        """Tokens found many at once."""
        self.states: list[Longs] = []
        self.ctxs: list[Longs] = []
        self.targets: set[tuple[int, int]] = set()
        self.loops: list[tuple[NDArray[np.int32], int, int]] = []
        self.rows: list[NDArray[np.int32]] = []
        self.rise = 0
        self.edges: list[tuple[int, int]] = []
        self.is_whole = False
        self.exits: list[Exit] = []
        """Where the value of a fragment ended."""

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
        self._used = max(self._used, count)

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

    def walked(self) -> Walked:
        """All of it; to be asked once."""
        order, few, targets = self._trie.order, self.few, self.targets
        if self.states:
            keys = np.concatenate(self.states) << _CTX_BITS | np.concatenate(self.ctxs)
            many: list[int] = np.unique(keys).tolist()
            targets.update((key >> _CTX_BITS, key & ((1 << _CTX_BITS) - 1)) for key in many)
        targets.update((number, ctx) for _, number, ctx in few)
        targets.update((number, ctx) for _, number, ctx in self.loops)
        if few and self._is_exact:
            self.states.append(np.array([number for _, number, _ in few], np.int64))
            self.ctxs.append(np.array([ctx for _, _, ctx in few], np.int64))
        if few or self.ranks:
            self.ids.append(order[[*(rank for rank, _, _ in few), *self.ranks]])
        return Walked(
            np.concatenate(self.ids) if self.ids else np.zeros(0, np.int32),
            np.concatenate(self.states or [np.zeros(0, np.int64)]),
            np.concatenate(self.ctxs or [np.zeros(0, np.int64)]),
            targets,
            tuple(self.loops),
            tuple(self.rows),
            self.rise,
            tuple(self.edges),
            self.is_whole,
            self._depth - self._lowest,
            self._used,
        )
