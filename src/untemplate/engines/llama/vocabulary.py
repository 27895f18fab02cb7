"""The vocabulary of a loaded model, as the rest of the library knows vocabularies.

In: a `Model`. Out: a `Vocabulary` whose bytes, kinds and ends are those that llama.cpp itself uses,
and whose `encode` is llama.cpp's tokenizer.

Two habits of that tokenizer are undone where text must stay text (`special=False`). It turns the
characters of a user-defined token (`<tool_call>` of Qwen) into that token even then; such words are
cut after their first character and tokenised in parts. And a SentencePiece vocabulary begins every
text with a space; the text is put after another one, whose tokens are dropped again.
"""

import re
from collections.abc import Callable
from itertools import accumulate, pairwise

from untemplate.engines.llama.model import Model
from untemplate.vocabulary import Encoder, TokenKind, Vocabulary

__all__ = ["model_vocabulary"]

_KINDS = (
    (1 << 0, TokenKind.UNKNOWN),
    (1 << 1, TokenKind.UNUSED),
    (1 << 3, TokenKind.CONTROL),
    (1 << 4, TokenKind.USER_DEFINED),
    (1 << 5, TokenKind.BYTE),
)
"""Bits of llama_token_attr."""
_SENTENCEPIECE = 1
"""llama_vocab_type with spaces before words."""


def model_vocabulary(model: Model) -> Vocabulary:
    """Reads all tokens out of a model."""
    read = model.tokens()
    tokens = tuple(data for data, _, _ in read)
    kinds = bytes(_kind(attributes) for _, attributes, _ in read)
    return Vocabulary(
        tokens=tokens,
        kinds=kinds,
        bos=model.bos_id,
        eos=model.eos_id,
        ends=frozenset(i for i, (_, _, is_end) in enumerate(read) if is_end),
        encode=_encoder(model, tokens, kinds),
    )


def _kind(attributes: int) -> TokenKind:
    return next((kind for bit, kind in _KINDS if attributes & bit), TokenKind.NORMAL)


def _encoder(model: Model, tokens: tuple[bytes, ...], kinds: bytes) -> Encoder:
    words = [
        tokens[i].decode("utf-8", "replace")
        for i, kind in enumerate(kinds)
        # A run of spaces or line breaks is no marker, and text spelt otherwise would read oddly.
        if kind == TokenKind.USER_DEFINED and len(tokens[i].strip()) > 1
    ]
    longest_first = sorted(words, key=len, reverse=True)
    marker = re.compile("|".join(map(re.escape, longest_first))) if words else None
    plain = _plain_tokenizer(model, tokens)

    def encode(text: str, *, special: bool) -> list[int]:
        if special:
            return model.tokenize(text, special=True)
        cuts = [found.start() + 1 for found in marker.finditer(text)] if marker else []
        borders = [0, *cuts, len(text)]
        pieces = (text[a:b] for a, b in pairwise(borders))
        return [token_id for piece in pieces if piece for token_id in plain(piece)]

    return encode


def _plain_tokenizer(model: Model, tokens: tuple[bytes, ...]) -> Callable[[str], list[int]]:
    if model.vocabulary_type != _SENTENCEPIECE:
        return lambda text: model.tokenize(text, special=False)

    def tokenize(text: str) -> list[int]:
        for lead in ("\n", "a"):  # where one would merge with the text, the other does not
            ids = model.tokenize(lead + text, special=False)
            spelt = accumulate(tokens[i] for i in ids[:3])
            led = (lead.encode(), f" {lead}".encode())
            count = next((n for n, data in enumerate(spelt, 1) if data in led), None)
            if count is not None:
                return ids[count:]
        return model.tokenize(text, special=False)

    return tokenize
