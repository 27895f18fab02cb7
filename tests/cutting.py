r"""Documents that are cut after every byte, and what a reader of the beginning may say then.

    leaves('{"a": [12]}')           # [Leaf(path=("a", 0), value=12, start=7, received=10)]
    judge(shown, document, cut)     # Verdict(wrong=..., lost=..., ...)

A value that is shown must be the document's own; only the string that is being cut may be a
beginning of it. A value whose last byte was received (of a number: the byte behind it) must be
there. What was shown once stays, and strings only grow.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

DOCUMENTS = (
    (Path(__file__).parent / "cases/cutting.txt")
    .read_text(encoding="utf-8")
    .removesuffix("\n")
    .split("\n---\n")
)
"""Forty-three, of the kinds that tools are called with."""

MISSING = object()


@dataclass(frozen=True)
class Leaf:
    """A value without parts, or one that is empty."""

    path: tuple
    value: object
    start: int
    """Where its first byte is."""
    received: int
    """How many bytes of the document show that it is whole."""


def leaves(document):
    """All leaves of a document, by a reading of its own: positions count bytes."""
    data = document.encode()
    found = []

    def space(at):
        while data[at : at + 1] in (b" ", b"\t", b"\r", b"\n"):
            at += 1
        return at

    def text(at):
        end = at + 1
        while data[end] != 0x22:
            end += 2 if data[end] == 0x5C else 1
        return json.loads(data[at : end + 1]), end + 1

    def value(at, path):
        at = space(at)
        byte = data[at : at + 1]
        if byte == b'"':
            string, end = text(at)
            found.append(Leaf(path, string, at, end))
        elif byte in (b"{", b"["):
            end = parts(at, path, is_object=byte == b"{")
        else:
            end = at
            while data[end : end + 1] not in (b",", b"}", b"]", b" ", b"\r", b"\n"):
                end += 1
            is_number = byte not in (b"t", b"f", b"n")
            found.append(Leaf(path, json.loads(data[at:end]), at, end + is_number))
        return end

    def parts(start, path, *, is_object):
        at, index = space(start + 1), 0
        if data[at : at + 1] in (b"}", b"]"):
            found.append(Leaf(path, {} if is_object else [], start, at + 1))
            return at + 1
        while True:
            key = index
            if is_object:
                key, at = text(space(at))
                at = space(at) + 1
            at = space(value(at, (*path, key)))
            index += 1
            if data[at : at + 1] != b",":
                return at + 1
            at = space(at + 1)

    value(0, ())
    return found


def at_path(value, path):
    """The part of a value at a path, or MISSING."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value


def same(a, b):
    """Equal, and of one type: 1 is not True."""
    return type(a) is type(b) and a == b


@dataclass
class Verdict:
    """What is not right about what is shown of a beginning."""

    wrong: list = field(default_factory=list)
    """Paths with a value that the document does not have there."""
    lost: list = field(default_factory=list)
    """Paths of values that were received and are not shown."""
    cut_string: tuple | None = None
    """Path of the string that is shown and not whole."""


def judge(shown, document, cut):
    """What is right about `shown`, for the first `cut` bytes of the document."""
    verdict = Verdict()
    whole = json.loads(document)
    by_path = {leaf.path: leaf for leaf in leaves(document)}
    if shown is not MISSING:
        _compare(shown, whole, (), by_path, cut, verdict)
    verdict.lost = [
        leaf.path
        for leaf in by_path.values()
        if leaf.received <= cut and not same(at_path(shown, leaf.path), leaf.value)
    ]
    return verdict


def _compare(shown, whole, path, by_path, cut, verdict):  # noqa: PLR0917
    leaf = by_path.get(path)
    if isinstance(shown, dict) and isinstance(whole, dict):
        for key, value in shown.items():
            if key not in whole:
                verdict.wrong.append((*path, key))
            else:
                _compare(value, whole[key], (*path, key), by_path, cut, verdict)
    elif isinstance(shown, list) and isinstance(whole, list):
        if len(shown) > len(whole):
            verdict.wrong.append(path)
        for index, value in enumerate(shown[: len(whole)]):
            _compare(value, whole[index], (*path, index), by_path, cut, verdict)
    elif isinstance(shown, str) and leaf and leaf.start < cut < leaf.received:
        if not isinstance(whole, str) or not whole.startswith(shown) or not _is_text(shown):
            verdict.wrong.append(path)
        verdict.cut_string = path
    elif leaf is None or leaf.start >= cut or not same(shown, whole):
        verdict.wrong.append(path)


def _is_text(string):
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True


def goes_back(before, now):
    """Whether something that was shown has changed or is gone; strings may grow."""
    if before is MISSING:
        return False
    if isinstance(before, dict) and isinstance(now, dict):
        return any(k not in now or goes_back(v, now[k]) for k, v in before.items())
    if isinstance(before, list) and isinstance(now, list):
        pairs = zip(before, now, strict=False)
        return len(now) < len(before) or any(goes_back(a, b) for a, b in pairs)
    if isinstance(before, str) and isinstance(now, str):
        return not now.startswith(before)
    return now is MISSING or not same(before, now)


def pointer(path):
    """The path as a JSON pointer."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)


@dataclass
class Score:
    """Over all documents and cuts."""

    cuts: int = 0
    raised: int = 0
    wrong: int = 0
    lost: int = 0
    goes_back: int = 0
    cut_strings: int = 0
    """Cuts inside a string of which something is shown."""
    unmarked: int = 0
    """Of those: without a word that it is not whole."""


def score(read, documents=DOCUMENTS):
    """The score of `read(document)`, which gives for each cut what is shown, and what is marked.

    It is called with a document and yields, for its first byte, its first two and so on, a pair:
    the value that is shown (MISSING: none; an exception: it raised) and the JSON pointer of what is
    said to be cut, or None.
    """
    total = Score()
    for document in documents:
        before = MISSING
        for cut, (shown, marked) in enumerate(read(document), 1):
            total.cuts += 1
            if isinstance(shown, Exception):
                total.raised += 1
                continue
            verdict = judge(shown, document, cut)
            total.wrong += bool(verdict.wrong)
            total.lost += bool(verdict.lost)
            total.goes_back += goes_back(before, shown)
            if verdict.cut_string is not None:
                total.cut_strings += 1
                total.unmarked += marked != pointer(verdict.cut_string)
            before = shown
    return total
