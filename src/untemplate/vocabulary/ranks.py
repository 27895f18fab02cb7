"""Vocabularies that are lists of byte strings by rank: tiktoken files and Mistral's tekken.

    from_tiktoken("qwen.tiktoken", {"<|im_end|>": 151645})
    from_tekken("tekken.json")

A tiktoken file has a line `base64 rank` for each token and knows no special tokens, so those are
given. A tekken file begins its ids with special tokens and shifts the ranks behind them; older ones
leave the names of those out, and they can be given too.

There is no encoder: splitting by these files' regex needs a library that the project does not have.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path

from untemplate.errors import VocabularyError
from untemplate.message import JSON
from untemplate.vocabulary.files import located, read_bytes, read_json_object
from untemplate.vocabulary.vocabulary import TokenKind, Vocabulary

__all__ = ["from_tekken", "from_tiktoken"]

_MOST_TOKENS = 10_000_000


def from_tiktoken(
    path: str | Path, special: Mapping[str, int], *, bos: str | None = None, eos: str | None = None
) -> Vocabulary:
    """Read a tiktoken file; `special` gives the ids of its special tokens by their text."""
    with located(path):
        found: dict[int, bytes] = {}
        for number, line in enumerate(read_bytes(path, VocabularyError).splitlines(), start=1):
            if not line.strip():
                continue
            match line.split():
                case [token, rank] if _is_number(rank) and int(rank) not in found:
                    found[int(rank)] = _decoded(token, f"line {number}")
                case _:
                    raise VocabularyError(f"line {number} is not `base64 rank`, or a rank again")
        return _vocabulary(found, special, bos, eos)


def from_tekken(
    path: str | Path,
    special: Mapping[str, int] | None = None,
    *,
    bos: str | None = None,
    eos: str | None = None,
) -> Vocabulary:
    """Read a tekken file; `special` names special tokens that the file itself does not name."""
    with located(path):
        file = read_json_object(path, VocabularyError)
        match file:
            case {
                "config": {
                    "default_vocab_size": int(size),
                    "default_num_special_tokens": int(first),
                },
                "vocab": list(vocab),
            } if 0 <= first <= size <= _MOST_TOKENS:
                pass
            case _:
                raise VocabularyError("it has no `config` with sizes, or no `vocab`")
        found: dict[int, bytes] = dict.fromkeys(range(first), b"")
        for item in vocab[: size - first]:
            match item:
                case {"rank": int(rank), "token_bytes": str(token)} if 0 <= rank < size - first:
                    found[first + rank] = _decoded(token.encode(), f"rank {rank}")
                case _:
                    raise VocabularyError("`vocab` holds something that is no token")
        return _vocabulary(found, {**_named(file), **(special or {})}, bos, eos)


def _named(file: Mapping[str, JSON]) -> dict[str, int]:
    listed = file.get("special_tokens")
    found: dict[str, int] = {}
    for item in listed if isinstance(listed, list) else []:
        match item:
            case {"rank": int(rank), "token_str": str(text)} if rank >= 0:
                found[text] = rank
            case _:
                raise VocabularyError("`special_tokens` holds something that is no token")
    return found


def _is_number(text: bytes) -> bool:
    return text.isdigit() and len(text) < 10


def _decoded(token: bytes, where: str) -> bytes:
    try:
        return base64.b64decode(token, validate=True)
    except binascii.Error as error:
        raise VocabularyError(f"{where} is not base64") from error


def _vocabulary(
    found: Mapping[int, bytes], special: Mapping[str, int], bos: str | None, eos: str | None
) -> Vocabulary:
    size = 1 + max([*found, *special.values()], default=-1)
    if size > _MOST_TOKENS:
        raise VocabularyError(f"an id of {size - 1}")
    for text in (bos, eos):
        if text is not None and text not in special:
            raise VocabularyError(f"no special token is {text!r}")
    tokens = [found.get(token_id, b"") for token_id in range(size)]
    kinds = bytearray(TokenKind.NORMAL if token else TokenKind.UNUSED for token in tokens)
    for text, token_id in special.items():
        tokens[token_id] = text.encode("utf-8", "replace")
        kinds[token_id] = TokenKind.CONTROL
    return Vocabulary(
        tokens=tuple(tokens),
        kinds=bytes(kinds),
        bos=None if bos is None else special[bos],
        eos=None if eos is None else special[eos],
    )
