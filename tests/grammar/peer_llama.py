"""llama.cpp's own grammar engine, byte by byte, for tests of what we export to it.

It runs on a vocabulary of 256 tokens of one byte each, which is written here: no model is needed.
"""

import ctypes
import functools
import struct
import tempfile
from pathlib import Path

import pytest

from untemplate.engines.llama.library import load
from untemplate.errors import EngineError

END = 256


class _Token(ctypes.Structure):
    _fields_ = (("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float))


class _Tokens(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.POINTER(_Token)),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


def byte_pieces():
    """How a byte-level vocabulary spells each byte: printable ones as they are."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    spelt = {b: chr(b) for b in plain} | {b: chr(256 + n) for n, b in enumerate(others)}
    return [spelt[b] for b in range(256)]


def _text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _vocabulary_file():
    """A GGUF file that holds 256 bytes and an end token, and no model."""
    pieces = [*byte_pieces(), "<end>"]
    kinds = [1] * 256 + [3]
    fields = [
        ("general.architecture", 8, _text("llama")),
        ("tokenizer.ggml.model", 8, _text("gpt2")),
        ("tokenizer.ggml.pre", 8, _text("gpt-2")),
        ("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", END)),
        ("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", END)),
        (
            "tokenizer.ggml.tokens",
            9,
            struct.pack("<IQ", 8, len(pieces)) + b"".join(map(_text, pieces)),
        ),
        ("tokenizer.ggml.token_type", 9, struct.pack("<IQ257i", 5, len(kinds), *kinds)),
        ("tokenizer.ggml.merges", 9, struct.pack("<IQ", 8, 1) + _text("! !")),
    ]
    body = b"".join(_text(name) + struct.pack("<I", kind) + data for name, kind, data in fields)
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + body


@functools.cache
def _engine():
    """The library and the vocabulary in it; skips when there is no llama.cpp."""
    try:
        library = load()
    except EngineError as error:
        pytest.skip(str(error))
    c = library.c
    c.llama_sampler_init_grammar.restype = ctypes.c_void_p
    c.llama_sampler_init_grammar.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    c.llama_sampler_apply.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Tokens)]
    c.llama_sampler_accept.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    c.llama_sampler_free.argtypes = [ctypes.c_void_p]
    c.llama_sampler_reset.argtypes = [ctypes.c_void_p]
    params = library.layouts.model()
    params.vocab_only = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bytes.gguf"
        path.write_bytes(_vocabulary_file())
        model = c.llama_model_load_from_file(str(path).encode(), params)
    assert model, library.complaint()
    return library, c.llama_model_get_vocab(model)


class GbnfEngine:
    """A compiled GBNF text."""

    def __init__(self, text):
        library, vocabulary = _engine()
        self._c = library.c
        library.complaint()
        self._sampler = self._c.llama_sampler_init_grammar(vocabulary, text.encode(), b"root")
        assert self._sampler, library.complaint()
        self._cells = (_Token * 257)()
        self._row = _Tokens(self._cells, 257, -1, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._c.llama_sampler_free(self._sampler)

    def _allowed(self, tokens):
        for n, token in enumerate(tokens):
            self._cells[n] = _Token(token, 0.0, 0.0)
        self._row.size = len(tokens)
        self._c.llama_sampler_apply(self._sampler, ctypes.byref(self._row))
        return [t for n, t in enumerate(tokens) if self._cells[n].logit == 0.0]

    def reset(self):
        self._c.llama_sampler_reset(self._sampler)

    def feed(self, byte):
        """Whether the byte may come next; if so it is taken."""
        if not self._allowed([byte]):
            return False
        self._c.llama_sampler_accept(self._sampler, byte)
        return True

    def allowed(self):
        """All bytes that may come next, and 256 if the text may end here."""
        return self._allowed(list(range(257)))

    def accepts(self, data):
        """Whether the text is in the language."""
        self.reset()
        return all(map(self.feed, data)) and bool(self._allowed([END]))
