"""Which markers are special tokens: a reader that is fed ids takes no other spelling for them.

    specials = Specials(vocabulary, stops)
    specials.begin(ids, 0, 0)              # the bytes of the ids, to be read next
    specials.are_tokens(b"<tool_call>", 7) # whether the token stands there, not its characters

The vocabulary says it: a marker that holds the text of a control or user-defined token is only
there if that token is. Spelt by ordinary tokens the same characters are text. A marker that is no
token of this vocabulary is known by its characters, as for a reader that is fed bytes.
"""

from collections.abc import Iterable

from untemplate.vocabulary import TokenKind, Vocabulary
from untemplate.vocabulary.vocabulary import split_at

__all__ = ["Specials"]

_SPECIAL = (TokenKind.CONTROL, TokenKind.USER_DEFINED)
_FEW = 64


class Specials:
    """Where the special tokens stand in what was not settled yet, in absolute positions."""

    __slots__ = ("_at", "_most", "_offsets", "stops", "vocabulary")

    def __init__(self, vocabulary: Vocabulary, stops: Iterable[str]) -> None:
        self.vocabulary = vocabulary
        self.stops = frozenset(s.encode() for s in stops)
        self._at: set[int] = set()
        self._most = _FEW
        self._offsets: dict[bytes, tuple[int, ...]] = {}
        """Mark to where special tokens begin in it."""

    def clone(self) -> "Specials":
        other = Specials(self.vocabulary, ())
        other.stops, other._offsets = self.stops, self._offsets
        other._at, other._most = set(self._at), self._most
        return other

    def begin(self, ids: Iterable[int], at: int, settled: int) -> bytes:
        """Notes the special tokens among the ids, the first of which stands at `at`; their bytes.

        An id that ends a generation and is no stop of the dialect has no bytes. O(len(ids)).
        """
        tokens, kinds, ends = self.vocabulary.tokens, self.vocabulary.kinds, self.vocabulary.ends
        pieces: list[bytes] = []
        for token_id in ids:
            piece = tokens[token_id]
            if kinds[token_id] in _SPECIAL:
                self._at.add(at)
            if token_id in ends and piece not in self.stops:
                continue
            pieces.append(piece)
            at += len(piece)
        if len(self._at) > self._most:
            self._at = {a for a in self._at if a >= settled}
            self._most = 2 * len(self._at) + _FEW
        return b"".join(pieces)

    def are_tokens(self, mark: bytes, at: int) -> bool:
        """Whether all of the mark at `at` that could be special tokens is."""
        offsets = self._offsets.get(mark)
        if offsets is None:
            offsets = self._offsets[mark] = tuple(self._begins(mark.decode("utf-8", "replace")))
        return all(at + offset in self._at for offset in offsets)

    def _begins(self, mark: str) -> Iterable[int]:
        special = [text for text in self.vocabulary.special if text in mark]
        at = 0
        for piece in split_at(mark, special):
            if piece in special:
                yield at
            at += len(piece.encode())
