r"""Calls of a message that is to be continued, written as its dialect writes them.

    rewritten(hermes, call_block, [{"function": {"name": "f", "arguments": '{"a": "b'}}])
    -> '<tool_call>\n{"name": "f", "arguments": {"a": "b'

Calls whose arguments are a JSON object are written whole. The last one may be cut: it is written
up to where it was cut, if its arguments are JSON in this dialect or the cut is inside a string;
else up to the end of the last argument that was whole, and the model writes the next one again.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from untemplate.dialect import (
    CallBlock,
    Escaped,
    Hole,
    JsonText,
    Pairs,
    Python,
    Raw,
    Whole,
    Written,
    fill,
)
from untemplate.errors import RequestError
from untemplate.message import JSON, arguments_object

__all__ = ["Call", "calls_of", "rewritten"]

_CUT_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2})?$")
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a message in OpenAI's shape."""

    id: str
    name: str
    arguments: JSON


def calls_of(value: JSON) -> list[Call]:
    """The calls of a message; what is none is an error of the request."""
    out: list[Call] = []
    for call in value if isinstance(value, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise RequestError("a call is an object with a function", place="messages[-1]")
        name, arguments = str(function.get("name") or ""), function.get("arguments")
        out.append(Call(str(call.get("id") or ""), name, arguments))
    return out


def rewritten(block: CallBlock, between: str, calls: Sequence[Call]) -> str:
    """The text of the calls, with `between` between two of them."""
    texts: list[str] = []
    for number, call in enumerate(calls):
        values = {
            Hole.ID: call.id,
            Hole.NAME: call.name,
            Hole.INDEX: str(block.index_base + number),
        }
        value = arguments_object(call.arguments)
        if value is not None:
            values[Hole.ARGUMENTS] = block.arguments.write(value)
            texts.append(fill(block.pattern, values))
            continue
        if number < len(calls) - 1:
            raise RequestError(
                "only the last call may be cut", place=f"messages[-1].tool_calls[{number}]"
            )
        before = block.pattern[: block.pattern.index(Hole.ARGUMENTS)]
        texts.append(fill(before, values) + _cut(block.arguments, str(call.arguments)))
    return between.join(texts)


def _cut(arguments: Whole | Pairs, text: str) -> str:
    """Arguments as the dialect writes them, as far as they go."""
    encoding = arguments.encoding if isinstance(arguments, Whole) else arguments
    if isinstance(encoding, JsonText):
        return text
    if not isinstance(encoding, Pairs):
        raise RequestError(
            "a call that is cut can't be continued from its fields; send its raw text",
            place="continue_final_message",
        )
    whole, key, begun = _members(text)
    out = encoding.write(whole).removesuffix(encoding.tail) if whole else encoding.head
    if key is None:
        return out
    string = encoding.types.get("string")
    part = None if string is None else _begun(string, key, begun)
    if part is None:
        return out
    return out + (encoding.separator if whole else "") + encoding.open + key + part


def _begun(written: Written, key: str, text: str) -> str | None:
    """A string without its end; None where that can't be told apart from its end."""
    before = Written(written.before, Raw(), "").write("", key=key)
    match written.encoding:
        case Raw() | Escaped() as encoding:
            return before + encoding.write(text)
        case JsonText() | Python() as encoding:
            return before + encoding.write(text)[:-1]
        case _:
            return None


def _members(text: str) -> tuple[dict[str, JSON], str | None, str]:
    """The members that are whole; the key of a string that is cut, and its beginning."""
    decoder = json.JSONDecoder()
    whole: dict[str, JSON] = {}
    at = _skipped(text, 0, "{")
    try:
        while at < len(text) and text[at] == '"':
            key, at = cast("tuple[str, int]", decoder.raw_decode(text, at))
            at = _skipped(text, at, ":")
            if text[at : at + 1] == '"' and not _ends(text, at):
                return whole, key, _beginning(text[at + 1 :])
            value, at = cast("tuple[JSON, int]", decoder.raw_decode(text, at))
            if at == len(text) and isinstance(value, int | float):
                break  # more digits may follow
            whole[key] = value
            at = _skipped(text, at, ",")
    except (ValueError, RecursionError):
        pass
    return whole, None, ""


def _skipped(text: str, at: int, mark: str) -> int:
    """The position behind a mark and the white space around it."""
    while at < len(text) and text[at] in _SPACE:
        at += 1
    if text.startswith(mark, at):
        at += 1
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _ends(text: str, at: int) -> bool:
    """Whether the string that begins there has its closing quote."""
    return re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL).match(text, at) is not None


def _beginning(text: str) -> str:
    """What a cut string says so far; an escape that is cut is left out, and half a pair of them."""
    before = None
    while text != before:
        before = text
        text = _CUT_ESCAPE.sub(r"\1", text)
    return cast("str", json.loads('"' + text + '"', strict=False))
