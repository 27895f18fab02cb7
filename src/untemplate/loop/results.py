"""The result of a tool as text for the model, bounded while it is written.

Text stays as it is; anything else becomes JSON, written piece by piece until the limit is reached,
so a result of any size (an endless generator too) costs no more than its limit:

    serialise({"rows": range(10**9)}, 20) -> Serialised('{"rows":[0,1,2,3,4,5' + mark, cut=True)

Beyond JSON's own types: dataclasses, Pydantic models, named tuples, enums, dates and times, UUID,
Decimal, Path, sets, and any other iterable as an array. NaN and the infinities, which JSON can't
say, are written as text. Bytes are refused, as is any other object, with its type and its place in
the message.
"""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

from untemplate.loop import feedback

__all__ = ["Serialised", "UnserialisableError", "serialise"]

_DEPTH_MAX = 100
_PIECE = 4096

_BINARY = (bytes, bytearray, memoryview)
_AS_TEXT = (
    dt.date,
    dt.time,
    dt.timedelta,
    decimal.Decimal,
    pathlib.PurePath,
    uuid.UUID,
)


@dataclass(frozen=True, slots=True)
class Serialised:
    """The text of a result; `cut` if it was longer than the limit."""

    text: str
    cut: bool = False


class UnserialisableError(Exception):
    """A result holds something that JSON can't say. Strictly private to the loop."""


@runtime_checkable
class _Dumpable(Protocol):
    """A Pydantic model, seen without importing Pydantic."""

    def model_dump(self, *, mode: str) -> object: ...


def serialise(value: object, limit: int) -> Serialised:
    """The text of a tool's result, at most `limit` characters and a mark.

    Raises:
        UnserialisableError: naming the type and the place of what JSON can't say.
    """
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        if len(value) <= limit:
            return Serialised(_clean(value))
        return Serialised(_clean(value[:limit]) + feedback.cut_mark(limit, len(value)), cut=True)
    pieces: list[str] = []
    size = 0
    for piece in _write(value, "", 0):
        size += len(piece)
        pieces.append(piece)
        if size > limit:
            text = "".join(pieces)[:limit]
            return Serialised(text + feedback.cut_mark(limit, None), cut=True)
    return Serialised("".join(pieces))


def _write(value: object, place: str, depth: int) -> Iterator[str]:
    """JSON text of a value in pieces; `place` is the JSON pointer reached so far."""
    if depth > _DEPTH_MAX:
        raise UnserialisableError(f"it is nested more than {_DEPTH_MAX} deep, or holds itself")
    match value:
        case None | bool():
            yield "null" if value is None else "true" if value else "false"
        case enum.Enum():
            yield from _write(cast("object", value.value), place, depth + 1)
        case str():
            yield from _string(value)
        case int():
            yield _integer(value, place)
        case float():
            yield repr(value) if value - value == 0 else json.dumps(str(value))
        case Mapping():
            yield from _object(cast("Mapping[object, object]", value), place, depth)
        case _Dumpable() if not isinstance(value, type):
            yield from _write(value.model_dump(mode="json"), place, depth + 1)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [f.name for f in dataclasses.fields(value)]
            yield from _object({n: getattr(value, n) for n in names}, place, depth)
        case _ if isinstance(value, _AS_TEXT):
            yield from _string(str(value))
        case Iterable() if not isinstance(value, _BINARY):
            yield from _array(cast("Iterable[object]", value), place, depth)
        case _:
            raise UnserialisableError(f"{_at(place)} is of type {_type_name(value)}")


def _string(text: str) -> Iterator[str]:
    """A JSON string in pieces, so that a huge one is escaped no further than the limit."""
    if len(text) <= _PIECE:
        yield json.dumps(_clean(text), ensure_ascii=False)
        return
    yield '"'
    for start in range(0, len(text), _PIECE):
        yield json.dumps(_clean(text[start : start + _PIECE]), ensure_ascii=False)[1:-1]
    yield '"'


def _integer(value: int, place: str) -> str:
    try:
        return int.__repr__(value)
    except ValueError as error:
        raise UnserialisableError(f"{_at(place)} is an integer with too many digits") from error


def _object(items: Mapping[object, object], place: str, depth: int) -> Iterator[str]:
    lead = "{"
    for key, item in items.items():
        name = _key(key, place)
        yield lead
        yield from _string(name)
        yield ":"
        yield from _write(item, f"{place}/{name}", depth + 1)
        lead = ","
    yield "{}" if lead == "{" else "}"


def _array(items: Iterable[object], place: str, depth: int) -> Iterator[str]:
    lead = "["
    for number, item in enumerate(items):
        yield lead
        yield from _write(item, f"{place}/{number}", depth + 1)
        lead = ","
    yield "[]" if lead == "[" else "]"


def _key(key: object, place: str) -> str:
    if isinstance(key, enum.Enum):
        key = cast("object", key.value)
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return json.dumps(key)
    if isinstance(key, (int, float, *_AS_TEXT)):
        return str(key)
    raise UnserialisableError(f"{_at(place)} has a key of type {_type_name(key)}")


def _clean(text: str) -> str:
    """Text without lone surrogates, which no encoder takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _at(place: str) -> str:
    return f"the value at {place[:200]}" if place else "the result"


def _type_name(value: object) -> str:
    kind = type(value)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
