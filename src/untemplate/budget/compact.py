"""Tools described in fewer tokens: what the model is shown, not what the grammar enforces.

    compact(tool, "schema")   leaves out keywords that the mask enforces anyway: bounds, lengths
    compact(tool, "words")    and shortens descriptions to their first sentence
    compact(tool, "names")    and leaves out descriptions of parameters

Types, names, enums, `required`, patterns and formats stay: without them a model would have to guess
what to mean, and a mask only ensures the form. The result is for the prompt alone; grammar and
checks take the tool itself.
"""

import re
from dataclasses import replace
from typing import Literal, cast

from untemplate.message import JSON, Tool

__all__ = ["LEVELS", "Level", "compact"]

Level = Literal["full", "schema", "words", "names"]

LEVELS: tuple[Level, ...] = ("full", "schema", "words", "names")
"""From the longest to the shortest."""

_ENFORCED = frozenset(
    {
        "additionalProperties",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "uniqueItems",
    }
)
_IDLE = frozenset({"$comment", "$id", "$schema", "deprecated", "examples", "readOnly", "title"})
"""Keywords that say nothing of what to write, or say it again."""
_INNER = ("items", "additionalItems", "contains", "not", "if", "then", "else")
_INNER_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_INNER_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SENTENCE = re.compile(r"[.!?](?= [^a-z]|$)|[。！？]")
_SHORT_MAX = 120
_DEPTH_MAX = 64


def compact(tool: Tool, level: Level) -> Tool:
    """The tool as the prompt shows it at this level."""
    if level == "full":
        return tool
    parameters = cast("dict[str, JSON]", _schema(tool.parameters, level, _DEPTH_MAX))
    description = tool.description if level == "schema" else _short(tool.description)
    return replace(tool, description=description, parameters=parameters)


def _schema(value: JSON, level: Level, depth: int) -> JSON:
    if not isinstance(value, dict) or not depth:
        return value
    out: dict[str, JSON] = {}
    for key, inner in value.items():
        if key in _ENFORCED or key in _IDLE:
            continue
        if key == "description" and isinstance(inner, str) and level != "schema":
            if level == "words":
                out[key] = _short(inner)
        elif key in _INNER:
            out[key] = _schema(inner, level, depth - 1)
        elif key in _INNER_LISTS and isinstance(inner, list):
            out[key] = [_schema(i, level, depth - 1) for i in inner]
        elif key in _INNER_NAMED and isinstance(inner, dict):
            out[key] = {n: _schema(i, level, depth - 1) for n, i in inner.items()}
        else:
            out[key] = inner
    return out


def _short(text: str) -> str:
    """The first sentence, or as much of it as is short."""
    text = " ".join(text.split())
    found = _SENTENCE.search(text)
    sentence = text[: found.end()] if found else text
    if len(sentence) <= _SHORT_MAX:
        return sentence
    return sentence[:_SHORT_MAX].rsplit(" ", 1)[0] + "…"
