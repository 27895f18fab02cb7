"""Folds the events of a reader into what an OpenAI stream sends."""

from collections.abc import Iterable

from untemplate.message import CallDelta, Delta
from untemplate.reader.events import (
    ArgumentsDelta,
    CallEnd,
    CallStart,
    Event,
    TextDelta,
    TextKind,
)
from untemplate.reader.quick import arguments_news, text_news

__all__ = ["deltas"]


def deltas(events: Iterable[Event]) -> list[Delta]:
    """What an OpenAI stream sends for these events: neighbours of one field as one delta."""
    if isinstance(events, list) and len(events) == 1:  # most pieces of a stream
        event = events[0]
        if isinstance(event, ArgumentsDelta):
            return [arguments_news(event.index, event.text)]
        if isinstance(event, TextDelta):
            return [text_news(event.kind, event.text)]
    out: list[Delta] = []
    field: int | TextKind = "content"
    pieces: list[str] = []
    for event in events:
        if isinstance(event, (ArgumentsDelta, TextDelta)):
            of = event.index if isinstance(event, ArgumentsDelta) else event.kind
            if of != field and pieces:
                out.append(_delta(field, "".join(pieces)))
                pieces.clear()
            field = of
            pieces.append(event.text)
        elif isinstance(event, CallStart):
            if pieces:
                out.append(_delta(field, "".join(pieces)))
                pieces.clear()
            out.append(Delta(tool_calls=(CallDelta(event.index, event.id, event.name),)))
        elif isinstance(event, CallEnd):
            arguments = ""
            if pieces and field == event.index:
                arguments = "".join(pieces)
            elif pieces:
                out.append(_delta(field, "".join(pieces)))
            pieces.clear()
            news = CallDelta(event.index, arguments=arguments, state=event.state)
            out.append(Delta(tool_calls=(news,)))
    if pieces:
        out.append(_delta(field, "".join(pieces)))
    return out


def _delta(field: int | TextKind, text: str) -> Delta:
    return arguments_news(field, text) if isinstance(field, int) else text_news(field, text)
