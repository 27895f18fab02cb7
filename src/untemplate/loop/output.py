"""A final answer of a given form: a JSON Schema, or any type that Pydantic can describe.

The schema goes with every request, for models that can enforce it. The answer is checked here all
the same: text that is JSON of the schema becomes `RunResult.output`, any other is answered with
what is wrong with it, and the model is asked again, at most twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from untemplate.errors import RequestError, SchemaError
from untemplate.loop.arguments import Invalid, SchemaChecker, canonical, decode
from untemplate.loop.outcome import Detail
from untemplate.message import JSON

__all__ = ["Output", "read_output"]


@dataclass(frozen=True, slots=True)
class Output:
    """What the answer has to be."""

    schema: dict[str, JSON]
    checker: SchemaChecker
    convert: Callable[[str], object]
    """JSON text that fits the schema to the value; raises ValueError."""

    def read(self, text: str) -> "Value | str":
        """The value that a text spells, or what is wrong with it."""
        value = decode(text.strip())
        if isinstance(value, Invalid):
            return _sentence(value.details)
        if details := self.checker.errors(value):
            return _sentence(details)
        try:
            return Value(self.convert(canonical(value)))
        except ValueError as error:
            return str(error).replace("\n", " ")[:500]


@dataclass(frozen=True, slots=True)
class Value:
    """A value that was read; a class of its own, since the value may be any object."""

    value: object


def read_output(form: object) -> Output:
    """The check for a JSON Schema (a dict) or a type.

    Raises:
        RequestError: a type was given and pydantic is missing.
        SchemaError: the schema is not valid, or the type has none.
    """
    if isinstance(form, Mapping):
        schema = dict(cast("Mapping[str, JSON]", form))
        return Output(schema, SchemaChecker(schema, place="output"), decode)
    try:
        import pydantic  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise RequestError(
            "types as output need pydantic: pip install 'untemplate[tools]'", place="output"
        ) from error
    try:
        adapter = cast("pydantic.TypeAdapter[object]", pydantic.TypeAdapter(cast("Any", form)))
        schema = cast("dict[str, JSON]", adapter.json_schema())
    except pydantic.PydanticUserError as error:
        line = str(error).splitlines()[0]
        raise SchemaError(f"the type has no JSON Schema: {line}", place="output") from error
    return Output(schema, SchemaChecker(schema, place="output"), adapter.validate_json)


def _sentence(details: tuple[Detail, ...]) -> str:
    return "; ".join(f"{d.path}: {d.message}" if d.path else d.message for d in details[:5])
