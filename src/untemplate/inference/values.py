r"""Finds the encoding of one kind of JSON value from what a template wrote for samples of it.

    find_written("string", ("s7z",), (">s7z</",))     # Written(">", Raw(), "</")

Each known encoding is tried; the first that explains every sample, with the same text before and
after it, is taken. There are few encodings, but styles of JSON are many: indentation, separators,
order of keys, escapes.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from untemplate.dialect import (
    KEY_IN_LITERAL,
    Empty,
    Encoding,
    Escaped,
    JsonText,
    JsonType,
    Python,
    Raw,
    Written,
)
from untemplate.inference.words import NASTY
from untemplate.message import JSON

__all__ = [
    "ODD",
    "Each",
    "find_escaped",
    "find_guarded",
    "find_json",
    "find_written",
    "json_styles",
]

_HTML = Escaped(
    (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&#34;"), ("'", "&#39;")),
)


@cache
def json_styles() -> tuple[JsonText, ...]:
    """Every style of JSON that templates are known to write, the usual one first."""
    flat = [(None, 0)]
    deep = [(indent, margin) for indent in (4, 2, 1) for margin in (0, 2, 4, 8, 12)]
    return tuple(
        JsonText(indent, item, key, ascii_only, sort, margin)
        for layouts in (flat, deep)
        for sort, ascii_only in product((False, True), repeat=2)
        for item, key in ((", ", ": "), (",", ":"), (",", ": "))
        for indent, margin in layouts
        if indent is None or item == ","
    )


def find_json(samples: Sequence[JSON], texts: Sequence[str]) -> JsonText | None:
    """The style in which each sample is in its text."""
    for style in json_styles():
        if all(style.write(v) in t for v, t in zip(samples, texts, strict=True)):
            return style
    return None


def _encodings(kind: JsonType) -> Iterator[Encoding]:
    if kind == "string":
        yield Raw()
        yield JsonText()
        yield JsonText(ascii=True)
        yield Python()
        yield _HTML
        return
    if kind == "null":
        yield Python()
    styles = json_styles()
    yield from styles if kind in ("array", "object") else styles[:1]
    yield Python()
    if kind == "null":
        yield Empty()


def find_written(kind: JsonType, samples: Sequence[JSON], texts: Sequence[str]) -> Written | None:
    """The encoding that explains each text, and what stands around it."""
    for encoding in _encodings(kind):
        if isinstance(encoding, Empty):
            return Written(texts[0], encoding, "") if len(set(texts)) == 1 else None
        cuts = {_around(encoding.write(v), t) for v, t in zip(samples, texts, strict=True)}
        cut = cuts.pop()
        if not cuts and cut is not None:
            return Written(cut[0], encoding, cut[1])
    return None


def _around(encoded: str, text: str) -> tuple[str, str] | None:
    at = text.rfind(encoded)
    return None if at < 0 else (text[:at], text[at + len(encoded) :])


Each = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Takes strings by name, writes each as an argument, and gives what stands for it."""

_ODD = tuple(map(chr, [*range(9, 14), *range(32, 127), 0xE9, 0x65E5]))
_RARE = ("\0", "\b", "\x1b", "\x7f", "\u00a0", "\u200d", "\u2028", "\U0001f680")
"""What Python's own notation has codes for, or JSON's."""
ODD = "".join(_ODD + _RARE)


def find_escaped(write: Each) -> Written | None:
    """One form of a string, in which some characters are replaced; None when there is no such."""
    samples = {f"z{n}": f"p{c}q" for n, c in enumerate((*_ODD, *_RARE))}
    texts = write({"x": "pAq", "y": NASTY, **samples})
    before, _, after = texts["x"].partition("pAq")
    start, end = before + "p", "q" + after
    escapes: dict[str, str] = {}
    for name, sample in samples.items():
        text = texts[name]
        if not (text.startswith(start) and text.endswith(end)):
            return None
        escapes[sample[1]] = text[len(start) : len(text) - len(end)]
    escapes = {c: w for c, w in escapes.items() if c != w}
    # What others are replaced by comes first, or it would be replaced once more.
    first = [c for c in escapes if any(c in w for other, w in escapes.items() if other != c)]
    found = tuple((c, escapes[c]) for c in dict.fromkeys((*first, *escapes)))
    quote = after[:1]
    if quote in ("'", '"') and before.endswith(quote) and _is_python(found, quote):
        written = Written(before[:-1], Python(found, quote), after[1:])
    else:
        written = Written(before, Escaped(found), after)
    return written if written.write(NASTY, key=KEY_IN_LITERAL) == texts["y"] else None


def _is_python(escapes: Sequence[tuple[str, str]], quote: str) -> bool:
    """Whether Python reads a string that is written so."""
    try:
        read = {plain: ast.literal_eval(f'"{w}"') for plain, w in escapes}
    except (SyntaxError, ValueError):
        return False
    return {quote, "\\"} <= read.keys() and all(plain == other for plain, other in read.items())


def find_guarded(write: Each) -> Written | None:
    """Two forms of a string, and the characters that bring the second.

    None when two forms don't explain all of them.
    """
    plain_samples, odd_samples = {"x1": "s7z", "x2": "t8y"}, {"y1": NASTY, "y2": NASTY + "<&"}
    by_character = {f"z{n}": f"p{c}q" for n, c in enumerate(_ODD)}
    texts = write({**plain_samples, **odd_samples, **by_character})
    plain, odd = (
        find_written("string", tuple(samples.values()), [texts[k] for k in samples])
        for samples in (plain_samples, odd_samples)
    )
    if plain is None or odd is None:
        return None
    special = {
        k: v for k, v in by_character.items() if texts[k] != plain.write(v, key=KEY_IN_LITERAL)
    }
    if any(texts[k] != odd.write(v, key=KEY_IN_LITERAL) for k, v in special.items()):
        return None
    guard = "".join(v[1] for v in special.values())
    return Written(plain.before, plain.encoding, plain.after, guard, odd)
