r"""Learns how the arguments of a call are written: as one value, or pair by pair.

`write(arguments)` gives the text in which they stand. If the whole object is in it in some style of
JSON, that is all. Else keys and values are looked for one by one: with none, one, two arguments the
loop shows, and a value of each JSON type between two strings shows its encoding. Where arrays and
objects are in no known encoding, they are taken for a notation of the template's own, learnt the
same way one level down and named, so that it nests.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from untemplate.dialect import (
    KEY_IN_LITERAL,
    Absent,
    Arguments,
    Encoding,
    Items,
    JsonType,
    Notation,
    Pairs,
    Python,
    Raw,
    Whole,
    Written,
)
from untemplate.inference.examine import Obstacle
from untemplate.inference.text import common_prefix, common_suffix, cut_loop
from untemplate.inference.values import (
    ODD,
    Each,
    find_escaped,
    find_guarded,
    find_json,
    find_written,
)
from untemplate.inference.words import KEYS, RICH, SAMPLES, value
from untemplate.message import JSON

__all__ = ["bare_quote", "learn_arguments"]

Write = Callable[[Mapping[str, JSON]], str]

_FIRST, _SECOND, _LAST = KEYS["string"]
_NESTED: tuple[JsonType, JsonType] = ("array", "object")


def learn_arguments(write: Write) -> Arguments:
    """Arguments as the template writes them, or Obstacle."""
    whole = learn_whole(write)
    return whole or _learn_pairs(write)


def bare_quote(arguments: Arguments) -> str:
    """The quote around strings that are not escaped, where other values are Python literals."""
    if not isinstance(arguments, Pairs):
        return ""
    string, boolean = (arguments.types.get(kind) for kind in ("string", "boolean"))
    if string is None or boolean is None or not isinstance(string.encoding, Raw):
        return ""
    quote = string.before[-1:]
    is_python = isinstance(boolean.encoding, Python) and quote in {"'", '"'}
    return quote if is_python and string.after.startswith(quote) else ""


def learn_whole(write: Write) -> Whole | None:
    """One value that holds all arguments."""
    samples: list[dict[str, JSON]] = [RICH, {"q": 1}]
    texts = [write(s) for s in samples]
    style = find_json(samples, texts)
    if style is not None:
        return Whole(style)
    python = Python()
    if all(python.write(s) in t for s, t in zip(samples, texts, strict=True)):
        return Whole(python)
    return None


def _learn_pairs(write: Write) -> Pairs:
    pairs = _loop_of_pairs(write, outermost=True)
    between = _between(write, pairs)
    types = _learn_types(between)
    strings = types["string"] = _strings(types.get("string"), _each(write, pairs))
    missing = [k for k in SAMPLES if types.get(k) is None and k not in _NESTED]
    if strings is None or missing:
        raise Obstacle(f"no encoding explains values of type {', '.join(missing)}")
    notations = {}
    if any(types.get(k) is None for k in _NESTED):
        notations = _learn_notations(between, types)
    known = {k: w for k, w in types.items() if w is not None}
    return replace(pairs, types=known, notations=notations)


def _loop_of_pairs(write: Write, *, outermost: bool) -> Pairs:
    """Text before, between and after keys, without the types of values."""
    one, two = value(71), value(72)
    text, zero = write({_FIRST: one, _SECOND: two}), write({})
    if not all(part in text for part in (_FIRST, _SECOND, one, two)):
        raise Obstacle("keys or values of arguments are not visible")
    a, b = text.index(_FIRST), text.index(_SECOND)
    end = max(text.rindex(_SECOND) + len(_SECOND), text.rindex(two) + len(two))
    unit = text[a:b].replace(_FIRST, KEY_IN_LITERAL).replace(one, "")
    last = text[b:end].replace(_SECOND, KEY_IN_LITERAL).replace(two, "")
    if not unit.startswith(last):
        raise Obstacle("two arguments of one call are written in different ways")
    inside = text[text.rindex(two) + len(two) : end]
    loop = cut_loop(text[:a], unit[len(last) :], text[end:], inside=inside)
    head, tail, none = loop.head, loop.tail, zero
    if outermost:  # what a call without arguments has too belongs to the call
        left = common_prefix(zero, head)
        right = common_suffix(zero[len(left) :], tail)
        none = zero[len(left) : len(zero) - len(right)]
        head, tail = head[len(left) :], tail[: len(tail) - len(right)]
    turned = write({_SECOND: two, _FIRST: one})
    return Pairs(
        head,
        loop.open,
        loop.separator,
        tail,
        none,
        sort_keys=turned.index(_FIRST) < turned.index(_SECOND),
    )


def _between(write: Write, pairs: Pairs) -> Callable[[JsonType, JSON], str | None]:
    """What stands from a key to the next separator; None when the key is not written."""

    def between(kind: JsonType, given: JSON) -> str | None:
        key = _SECOND if kind == "string" else KEYS[kind][0]
        text = write({_FIRST: value(81), key: given, _LAST: value(82)})
        if key not in text or _LAST not in text:
            return None
        text = text[text.index(key) + len(key) : text.index(_LAST)]
        if not text.endswith(pairs.separator + pairs.open):
            raise Obstacle(f"the separator after a value of type {kind} is different")
        text = text[: len(text) - len(pairs.separator + pairs.open)]
        return text.replace(key, KEY_IN_LITERAL)

    return between


def _learn_types(
    between: Callable[[JsonType, JSON], str | None],
) -> dict[JsonType, Written | None]:
    types: dict[JsonType, Written | None] = {}
    for kind, samples in SAMPLES.items():
        texts = [between(kind, v) for v in samples]
        seen = [t for t in texts if t is not None]
        if len(seen) < len(texts):
            types[kind] = Written("", Absent(), "")
        else:
            types[kind] = find_written(kind, samples, seen)
    return types


def _strings(found: Written | None, each: Each) -> Written | None:
    """How strings are written, where two samples are not enough to tell."""
    if found is None:
        return find_guarded(each) or find_escaped(each)
    if not isinstance(found.encoding, Python):
        return found
    odd = {"odd": ODD}
    return found if found.write(ODD, key=KEY_IN_LITERAL) == each(odd)["odd"] else find_escaped(each)


def _each(write: Write, pairs: Pairs) -> Each:
    """Writes many strings in one call; what stands from each key to the next."""

    def each(strings: Mapping[str, str]) -> dict[str, str]:
        keys = {name: f"k9{n:04d}qz" for n, name in enumerate(strings)}
        text = write({**{keys[name]: s for name, s in strings.items()}, "k99999qz": "z"})
        starts = [text.index(k) + len(k) for k in keys.values()]
        ends = [text.index(k) for k in [*list(keys.values())[1:], "k99999qz"]]
        cut = len(pairs.separator + pairs.open)
        return {
            name: text[a : b - cut].replace(keys[name], KEY_IN_LITERAL)
            for name, a, b in zip(keys, starts, ends, strict=True)
        }

    return each


# ------------------------------------------------------------------- a notation of its own


def _learn_notations(
    between: Callable[[JsonType, JSON], str | None], types: dict[JsonType, Written | None]
) -> dict[str, Items | Pairs]:
    """Lists and objects one level down; fills in what stands around them at the top."""
    scalars = [w for k in ("string", "integer", "number", "boolean") if (w := types.get(k))]
    left = common_prefix(*(w.before for w in scalars))
    right = common_suffix(*(w.after for w in scalars))

    def inside(kind: JsonType, given: JSON) -> str:
        text = between(kind, given)
        if text is None:
            raise Obstacle(f"nested values of type {kind} are not written")
        return text[len(left) : len(text) - len(right)]

    def write_list(given: list[JSON]) -> str:
        return inside("array", given)

    def write_object(given: Mapping[str, JSON]) -> str:
        return inside("object", dict(given))

    items = _learn_items(write_list)
    nested = _loop_of_pairs(write_object, outermost=False)
    in_list: dict[JsonType, Written] = {
        kind: found
        for kind, samples in SAMPLES.items()
        if kind not in _NESTED
        and (
            found := find_written(kind, samples, [_inner(items, write_list([v])) for v in samples])
        )
    }
    in_object: dict[JsonType, Written] = {}
    for kind, samples in SAMPLES.items():
        if kind in _NESTED:
            continue
        texts = [_value_of(nested, write_object({_FIRST: v})) for v in samples]
        seen = [t for t in texts if t is not None]
        absent = len(seen) < len(texts)
        found = Written("", Absent(), "") if absent else find_written(kind, samples, seen)
        if found:
            in_object[kind] = found
    items, nested = replace(items, types=in_list), replace(nested, types=in_object)
    samples_of: dict[JsonType, tuple[JSON, Items | Pairs]] = {
        "array": ([value(91), value(92)], items),
        "object": ({_SECOND: value(91)}, nested),
    }
    for kind, (sample, notation) in samples_of.items():
        own = notation.write(sample)
        name = Notation(kind)
        in_list[kind] = _wrapped(name, own, _inner(items, write_list([sample])))
        in_object[kind] = _wrapped(name, own, _value_of(nested, write_object({_FIRST: sample})))
        if types.get(kind) is None:
            top = between(kind, sample)
            types[kind] = _wrapped(name, own, top)
    return {
        "array": replace(items, types=in_list),
        "object": replace(nested, types=in_object),
    }


def _learn_items(write: Callable[[list[JSON]], str]) -> Items:
    one, two = value(73), value(74)
    text = write([one, two])
    if one not in text or two not in text:
        raise Obstacle("items of a list are not visible")
    a, b = text.index(one), text.index(two)
    loop = cut_loop(text[:a], text[a + len(one) : b], text[b + len(two) :])
    # What opens and closes an item is part of its type's `Written`.
    return Items(loop.head, loop.separator, loop.tail, write([]))


def _inner(items: Items, text: str) -> str:
    return text[len(items.head) : len(text) - len(items.tail)]


def _value_of(pairs: Pairs, text: str) -> str | None:
    """What stands behind the key in an object of one pair."""
    start = len(pairs.head + pairs.open) + len(_FIRST)
    if _FIRST not in text:
        return None
    return text[start : len(text) - len(pairs.tail)].replace(_FIRST, KEY_IN_LITERAL)


def _wrapped(encoding: Encoding, inner: str, text: str | None) -> Written:
    if text is None or inner not in text:
        raise Obstacle(f"a nested value is not written as {inner!r}")
    at = text.rindex(inner)
    return Written(text[:at], encoding, text[at + len(inner) :])
