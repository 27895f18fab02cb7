r"""When a piece of data only goes on with an open string or text, so that nothing is to be decided.

    plain = plain_of(b"</x>", lead=b"\n")           # a raw value, up to its closer
    plain.whole(b"a < b")                           # matches: all of it is text
    plain.cut(b"a\n</")[1] -> b"a"                  # the rest may be the beginning of a closer
    plain.cut(b"a</x>")    -> None                  # for the frame that reads it

Most pieces of a stream are of this kind. They are told without going through machine and frames,
with the very result that these would have had: `cut` holds back what they hold back. So a plain
piece costs one match. Quantifiers never give back: each byte is looked at a bounded number of
times, whatever it is.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from untemplate.reader.utf8 import UTF8, UTF8_BEGUN, Data

__all__ = [
    "ESCAPE",
    "Plain",
    "Skim",
    "quoted_plain",
    "string_items",
    "text_plain",
    "twice_quoted_plain",
    "with_escaped_quotes",
]

Matcher = Callable[[Data], re.Match[bytes] | None]
Skim = Callable[[Data], tuple[int, str, bool]]
"""Reads plain structure: gives where it ends, its text, and whether what is behind it waits for
more. If it does not, that is for `Frame.read`."""


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """Tests for pieces that start where nothing is held back, or with what was held back."""

    whole: Matcher
    """Matches a piece that can be told as it is."""
    cut: Matcher
    """Matches a piece of which group 1, maybe empty, can be told; the rest waits."""
    told: Callable[[str], str] | None
    """How its text is told in JSON, if not as it is."""


def _plain(items: bytes, waiting: bytes, told: Callable[[str], str] | None) -> Plain:
    whole = re.compile(rb"(?:%s)++" % items)
    cut = re.compile(rb"((?:%s)*+)%s" % (items, waiting))
    return Plain(whole.fullmatch, cut.fullmatch, told)


_HEX = rb"[0-9a-fA-F]"
ESCAPE = rb'\\["\\/bfnrt]|\\u(?:[0-9a-cA-CefEF]%s{3}|[dD][0-7]%s{2})' % (_HEX, _HEX)
"""An escape of JSON that stays as it is; halves of surrogate pairs are looked at one by one."""
_HIGH = rb"\\u[dD][89abAB]%s{2}" % _HEX
_PAIR = rb"%s\\u[dD][c-fC-F]%s{2}" % (_HIGH, _HEX)
_ESCAPE_BEGUN = rb"(?:%s)?+\\(?:u%s{0,3})?+|%s" % (_HIGH, _HEX, _HIGH)


def string_items(quote: int) -> tuple[bytes, bytes]:
    """Expressions for the text of a string in these quotes, and for what may wait behind it."""
    usual = re.escape(bytes(b for b in range(0x20, 0x7F) if b not in (quote, 0x5C)))
    items = rb"[%s]++|%s|%s|%s" % (usual, ESCAPE, _PAIR, UTF8)
    return items, rb"(?:%s|%s)?+" % (_ESCAPE_BEGUN, UTF8_BEGUN)


@lru_cache(maxsize=4)
def quoted_plain(quote: int) -> Plain:
    """The text of a string in these quotes, with JSON's escapes."""
    return _plain(*string_items(quote), None if quote == 0x22 else with_escaped_quotes)


def with_escaped_quotes(text: str) -> str:
    """Text of a string in single quotes, as it stands in double ones."""
    return _QUOTE.sub(_escaped_quote, text) if '"' in text else text


def _escaped_quote(found: re.Match[str]) -> str:
    return '\\"' if found[0] == '"' else found[0]


_QUOTE = re.compile(r'\\.|"')


@lru_cache(maxsize=1)
def twice_quoted_plain() -> Plain:
    r"""The text of a JSON string that stands, with its escapes, in another one: `\\n` for `\n`."""
    inner = rb'\\\\(?:[bfnrt/]|\\[\\"]|u(?:[0-9a-cA-CefEF]%s{3}|[dD][0-7]%s{2}))' % (_HEX, _HEX)
    items = rb"[ !#-\[\]-~]++|%s|%s" % (inner, UTF8)
    begun = rb"\\(?:\\(?:\\|u%s{0,3}+)?+)?+" % _HEX
    return _plain(items, rb"(?:%s|%s)?+" % (begun, UTF8_BEGUN), _unescaped_once)


def _unescaped_once(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


_ESCAPED = re.compile(r"\\(.)")


@lru_cache(maxsize=256)
def text_plain(
    marks: tuple[bytes, ...],
    lead: bytes,
    lead_size: int,
    *,
    others: bytes = b"",
    told: Callable[[str], str] | None = None,
) -> Plain:
    """Text that is written as it is, up to one of the marks.

    Args:
        marks: at which it may end.
        lead: the kinds of white space that may belong to a mark and so wait.
        lead_size: how much of it.
        others: bytes that the frame has to look at.
        told: how it is told.
    """
    firsts = {m[0] for m in marks}
    special = {*firsts, *lead, *others}
    usual = re.escape(bytes(b for b in (9, 10, *range(0x20, 0x7F)) if b not in special))
    items = [rb"[%s]++" % usual, UTF8]
    begun = [UTF8_BEGUN]
    for first in sorted(firsts - {*others, *lead}):
        rests = {m[1:] for m in marks if m[0] == first}
        halves = {r[:n] for r in rests for n in range(len(r))}
        if b"" not in rests:
            items.append(rb"%s(?!%s|%s)" % (_one(first), _any(rests), _at_end(halves)))
        if halves:
            begun.append(_one(first) + _any(halves))
    space = rb"[%s]" % re.escape(lead) if lead else b""
    if space:  # it is text as soon as text follows
        items = [rb"%s*+(?:%s)" % (space, b"|".join(items))]
    held = rb"%s{0,%d}+" % (space, lead_size) if space else b""
    waiting = rb"%s(?:%s)?+" % (held, b"|".join(begun))
    return _plain(b"|".join(items), waiting, told)


def _one(byte: int) -> bytes:
    return re.escape(bytes([byte]))


def _any(options: Iterable[bytes]) -> bytes:
    longest_first = sorted(options, key=lambda o: (-len(o), o))
    return rb"(?:%s)" % b"|".join(map(re.escape, longest_first))


def _at_end(options: Iterable[bytes]) -> bytes:
    return _any(options) + rb"\Z"
