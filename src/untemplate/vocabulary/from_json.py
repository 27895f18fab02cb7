"""The vocabulary of a Hugging Face `tokenizer.json`.

In: the file. Out: bytes of each id, read without the `tokenizers` library from `model.vocab`,
`added_tokens` and what `decoder` says about the spelling of pieces. Ids that the file leaves out
keep their place with no bytes.

    vocabulary = from_tokenizer_json("tokenizer.json")
    vocabulary.special["<|im_end|>"]

Encoding is done by that library (`pip install untemplate[hf]`), loaded at the first use. Text that
must stay text is encoded by a second copy from which all added tokens are taken out, so no spelling
of one can become one. Nothing is added at either end: the space that SentencePiece tokenizers put
before a text is taken off again. (The one that older of them put after a special token is not: the
models were trained with it.)
"""

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from untemplate.errors import VocabularyError
from untemplate.message import JSON
from untemplate.vocabulary.files import located, read_json_object
from untemplate.vocabulary.pieces import byte_token, from_byte_level, from_sentencepiece
from untemplate.vocabulary.vocabulary import TokenKind, Vocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["from_tokenizer_json"]

_Spelling = Callable[[str], bytes]
_MOST_TOKENS = 10_000_000


def from_tokenizer_json(
    path: str | Path,
    *,
    bos: str | None = None,
    eos: str | None = None,
    ends: frozenset[int] = frozenset(),
    size: int = 0,
) -> Vocabulary:
    """Read a vocabulary.

    Args:
        path: A `tokenizer.json`.
        bos: Text of the token that begins a prompt.
        eos: Text of the token that ends a turn.
        ends: More ids that end a turn.
        size: Pad with ids without bytes up to here: engines give logits for a round number of ids.
    """
    file = read_json_object(path, VocabularyError)
    with located(path):
        pieces = _pieces(_object(file, "model"))
        added = _added(file)
        tokens, kinds = _tokens(file, pieces, added, size)
        ids = pieces | {text: token_id for token_id, (text, _) in added.items()}
        return Vocabulary(
            tokens=tokens,
            kinds=kinds,
            bos=_named(bos, ids),
            eos=_named(eos, ids),
            ends=ends,
            encode=_Encoder(str(path), kinds),
        )


def _tokens(
    file: Mapping[str, JSON],
    pieces: Mapping[str, int],
    added: Mapping[int, tuple[str, bool]],
    size: int,
) -> tuple[tuple[bytes, ...], bytes]:
    size = max(size, 1 + max(pieces.values(), default=-1), 1 + max(added, default=-1))
    if size > _MOST_TOKENS:
        raise VocabularyError(f"an id of {size - 1}")
    spelling, has_byte_tokens = _spelling(file)
    tokens = [b""] * size
    kinds = bytearray([TokenKind.UNUSED] * size)
    for piece, token_id in pieces.items():
        byte = byte_token(piece) if has_byte_tokens else None
        tokens[token_id] = spelling(piece) if byte is None else byte
        kinds[token_id] = TokenKind.NORMAL if byte is None else TokenKind.BYTE
    for token_id, (text, is_special) in added.items():
        tokens[token_id] = text.encode("utf-8", "replace")
        kinds[token_id] = TokenKind.CONTROL if is_special else TokenKind.USER_DEFINED
    return tuple(tokens), bytes(kinds)


def _named(text: str | None, ids: Mapping[str, int]) -> int | None:
    if text is not None and text not in ids:
        raise VocabularyError(f"no token is {text!r}")
    return None if text is None else ids[text]


def _object(file: Mapping[str, JSON], key: str) -> dict[str, JSON]:
    value = file.get(key)
    if not isinstance(value, dict):
        raise VocabularyError(f"{key} is not an object")
    return value


def _pieces(model: Mapping[str, JSON]) -> dict[str, int]:
    """Piece to id. Unigram lists pieces in the order of ids, the others give the ids."""
    vocab = model.get("vocab")
    if isinstance(vocab, dict):
        found = {piece: n for piece, n in vocab.items() if isinstance(n, int) and n >= 0}
    elif isinstance(vocab, list):
        pairs = [item for item in vocab if isinstance(item, list) and item]
        found = {str(pair[0]): n for n, pair in enumerate(pairs)}
    else:
        raise VocabularyError("model.vocab is neither an object nor a list")
    if len(found) != len(vocab):
        raise VocabularyError("model.vocab holds something that is no piece, or one twice")
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        raise VocabularyError("pieces with a prefix or suffix for word borders can't be read")
    return found


