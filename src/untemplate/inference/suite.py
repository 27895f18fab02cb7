"""Draws the messages of a proof: what the dialect was not built from.

Messages have reasoning, content and up to four calls in every combination. Arguments are of every
JSON type: quotes, backslashes, newlines, letters outside the BMP, things that look like markers,
empty strings and objects, deep nesting, large and exponent numbers. The same seed draws the same
messages.
"""

import json
import random
from collections.abc import Mapping, Sequence
from itertools import cycle, islice, product

from untemplate.dialect import Field
from untemplate.message import JSON, Message, ToolCall

__all__ = ["TOOLS", "draw"]

_NAMES = ("get_weather", "ping2", "Fetch-URL", "ns.tool_x")

_TYPES: Mapping[str, Mapping[str, JSON]] = {
    "city": {"type": "string"},
    "note": {"type": "string"},
    "a key": {"type": "string"},
    "days": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "nothing": {"type": "string"},
    "list": {"type": "array", "items": {"type": "string"}},
    "options": {
        "type": "object",
        "properties": {},
        "additionalProperties": {"type": "string"},
    },
}
"""Keys of arguments: the same key always holds the same type. `nothing` is null."""

_STRINGS = (
    "",
    "Zürich",
    " \n edge \n ",
    "two\nlines \"quoted\" 'single' back\\slash <b>&amp;</b> 日本 {x}",
    "true",
    "12",
    "null",
    "🦀 \U0001f469\u200d\U0001f680",
    '</b> [END] <a="b">',
    "\ttab\r\n",
    "%s {0} {{ x }} {% y %}",
    "plain text",
)
_INTEGERS = (0, -40, 7, 10**20)
_NUMBERS = (2.75, -0.5, 1e30, 1.5e-7, 0.0)
_LISTS: tuple[JSON, ...] = (
    [],
    [1, "zwei", None, [True, 2.5]],
    [[], {}, ""],
    ["a", "b"],
    [[[[["deep"]]]], {"k": [{"l": False}]}],
)
_OBJECTS: tuple[JSON, ...] = (
    {},
    {"p": {"q": "r"}, "s": [{"t": 1}]},
    {"d": {"e": {"f": {"g": [{"h": None}]}}}},
    {"x": "1", "y": True, "z": 'say "hi"\n'},
)
_TEXTS = (
    "Sure.",
    "Thinking about it.\n\nStill.",
    "Sure: é <x> {y}\n- one",
    "0",
    "{}",
    "a < b and c > d",
    "日本語 🦀 ok",
    'He said "no" & left',
    "line\n\n\nline",
    "```py\nprint(1)\n```",
)
_EDGES = ("", "", "", "\n", " ", "\n\n", " \n ")


def _tool(name: str) -> dict[str, JSON]:
    properties: dict[str, JSON] = {
        k: {"description": "d", **schema} for k, schema in _TYPES.items()
    }
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": "d",
            "parameters": {"type": "object", "properties": properties, "required": []},
        },
    }


TOOLS: tuple[dict[str, JSON], ...] = tuple(_tool(n) for n in _NAMES)
"""The tools that the drawn calls are of."""


def draw(
    seed: int,
    count: int,
    shapes: Sequence[tuple[Field, ...]],
    calls_max: int | None,
    *,
    keys_with_blanks: bool = True,
) -> list[Message]:
    """So many messages, over all shapes in turn."""
    chance = random.Random(seed)  # noqa: S311 - a proof has to be repeatable
    keys = [k for k in _TYPES if keys_with_blanks or " " not in k]
    most = 4 if calls_max is None else calls_max
    kinds = [
        (shape, calls)
        for calls, shape in product(range(1, max(1, most) + 1), shapes)
        if "calls" in shape or calls == 1
    ]
    chance.shuffle(kinds)
    return [_message(chance, shape, calls, keys) for shape, calls in islice(cycle(kinds), count)]


def _message(
    chance: random.Random, shape: tuple[Field, ...], calls: int, keys: Sequence[str]
) -> Message:
    def text() -> str:
        parts = chance.sample(_TEXTS, chance.choice((1, 1, 2)))
        return chance.choice(_EDGES) + " ".join(parts) + chance.choice(_EDGES)

    return Message(
        content=text() if "content" in shape else "",
        reasoning_content=text() if "reasoning" in shape else "",
        tool_calls=tuple(_call(chance, n, keys) for n in range(calls)) if "calls" in shape else (),
    )


def _call(chance: random.Random, index: int, keys: Sequence[str]) -> ToolCall:
    some = chance.sample(keys, chance.choice((0, 1, 1, 2, 3, 5)))
    arguments = {k: _value(chance, k) for k in some}
    return ToolCall(
        index=index,
        id=f"zq{chance.randrange(10**7):07d}",
        name=chance.choice(_NAMES),
        arguments=json.dumps(arguments, ensure_ascii=False),
    )


def _value(chance: random.Random, key: str) -> JSON:
    if key == "nothing":
        return None
    kinds: Mapping[JSON, Sequence[JSON]] = {
        "string": _STRINGS,
        "integer": _INTEGERS,
        "number": _NUMBERS,
        "boolean": (True, False),
        "array": _LISTS,
        "object": _OBJECTS,
    }
    return chance.choice(kinds[_TYPES[key]["type"]])
