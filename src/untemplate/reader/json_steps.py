r"""Steps of JSON that a piece of data takes at once: an expression for each place between values.

    steps = json_steps(python=False)
    steps.member(b', "n": 12,', 0)        # `scalar`: ', "n": 12', the key is another group
    steps.member(b', "n": "ab', 0)        # `text`: ', "n": "', a string begins
    steps.member(b', "n": 1', 0)          # `begun`: all of it waits
    steps.member(b', n: 1', 0)            # None: for the frame that reads it

A step is what a `JsonFrame` tells at once: comma, key, colon and space wait with the value that
they lead to. Only what nothing is to be said about is a step: keys are without escapes, numbers end
in front of what may follow one. The name of the last group says which step it is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from untemplate.reader.json_words import PYTHON_WORDS, WORDS
from untemplate.reader.plain import string_items, with_escaped_quotes
from untemplate.reader.utf8 import UTF8, UTF8_BEGUN, Data

__all__ = ["MOST_WAITING", "JsonSteps", "in_json", "json_steps"]

MOST_WAITING = 128
"""More that waits is read byte by byte: what waits is looked at again with each piece."""

Matcher = Callable[[Data, int], re.Match[bytes] | None]

_SPACE = rb"[ \t\r\n]*+"
_NUMBER = rb"-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+(?=[,}\] \t\r\n])"
_NUMBER_BEGUN = rb"[-0-9][0-9+\-.eE]*+"


@dataclass(frozen=True, slots=True, eq=False)
class JsonSteps:
    """What may stand where; groups `scalar`, `text`, `open`, `close` and `begun`."""

    member: Matcher
    """Behind a value in an object; group `key`, or `whole` where the step has only begun."""
    first_member: Matcher
    """Behind its bracket."""
    item: Matcher
    """Behind a value in an array."""
    first_item: Matcher
    rest: Mapping[int, Matcher]
    """In a string, by its quote: its text, and its end, or what has begun behind it."""


def in_json(found: re.Match[bytes], step: Data, *, is_text: bool) -> str:
    """What a step in Python's notation is in JSON."""
    text = step.decode()
    if is_text:
        return with_escaped_quotes(text[:-1]) + '"' if found["close"] else with_escaped_quotes(text)
    if found["scalar"] in PYTHON_WORDS:
        text = text[: -len(found["scalar"])] + PYTHON_WORDS[found["scalar"]]
    return text.replace("'", '"')


@lru_cache(maxsize=2)
def json_steps(*, python: bool) -> JsonSteps:
    """The steps of JSON, or of Python's notation for the same."""
    quotes = b"\"'" if python else b'"'
    words = PYTHON_WORDS if python else WORDS
    begun_words = {w[:n] for w in words for n in range(1, len(w))}
    scalar = rb"(?P<scalar>%s|%s)" % (_NUMBER, b"|".join(words))
    value = rb"(?:%s|(?P<text>[%s])|(?P<open>[{\[]))" % (scalar, quotes)
    value_begun = rb"(?:%s|%s)" % (_NUMBER_BEGUN, b"|".join(sorted(begun_words, reverse=True)))
    item = value, value_begun, rb"\]"
    letters = bytes(b for b in range(0x20, 0x7F) if b not in quotes + b"\\")
    key = rb"(?:[%s]++|%s)*+" % (re.escape(letters), UTF8)
    colon = _SPACE + b":" + _SPACE
    colon_begun = rb"%s(?::%s%s?+)?+" % (_SPACE, _SPACE, value_begun)
    member = (
        rb"(?P<quote>[%s])(?P<key>%s)(?P=quote)%s%s" % (quotes, key, colon, value),
        rb"(?P<open_quote>[%s])(?:(?P<whole>%s)(?P=open_quote)%s|%s(?:%s)?+)"
        % (quotes, key, colon_begun, key, UTF8_BEGUN),
        rb"\}",
    )
    return JsonSteps(
        _step(*member, comma=True),
        _step(*member, comma=False),
        _step(*item, comma=True),
        _step(*item, comma=False),
        {quote: _rest(quote) for quote in quotes},
    )


def _step(whole: bytes, begun: bytes, close: bytes, *, comma: bool) -> Matcher:
    if comma:
        whole, begun = b"," + _SPACE + whole, rb",%s(?:%s)?+" % (_SPACE, begun)
    waits = rb"(?P<begun>%s(?:%s)?+\Z)" % (_SPACE, begun)
    return re.compile(rb"%s(?:%s|(?P<close>%s))|%s" % (_SPACE, whole, close, waits)).match


def _rest(quote: int) -> Matcher:
    items, waiting = string_items(quote)
    ends = rb"(?P<close>%c)|(?P<begun>%s\Z)" % (quote, waiting)
    return re.compile(rb"(?:%s)*+(?:%s)?+" % (items, ends)).match
