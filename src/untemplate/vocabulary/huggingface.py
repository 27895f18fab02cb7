"""The vocabulary of a model folder as Hugging Face lays it out.

In: a folder. Out: a `Vocabulary` with bos, eos and every end of a turn, from whichever of these
files are there:

    tokenizer.json, or tekken.json, or one *.tiktoken     the tokens
    tokenizer_config.json, special_tokens_map.json        which are bos and eos; added tokens
    generation_config.json                                all ids that end a generation
    config.json                                           how many ids the model gives logits for

Folders that hold only a SentencePiece `tokenizer.model` are refused: convert them once with
transformers, which writes `tokenizer.json`.
"""

from collections.abc import Mapping
from pathlib import Path

from untemplate.errors import UntemplateError, VocabularyError
from untemplate.message import JSON
from untemplate.vocabulary.files import read_json_object
from untemplate.vocabulary.from_json import from_tokenizer_json
from untemplate.vocabulary.ranks import from_tekken, from_tiktoken
from untemplate.vocabulary.vocabulary import Vocabulary

__all__ = ["from_hf", "read_optional", "special_tokens"]


def from_hf(folder: str | Path) -> Vocabulary:
    """Read the vocabulary of this folder."""
    folder = Path(folder)
    config = read_optional(folder / "tokenizer_config.json", VocabularyError)
    names = special_tokens(folder, config, VocabularyError)
    bos, eos = (_text(names.get(name)) for name in ("bos_token", "eos_token"))
    ends = _ids(read_optional(folder / "generation_config.json", VocabularyError), "eos_token_id")
    size = read_optional(folder / "config.json", VocabularyError).get("vocab_size")
    if (folder / "tokenizer.json").is_file():
        return from_tokenizer_json(
            folder / "tokenizer.json",
            bos=bos,
            eos=eos,
            ends=ends,
            size=size if isinstance(size, int) else 0,
        )
    if (folder / "tekken.json").is_file():
        return from_tekken(folder / "tekken.json", _added(config), bos=bos, eos=eos)
    if len(ranks := sorted(folder.glob("*.tiktoken"))) == 1:
        return from_tiktoken(ranks[0], _added(config), bos=bos, eos=eos)
    raise VocabularyError(
        "there is no tokenizer.json, no tekken.json and not one *.tiktoken file", place=str(folder)
    )


def special_tokens(
    folder: Path, config: Mapping[str, JSON], failure: type[UntemplateError]
) -> dict[str, JSON]:
    """Special tokens by the names under which a chat template sees them."""
    found: dict[str, JSON] = {}
    for source in (config, read_optional(folder / "special_tokens_map.json", failure)):
        for name, value in source.items():
            text = _text(value)
            if name.endswith("_token") and text is not None:
                found.setdefault(name, text)
    return found


def read_optional(path: Path, failure: type[UntemplateError]) -> dict[str, JSON]:
    """The object in this file, empty when there is no such file."""
    return read_json_object(path, failure) if path.is_file() else {}


def _text(value: JSON) -> str | None:
    """A token is written as its text, or as an object with its text in `content`."""
    match value:
        case str(text) | {"content": str(text)}:
            return text
        case _:
            return None


def _ids(config: Mapping[str, JSON], key: str) -> frozenset[int]:
    value = config.get(key)
    values = value if isinstance(value, list) else [value]
    return frozenset(item for item in values if isinstance(item, int))


def _added(config: Mapping[str, JSON]) -> dict[str, int]:
    listed = config.get("added_tokens_decoder")
    found: dict[str, int] = {}
    for token_id, value in listed.items() if isinstance(listed, dict) else ():
        text = _text(value)
        if text is not None and token_id.isdigit() and len(token_id) < 10:
            found[text] = int(token_id)
    return found
