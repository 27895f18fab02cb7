"""Tools as a template takes them.

    prepare_tools(tools, capabilities)     what the template reads of a schema is there
    plain_tools(tools)                     schemas in plain words, for a template that refuses them

Some templates write schemas themselves and know only the plainest: one type a value, a description
everywhere. `{"anyOf": [{"type": "integer"}, {"type": "null"}]}` becomes
`{"type": "integer", "description": ""}`. The model sees less; what it may write does not change.
"""

from collections.abc import Iterator, Mapping, Sequence

from untemplate.message import JSON, pointer_key
from untemplate.template.capabilities import Capabilities

__all__ = ["plain_tools", "prepare_tools"]

_Object = Mapping[str, JSON]

_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_CHOICES = ("anyOf", "oneOf", "allOf")
_DEEPEST = 16
_MOST_SCHEMAS = 1000
"""What lies deeper, and what is left of a tool with more of them, is described as any object."""


def prepare_tools(tools: Sequence[_Object], capabilities: Capabilities) -> tuple[_Object, ...]:
    """The tools in the form that the template takes: what it reads of a schema is there."""
    if not capabilities.whole_schemas:
        return tuple(tools)
    return tuple(_with_parameters(t, _with_properties(_parameters(t))) for t in tools)


def plain_tools(tools: Sequence[_Object]) -> tuple[_Object, ...]:
    """The same tools with the plainest schemas that still say what is wanted."""
    plain: list[_Object] = []
    for tool in tools:
        parameters = _parameters(tool)
        schema = {**_Plainer(parameters).plain(dict(parameters)), "type": "object"}
        plain.append(_with_parameters(tool, _with_properties(schema)))
    return tuple(plain)


def _parameters(tool: _Object) -> _Object:
    function = tool.get("function")
    parameters = function.get("parameters") if isinstance(function, dict) else None
    return parameters if isinstance(parameters, dict) else {}


def _with_parameters(tool: _Object, parameters: _Object) -> _Object:
    function = tool.get("function")
    if not isinstance(function, dict):
        return tool
    whole: dict[str, JSON] = {"description": "", **function, "parameters": dict(parameters)}
    return {**tool, "function": whole}


def _with_properties(parameters: _Object) -> _Object:
    return {"type": "object", "properties": {}, "required": [], **parameters}


class _Plainer:
    """Makes the schemas of one tool plain; where there are too many, any object will do."""

    def __init__(self, root: _Object) -> None:
        self._root = root
        self._left = _MOST_SCHEMAS

    def plain(self, schema: JSON, depth: int = 0) -> dict[str, JSON]:
        """One type, a description, and the same inside."""
        self._left -= 1
        found = self._merged(schema)
        kind = next(iter(_types(found)), "string")
        out: dict[str, JSON] = {k: v for k, v in found.items() if v is not None}
        description = found.get("description")
        out |= {"type": kind, "description": description if isinstance(description, str) else ""}
        if kind == "array":
            items = found.get("items")
            items = next(iter(items), None) if isinstance(items, list) else items
            out["items"] = self._inside(items, depth)
        if kind == "object":
            named, more = found.get("properties"), found.get("additionalProperties")
            properties = named if isinstance(named, dict) else {}
            out["properties"] = {k: self._inside(v, depth) for k, v in properties.items()}
            others = more if isinstance(more, bool) else not properties
            out["additionalProperties"] = (
                self._inside(more, depth) if isinstance(more, dict) else others
            )
        return out

    def _inside(self, schema: JSON, depth: int) -> dict[str, JSON]:
        if depth >= _DEEPEST or self._left <= 0:
            return {"type": "object", "description": "", "additionalProperties": True}
        return self.plain(schema, depth + 1)

    def _merged(self, schema: JSON) -> dict[str, JSON]:
        """The schema with what it refers to, and with the first of its choices that is a value."""
        out: dict[str, JSON] = {}
        seen: set[str] = set()
        while isinstance(schema, dict):
            out = {**schema, **out}
            target = schema.get("$ref")
            if isinstance(target, str) and target not in seen:
                seen.add(target)
                schema = _target(target, self._root)
                continue
            choices = next((c for k in _CHOICES if isinstance(c := schema.get(k), list)), None)
            schema = next(
                (c for c in choices or () if isinstance(c, dict) and c.get("type") != "null"), None
            )
        gone = (*_CHOICES, "$ref", "$defs", "definitions")
        return {k: v for k, v in out.items() if k not in gone}


def _target(reference: str, root: _Object) -> JSON:
    found: JSON = dict(root)
    path = reference.removeprefix("#").removeprefix("/")
    for step in path.split("/") if path else ():
        key = pointer_key(step)
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _types(schema: _Object) -> Iterator[str]:
    """The types that a schema speaks of, the named ones first."""
    named = schema.get("type")
    for name in named if isinstance(named, list) else [named]:
        if isinstance(name, str) and name in _TYPES:
            yield name
    options = schema.get("enum")
    for value in options if isinstance(options, list) else [schema.get("const")]:
        if value is not None:
            yield _type_of(value)
    if "properties" in schema or "additionalProperties" in schema:
        yield "object"
    if "items" in schema or "prefixItems" in schema:
        yield "array"


def _type_of(value: JSON) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str | int):
        return "string" if isinstance(value, str) else "integer"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list) else "object"
