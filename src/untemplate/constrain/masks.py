r"""Masks of configurations, each computed once and kept.

A mask depends on the state, on so many frames of the stack as its walk looked at, and on the
count as far as a token may use it up. So a mask is found by what its walk depended on, and a new
configuration shares that of one which differs only where no token reaches.

Masks are int32 words, the lowest bit of the first word for token 0, as vLLM, xgrammar and
llguidance lay them out.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.distance import Distance
from untemplate.constrain.envelope import Finished
from untemplate.constrain.findings import Findings
from untemplate.constrain.fragments import fragments_of
from untemplate.constrain.table import COUNT_BITS, COUNT_MASK, Table
from untemplate.constrain.trie import TokenTrie
from untemplate.constrain.walk import walk

__all__ = ["MaskStatistics", "Masks"]

Row = NDArray[np.int32]

_CUT = 4
"""Bytes that may end a character which a token cut, and one more."""
_NEVER = 1 << 40
"""More tokens than are ever left."""


@dataclass(slots=True)
class MaskStatistics:
    """What a mask cache holds and how it was used."""

    walks: int = 0
    """Masks computed from nothing."""
    shared: int = 0
    """Masks of new configurations taken from another one."""
    rows: int = 0
    """Different masks held."""
    bytes: int = 0


class Mask:
    """What a walk from one configuration found, as far as it holds for others."""

    __slots__ = (
        "ctx", "depth", "far", "found", "is_whole", "row", "rows", "used",
    )  # fmt: skip

    def __init__(
        self,
        row: Row,
        ctx: int,
        found: Findings,
    ) -> None:
        self.row = row
        """Without the tokens of the loop that it begins in, unless it is whole."""
        self.rows: dict[int, Row] = {}
        """With them, by the mask of the loop."""
        self.is_whole = found.is_whole
        self.used = found.used
        """How much of the count a token may use."""
        self.depth = found.depth
        self.ctx = ctx
        """Of the configuration that was walked."""
        self.found: Findings | None = found
        """Where its tokens lead, until `far` was asked."""
        self.far: int | None = None
        """Most bytes from a target to the end, less what `Masks._behind` says."""


@lru_cache(maxsize=8)
def _weights(words: int) -> Row:
    """For each word of a row an odd number without a pattern."""
    return np.random.default_rng(words).integers(-(1 << 30), 1 << 30, words, np.int32) * 2 + 1


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
    ) -> None:
        self.statistics = MaskStatistics()
        self._table = table
        self._tokens = tokens
        self._fragments = fragments_of(tokens)
        self._distance = distance
        self._markers = sorted(markers)
        self._plain = ~tokens.row_of(self._markers)
        """All tokens but the markers."""
        self._end_row = tokens.row_of(sorted(ends))
        self._shared: dict[tuple[int, int, tuple[int, ...], int], Mask] = {}
        self._depths: dict[int, list[int]] = {}
        self._loop_rows: dict[tuple[bytes, int], Row] = {}
        self._rows: dict[int, list[Row]] = {}
        """Rows by a number that equal ones share."""
        self._weights = _weights(tokens.words)

    def row(self, number: int, ctx: int) -> Row:
        """The mask of a configuration. It is never empty, and not to be changed."""
        if isinstance(self._table.states[number], Finished):
            return self._end_row
        mask = self._mask(number, ctx)
        leaving = self._table.leaving[number]
        if leaving is None or mask.is_whole:
            return mask.row
        # Beside the tokens that leave the loop those that stay in it, as far as the count goes.
        loop = self._loop_row(number, ctx, leaving)
        found = mask.rows.get(id(loop))
        if found is None:
            found = mask.rows[id(loop)] = self.kept(mask.row | loop)
        return found

    def forget(self) -> None:
        """Drops all masks."""
        self._shared = {}
        self._depths = {}
        self._rows = {}
        self.statistics.rows = self.statistics.bytes = 0

    def kept(self, row: Row) -> Row:
        """The same row as one object for all places: of ten places nine have that of another.

        What is copied again and again stays in the caches of the processor then.
        """
        alike = self._rows.setdefault(int(row.dot(self._weights)), [])
        for found in alike:
            if np.array_equal(found, row):
                return found
        alike.append(row)
        self.statistics.rows += 1
        self.statistics.bytes += row.nbytes
        return row

    def _loop_row(self, number: int, ctx: int, leaving: bytes) -> Row:
        """Tokens that stay in the loop, as far as the count goes."""
        loop = self._tokens.loop(leaving)
        most = loop.most
        if self._table.counts(number):
            most = min(ctx & COUNT_MASK, most)
        found = self._loop_rows.get((leaving, most))
        if found is None:
            found = self._loop_rows[leaving, most] = loop.row(most) & self._plain
        return found

    # --------------------------------------------------------------------------------------- walks

    def _mask(self, number: int, ctx: int) -> Mask:
        found = self._lookup(number, ctx)
        if found is None:
            self.statistics.walks += 1
            return self._walked(number, ctx)
        self.statistics.shared += 1
        return found

    def _lookup(self, number: int, ctx: int) -> Mask | None:
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

    def _walked(self, number: int, ctx: int) -> Mask:
        table = self._table
        found = walk(table, self._tokens, number, ctx, self._fragments)
        symbols = table.symbols(number, ctx)
        ids = found.ids()
        if found.loops:
            ids = np.concatenate([ids, *(inside for inside, _, _ in found.loops)])
        row = self._tokens.row_of(ids)
        for inner in found.rows:
            row |= inner
        row &= self._plain
        if symbols:
            row |= self._tokens.row_of(list(symbols))
        count = ctx & COUNT_MASK
        found.forget_ids()
        mask = Mask(self.kept(row), ctx, found)
        depths = self._depths.setdefault(number, [])
        if found.depth not in depths:
            depths.append(found.depth)
        is_far = count > found.used and count
        frames = self._frames(ctx, found.depth)
        self._shared[number, found.depth, frames, -1 if is_far else count] = mask
        return mask

    # -------------------------------------------------------------------------------------- budget

    def far(self, number: int, ctx: int) -> int:
        """With more tokens left than this every token of the mask leads to an end in time."""
        if isinstance(self._table.states[number], Finished):
            return -1
        mask = self._mask(number, ctx)
        if mask.far is None:
            mask.far = self._farthest(number, mask)
            mask.found = None
        return mask.far + self._behind(number, ctx, mask.depth) + _CUT

    def _farthest(self, number: int, mask: Mask) -> int:
        """Most bytes from where a token of a mask leads to the end, less what `_behind` says."""
        table, found = self._table, mask.found
        assert found is not None
        targets = found.targets()
        targets.update(
            table.step_symbol(number, mask.ctx, t) for t in table.symbols(number, mask.ctx)
        )
        targets.add((number, mask.ctx))
        if table.has_memory and any(map(self._is_underrated, (*targets, *found.edges))):
            return _NEVER
        worst = max(table.total(*target) for target in targets)
        edges = (table.total(*e) + max(found.rise, table.rise(e[0])) for e in found.edges)
        return max(worst, *edges, 0) - self._behind(number, mask.ctx, mask.depth)

    def _is_underrated(self, at: tuple[int, int]) -> bool:
        """Whether the bytes that a state tells are too few for the tokens of its way.

        Only where keys or items have to be told apart: what is kept for that may come up late.
        """
        return self._distance.tokens(*at) > self._table.total(*at)

    def _behind(self, number: int, ctx: int, depth: int) -> int:
        """What counts alike for all targets: the frames that were not looked at, and the count."""
        table, stack = self._table, ctx >> COUNT_BITS
        for _ in range(depth):
            stack = table.parents[stack]
        return table.after[stack] + table.slope[number] * (ctx & COUNT_MASK)

    def within(self, number: int, ctx: int, remaining: int) -> Row:
        """The mask with so many tokens left: only tokens from which an end can still be reached.

        With fewer than the nearest end needs, the tokens on the nearest way remain.
        """
        left = max(remaining, self._distance.tokens(number, ctx)) - 1
        row = self.row(number, ctx)
        found = walk(self._table, self._tokens, number, ctx)
        loops = (ids for ids, state, at in found.loops if self._loop_is_near(state, at, left))
        near = self._tokens.row_of(np.concatenate([self._near(found, left), *loops]))
        near &= self._plain
        symbols = [
            token_id
            for token_id in self._table.symbols(number, ctx)
            if self._is_near(self._table.step_symbol(number, ctx, token_id), left)
        ]
        if symbols:
            near |= self._tokens.row_of(symbols)
        leaving = self._table.leaving[number]
        if leaving is not None:
            near |= self._near_loop(number, ctx, leaving, left)
        return self.kept(near & row)

    def _is_near(self, target: tuple[int, int], left: int) -> bool:
        return bool(target[0]) and self._distance.tokens(*target) <= left

    def _near(self, found: Findings, left: int) -> NDArray[np.int32]:
        ids, states, ctxs = found.tokens()
        keys = np.stack((states, ctxs), axis=1)
        targets, where = np.unique(keys, axis=0, return_inverse=True)
        near = np.array(
            [self._distance.tokens(s, c) <= left for s, c in targets.tolist()], np.bool_
        )
        return ids[near[where.ravel()]] if len(targets) else ids

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
