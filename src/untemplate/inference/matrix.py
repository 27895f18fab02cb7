"""The robustness matrix: what becomes of calls that nobody constrained and that go wrong somehow.

    for row in matrix([("hermes", dialect), ...]):
        row.cells["wrong type"]         # Cell("marked", "wrong_type")

Each column is a turn that a model might write: two calls, arguments in another order, one missing,
one too many, one of the wrong type, a tool that is not declared, text behind the call. The turn is
written by the dialect, and read whole and byte by byte. A cell is

- `read`: everything came out as it was written, with no remark
- `marked`: everything came out, and what is not in order is said
- `failed`: reading raised, text was lost, a value is not what was written, or a fault is not said

Text is lost when the spans of the events leave a gap, or when it is in no field. Two calls are
written also where the template itself writes one in a turn: models do that.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from untemplate.dialect import END, CallBlock, Dialect, TextBlock, write_calls
from untemplate.grammar import Grammar, build_grammar
from untemplate.message import JSON, Message, Tool, ToolCall, ToolChoice
from untemplate.reader import ArgumentsDelta, Event, Part, Reader, TextDelta

__all__ = ["COLUMNS", "Cell", "Row", "matrix"]

_TOOLS = (
    Tool(
        "get_weather",
        "The weather in a city",
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    ),
    Tool("ping", "Nothing", {"type": "object", "properties": {}}),
)
_BEFORE, _AFTER = "Let me see.", "That was all."
_WHOLE: Mapping[str, JSON] = {"city": "Paris", "days": 3}


@dataclass(frozen=True, slots=True)
class _Column:
    """A turn, and whether something about it has to be said."""

    calls: tuple[tuple[str, Mapping[str, JSON]], ...] = (("get_weather", _WHOLE),)
    is_faulty: bool = False
    parallel: bool = True
    after: str = ""


_TWO: tuple[tuple[str, Mapping[str, JSON]], ...] = (("get_weather", _WHOLE), ("ping", {}))
_COLUMNS: Mapping[str, _Column] = {
    "one call": _Column(),
    "two calls": _Column(_TWO),
    "parallel off": _Column(_TWO, is_faulty=True, parallel=False),
    "optional first": _Column((("get_weather", {"days": 3, "city": "Paris"}),)),
    "required missing": _Column((("get_weather", {"days": 3}),), is_faulty=True),
    "undeclared": _Column((("get_weather", {**_WHOLE, "zone": "CET"}),), is_faulty=True),
    "wrong type": _Column((("get_weather", {**_WHOLE, "days": "three"}),), is_faulty=True),
    "unknown tool": _Column((("get_time", {"city": "Paris"}),), is_faulty=True),
    "text after": _Column(after=_AFTER),
}
COLUMNS = tuple(_COLUMNS)
"""Names of the columns. `parallel off`: two calls where one was asked for."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What became of one turn."""

    kind: Literal["read", "marked", "failed"]
    why: str = ""
    """The marks, or what went wrong."""


@dataclass(frozen=True, slots=True)
class Row:
    """One template's cells, by column."""

    name: str
    cells: Mapping[str, Cell]

    @property
    def is_good(self) -> bool:
        """Whether no cell failed."""
        return all(c.kind != "failed" for c in self.cells.values())


def matrix(dialects: Iterable[tuple[str, Dialect]]) -> Iterator[Row]:
    """A row for each dialect that has calls."""
    for name, dialect in dialects:
        block = next((n for n, b in dialect.blocks.items() if isinstance(b, CallBlock)), None)
        if block is not None:
            yield Row(name, {t: _cell(dialect, block, c) for t, c in _COLUMNS.items()})


