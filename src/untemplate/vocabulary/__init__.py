"""Tokens of a model: their bytes, kinds and ends, read from the files that models ship."""

from untemplate.vocabulary.from_gguf import from_gguf
from untemplate.vocabulary.from_json import from_tokenizer_json
from untemplate.vocabulary.huggingface import from_hf
from untemplate.vocabulary.ranks import from_tekken, from_tiktoken
from untemplate.vocabulary.vocabulary import Encoder, TokenKind, Vocabulary, byte_vocabulary

__all__ = [
    "Encoder",
    "TokenKind",
    "Vocabulary",
    "byte_vocabulary",
    "from_gguf",
    "from_hf",
    "from_tekken",
    "from_tiktoken",
    "from_tokenizer_json",
]
