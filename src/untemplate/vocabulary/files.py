"""Reads the files that come with a model: bounded, and with one-line errors that name the file."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from untemplate.errors import UntemplateError, VocabularyError
from untemplate.message import JSON

__all__ = ["located", "read_bytes", "read_json_object"]

MOST_BYTES = 256 * 1024 * 1024
"""The largest tokenizer.json seen has 35 MB."""


def read_bytes(path: str | Path, failure: type[UntemplateError]) -> bytes:
    """The content of this file, or the failure, which names the file."""
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise failure(f"larger than {MOST_BYTES >> 20} MB", place=str(path))
        return Path(path).read_bytes()
    except OSError as error:
        raise failure(f"can't be read: {error.strerror}", place=str(path)) from error


def read_json_object(path: str | Path, failure: type[UntemplateError]) -> dict[str, JSON]:
    """The object in this file, or the failure, which names the file."""
    content = read_bytes(path, failure)
    try:
        value: JSON = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise failure(f"not JSON: {error}", place=str(path)) from error
    if not isinstance(value, dict):
        raise failure("not a JSON object", place=str(path))
    return value


@contextmanager
def located(path: str | Path) -> Generator[None]:
    """Errors that name no place name this file."""
    try:
        yield
    except VocabularyError as error:
        if error.place:
            raise
        raise VocabularyError(error.message, place=str(path)) from error