def _cell(dialect: Dialect, block: str, column: _Column) -> Cell:
    before, text = _written(dialect, block, column)
    choice = ToolChoice(parallel=column.parallel)
    grammar = build_grammar(dialect, _TOOLS, choice, prompt=dialect.prompts[0])
    data = text.encode()
    try:
        message, events = _read(grammar, data, len(data))
        bytewise, _ = _read(grammar, data, 1)
    except Exception as error:  # noqa: BLE001  a reader that raises is what is looked for
        return Cell("failed", f"raises {error!r}")
    marks = _marks(message)
    wrong = (
        ("byte by byte it is read differently" if message != bytewise else "")
        or _lost(message, events, data, (*before, column.after))
        or _wrong_call(message, column)
        or ("nothing is said of it" if column.is_faulty and not marks else "")
    )
    if wrong:
        return Cell("failed", wrong)
    return Cell("marked", ", ".join(marks)) if marks else Cell("read")


# ------------------------------------------------------------------------------------------ writing


def _written(dialect: Dialect, block: str, column: _Column) -> tuple[Sequence[str], str]:
    """Free text before the calls, and the whole turn behind the first prompt."""
    way = _way_to(dialect, block)
    texts = [_BEFORE if isinstance(dialect.blocks[b], TextBlock) else "" for _, b in way]
    lead = "".join(literal + text for (literal, _), text in zip(way, texts, strict=True))
    edges = {e.target: e.literal for e in reversed(dialect.edges_from(block))}
    as_models_write = replace(dialect, written={})
    calls = (
        write_calls(as_models_write, block, [ToolCall(n, f"zq000000{n}", name, _json(given))], n)
        for n, (name, given) in enumerate(column.calls)
    )
    body = lead + edges.get(block, "\n").join(calls) + edges.get(END, "") + column.after
    return [t for t in texts if t], body + next(iter(dialect.stops), "")


def _way_to(dialect: Dialect, block: str) -> list[tuple[str, str]]:
    """The shortest way from the first prompt to a block: literals, each with what it leads to."""
    ways = deque([(o.literal, o.block)] for o in dialect.prompts[0].openings)
    while ways:
        way = ways.popleft()
        if way[-1][1] == block:
            return way
        seen = {b for _, b in way}
        for edge in dialect.edges_from(way[-1][1]):
            if edge.target != END and edge.target not in seen:
                ways.append([*way, (edge.literal, edge.target)])
    return []


def _json(value: Mapping[str, JSON]) -> str:
    return json.dumps(value, ensure_ascii=False)


# ------------------------------------------------------------------------------------------ reading


def _read(grammar: Grammar, data: bytes, piece: int) -> tuple[Message, list[Event]]:
    reader = Reader(grammar, nonce="matrix")
    events: list[Event] = []
    for at in range(0, len(data), piece):
        events += reader.feed(data[at : at + piece])
    message = reader.finish("stop")
    return message, events + reader.finish_events()


def _marks(message: Message) -> list[str]:
    """What is said not to be in order."""
    found = {d.code for d in message.diagnostics}
    for call in message.tool_calls:
        found |= {f"{s} argument" for s in call.arguments_state.values() if s != "complete"}
        found |= {f"{call.state} call"} if call.state != "complete" else set()
    return sorted(found)


def _lost(message: Message, events: Sequence[Event], data: bytes, texts: Iterable[str]) -> str:
    """Which text is lost, or nothing."""
    at = 0
    for event in events:
        if isinstance(event, TextDelta | ArgumentsDelta | Part):
            start, end = event.span
            if start != at:
                return f"the events leave out {data[at:start]!r}"
            at = end
    if at != len(data):
        return f"the events leave out {data[at:]!r}"
    fields = message.content + message.reasoning_content
    return next((f"{text!r} is lost" for text in texts if text not in fields), "")


def _wrong_call(message: Message, column: _Column) -> str:
    """What of the calls is not as it was written, or nothing."""
    if len(message.tool_calls) != len(column.calls):
        return f"{len(message.tool_calls)} of {len(column.calls)} calls"
    for call, (name, written) in zip(message.tool_calls, column.calls, strict=True):
        if call.name != name:
            return f"{call.name!r} for {name!r}"
        try:
            read = cast("JSON", json.loads((call.arguments + call.closing) or "{}"))
        except ValueError:
            return f"arguments are no JSON: {call.arguments!r}"
        if read != written:
            return f"{read!r} for {dict(written)!r}"
    return ""
