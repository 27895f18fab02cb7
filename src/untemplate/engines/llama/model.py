"""A GGUF model in memory: its weights, its metadata, its tokenizer.

In: a path. Out: a `Model` that any number of contexts may share; it holds nothing that changes.

    model = Model(Path("smollm2.gguf"))
    model.tokenize("Hello", special=False)     # [19556]
    model.chat_template                        # Jinja source, or None

Text enters `tokenize` in two ways. With `special=True` the markers of the template become their
control tokens; with `special=False` the same characters are ordinary text. User text must only
ever enter the second way. No BOS is added: a chat template writes its own.
"""

import ctypes
import os
import weakref
from pathlib import Path
from typing import Any, Protocol

from untemplate.engines.llama.library import Library, load
from untemplate.errors import EngineError

__all__ = ["Model"]

_MAX_TEXT_BYTES = 1 << 30
_METADATA_BYTES = 1 << 22


class Closable(Protocol):
    """What has to be closed before the model is: a context."""

    def close(self) -> None: ...


class Model:
    """Weights and tokenizer of one GGUF file. May be shared by threads."""

    def __init__(self, path: Path, *, library: Library | None = None) -> None:
        self.path = path
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
        self._contexts: weakref.WeakSet[Closable] = weakref.WeakSet()
        self._free = weakref.finalize(self, c.llama_model_free, pointer)
        vocab: int | None = c.llama_model_get_vocab(pointer)
        self.n_vocab: int = c.llama_vocab_n_tokens(vocab) if vocab else 0
        decodes = c.llama_model_has_decoder(pointer) and not c.llama_model_has_encoder(pointer)
        if not vocab or self.n_vocab <= 0 or not decodes:
            raise EngineError("is not a text generation model with a vocabulary", place=str(path))
        self._vocab: int = vocab
        self.metadata: dict[str, str] = self._read_metadata()
        self.trained_context: int = max(c.llama_model_n_ctx_train(pointer), 0)

    @property
    def pointer(self) -> int:
        """Address of the llama_model; an error once it was freed."""
        if not self._free.alive:
            raise EngineError("the model was closed", place=str(self.path))
        return self._pointer

    def adopt(self, context: Closable) -> None:
        """Remembers a context that has to be freed before the weights are."""
        self._contexts.add(context)

    @property
    def description(self) -> str:
        """Architecture, size and quantisation in a few words, as llama.cpp says them."""
        buffer = ctypes.create_string_buffer(256)
        self.library.c.llama_model_desc(self.pointer, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    @property
    def chat_template(self) -> str | None:
        """Source of the default chat template that the file carries."""
        return self.metadata.get("tokenizer.chat_template")

    @property
    def bos_id(self) -> int | None:
        return _token_or_none(self.library.c.llama_vocab_bos(self._vocab))

    @property
    def eos_id(self) -> int | None:
        return _token_or_none(self.library.c.llama_vocab_eos(self._vocab))

    @property
    def vocabulary_type(self) -> int:
        """`llama_vocab_type`: 1 SentencePiece, 2 byte-level BPE, ..."""
        kind: int = self.library.c.llama_vocab_type(self._vocab)
        return kind

    def text_of(self, token_id: int | None) -> str:
        """Text of a special token, for templates that print `bos_token`; empty for None."""
        return "" if token_id is None else self.piece(token_id).decode("utf-8", "replace")

    def is_end(self, token_id: int) -> bool:
        """Whether the model ends its turn with this token."""
        return bool(self.library.c.llama_vocab_is_eog(self._vocab, self._checked(token_id)))

    def attributes(self, token_id: int) -> int:
        """Bits of `llama_token_attr`: 1 unknown, 2 unused, 8 control, 16 user defined, 32 byte."""
        bits: int = self.library.c.llama_vocab_get_attr(self._vocab, self._checked(token_id))
        return bits

    def piece(self, token_id: int) -> bytes:
        """The bytes that one token adds to the text, markers of special tokens included."""
        c = self.library.c
        self._checked(token_id)
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length: int = c.llama_token_to_piece(self._vocab, token_id, buffer, size, 0, True)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def tokenize(self, text: str | bytes, *, special: bool) -> list[int]:
        """Token ids of a text, without BOS; `special` lets markers become special tokens."""
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        if len(data) >= _MAX_TEXT_BYTES:
            raise EngineError(f"a text of {len(data)} bytes is too long to be tokenised")
        room = len(data) + 8
        ids = (ctypes.c_int32 * room)()
        count: int = self.library.c.llama_tokenize(
            self._vocab,
            data,
            len(data),
            ids,
            room,
            False,
            special,
        )
        if count < 0:  # more tokens than bytes: some vocabularies add a token of their own
            ids = (ctypes.c_int32 * -count)()
            count = self.library.c.llama_tokenize(
                self._vocab,
                data,
                len(data),
                ids,
                -count,
                False,
                special,
            )
        return list(ids[: max(count, 0)])

    def close(self) -> None:
        """Frees the weights, and before them the contexts that use them."""
        for context in list(self._contexts):
            context.close()
        self._free()

    def _checked(self, token_id: int) -> int:
        if not 0 <= token_id < self.n_vocab:
            raise EngineError(f"token id {token_id} is not in the vocabulary of {self.n_vocab}")
        return token_id

    def _read_metadata(self) -> dict[str, str]:
        c = self.library.c
        key = ctypes.create_string_buffer(512)
        value = ctypes.create_string_buffer(_METADATA_BYTES)
        metadata: dict[str, str] = {}
        for i in range(max(c.llama_model_meta_count(self.pointer), 0)):
            key_length = c.llama_model_meta_key_by_index(self.pointer, i, key, len(key))
            length = c.llama_model_meta_val_str_by_index(self.pointer, i, value, len(value))
            if 0 <= key_length < len(key) and 0 <= length < len(value):
                metadata[key.value.decode("utf-8", "replace")] = value.value.decode(
                    "utf-8", "replace"
                )
        return metadata


def _token_or_none(token_id: int) -> int | None:
    return token_id if token_id >= 0 else None


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise EngineError(f"can't be read: {error.strerror}", place=str(path)) from None
    if magic != b"GGUF":
        raise EngineError("is not a GGUF file", place=str(path))
