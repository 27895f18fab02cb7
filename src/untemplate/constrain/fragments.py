r"""Walks through values that no schema surrounds, made once for all grammars of a vocabulary.

Inside a free string nearly every token stays in the string, whatever the schema around it. Some end
it, and only what they hold behind its end depends on the frame:

    state: in a free string     stays: `ab`, `é`, `\n`, ...     ends:  `"`  `."`      -> ``
                                                                       `"}` `."}`     -> `}`
                                                                       `","`          -> `,"`

A *fragment* is the mask of those that stay, and a trie of what stands behind the end (a few hundred
rests in place of thousands of tokens), each with the tokens that have it. A walk of a new grammar
takes the mask as it is and walks that trie alone, from the state of the frame. Numbers end before a
byte of the frame; there the walk goes on at the nodes of the whole trie, of which there are few.

A fragment may begin inside of tokens too: behind the quote of ` "`, say. Only states whose way is
the same in all grammars have fragments (`State.is_shared`). Those of a vocabulary are kept while
they take less than a bound, and can be watched: `shared_masks(vocabulary)`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.state import Edges, Result, State
from untemplate.constrain.table import COUNT_BITS, COUNT_MASK, Limits, Table
from untemplate.constrain.trie import TokenTrie, Trie, token_trie, trie_of
from untemplate.vocabulary import Vocabulary

__all__ = ["Fragment", "Fragments", "Hole", "Outlet", "Rests", "SharedMasks", "fragments_of"]

_MOST_BYTES = 64 << 20
_MOST_STATES = 20_000
_MOST_ASKED = 10_000
_ARRAY = 112
"""Bytes of an array beside its numbers."""


@dataclass(slots=True, unsafe_hash=True)
class Hole(State):
    """The frame around a value whose surroundings are not known."""

    def cost(self) -> int | None:
        return 0

    def edges(self, out: Edges) -> None:
        """None: nothing stands in a frame."""

    def resume(self, result: Result) -> State | None:
        return Outlet(result)

    def after(self) -> int:
        return 0


@dataclass(slots=True, unsafe_hash=True)
class Outlet(State):
    """Behind such a value."""

    result: Result

    def cost(self) -> int | None:
        return 0

    def edges(self, out: Edges) -> None:
        """None: what follows is not known."""


class Exit(NamedTuple):
    """A node of a trie at which a value has ended."""

    node: int
    result: Result
    is_read: bool
    """Whether the byte of the node belongs to the value, and not to the frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Rests:
    """Tokens that end a value in one way, by what they hold behind its end."""

    result: Result
    whole: NDArray[np.int32]
    """Those that hold nothing behind it."""
    trie: Trie
    """Of the rests; its order numbers them."""
    ids: tuple[NDArray[np.int32], ...]
    """The tokens that have each rest."""


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """What tokens do from one place inside a value on."""

    row: NDArray[np.int32]
    """Those that stay in the value."""
    rests: tuple[Rests, ...]
    """Those that end it with a byte of its own."""
    leaves: tuple[tuple[Result, Mapping[int, list[int]]], ...]
    """Nodes of the whole trie at which it has ended before their byte, by that byte."""
    rise: int
    """How much farther from the end of the value they lead at most, in bytes."""
    used: int
    """Characters of the count that they use; a fragment holds for larger counts."""

    @property
    def size(self) -> int:
        """In bytes."""
        rests = sum(r.trie.size + sum(_ARRAY + ids.nbytes for ids in r.ids) for r in self.rests)
        return self.row.nbytes + rests


@dataclass(frozen=True, slots=True)
class SharedMasks:
    """What the fragments of a vocabulary take and how they were used."""

    entries: int
    bytes: int
    most_bytes: int
    hits: int
    misses: int


