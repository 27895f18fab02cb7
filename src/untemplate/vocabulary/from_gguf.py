"""The vocabulary inside a GGUF file.

In: the metadata. Out: the same bytes and kinds that llama.cpp gives for each id: control and
user-defined tokens are their text, unused ones have no bytes, normal ones are spelt as the
tokenizer model says (`gpt2`: byte level, `llama` and `t5`: SentencePiece).

There is no encoder: the file does not hold what its splitting regex is. An engine that has loaded
the model has one.
"""

from pathlib import Path

from untemplate.errors import VocabularyError
from untemplate.vocabulary.files import located
from untemplate.vocabulary.gguf import Gguf
from untemplate.vocabulary.pieces import byte_token, from_byte_level, from_sentencepiece
from untemplate.vocabulary.vocabulary import TokenKind, Vocabulary

__all__ = ["from_gguf", "vocabulary_of"]

_SPELLINGS = {
    "gpt2": from_byte_level,
    "llama": from_sentencepiece,
    "t5": from_sentencepiece,
    "gemma4": from_sentencepiece,
}
_KINDS = frozenset(TokenKind)
_END_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")


def from_gguf(path: str | Path) -> Vocabulary:
    """Read the vocabulary of this file."""
    return vocabulary_of(Gguf.open(path))


def vocabulary_of(gguf: Gguf) -> Vocabulary:
    """The vocabulary in metadata that was read already."""
    with located(gguf.path):
        model = gguf.text("tokenizer.ggml.model")
        if model not in _SPELLINGS:
            known = ", ".join(_SPELLINGS)
            raise VocabularyError(f"its tokenizer model is {model!r}; {known} can be read")
        pieces = gguf.texts("tokenizer.ggml.tokens")
        numbers = gguf.integers("tokenizer.ggml.token_type") or (TokenKind.NORMAL,) * len(pieces)
        if len(numbers) != len(pieces):
            raise VocabularyError(f"{len(pieces)} tokens but {len(numbers)} token types")
        kinds = bytes(n if n in _KINDS else TokenKind.NORMAL for n in numbers)
        ids = [gguf.integer(f"tokenizer.ggml.{key}") for key in _END_KEYS]
        return Vocabulary(
            tokens=tuple(_bytes(*each, model) for each in zip(pieces, kinds, strict=True)),
            kinds=kinds,
            bos=gguf.integer("tokenizer.ggml.bos_token_id"),
            eos=ids[0],
            ends=frozenset(token_id for token_id in ids if token_id is not None),
        )


def _bytes(piece: bytes, kind: int, model: str) -> bytes:
    if kind == TokenKind.UNUSED:
        return b""
    if kind in (TokenKind.CONTROL, TokenKind.USER_DEFINED, TokenKind.UNKNOWN):
        return piece
    text = piece.decode("utf-8", "replace")
    byte = byte_token(text) if kind == TokenKind.BYTE else None
    return _SPELLINGS[model](text) if byte is None else byte
