"""Numbers and words of JSON and of Python: where they end, and what they mean in JSON.

word_in_json(b"True") -> "true"     whole_word(b"nullx") -> b"null"     is_number(b"1.") -> False
"""

import re
import string

__all__ = [
    "KEY_BEGINS",
    "LETTERS",
    "MOST_TOKEN",
    "MOST_WORD",
    "PYTHON_WORDS",
    "TOKENS",
    "WORDS",
    "is_number",
    "is_python",
    "whole_word",
    "word_in_json",
]

MOST_TOKEN = 4096
"""Longest number or word."""
MOST_WORD = 5
"""Length of the longest word that is a value."""

LETTERS = string.ascii_letters.encode()
KEY_BEGINS = LETTERS + b"_$"
TOKENS = {
    "number": re.compile(rb"[0-9+\-.eE]+"),
    "word": re.compile(rb"[A-Za-z]+"),
    "key": re.compile(rb"[A-Za-z0-9_$.\-]+"),
}
"""What may belong to a number, to a word, and to a key without quotes."""

_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
WORDS = {b"true": "true", b"false": "false", b"null": "null"}
PYTHON_WORDS = {b"True": "true", b"False": "false", b"None": "null"}
_WORD = re.compile(b"|".join((*WORDS, *PYTHON_WORDS)))


def is_number(token: bytes) -> bool:
    """Whether it is a number as JSON writes it."""
    return _NUMBER.match(token) is not None


def whole_word(text: bytes) -> bytes:
    """The word that the text begins with, or nothing: no byte behind it makes it another."""
    found = _WORD.match(text)
    return found.group() if found else b""


def word_in_json(token: bytes) -> str | None:
    """What the word is in JSON; None if it is no value."""
    return WORDS.get(token) or PYTHON_WORDS.get(token)


def is_python(token: bytes) -> bool:
    """Whether it is a word of Python's."""
    return token in PYTHON_WORDS
