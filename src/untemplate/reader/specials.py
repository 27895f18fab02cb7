r"""Which markers are tokens: a reader that is fed ids takes no other spelling for a marker.

    speller(grammar, vocabulary).spell(ids)     -> Spelled(b"<tool_call>\n", (0,), markers)
    specials.add(spelled, position, settled)
    specials.is_spelt(b"<tool_call>", 7)        # whether its characters stand there, not its token

The vocabulary says it: a mark that holds the text of a marker token (`grammar.markers`) is only
there if that token is. Spelt by ordinary tokens the same characters are text. A mark that holds no
such token is known by its characters, and so is each in bytes that did not come as ids.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from untemplate.errors import VocabularyError
from untemplate.grammar import Grammar
from untemplate.grammar.markers import marker_tokens
from untemplate.reader.copies import copied
from untemplate.vocabulary import TokenKind, Vocabulary
from untemplate.vocabulary.vocabulary import split_at

__all__ = ["Specials", "Spelled", "Speller", "joined", "speller"]

_SPECIAL = (int(TokenKind.CONTROL), int(TokenKind.USER_DEFINED))
_FEW = 64


@dataclass(frozen=True, slots=True)
class Spelled:
    """The bytes of tokens, and where among them those tokens begin that are markers."""

    data: bytes
    at: tuple[int, ...]
    markers: frozenset[str]
    """All markers of the dialect that are tokens."""

    def __add__(self, other: "Spelled") -> "Spelled":
        return joined((self, other)) if self.data else other

    def cut(self, size: int) -> tuple["Spelled", "Spelled"]:
        """The first `size` bytes, and the rest; a marker belongs to where it begins."""
        if size == len(self.data):
            return self, Spelled(b"", (), self.markers)
        return (
            Spelled(self.data[:size], tuple(a for a in self.at if a < size), self.markers),
            Spelled(self.data[size:], tuple(a - size for a in self.at if a >= size), self.markers),
        )


def joined(pieces: Sequence[Spelled]) -> Spelled:
    """One after the other, of one vocabulary; at least one. O(bytes)."""
    at: list[int] = []
    size = 0
    for piece in pieces:
        at += [size + a for a in piece.at]
        size += len(piece.data)
    return Spelled(b"".join(p.data for p in pieces), tuple(at), pieces[-1].markers)


class Speller:
    """Turns ids of a vocabulary into bytes for the readers of a dialect. Immutable."""

    __slots__ = ("_ids", "_silent", "_tokens", "markers")

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        tokens, kinds = vocabulary.tokens, vocabulary.kinds
        found = marker_tokens(
            grammar.dialect, vocabulary.special, lambda i: kinds[i] == TokenKind.CONTROL
        )
        self.markers = frozenset(m.decode() for m in found)
        self._ids = frozenset(i for i in _special_ids(vocabulary) if tokens[i] in found)
        stops = {s.encode() for s in grammar.dialect.stops}
        self._silent = frozenset(i for i in vocabulary.ends if tokens[i] not in stops)
        """Ids that end a generation and are no stop of the dialect: they have no bytes."""
        self._tokens = tokens

    def spell(self, ids: Iterable[int]) -> Spelled:
        """The bytes of the ids. O(bytes)."""
        pieces: list[bytes] = []
        at: list[int] = []
        size = 0
        for token_id in ids:
            if token_id in self._silent:
                continue
            if token_id in self._ids:
                at.append(size)
            if not 0 <= token_id < len(self._tokens):
                raise VocabularyError(
                    f"no token has the id {token_id}; the vocabulary has {len(self._tokens)}"
                )
            piece = self._tokens[token_id]
            pieces.append(piece)
            size += len(piece)
        return Spelled(b"".join(pieces), tuple(at), self.markers)


@lru_cache(maxsize=64)
def speller(grammar: Grammar, vocabulary: Vocabulary) -> Speller:
    """The speller of a grammar's dialect in a vocabulary."""
    return Speller(grammar, vocabulary)


@lru_cache(maxsize=8)
def _special_ids(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Ids of tokens that stand for themselves; several may have the same text. O(vocabulary)."""
    return tuple(i for i, kind in enumerate(vocabulary.kinds) if kind in _SPECIAL)


class Specials:
    """Where marker tokens stand in what was not settled yet, in absolute positions."""

    __slots__ = ("_at", "_markers", "_most", "_offsets", "_since", "_until")

    def __init__(self) -> None:
        self._markers: frozenset[str] = frozenset()
        self._at: set[int] = set()
        self._most = _FEW
        self._offsets: dict[bytes, tuple[int, ...]] = {}
        """Mark to where markers begin in it."""
        self._since = self._until = 0
        """The last stretch that came as ids."""

    def clone(self) -> "Specials":
        other = copied(self)
        other._at = set(self._at)  # noqa: SLF001
        return other

    def add(self, spelled: Spelled, position: int, settled: int) -> None:
        """Notes what stands from `position` on; nobody asks for what stands before `settled`."""
        if spelled.markers != self._markers:
            self._markers, self._offsets = spelled.markers, {}
        if position != self._until:
            self._since = position
        self._until = position + len(spelled.data)
        self._at.update(position + a for a in spelled.at)
        if len(self._at) > self._most:
            self._at = {a for a in self._at if a >= settled}
            self._most = 2 * len(self._at) + _FEW

    def is_spelt(self, mark: bytes, at: int) -> bool:
        """Whether some of the mark at `at` could be a marker token, and is not."""
        offsets = self._offsets.get(mark)
        if offsets is None:
            offsets = self._offsets[mark] = tuple(self._begins(mark.decode("utf-8", "replace")))
        places = (at + offset for offset in offsets)
        return any(self._since <= p < self._until and p not in self._at for p in places)

    def _begins(self, mark: str) -> Iterable[int]:
        at = 0
        for piece in split_at(mark, [m for m in self._markers if m in mark]):
            if piece in self._markers:
                yield at
            at += len(piece.encode())
