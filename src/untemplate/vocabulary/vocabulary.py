"""What the tokens of a model are: bytes, kinds, ends.

In comes whatever a loader found in a file or an engine reported; out comes one frozen value that
masks, readers and budgets share. A token *is* its bytes: joining the bytes of a reply's ids gives
the reply. What has no bytes (padding, unused ids) keeps its id with `b""`, so ids always index the
engine's row of logits.

    v = byte_vocabulary(["<|end|>"], eos="<|end|>")
    v.tokens[65], v.special["<|end|>"], v.ends          # b"A", 256, frozenset({256})
    v.encode("A<|end|>", special=True)                  # [65, 256]
    v.encode("A<|end|>", special=False)                 # [65, 60, 124, 101, 110, 100, 124, 62]

Real vocabularies are not tidy, and nothing here tidies them: several ids may spell the same bytes,
a single byte may be spelt by none, a token may end inside a UTF-8 character.

`special` maps the text of every token that stands for itself to its id: control tokens, and tokens
that were added to the vocabulary as words (`<tool_call>` of Qwen, which Hugging Face calls "not
special" and llama.cpp "user defined"). Those are the tokens that user text must not turn into.

It does not tokenise by itself: `encode` is a function that the loader gives, or None.
"""

import hashlib
import re
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Protocol

from untemplate.errors import VocabularyError

__all__ = ["Encoder", "TokenKind", "Vocabulary", "byte_vocabulary"]


class TokenKind(IntEnum):
    """What a token is for; the numbers are those of GGUF's `tokenizer.ggml.token_type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    """Written by template and model only, never by text: `<|im_end|>`."""
    USER_DEFINED = 4
    """Added as a whole word; shown as text: `<tool_call>`."""
    UNUSED = 5
    BYTE = 6
    """One byte that no other token spells, as `<0x0A>` of SentencePiece."""


class Encoder(Protocol):
    """Turns text into token ids; adds nothing at either end.

    `special=True` lets text become control and user-defined tokens, `special=False` never does.
    """

    def __call__(self, text: str, *, special: bool) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens of one model, by id. May be shared by threads."""

    tokens: tuple[bytes, ...] = field(repr=False)
    """The bytes of each id; `b""` when it has none."""
    kinds: bytes = field(default=b"", repr=False)
    """One `TokenKind` for each id; empty means that all are normal."""
    bos: int | None = None
    eos: int | None = None
    ends: frozenset[int] = frozenset()
    """Every id that ends a generation; `eos` is always one of them."""
    encode: Encoder | None = field(default=None, compare=False, repr=False)
    special: Mapping[str, int] = field(init=False, compare=False, repr=False)
    """Text of each control and user-defined token to its id (the lowest, if several share it)."""
    digest: str = field(init=False)
    """SHA-256 of all of the above but `encode`: the key for what is cached per vocabulary."""

    def __post_init__(self) -> None:
        kinds = self.kinds or bytes([TokenKind.NORMAL]) * len(self.tokens)
        ends = self.ends if self.eos is None else self.ends | {self.eos}
        if len(kinds) != len(self.tokens):
            raise VocabularyError(
                f"{len(self.tokens)} tokens but {len(kinds)} kinds: give one kind for each token"
            )
        named = ends if self.bos is None else ends | {self.bos}
        if outside := sorted(i for i in named if not 0 <= i < len(self.tokens)):
            raise VocabularyError(
                f"token id {outside[0]} is not one of the {len(self.tokens)} tokens"
            )
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "ends", frozenset(ends))
        object.__setattr__(self, "special", MappingProxyType(_special(self.tokens, kinds)))
        object.__setattr__(self, "digest", _digest(self.tokens, kinds, self.bos, self.eos, ends))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def size(self) -> int:
        """How many ids there are."""
        return len(self.tokens)

    def bytes_of(self, ids: Iterable[int]) -> bytes:
        """What these tokens spell, control tokens included."""
        return b"".join(map(self.tokens.__getitem__, ids))


def byte_vocabulary(specials: Sequence[str] = (), *, eos: str | None = None) -> Vocabulary:
    """The smallest vocabulary that spells everything: 256 bytes, then control tokens.

    `eos` has to be one of `specials`.
    """
    if eos is not None and eos not in specials:
        raise VocabularyError(f"eos {eos!r} is not one of the specials")
    ids = {text: 256 + n for n, text in enumerate(specials)}

    def encode(text: str, *, special: bool) -> list[int]:
        found: list[int] = []
        for piece in split_at(text, ids) if special else [text]:
            if special and piece in ids:
                found.append(ids[piece])
            else:
                found.extend(piece.encode("utf-8", "replace"))
        return found

    return Vocabulary(
        tokens=(*(bytes([b]) for b in range(256)), *(text.encode() for text in specials)),
        kinds=bytes([TokenKind.BYTE] * 256 + [TokenKind.CONTROL] * len(specials)),
        eos=None if eos is None else ids[eos],
        encode=encode,
    )


def split_at(text: str, words: Iterable[str]) -> list[str]:
    """Cut text before and after each of the words, the longest first where several fit.

    split_at("a<|b|>c", ["<|b|>"]) -> ["a", "<|b|>", "c"]
    """
    longest_first = sorted((w for w in words if w), key=len, reverse=True)
    if not longest_first:
        return [text] if text else []
    pattern = "(" + "|".join(map(re.escape, longest_first)) + ")"
    return [piece for piece in re.split(pattern, text) if piece]


def _special(tokens: Sequence[bytes], kinds: bytes) -> dict[str, int]:
    found: dict[str, int] = {}
    for token_id, kind in enumerate(kinds):
        if kind in (TokenKind.CONTROL, TokenKind.USER_DEFINED) and tokens[token_id]:
            found.setdefault(tokens[token_id].decode("utf-8", "replace"), token_id)
    return found


def _digest(
    tokens: Sequence[bytes], kinds: bytes, bos: int | None, eos: int | None, ends: Iterable[int]
) -> str:
    total = hashlib.sha256(f"{len(tokens)} {bos} {eos} {sorted(ends)}".encode())
    # Lengths beside the joined bytes: without them ["ab"] and ["a", "b"] would be one.
    lengths = array("I", map(len, tokens))
    if sys.byteorder == "big":
        lengths.byteswap()
    total.update(lengths.tobytes())
    total.update(kinds)
    total.update(b"".join(tokens))
    return total.hexdigest()
