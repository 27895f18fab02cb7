"""A GGUF model in memory: its weights, its metadata, its tokenizer.

In: a path. Out: a `Model` that any number of contexts may share; it holds nothing that changes.

    model = Model("smollm2.gguf")
    model.tokenize("Hello", special=False)     # [19556]
    model.chat_template                        # Jinja source, or None

Text enters `tokenize` in two ways. With `special=True` the markers of the template become their
control tokens; with `special=False` the same characters are ordinary text. User text must only
ever enter the second way. No BOS is added: a chat template writes its own.
"""

import ctypes
import os
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from untemplate.engines.llama.library import Library, load
from untemplate.errors import EngineError

__all__ = ["Closable", "Model"]

_MAX_TEXT_BYTES = 1 << 30
_METADATA_BYTES = 1 << 22


class Closable(Protocol):
    """What has to be closed before the model is: a context."""

    def close(self) -> None: ...


class Model:
    """Weights and tokenizer of one GGUF file. May be shared by threads."""

    def __init__(self, path: str | Path, *, library: Library | None = None) -> None:
        self.path = path = Path(path)
        self.library = library or load()
        c = self.library.c
        _check_file(path)
        params: Any = self.library.layouts.model()
        params.n_gpu_layers = 0
        self.library.complaint()
        pointer: int | None = c.llama_model_load_from_file(os.fsencode(path), params)
        if not pointer:
            reason = self.library.complaint() or "llama.cpp gave no reason"
            raise EngineError(f"can't be loaded: {reason}", place=str(path))
        self._pointer: int = pointer
        self._free = weakref.finalize(self, c.llama_model_free, pointer)
        self._contexts: weakref.WeakSet[Closable] = weakref.WeakSet()
        self._used = threading.Condition()
        self._users = 0
        self._is_closed = False
        vocab: int | None = c.llama_model_get_vocab(pointer)
        self.n_vocab: int = c.llama_vocab_n_tokens(vocab) if vocab else 0
        decodes = c.llama_model_has_decoder(pointer) and not c.llama_model_has_encoder(pointer)
        if not vocab or self.n_vocab <= 0 or not decodes:
            raise EngineError("is not a text generation model with a vocabulary", place=str(path))
        self._vocab: int = vocab
        self.metadata = _metadata(c, pointer)
        self.description = _description(c, pointer)
        """Architecture, size and quantisation in a few words, as llama.cpp says them."""
        self.trained_context: int = max(c.llama_model_n_ctx_train(pointer), 0)
        self.bos_id = _token_or_none(c.llama_vocab_bos(vocab))
        self.eos_id = _token_or_none(c.llama_vocab_eos(vocab))
        self.vocabulary_type: int = c.llama_vocab_type(vocab)
        """`llama_vocab_type`: 1 SentencePiece, 2 byte-level BPE, ..."""

    @property
    def pointer(self) -> int:
        """Address of the llama_model; an error once it was freed."""
        if self._is_closed:
            raise EngineError("the model was closed", place=str(self.path))
        return self._pointer

    @property
    def chat_template(self) -> str | None:
        """Source of the default chat template that the file carries."""
        return self.metadata.get("tokenizer.chat_template")

    def text_of(self, token_id: int | None) -> str:
        """Text of a special token, for templates that print `bos_token`; empty for None."""
        return "" if token_id is None else self.piece(token_id).decode("utf-8", "replace")

    def piece(self, token_id: int) -> bytes:
        """The bytes that one token adds to the text, markers of special tokens included."""
        if not 0 <= token_id < self.n_vocab:
            raise EngineError(f"token id {token_id} is not in the vocabulary of {self.n_vocab}")
        with self._in_use():
            return self._piece(token_id)

    def tokens(self) -> tuple[tuple[bytes, int, bool], ...]:
        """Of every token its bytes, its attributes, and whether it ends a turn.

        Attributes are bits of `llama_token_attr`: 1 unknown, 2 unused, 8 control, 16 user defined,
        32 byte. Takes about 3 µs a token.
        """
        attributes = self.library.c.llama_vocab_get_attr
        is_end = self.library.c.llama_vocab_is_eog
        vocab = self._vocab
        with self._in_use():
            return tuple(
                (self._piece(i), attributes(vocab, i), is_end(vocab, i))
                for i in range(self.n_vocab)
            )

    def tokenize(self, text: str | bytes, *, special: bool) -> list[int]:
        """Token ids of a text, without BOS; `special` lets markers become special tokens."""
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        if len(data) >= _MAX_TEXT_BYTES:
            raise EngineError(f"a text of {len(data)} bytes is too long to be tokenised")
        tokenize = self.library.c.llama_tokenize
        room = len(data) + 8
        with self._in_use():
            while True:
                ids = (ctypes.c_int32 * room)()
                # By position: no BOS, and whether markers are special.
                count: int = tokenize(self._vocab, data, len(data), ids, room, False, special)
                if count >= 0:
                    return ids[:count]
                room = -count  # more tokens than bytes: some vocabularies add one of their own

    def adopt(self, context: Closable) -> None:
        """Remembers a context that has to be freed before the weights are."""
        self._contexts.add(context)

    def close(self) -> None:
        """Frees the weights, and before them the contexts that use them."""
        with self._used:
            self._is_closed = True
            self._used.wait_for(lambda: self._users == 0)
        for context in list(self._contexts):
            context.close()
        self._free()

    @contextmanager
    def _in_use(self) -> Generator[None]:
        """Keeps the model from being freed while C works on it without the interpreter's lock."""
        with self._used:
            if self._is_closed:
                raise EngineError("the model was closed", place=str(self.path))
            self._users += 1
        try:
            yield
        finally:
            with self._used:
                self._users -= 1
                self._used.notify_all()

    def _piece(self, token_id: int) -> bytes:
        to_piece = self.library.c.llama_token_to_piece
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length: int = to_piece(self._vocab, token_id, buffer, size, 0, True)
            if length >= 0:
                return buffer.raw[:length]
            size = -length


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise EngineError(f"can't be read: {error.strerror}", place=str(path)) from None
    if magic != b"GGUF":
        raise EngineError("is not a GGUF file", place=str(path))


def _metadata(c: ctypes.CDLL, model: int) -> dict[str, str]:
    key = ctypes.create_string_buffer(512)
    value = ctypes.create_string_buffer(_METADATA_BYTES)
    metadata: dict[str, str] = {}
    for i in range(max(c.llama_model_meta_count(model), 0)):
        key_length: int = c.llama_model_meta_key_by_index(model, i, key, len(key))
        length: int = c.llama_model_meta_val_str_by_index(model, i, value, len(value))
        if 0 <= key_length < len(key) and 0 <= length < len(value):
            name = key.value.decode("utf-8", "replace")
            metadata[name] = ctypes.string_at(value, length).decode("utf-8", "replace")
    return metadata


def _description(c: ctypes.CDLL, model: int) -> str:
    buffer = ctypes.create_string_buffer(256)
    c.llama_model_desc(model, buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")


def _token_or_none(token_id: int) -> int | None:
    return token_id if token_id >= 0 else None
