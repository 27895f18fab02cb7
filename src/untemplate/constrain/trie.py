r"""The tokens of a vocabulary as a trie in flat arrays, for walks that go level by level.

In: a `Vocabulary`. Out: arrays over the nodes of the trie, numbered level by level, so that the
nodes of a level are a range and the children of a node are a range of the next level:

    tokens  0 "a"  1 "ab"  2 "b"        node  byte  token  first child, number of children
                                        0     a     "a"    2, 1
    level 1: nodes 0, 1                 1     b     "b"    3, 0
    level 2: node 2                     2     b     "ab"   3, 0

Special, unused and empty tokens are not in it: those are allowed one by one, by id. Several ids may
spell the same bytes; the trie holds the first, and `twins` the others.

A `Loop` is what makes masks of free text cheap: in most places of free text nearly every token
leads back to where it started. For a set of bytes that leave the loop (`"` and `\`, say) it knows
which tokens hold none of them and no broken UTF-8, by number of characters, and a trie of the rest.

It knows nothing of grammars. Tries are cached by the digest of the vocabulary; building one for
150,000 tokens takes about half a second, once. `trie_store` keeps them from process to process.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from untemplate.vocabulary import TokenKind, Vocabulary

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping

__all__ = ["Loop", "TokenTrie", "Trie", "mask_words", "token_trie", "trie_of"]

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]


def mask_words(size: int) -> int:
    """How many int32 words a mask over `size` tokens has."""
    return (size + 31) // 32


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """Nodes in order of their level, and what a loop needs to know of them."""

    byte: Longs
    data: bytes
    """The same as bytes."""
    rank: Longs
    """Place in `order` of the token that ends here, or -1."""
    first: Longs
    """First child."""
    children: Longs
    """Number of children."""
    levels: tuple[int, ...]
    """Node at which each level begins; the last element is the number of nodes."""
    low: Longs
    """Where the tokens at and below a node begin in `order`."""
    high: Longs
    order: Ints
    """Token ids sorted by their bytes."""

    @property
    def roots(self) -> int:
        """How many nodes the first level has."""
        return self.levels[1] if len(self.levels) > 1 else 0

    @property
    def size(self) -> int:
        """In bytes."""
        arrays = (self.byte, self.rank, self.first, self.children, self.low, self.high, self.order)
        return sum(a.nbytes for a in arrays) + len(self.data)

    def find(self, text: bytes, first: int, count: int) -> int:
        """The node at the end of a text, from one of some neighbours on; -1: there is none."""
        node = -1
        for byte in text:
            node = self.data.find(byte, first, first + count)
            if node < 0:
                break
            first, count = self.first.item(node), self.children.item(node)
        return node

    def depth(self, node: int) -> int:
        """How many bytes lead to a node."""
        return bisect_right(self.levels, node)


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """What free text that a few bytes leave looks like in one vocabulary."""

    clean: Bools
    """For each node of the whole trie: every token below stays in the loop."""
    characters: Longs
    """For each node of the whole trie: most characters that a token below adds to it."""
    rest: Trie
    """The tokens that do not stay in the loop."""
    whole: Ints
    """Mask of the tokens that do not end inside a character."""
    most: int
    """Most characters of a token that stays in the loop."""
    _ids: Ints
    _counts: Longs
    _rows: dict[int, Ints]
    _row_of: "Callable[[Ints], Ints]"

    def row(self, most: int | None = None) -> Ints:
        """Mask of the tokens that stay in the loop and add at most so many characters."""
        size = self.most if most is None else min(most, self.most)
        found = self._rows.get(size)
        if found is None:
            found = self._rows[size] = self._row_of(self._ids[self._counts <= size])
        return found


_FEW = 64
"""So many bits are set one by one rather than all packed anew."""
_NODES = ("byte", "rank", "first", "children", "low", "high")
"""Arrays of numbers over the nodes of a `Trie`."""


class TokenTrie:
    """The trie of one vocabulary, and its loops."""

    def __init__(self, vocabulary: Vocabulary, kept: "Mapping[str, Ints] | None" = None) -> None:
        """Builds the trie, or takes what is slow to build from the `arrays` of an equal one."""
        self.size = vocabulary.size
        self.words = mask_words(vocabulary.size)
        self.data = vocabulary.tokens
        """Bytes of each token, by id."""
        if kept is None:
            self.ids, twins = _first_ids(vocabulary)
            self.sorted = sorted(self.ids)
            self._order = np.array([self.ids[t] for t in self.sorted], np.int32)
            self.twins = np.array(twins, np.int32).reshape(-1, 2)
        else:
            self.twins, self._order = kept["twins"], kept["order"]
            order: list[int] = self._order.tolist()
            self.sorted = [self.data[i] for i in order]
            self.ids = dict(zip(self.sorted, order, strict=True))
        self.longest = max(map(len, self.sorted), default=0)
        """Bytes of the longest token."""
        self.single = frozenset(data[0] for data in self.sorted if len(data) == 1)
        """Bytes that are tokens of their own."""
        self._flat, self._lengths, self._starts = _flatten(self.sorted)
        self._loops: dict[bytes, Loop] = {}
        self._position = np.arange(len(self._flat)) - np.repeat(self._starts, self._lengths)
        is_lead = (self._flat & 0xC0) != 0x80
        self._counts = np.add.reduceat(is_lead.astype(np.int64), self._starts)
        if kept is None:
            self.full = trie_of(self.sorted, self._order)
            self._broken = _broken(self._flat, self._lengths)
            self._whole = self.row_of([self.ids[t] for t in self.sorted if _is_whole(t)])
        else:
            levels: list[int] = kept["levels"].tolist()
            data = kept["byte"].astype(np.uint8).tobytes()
            nodes = {name: kept[name].astype(np.int64) for name in _NODES}
            self.full = Trie(data=data, levels=tuple(levels), order=self._order, **nodes)
            self._broken = np.zeros(len(self._flat), np.bool_)
            self._broken[kept["broken"]] = True
            self._whole = kept["whole"]

    def arrays(self) -> dict[str, Ints]:
        """What is slow to build, for `trie_store`."""
        full = self.full
        nodes = (full.byte, full.rank, full.first, full.children, full.low, full.high)
        found = {name: array.astype(np.int32) for name, array in zip(_NODES, nodes, strict=True)}
        found["levels"] = np.array(full.levels, np.int32)
        found["broken"] = np.flatnonzero(self._broken).astype(np.int32)
        return found | {"order": self._order, "twins": self.twins, "whole": self._whole}

    def loop(self, leaving: bytes) -> Loop:
        """The loop of text that these bytes leave. `leaving` is sorted and small."""
        loop = self._loops.get(leaving)
        if loop is None:
            loop = self._loops[leaving] = self._build(leaving)
        return loop

    def row_of(self, token_ids: "NDArray[np.integer] | list[int]") -> Ints:
        """The mask of these tokens, and of those that spell the same."""
        if len(token_ids) < _FEW and not len(self.twins):
            few: list[int] = token_ids if isinstance(token_ids, list) else token_ids.tolist()
            data = bytearray(self.words * 4)
            for token_id in few:
                data[token_id >> 3] |= 1 << (token_id & 7)
            return np.frombuffer(data, "<i4").astype(np.int32, copy=False)
        bits = np.zeros(self.words * 32, np.bool_)
        bits[token_ids] = True
        if len(self.twins):
            bits[self.twins[:, 1]] |= bits[self.twins[:, 0]]
        return np.packbits(bits, bitorder="little").view("<i4").astype(np.int32, copy=False)

    @lru_cache(maxsize=8)  # noqa: B019  a vocabulary's trie is kept for good
    def matching(self, pattern: "re.Pattern[bytes]") -> Longs:
        """Tokens in which a pattern is found, by id."""
        return np.array(sorted(i for t, i in self.ids.items() if pattern.search(t)), np.int64)

    def has_longer(self, data: bytes) -> bool:
        """Whether some token begins with `data` and goes on."""
        at = bisect_right(self.sorted, data)
        return at < len(self.sorted) and self.sorted[at].startswith(data)

    def _build(self, leaving: bytes) -> Loop:
        leaves = np.zeros(256, np.bool_)
        leaves[list(leaving)] = True
        wrong = leaves[self._flat] | self._broken
        last = np.maximum.reduceat(np.where(wrong, self._position, -1), self._starts)
        clean, characters = _settle(self.full, last, self._counts)
        stays = last < 0
        keep = np.flatnonzero(~stays)
        rest = trie_of([self.sorted[i] for i in keep], self._order[keep])
        counts = self._counts[stays]
        return Loop(
            clean,
            characters,
            rest,
            self._whole,
            int(counts.max(initial=0)),
            self._order[stays],
            counts,
            {},
            self.row_of,
        )


def token_trie(
    vocabulary: Vocabulary, make: "Callable[[Vocabulary], TokenTrie]" = TokenTrie
) -> TokenTrie:
    """The trie of this vocabulary; where there is none yet, `make` is asked for it."""
    held = _held(vocabulary)
    if not held:
        held.append(make(vocabulary))
    return held[0]


@lru_cache(maxsize=8)
def _held(vocabulary: Vocabulary) -> list[TokenTrie]:
    """Place for one trie."""
    del vocabulary
    return []


def _first_ids(vocabulary: Vocabulary) -> tuple[dict[bytes, int], list[tuple[int, int]]]:
    """The first id of each token that the trie holds, and those that spell the same."""
    plain = (TokenKind.NORMAL, TokenKind.BYTE, TokenKind.USER_DEFINED)
    special = set(vocabulary.special.values()) | vocabulary.ends
    found: dict[bytes, int] = {}
    twins: list[tuple[int, int]] = []
    for token_id, data in enumerate(vocabulary.tokens):
        if data and vocabulary.kinds[token_id] in plain and token_id not in special:
            first = found.setdefault(data, token_id)
            if first != token_id:
                twins.append((first, token_id))
    return found, twins


def _broken(flat: Longs, lengths: Longs) -> Bools:
    """For each byte of the tokens: whether it breaks UTF-8.

    A character that the end of a token cuts is not broken.
    """
    wrong: Bools = (flat == 0xC0) | (flat == 0xC1) | (flat > 0xF4)
    need = np.ones(len(flat), np.int64)
    for low, high, size in ((0xC2, 0xDF, 2), (0xE0, 0xEF, 3), (0xF0, 0xF4, 4)):
        need[(flat >= low) & (flat <= high)] = size
    follows = (flat & 0xC0) == 0x80
    index = np.arange(len(flat))
    token = np.repeat(np.arange(len(lengths)), lengths)
    covered = np.zeros(len(flat), np.bool_)
    for distance in (1, 2, 3):
        at = np.flatnonzero(need > distance)
        at = at[at + distance < len(flat)]
        at = at[token[at] == token[at + distance]]
        good = follows[at + distance]
        if distance > 1:
            good &= covered[at + distance - 1]
        wrong[at[~good]] = True
        covered[at[good] + distance] = True
    second = index[:-1][(token[:-1] == token[1:])]
    for lead, low, high in (
        (0xE0, 0xA0, 0xBF),
        (0xED, 0x80, 0x9F),
        (0xF0, 0x90, 0xBF),
        (0xF4, 0x80, 0x8F),
    ):
        at = second[flat[second] == lead]
        wrong[at] |= (flat[at + 1] < low) | (flat[at + 1] > high)
    wrong |= follows & ~covered
    return wrong


def _is_whole(token: bytes) -> bool:
    """Whether a token does not end inside a character."""
    if token[-1] < 0x80:
        return True
    tail = token[-4:]
    for size in range(1, len(tail) + 1):
        byte = tail[-size]
        if byte >= 0xC0:
            return size >= 2 + (byte >= 0xE0) + (byte >= 0xF0)
    return True


def _flatten(tokens: list[bytes]) -> tuple[Longs, Longs, Longs]:
    """All bytes in a row, the length of each token, and where it begins."""
    flat = np.frombuffer(b"".join(tokens), np.uint8).astype(np.int64)
    lengths = np.array([len(t) for t in tokens], np.int64)
    return flat, lengths, np.cumsum(lengths) - lengths


def trie_of(tokens: list[bytes], order: Ints) -> Trie:
    """The trie of sorted tokens without doubles, level by level."""
    flat, lengths, starts = _flatten(tokens)
    shared = np.array([0, *map(_shared, tokens, tokens[1:])], np.int64)
    byte: list[Longs] = []
    rank: list[Longs] = []
    first: list[Longs] = []
    children: list[Longs] = []
    lows: list[Longs] = []
    highs: list[Longs] = []
    levels = [0]
    alive = np.arange(len(tokens))
    while len(alive):
        depth = len(byte)
        # A node begins at each token that shares at most `depth` bytes with the one before it.
        begins = np.concatenate(([0], alive[:-1] + 1))
        is_new = np.minimum.reduceat(shared[: alive[-1] + 1], begins) <= depth
        is_new[0] = True
        low = alive[is_new]
        end = np.append(np.flatnonzero(is_new)[1:], len(alive))
        if byte:
            parent = np.searchsorted(lows[-1], low, side="right") - 1
            number = np.bincount(parent, minlength=len(lows[-1]))
            children.append(number)
            first.append(levels[-1] + np.cumsum(number) - number)
        byte.append(flat[starts[low] + depth])
        rank.append(np.where(lengths[low] == depth + 1, low, -1))
        lows.append(low)
        highs.append(alive[end - 1] + 1)
        levels.append(levels[-1] + len(low))
        alive = alive[lengths[alive] > depth + 1]
    if byte:
        children.append(np.zeros(levels[-1] - levels[-2], np.int64))
        first.append(np.full(levels[-1] - levels[-2], levels[-1], np.int64))
    join = partial(np.concatenate, dtype=np.int64)
    none = [np.zeros(0, np.int64)]
    return Trie(
        byte=join(byte or none),
        data=join(byte or none).astype(np.uint8).tobytes(),
        rank=join(rank or none),
        first=join(first or none),
        children=join(children or none),
        levels=tuple(levels),
        low=join(lows or none),
        high=join(highs or none),
        order=order,
    )


def _shared(a: bytes, b: bytes) -> int:
    """How many bytes two neighbours begin with in common."""
    size = min(len(a), len(b))
    if a[:size] == b[:size]:
        return size
    n = 0
    while a[n] == b[n]:
        n += 1
    return n


def _settle(trie: Trie, last: Longs, count: Longs) -> tuple[Bools, Longs]:
    """`clean` and `characters` of a loop, from each token's last wrong byte and characters."""
    nodes = len(trie.byte)
    worst = np.where(trie.rank >= 0, last[trie.rank], -1)
    most = np.where(trie.rank >= 0, count[trie.rank], 0)
    leads = ((trie.byte & 0xC0) != 0x80).astype(np.int64)
    clean = np.ones(nodes, np.bool_)
    ranges = list(pairwise(trie.levels))
    for (a, b), (c, d) in reversed(list(pairwise(ranges))):
        inner = np.flatnonzero(trie.children[a:b]) + a
        begins = trie.first[inner] - c
        worst[inner] = np.maximum(worst[inner], np.maximum.reduceat(worst[c:d], begins))
        most[inner] = np.maximum(most[inner], np.maximum.reduceat(most[c:d], begins))
        # A continuation byte after a whole character is broken UTF-8.
        clean[inner] = np.minimum.reduceat(leads[c:d], begins) == 1
    for (a, b), (c, d) in pairwise(ranges):
        leads[c:d] += np.repeat(leads[a:b], trie.children[a:b])
    for depth, (a, b) in enumerate(ranges, 1):
        clean[a:b] &= worst[a:b] < depth
    return clean, most - leads
