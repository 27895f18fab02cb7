"""Dialects as JSON: `dumps` and `loads`, so that one can be saved, compared, edited and given back.

Each node is an object whose `is` names its class; a hole is `{"hole": "name"}`; fields that have
their default value are left out. `loads` checks every class, field and type and names the JSON
pointer of what is wrong.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from untemplate.dialect import dialect as _dialect
from untemplate.dialect import pattern as _pattern
from untemplate.dialect.dialect import Dialect
from untemplate.dialect.pattern import Hole
from untemplate.errors import DialectError

__all__ = ["dumps", "loads"]

_CLASSES: dict[str, type[Any]] = {
    name: value
    for module in (_dialect, _pattern)
    for name, value in vars(module).items()
    if isinstance(value, type) and is_dataclass(value)
}


def dumps(dialect: Dialect, *, indent: int | None = 2) -> str:
    """The dialect as JSON text."""
    return json.dumps(_plain(dialect), indent=indent, ensure_ascii=False)


def loads(text: str) -> Dialect:
    """The dialect that `dumps` wrote, or DialectError with the pointer of what is wrong."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DialectError(f"is not JSON: {error}", place="dialect") from None
    dialect: Dialect = _value(plain, Dialect, "")
    return dialect


def _plain(value: Any) -> Any:
    if isinstance(value, Hole):
        return {"hole": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        out: dict[str, Any] = {"is": type(value).__name__}
        for f in fields(value):
            item = getattr(value, f.name)
            if not _is_default(f, item):
                out[f.name] = _plain(item)
        return out
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value


def _is_default(f: Field[Any], value: object) -> bool:
    if f.default is not MISSING:
        return bool(value == f.default)
    return f.default_factory is not MISSING and bool(value == f.default_factory())


def _value(plain: Any, wanted: Any, pointer: str) -> Any:
    """`plain` as a value of the type `wanted`."""
    origin, args = get_origin(wanted), get_args(wanted)
    if wanted is Hole:
        if isinstance(plain, dict) and plain.get("hole") in set(Hole):  # pyright: ignore[reportUnknownMemberType]
            return Hole(plain["hole"])
        raise _wrong(plain, "a hole", pointer)
    if isinstance(wanted, type) and is_dataclass(wanted):
        return _node(plain, wanted, pointer)
    if origin in (Union, UnionType):
        return _one_of(plain, args, pointer)
    if origin is Literal:
        if plain in args:
            return plain
        raise _wrong(plain, f"one of {', '.join(map(repr, args))}", pointer)
    if origin is tuple:
        if not isinstance(plain, list):
            raise _wrong(plain, "a list", pointer)
        return tuple(_value(v, args[0], f"{pointer}/{i}") for i, v in enumerate(plain))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(plain, dict):
            raise _wrong(plain, "an object", pointer)
        return {k: _value(v, args[1], f"{pointer}/{k}") for k, v in plain.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(wanted, type):
        if type(plain) is not wanted:
            raise _wrong(plain, f"a {wanted.__name__}", pointer)
        return plain
    return plain  # JSON inside `switches`


def _node(plain: Any, wanted: type[Any], pointer: str) -> Any:
    if not isinstance(plain, dict):
        raise _wrong(plain, f"a {wanted.__name__}", pointer)
    node: dict[str, Any] = dict(plain)  # pyright: ignore[reportUnknownArgumentType]
    if node.pop("is", None) != wanted.__name__:
        raise _wrong(plain, f'a {wanted.__name__} ("is": "{wanted.__name__}")', pointer)
    hints, known = get_type_hints(wanted), {f.name: f for f in fields(wanted)}
    for name in node:
        if name not in known:
            raise DialectError(
                f"{wanted.__name__} has no field {name!r}", place=f"dialect {pointer}"
            )
    for name, f in known.items():
        if name not in node and f.default is MISSING and f.default_factory is MISSING:
            raise DialectError(
                f"{wanted.__name__} needs {name!r}", place=f"dialect {pointer or '/'}"
            )
    return wanted(**{k: _value(v, hints[k], f"{pointer}/{k}") for k, v in node.items()})


def _one_of(plain: Any, options: tuple[Any, ...], pointer: str) -> Any:
    if plain is None and type(None) in options:
        return None
    if isinstance(plain, dict):
        node: dict[str, Any] = plain  # pyright: ignore[reportUnknownVariableType]
        if "hole" in node and Hole in options:
            return _value(node, Hole, pointer)
        cls = _CLASSES.get(str(node.get("is")))
        if cls is not None and cls in options:
            return _node(node, cls, pointer)
    elif type(plain) in options:
        return plain
    if any(not isinstance(o, type) for o in options):
        return cast("Any", plain)  # JSON
    names = " or ".join(o.__name__ for o in options)
    raise _wrong(plain, names, pointer)


def _wrong(plain: Any, wanted: str, pointer: str) -> DialectError:
    shown = json.dumps(plain, ensure_ascii=False)[:60]
    return DialectError(
        f"{shown} stands where {wanted} is needed", place=f"dialect {pointer or '/'}"
    )
