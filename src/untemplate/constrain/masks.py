r"""Masks of configurations, each computed once and kept.

A mask depends on the state, on so many frames of the stack as its walk looked at, and on the
count as far as a token may use it up. Two dictionaries say that: one by exact configuration, which
makes a place met before one lookup and one copy; one by what the walk depended on, which lets a new
configuration share the mask of one that differs only where no token reaches.

Masks are int32 words, the lowest bit of the first word for token 0, as vLLM, xgrammar and
llguidance lay them out.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.distance import Distance
from untemplate.constrain.envelope import Finished
from untemplate.constrain.table import COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import TokenTrie
from untemplate.constrain.walk import Walked, walk

if TYPE_CHECKING:
    from untemplate.constrain.memory import Memory

__all__ = ["MaskStatistics", "Masks", "apply_mask"]

Row = NDArray[np.int32]


@dataclass(slots=True)
class MaskStatistics:
    """What a mask cache holds and how it was used."""

    walks: int = 0
    """Masks computed from nothing."""
    shared: int = 0
    """Masks of new configurations taken from another one."""
    rows: int = 0
    """Masks held."""
    bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Mask:
    """A mask without the tokens of the loop that it begins in."""

    row: Row
    used: int
    """How much of the count a token may use."""
    count: int
    depth: int


class Masks:
    """The masks of one table in one vocabulary; owned by who owns the table."""

    def __init__(
        self,
        table: Table,
        tokens: TokenTrie,
        distance: Distance,
        *,
        markers: frozenset[int],
        ends: frozenset[int],
        most_bytes: int,
    ) -> None:
        self.statistics = MaskStatistics()
        self._table = table
        self._tokens = tokens
        self._distance = distance
        self._markers = np.array(sorted(markers), np.int64)
        self._ends = sorted(ends)
        self._most_bytes = most_bytes
        self.rows: dict[tuple[int, int, Memory | None], Row] = {}
        """By configuration without a memory; may be read without the lock."""
        self._shared: dict[tuple[int, int, tuple[int, ...], int], _Mask] = {}
        self._depths: dict[int, list[int]] = {}

    def row(self, number: int, ctx: int) -> Row:
        """The mask of a configuration. It is never empty, and not to be changed."""
        found = self.rows.get((number, ctx, None))
        if found is None:
            found = self._composed(number, ctx)
            self._keep((number, ctx, None), found)
        return found

    def _keep(self, key: tuple[int, int, None], row: Row) -> None:
        statistics = self.statistics
        self.rows[key] = row
        statistics.rows += 1
        statistics.bytes += row.nbytes
        if statistics.bytes > self._most_bytes:
            self.rows.clear()
            self._shared.clear()
            self._depths.clear()
            statistics.rows = statistics.bytes = 0

    def _composed(self, number: int, ctx: int) -> Row:
        if isinstance(self._table.states[number], Finished):
            return self._tokens.row_of(self._ends)
        mask = self._lookup(number, ctx)
        if mask is None:
            mask = self._walked(number, ctx)
            self.statistics.walks += 1
        else:
            self.statistics.shared += 1
        leaving = self._table.leaving[number]
        if leaving is None:
            return mask.row
        return mask.row | self._loop_row(number, ctx, leaving)

    def _loop_row(self, number: int, ctx: int, leaving: bytes) -> Row:
        """Tokens that stay in the loop, as far as the count goes."""
        loop = self._tokens.loop(leaving)
        is_counted = self._table.counts(number)
        return self._without_markers(loop.row(ctx & COUNT_MASK if is_counted else None))

    def _without_markers(self, row: Row) -> Row:
        if not len(self._markers):
            return row
        bits = np.zeros(len(row) * 32, np.bool_)
        bits[self._markers] = True
        return row & ~np.packbits(bits, bitorder="little").view(np.int32)

    def _lookup(self, number: int, ctx: int) -> _Mask | None:
        count = ctx & COUNT_MASK
        for depth in self._depths.get(number, ()):
            frames = self._frames(ctx, depth)
            exact = self._shared.get((number, depth, frames, count))
            if exact is not None:
                return exact
            far = self._shared.get((number, depth, frames, -1))
            if far is not None and count > far.used:
                return far
        return None

    def _frames(self, ctx: int, depth: int) -> tuple[int, ...]:
        table, stack = self._table, ctx >> COUNT_BITS
        found: list[int] = []
        for _ in range(depth):
            found.append(table.frames[stack])
            stack = table.parents[stack]
        return tuple(found)

    def _walked(self, number: int, ctx: int) -> _Mask:
        found = walk(self._table, self._tokens, number, ctx)
        bits = np.zeros(self._tokens.words * 32, np.bool_)
        bits[found.ids] = True
        for ids, _, _ in found.loops:
            bits[ids] = True
        twins = self._tokens.twins
        if len(twins):
            bits[twins[:, 1]] |= bits[twins[:, 0]]
        bits[self._markers] = False
        for token_id in self._table.symbols(number, ctx):
            bits[token_id] = True
        row = np.packbits(bits, bitorder="little").view(np.int32)
        count = ctx & COUNT_MASK
        mask = _Mask(row, found.used, count, found.depth)
        depths = self._depths.setdefault(number, [])
        if found.depth not in depths:
            depths.append(found.depth)
        is_far = count > found.used or not count
        key = (
            number,
            found.depth,
            self._frames(ctx, found.depth),
            -1 if is_far and count else count,
        )
        self._shared[key] = mask
        self.statistics.bytes += row.nbytes
        return mask

    # -------------------------------------------------------------------------------------- budget

    def within(self, number: int, ctx: int, remaining: int) -> Row:
        """The mask with so many tokens left: only tokens from which an end can still be reached.

        With fewer than the nearest end needs, the tokens on the nearest way remain.
        """
        left = max(remaining, self._distance.tokens(number, ctx)) - 1
        row = self.row(number, ctx)
        if isinstance(self._table.states[number], Finished):
            return row
        found = walk(self._table, self._tokens, number, ctx)
        if left >= self._worst(found, number, ctx):
            return row
        bits = np.zeros(self._tokens.words * 32, np.bool_)
        bits[self._near(found, left)] = True
        for ids, state, at in found.loops:
            if self._loop_is_near(state, at, left):
                bits[ids] = True
        for token_id in self._table.symbols(number, ctx):
            target = self._table.step_symbol(number, ctx, token_id)
            bits[token_id] = bool(target[0]) and self._distance.tokens(*target) <= left
        twins = self._tokens.twins
        if len(twins):
            bits[twins[:, 1]] |= bits[twins[:, 0]]
        near = np.packbits(bits, bitorder="little").view(np.int32)
        leaving = self._table.leaving[number]
        if leaving is not None:
            near |= self._near_loop(number, ctx, leaving, left)
        return row & near

    def _worst(self, found: Walked, number: int, ctx: int) -> int:
        """More bytes than any target is away from the end."""
        table = self._table
        pairs = set(zip(found.states.tolist(), found.ctxs.tolist(), strict=True))
        pairs.update((state, at) for _, state, at in found.loops)
        pairs.add((number, ctx))
        pairs.update(
            table.step_symbol(number, ctx, token_id) for token_id in table.symbols(number, ctx)
        )
        return max(table.total(*p) for p in pairs) + 4

    def _near(self, found: Walked, left: int) -> NDArray[np.int32]:
        keys = np.stack((found.states, found.ctxs), axis=1)
        targets, where = np.unique(keys, axis=0, return_inverse=True)
        near = np.array(
            [self._distance.tokens(s, c) <= left for s, c in targets.tolist()], np.bool_
        )
        return found.ids[near[where.ravel()]] if len(targets) else found.ids

    def _loop_is_near(self, number: int, ctx: int, left: int) -> bool:
        # Up to three bytes end a character that the token cut.
        if self._table.slope[number]:
            return self._table.total(number, ctx) + 3 <= left
        return self._distance.tokens(number, ctx) + 3 <= left

    def _near_loop(self, number: int, ctx: int, leaving: bytes, left: int) -> Row:
        loop = self._tokens.loop(leaving)
        row = self._loop_row(number, ctx, leaving)
        if self._loop_is_near(number, ctx, left):
            return row
        whole = loop.whole
        if not self._table.slope[number]:
            if self._distance.tokens(number, ctx) <= left:
                return row & whole
            return np.zeros_like(row)
        # Each character that has to be written brings the end nearer.
        near = np.zeros_like(row)
        for size in range(1, min(ctx & COUNT_MASK, loop.most) + 1):
            state = self._table.at_zero(number) if size == ctx & COUNT_MASK else number
            if self._distance.tokens(state, ctx - size) <= left:
                near |= loop.row(size) & ~loop.row(size - 1)
        return near & row & whole


def apply_mask(logits: NDArray[np.float32], row: Row) -> None:
    """Sets the logits of all tokens that are not allowed to minus infinity, in place."""
    refused = np.unpackbits(~row.view(np.uint8), count=logits.size, bitorder="little")
    np.copyto(logits, np.float32(-np.inf), where=refused.view(np.bool_))