def _added(file: Mapping[str, JSON]) -> dict[int, tuple[str, bool]]:
    """Id to text and whether it is special."""
    found: dict[int, tuple[str, bool]] = {}
    listed = file.get("added_tokens") or []
    for item in listed if isinstance(listed, list) else []:
        match item:
            case {"id": int(token_id), "content": str(content), **more} if token_id >= 0:
                found[token_id] = (content, bool(more.get("special")))
            case _:
                raise VocabularyError("added_tokens holds something that is no token")
    return found


def _spelling(file: Mapping[str, JSON]) -> tuple[_Spelling, bool]:
    """How pieces are spelt, and whether `<0x0A>` is a byte."""
    steps = _steps(file.get("decoder")) or _steps(file.get("pre_tokenizer"))
    kinds = [step.get("type") for step in steps]
    has_byte_tokens = "ByteFallback" in kinds or bool(_object(file, "model").get("byte_fallback"))
    if "ByteLevel" in kinds:
        return from_byte_level, has_byte_tokens
    if "WordPiece" in kinds or "CTC" in kinds or "BPEDecoder" in kinds:
        raise VocabularyError(f"a decoder of the types {kinds} can't be read")
    for step in steps:
        match step:
            case {"type": "Metaspace", "replacement": str(space)}:
                return functools.partial(from_sentencepiece, space=space), has_byte_tokens
            case {"type": "Replace", "pattern": {"String": str(space)}, "content": " "}:
                return functools.partial(from_sentencepiece, space=space), has_byte_tokens
            case _:
                pass
    return functools.partial(str.encode, errors="replace"), has_byte_tokens


def _steps(part: JSON) -> list[dict[str, JSON]]:
    """A decoder or pre-tokenizer as a flat list of its steps."""
    if not isinstance(part, dict):
        return []
    inner = part.get("decoders") or part.get("pretokenizers")
    if not isinstance(inner, list):
        return [part]
    return [step for each in inner for step in _steps(each)]


class _Encoder:
    """The `tokenizers` library, in the two forms that `Encoder` wants."""

    __slots__ = ("_kinds", "_path", "_plain", "_special")

    def __init__(self, path: str, kinds: bytes) -> None:
        self._path = path
        self._kinds = kinds
        # Loaded at most once each; two threads that come first both load, and one is dropped.
        self._special: _Loaded | None = None
        self._plain: _Loaded | None = None

    def __call__(self, text: str, *, special: bool) -> list[int]:
        if special:
            if self._special is None:
                self._special = _Loaded(_load(self._path, with_added=True))
            return self._special.encode(text)
        if self._plain is None:
            self._plain = _Loaded(_load(self._path, with_added=False))
        return self._encode_plain(self._plain, text)

    def _encode_plain(self, loaded: "_Loaded", text: str) -> list[int]:
        ids = loaded.encode(text)
        marks = (TokenKind.CONTROL, TokenKind.USER_DEFINED)
        if len(text) < 2 or not any(self._kinds[token_id] in marks for token_id in ids):
            return ids
        # Some models merge letters into a control token; half of one can't become it.
        half = len(text) // 2
        return self._encode_plain(loaded, text[:half]) + self._encode_plain(loaded, text[half:])


class _Loaded:
    """A tokenizer that puts nothing before a text."""

    __slots__ = ("_line", "_tokenizer")

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        # Where a space is put before a text, a line break takes it, and is taken off again.
        line, after = self._ids("\n"), self._ids("\na")
        is_prefix = after[: len(line)] == line
        self._line = line if is_prefix and after[len(line) :] != self._ids("a") else []

    def encode(self, text: str) -> list[int]:
        if self._line:
            ids = self._ids("\n" + text)
            if ids[: len(self._line)] == self._line:
                return ids[len(self._line) :]
        return self._ids(text)

    def _ids(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids


def _load(path: str, *, with_added: bool) -> "Tokenizer":
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise VocabularyError(
            "encoding needs the tokenizers library: pip install 'untemplate[hf]'", place=path
        ) from error
    file = read_json_object(path, VocabularyError)
    if not with_added:
        file["added_tokens"] = []
        file["post_processor"] = None
    try:
        tokenizer = Tokenizer.from_str(json.dumps(file))
    except Exception as error:  # the library raises no narrower type
        raise VocabularyError(f"tokenizers refuses it: {error}", place=path) from error
    for token_id, (text, _) in _added(file).items():
        # The library numbers added tokens itself where the file leaves a gap.
        if tokenizer.token_to_id(text) != token_id:
            raise VocabularyError(
                f"tokenizers does not give {text!r} the id {token_id}", place=path
            )
    return tokenizer
