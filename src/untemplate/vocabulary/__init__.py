"""Tokens of a model: their bytes, kinds and ends, read from the files that models ship."""

from untemplate.vocabulary.vocabulary import Encoder, TokenKind, Vocabulary, byte_vocabulary

__all__ = ["Encoder", "TokenKind", "Vocabulary", "byte_vocabulary"]