class Fragments:
    """The fragments of one vocabulary; used under the lock of `table.GROWTH`."""

    def __init__(self, tokens: TokenTrie) -> None:
        self._tokens = tokens
        self._table = Table(Limits(states=2 * _MOST_STATES))
        self._found: dict[tuple[State, bool, int], Fragment] = {}
        self._asked: set[tuple[State, bool, int]] = set()
        self._bytes = self._hits = self._misses = 0

    def get(self, state: State, node: int, *, is_counted: bool) -> Fragment | None:
        """From a state on, behind a node of the whole trie; -1: from the beginning of a token.

        None when one that is no loop is asked for the first time: most of them are met once.
        """
        key = (state, is_counted, node)
        found = self._found.get(key)
        if found is not None:
            self._hits += 1
            return found
        self._misses += 1
        if key not in self._asked and state.leaving is None:
            if len(self._asked) >= _MOST_ASKED:
                self._asked = set()
            self._asked.add(key)
            return None
        if self._bytes > _MOST_BYTES or len(self._table.states) > _MOST_STATES:
            self._found = {}
            self._table = Table(Limits(states=2 * _MOST_STATES))
            self._bytes = 0
        found = self._found[key] = self._make(state, node, is_counted=is_counted)
        self._bytes += found.size
        return found

    def statistics(self) -> SharedMasks:
        return SharedMasks(len(self._found), self._bytes, _MOST_BYTES, self._hits, self._misses)

    def _make(self, state: State, node: int, *, is_counted: bool) -> Fragment:
        from untemplate.constrain.walk import walk_value  # noqa: PLC0415  they need each other

        table, tokens = self._table, self._tokens
        number = table.state_id(state)
        stack = table.push(table.state_id(Hole()), 0)
        ctx = stack << COUNT_BITS | (COUNT_MASK if is_counted else 0)
        found, trie = walk_value(table, tokens, number, ctx, node)
        exits = found.exits
        parts = [found.ids(), *(ids for ids, _, _ in found.loops)]
        row = tokens.row_of(np.concatenate(parts))
        used, leaving = found.used, state.leaving
        if node < 0 and leaving is not None:
            loop = tokens.loop(leaving)
            row = row | loop.row()
            used = max(used, loop.most) if is_counted else used
        own = table.total(number, ctx)
        rise = max((table.total(*t) - own for t in found.targets()), default=0)
        rests = tuple(
            self._rests(trie, [e for e in exits if e.is_read and e.result == result], result)
            for result in dict.fromkeys(e.result for e in exits if e.is_read)
        )
        by_byte: dict[Result, dict[int, list[int]]] = {}
        for end, result, is_read in exits:
            if not is_read:
                assert trie is tokens.full, "no loop is left to its frame"
                by_byte.setdefault(result, {}).setdefault(trie.data[end], []).append(end)
        return Fragment(row, rests, tuple(by_byte.items()), max(rise, 0), used)

    def _rests(self, trie: Trie, exits: list[Exit], result: Result) -> Rests:
        tokens = self._tokens
        by_rest: dict[bytes, list[int]] = {}
        for node, _, _ in exits:
            depth = trie.depth(node)
            ids: list[int] = trie.order[int(trie.low[node]) : int(trie.high[node])].tolist()
            for token_id in ids:
                by_rest.setdefault(tokens.data[token_id][depth:], []).append(token_id)
        whole = by_rest.pop(b"", [])
        ordered = sorted(by_rest)
        groups = [by_rest[rest] for rest in ordered]
        return Rests(
            result,
            np.array(whole, np.int32),
            trie_of(ordered, np.arange(len(ordered), dtype=np.int32)),
            tuple(np.array(group, np.int32) for group in groups),
        )


@lru_cache(maxsize=8)
def fragments_of(tokens: TokenTrie) -> Fragments:
    """The fragments of a vocabulary."""
    return Fragments(tokens)


def shared_masks(vocabulary: Vocabulary) -> SharedMasks:
    """How the masks stand that all grammars of a vocabulary share."""
    return fragments_of(token_trie(vocabulary)).statistics()
