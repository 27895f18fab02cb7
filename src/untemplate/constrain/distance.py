r"""How many tokens the nearest end is away, and the way there.

    distance.tokens(state, ctx)     # -> 7

From every configuration there is one chosen way to the end: of the bytes allowed, the one whose
target is nearest, the smallest of several. It depends on the configuration alone, so the way from a
place on it is the rest of it. `tokens` is the fewest tokens that spell this way, the end token
included. It is never below the true minimum, and the first of those tokens lowers it by one.
"""

from untemplate.constrain.envelope import Finished
from untemplate.constrain.table import Table
from untemplate.constrain.trie import TokenTrie

__all__ = ["Distance"]

SYMBOL = 256
"""Symbols stand behind the bytes in a way: token id + SYMBOL."""

_FAR = 1 << 30
_MOST_WAYS = 100_000


class Distance:
    """Ways and distances in one table; owned by who owns the table."""

    def __init__(self, table: Table, tokens: TokenTrie) -> None:
        self._table = table
        self._tokens = tokens
        self._next: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._found: dict[tuple[int, int], int] = {}

    def tokens(self, number: int, ctx: int) -> int:
        """Fewest tokens that spell the way to the end; very many if the vocabulary can't."""
        found = self._found.get((number, ctx))
        if found is None:
            self._measure(number, ctx)
            found = self._found[number, ctx]
        return found

    def way(self, number: int, ctx: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Bytes and symbols to the end, and the configurations before each and at the end."""
        steps: list[int] = []
        at = [(number, ctx)]
        while not isinstance(self._table.states[number], Finished):
            symbol, number, ctx = self._step(number, ctx)
            steps.append(symbol)
            at.append((number, ctx))
        return steps, at

    def _measure(self, number: int, ctx: int) -> None:
        if len(self._found) > _MOST_WAYS:
            self._found.clear()
            self._next.clear()
        steps, at = self.way(number, ctx)
        ids = self._tokens.ids
        # What costs drop beyond the byte that was written was kept for what may not repeat.
        totals = [self._table.total(*where) for where in at]
        distances = [_FAR] * len(at)
        distances[-1] = 0
        for i in range(len(steps) - 1, -1, -1):
            known = self._found.get(at[i])
            if known is not None:
                distances[i] = known
                continue
            if steps[i] >= SYMBOL:
                distances[i] = 1 + distances[i + 1]
            else:
                piece = bytearray()
                spare = 0
                for j in range(i, len(steps)):
                    if steps[j] >= SYMBOL:
                        break
                    piece.append(steps[j])
                    data = bytes(piece)
                    spare += max(totals[j] - totals[j + 1] - 1, 0)
                    if data in ids:
                        distances[i] = min(distances[i], 1 + spare + distances[j + 1])
                    if not self._tokens.has_longer(data):
                        break
            self._found[at[i]] = distances[i]
        self._found[at[-1]] = 0

    def _step(self, number: int, ctx: int) -> tuple[int, int, int]:
        key = (number, ctx)
        found = self._next.get(key)
        if found is None:
            found = self._next[key] = self._choose(number, ctx)
        return found

    def _choose(self, number: int, ctx: int) -> tuple[int, int, int]:
        table = self._table
        best: tuple[int, int, int, int, int] | None = None
        for token_id in sorted(table.symbols(number, ctx)):
            target = table.step_symbol(number, ctx, token_id)
            if target[0]:
                option = (0, table.total(*target), token_id + SYMBOL, *target)
                best = option if best is None else min(best, option)
        for byte in table.distinct_bytes(number, self._tokens.single):
            target = table.step(number, ctx, byte)
            if target[0]:
                spells = int(byte not in self._tokens.single)
                option = (spells, table.total(*target), byte, *target)
                best = option if best is None else min(best, option)
        assert best is not None, "a live state has a way on"
        return best[2:]
