"""Typed dicts that Pydantic can read on Python 3.11.

Before Python 3.12 `typing.TypedDict` does not say where its keys come from, so Pydantic refuses it
and asks for the one of typing_extensions. Users should not have to know: each one inside an
annotation is rebuilt here, key by key.

    list[Options] -> list[Options, of typing_extensions]
"""

import sys
import types
import typing
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["portable"]

_MARKS = (typing.Required, typing.NotRequired)


class _Subscriptable(Protocol):
    def __getitem__(self, arguments: tuple[object, ...]) -> object: ...


def portable(annotation: object) -> object:
    """The same annotation with every typed dict in it readable."""
    return annotation if sys.version_info >= (3, 12) else _rebuilt(annotation, ())


def _rebuilt(annotation: object, inside: tuple[object, ...]) -> object:
    if annotation in inside:  # a typed dict that holds itself: left to Pydantic's message
        return annotation
    if typing.is_typeddict(annotation):
        return _rebuilt_dict(cast("type", annotation), (*inside, annotation))
    origin, given = typing.get_origin(annotation), typing.get_args(annotation)
    if not given or origin is typing.Literal:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(_rebuilt(given[0], inside), *given[1:])]
    made = tuple(_rebuilt(a, inside) for a in given)
    if made == given:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return cast("_Subscriptable", typing.Union)[made]
    return cast("_Subscriptable", origin)[made]


def _rebuilt_dict(given: type, inside: tuple[object, ...]) -> object:
    import typing_extensions  # noqa: PLC0415 - comes with pydantic

    required = cast("frozenset[str]", given.__required_keys__)  # type: ignore[attr-defined] # a typed dict has it
    keys: dict[str, object] = {}
    for key, annotation in typing.get_type_hints(given, include_extras=True).items():
        while typing.get_origin(annotation) in _MARKS:
            (annotation,) = typing.get_args(annotation)  # noqa: PLW2901 - peeled
        mark = typing.Required if key in required else typing.NotRequired
        keys[key] = mark[_rebuilt(annotation, inside)]
    make = cast("Callable[[str, dict[str, object]], object]", typing_extensions.TypedDict)
    return make(given.__name__, keys)
