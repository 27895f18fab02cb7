"""A plain function as a tool: its signature becomes a JSON Schema and a check of types.

    def weather(city: Annotated[str, "with the country"], days: Literal[1, 3] = 1) -> dict: ...

    {"type": "object", "required": ["city"], "additionalProperties": false, "properties": {
        "city": {"type": "string", "description": "with the country"},
        "days": {"enum": [1, 3], "type": "integer", "default": 1}}}

Whatever Pydantic can describe may stand in a signature: models, dataclasses, typed dicts, enums,
literals, unions, dates, constraints in `Annotated`. A parameter is described by its `Field`, by a
bare string in `Annotated`, or by the docstring, in this order. A parameter of type `ToolContext` is
filled by the loop and hidden from the model. Pydantic is imported when the first function is made
a tool, not before. `*args` and `**kwargs` are refused: nothing tells the model what to write.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from untemplate.errors import RequestError, SchemaError
from untemplate.loop.arguments import canonical, pointer
from untemplate.loop.context import ToolContext
from untemplate.loop.docstrings import describe
from untemplate.loop.outcome import Detail
from untemplate.loop.portable import portable
from untemplate.message import JSON

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Bound", "TypesError", "read_signature"]


class TypesError(Exception):
    """Arguments that fit the schema but not the types. Strictly private to the loop."""

    def __init__(self, details: tuple[Detail, ...]) -> None:
        super().__init__("the arguments do not fit the types")
        self.details = details


@dataclass(frozen=True, slots=True)
class Bound:
    """A function as the loop needs it."""

    name: str
    description: str
    schema: dict[str, JSON]
    convert: Callable[[Mapping[str, JSON]], dict[str, object]]
    """Checked JSON arguments to Python values, by parameter name. Raises `TypesError`."""
    call: Callable[[Mapping[str, object], ToolContext], object]


def read_signature(function: Callable[..., object], *, name: str | None = None) -> Bound:
    """The schema, the type check and the way to call a plain function.

    Raises:
        RequestError: pydantic is missing, or the signature can't be told to a model.
        SchemaError: the type of a parameter has no JSON Schema.
    """
    name = name or _name(function)
    signature = inspect.signature(function)
    hints = _hints(function, name)
    words = describe(inspect.getdoc(_origin(function)))
    context = [p for p in signature.parameters if hints.get(p) is ToolContext]
    shown = [p for p in signature.parameters.values() if p.name not in context]
    for parameter in shown:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise RequestError(
                f"{parameter} can't be described to a model: name the parameters",
                place=f"tool {name}",
            )
    model = _model(name, shown, hints, words.parameters)
    positional = [p.name for p in shown if p.kind is p.POSITIONAL_ONLY]
    return Bound(
        name,
        words.text,
        _schema(model, name),
        functools.partial(_convert, model, [p.name for p in shown]),
        functools.partial(_call, function, positional, context),
    )


def _name(function: Callable[..., object]) -> str:
    origin = _origin(function)
    name = getattr(origin, "__name__", type(origin).__name__)
    if name == "<lambda>":
        raise RequestError("a lambda has no name: give name=", place="tool <lambda>")
    return str(name)


def _origin(function: Callable[..., object]) -> Callable[..., object]:
    """The function below partial applications."""
    while isinstance(function, functools.partial):
        function = cast("functools.partial[object]", function).func
    return function


def _hints(function: Callable[..., object], name: str) -> dict[str, object]:
    origin = _origin(function)
    if not inspect.isroutine(origin):
        origin = type(origin).__call__
    try:
        return dict(typing.get_type_hints(inspect.unwrap(origin), include_extras=True))
    except (NameError, TypeError) as error:
        raise SchemaError(f"an annotation can't be resolved: {error}", place=f"tool {name}") from (
            error
        )


def _model(
    name: str,
    parameters: list[inspect.Parameter],
    hints: Mapping[str, object],
    described: Mapping[str, str],
) -> "type[BaseModel]":
    """A Pydantic model of the parameters; fields have neutral names, so any name is allowed."""
    try:
        import pydantic  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise RequestError(
            "functions as tools need pydantic: pip install 'untemplate[tools]'",
            place=f"tool {name}",
        ) from error
    fields: dict[str, object] = {}
    for number, parameter in enumerate(parameters):
        annotation = portable(hints.get(parameter.name, typing.Any))
        text = _annotated_text(annotation) or described.get(parameter.name)
        default = ... if parameter.default is parameter.empty else parameter.default
        field = pydantic.Field(default, alias=parameter.name)
        if text and not _has_description(annotation):
            field = pydantic.Field(default, alias=parameter.name, description=text)
        fields[f"p{number}"] = (annotation, field)
    config = pydantic.ConfigDict(extra="forbid")
    try:
        create = cast("Callable[..., type[BaseModel]]", pydantic.create_model)
        return create(name, __config__=config, **fields)
    except (pydantic.PydanticUserError, TypeError) as error:
        line = str(error).splitlines()[0]
        raise SchemaError(f"a parameter has no JSON Schema: {line}", place=f"tool {name}") from (
            error
        )


def _annotated_text(annotation: object) -> str | None:
    """The bare string of `Annotated[str, "its description"]`."""
    metadata = getattr(annotation, "__metadata__", ())
    return next((m for m in metadata if isinstance(m, str)), None)


def _has_description(annotation: object) -> bool:
    return any(getattr(m, "description", None) for m in getattr(annotation, "__metadata__", ()))


def _schema(model: "type[BaseModel]", name: str) -> dict[str, JSON]:
    import pydantic  # noqa: PLC0415 - an extra, imported before by `_model`
    from pydantic.json_schema import GenerateJsonSchema, PydanticJsonSchemaWarning  # noqa: PLC0415

    class Plain(GenerateJsonSchema):
        """JSON Schema without titles made from names: they only cost tokens."""

        ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012

        def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
            return False

    del PydanticJsonSchemaWarning
    try:
        schema = cast("dict[str, JSON]", model.model_json_schema(schema_generator=Plain))
    except pydantic.PydanticUserError as error:
        line = str(error).splitlines()[0]
        raise SchemaError(f"a parameter has no JSON Schema: {line}", place=f"tool {name}") from (
            error
        )
    schema.pop("title", None)
    schema.pop("description", None)
    schema.setdefault("properties", {})
    for definition in cast("dict[str, dict[str, JSON]]", schema.get("$defs", {})).values():
        definition.pop("title", None)
    return schema


def _convert(
    model: "type[BaseModel]", names: list[str], arguments: Mapping[str, JSON]
) -> dict[str, object]:
    import pydantic  # noqa: PLC0415 - an extra, imported before by `_model`

    try:
        # JSON mode, so that dates, tuples, sets and enums are read from what JSON has for them.
        made = model.model_validate_json(canonical(dict(arguments)))
    except pydantic.ValidationError as error:
        raise TypesError(tuple(_detail(e) for e in error.errors(include_url=False))) from error
    given = made.model_fields_set
    return {n: getattr(made, f"p{i}") for i, n in enumerate(names) if f"p{i}" in given}


def _detail(error: Mapping[str, object]) -> Detail:
    path = cast("tuple[str | int, ...]", error["loc"])
    got = error.get("input")
    shown = got if isinstance(got, str | int | float | None) else str(got)
    return Detail(pointer(path), str(error["type"]), str(error["msg"]), shown)


def _call(
    function: Callable[..., object],
    positional: list[str],
    context_names: list[str],
    values: Mapping[str, object],
    context: ToolContext,
) -> object:
    first: list[object] = []
    for name in positional:
        if name not in values:
            break
        first.append(values[name])
    named = {n: v for n, v in values.items() if n not in positional}
    return function(*first, **named, **dict.fromkeys(context_names, context))
