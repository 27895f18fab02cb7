"""The robustness matrix: what becomes of calls that nobody constrained and that go wrong.

    for row in matrix([(name, dialect), ...]):
        row.name, row.cells["two calls"]         # "ok", "marked: missing argument", "FAIL: ..."

Each cell is a turn that a model might write: two calls, arguments in another order, one missing,
one too many, one of the wrong type, a tool that is not declared, text behind the call. A cell is
`ok` when it is read as it was meant, `marked` when it is read with a note of what is not in order,
and fails when it raises, loses text, or gives a value that was not written without saying so.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from untemplate.dialect import END, CallBlock, Dialect, write_calls
from untemplate.grammar import build_grammar
from untemplate.message import JSON, Message, Tool, ToolCall, ToolChoice
from untemplate.reader import Reader

__all__ = ["CELLS", "Row", "matrix"]

_WEATHER = Tool(
    "get_weather",
    "The weather in a city",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
_PING = Tool("ping", "Nothing", {"type": "object", "properties": {}})
_TOOLS = (_WEATHER, _PING)
_AFTER = "That was all."


@dataclass(frozen=True, slots=True)
class _Cell:
    calls: tuple[tuple[str, Mapping[str, JSON]], ...]
    parallel: bool = True
    after: str = ""


_WHOLE: Mapping[str, JSON] = {"city": "Paris", "days": 3}
_CELLS: Mapping[str, _Cell] = {
    "one call": _Cell((("get_weather", _WHOLE),)),
    "two calls": _Cell((("get_weather", _WHOLE), ("ping", {}))),
    "two calls, parallel off": _Cell((("get_weather", _WHOLE), ("ping", {})), parallel=False),
    "optional before required": _Cell((("get_weather", {"days": 3, "city": "Paris"}),)),
    "required missing": _Cell((("get_weather", {"days": 3}),)),
    "undeclared argument": _Cell((("get_weather", {"city": "Paris", "zone": "CET"}),)),
    "wrong type": _Cell((("get_weather", {"city": "Paris", "days": "three"}),)),
    "unknown tool": _Cell((("get_time", {"city": "Paris"}),)),
    "text after the call": _Cell((("get_weather", _WHOLE),), after=_AFTER),
}
CELLS = tuple(_CELLS)
"""Names of the columns."""


@dataclass(frozen=True, slots=True)
class Row:
    """One template's cells."""

    name: str
    cells: Mapping[str, str]

    @property
    def passed(self) -> bool:
        return not any(cell.startswith("FAIL") for cell in self.cells.values())


def matrix(dialects: Iterable[tuple[str, Dialect]]) -> Iterator[Row]:
    """A row for each dialect that has calls."""
    for name, dialect in dialects:
        block = next((n for n, b in dialect.blocks.items() if isinstance(b, CallBlock)), None)
        if block is not None:
            yield Row(name, {title: _judge(dialect, block, c) for title, c in _CELLS.items()})


def _judge(dialect: Dialect, block: str, cell: _Cell) -> str:
    if dialect.calls_max is not None and len(cell.calls) > dialect.calls_max:
        return "n/a: one call a turn"
    text = _written(dialect, block, cell)
    choice = ToolChoice(parallel=cell.parallel)
    grammar = build_grammar(dialect, _TOOLS, choice, prompt=dialect.prompts[0])
    reader = Reader(grammar)
    try:
        reader.feed(text.encode())
        message = reader.finish("stop")
    except Exception as error:  # noqa: BLE001  a reader that raises is what is looked for
        return f"FAIL: raises {type(error).__name__}"
    return _verdict(message, text, cell)


def _written(dialect: Dialect, block: str, cell: _Cell) -> str:
    """The turn behind the first prompt."""
    lead = ""
    prompt = dialect.prompts[0]
    direct = next((o.literal for o in prompt.openings if o.block == block), None)
    if direct is None:
        first = prompt.openings[0]
        edges = [e for e in dialect.edges_from(first.block) if e.target == block]
        lead = first.literal + "Hm." + (edges[0].literal if edges else "")
    else:
        lead = direct
    calls = [
        ToolCall(n, f"zq000000{n}", name, json.dumps(arguments, ensure_ascii=False))
        for n, (name, arguments) in enumerate(cell.calls)
    ]
    end = next((e.literal for e in dialect.edges_from(block) if e.target == END), "")
    body = lead + write_calls(dialect, block, calls) + end
    return body + cell.after if cell.after else body + (dialect.stops[0] if dialect.stops else "")


def _verdict(message: Message, text: str, cell: _Cell) -> str:
    if message.raw != text:
        return "FAIL: text is lost"
    marks = {d.code for d in message.diagnostics}
    states = {s for c in message.tool_calls for s in c.arguments_state.values()}
    marks |= {f"{s} argument" for s in states - {"complete"}}
    marks |= {f"{c.state} call" for c in message.tool_calls if c.state != "complete"}
    shown = ", ".join(sorted(marks))
    if len(message.tool_calls) != len(cell.calls):
        return f"FAIL: {len(message.tool_calls)} of {len(cell.calls)} calls"
    for call, (name, arguments) in zip(message.tool_calls, cell.calls, strict=True):
        read = _parsed(call)
        if call.name != name:
            return f"FAIL: {call.name!r} for {name!r}"
        if read != arguments and not marks:
            return f"FAIL: {read!r} for {dict(arguments)!r}, unmarked"
    if cell.after and cell.after not in message.content:
        return "FAIL: the text after the call is lost"
    return f"marked: {shown}" if marks else "ok"


def _parsed(call: ToolCall) -> JSON:
    try:
        value: JSON = json.loads((call.arguments + call.closing) or "{}")
    except ValueError:
        return None
    return value
