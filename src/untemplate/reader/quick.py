"""Makes the values that nearly every piece of a stream becomes, cheaper than their classes do.

A frozen dataclass sets each field through `object.__setattr__`, which looks the name up; here the
fields' own descriptors are called. The values are the same: `tests/reader/test_quick.py` compares
them. A class that gets another field fails here when it is imported, not later.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from untemplate.message import CallDelta, Delta, Span
from untemplate.reader.events import ArgumentsDelta, TextDelta

if TYPE_CHECKING:
    from untemplate.reader.events import TextKind

__all__ = ["arguments_event", "arguments_news", "text_event", "text_news"]

_Setter = Callable[[object, object], None]


def _setters(of: Any) -> list[_Setter]:
    """What sets the fields of a dataclass with slots, in their order."""
    return [getattr(of, f.name).__set__ for f in fields(of)]


_new = object.__new__
_arguments_index, _arguments_text, _arguments_span = _setters(ArgumentsDelta)
_text_kind, _text_text, _text_span = _setters(TextDelta)
_content, _reasoning, _calls = _setters(Delta)
_index, _id, _name, _arguments, _state = _setters(CallDelta)


def arguments_event(index: int, text: str, span: Span) -> ArgumentsDelta:
    """`ArgumentsDelta(index, text, span)`."""
    event = _new(ArgumentsDelta)
    _arguments_index(event, index)
    _arguments_text(event, text)
    _arguments_span(event, span)
    return event


def text_event(kind: "TextKind", text: str, span: Span) -> TextDelta:
    """`TextDelta(kind, text, span)`."""
    event = _new(TextDelta)
    _text_kind(event, kind)
    _text_text(event, text)
    _text_span(event, span)
    return event


def arguments_news(index: int, text: str) -> Delta:
    """`Delta(tool_calls=(CallDelta(index, arguments=text),))`."""
    call = _new(CallDelta)
    _index(call, index)
    _id(call, None)
    _name(call, None)
    _arguments(call, text)
    _state(call, None)
    news = _new(Delta)
    _content(news, "")
    _reasoning(news, "")
    _calls(news, (call,))
    return news


def text_news(kind: "TextKind", text: str) -> Delta:
    """`Delta(content=text)`, or the same for reasoning."""
    news = _new(Delta)
    _content(news, text if kind == "content" else "")
    _reasoning(news, "" if kind == "content" else text)
    _calls(news, ())
    return news
