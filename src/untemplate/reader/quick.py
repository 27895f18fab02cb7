"""Makes the values that nearly every piece of a stream becomes, cheaper than their classes do.

A frozen dataclass sets each field through `object.__setattr__`, which looks the name up. Here they
are set on a blank of the same layout, which then becomes the value. The values are the same:
`tests/reader/test_quick.py` compares them. A class that gets another field fails here when it is
imported, not later.
"""

from typing import TYPE_CHECKING, Any

from untemplate.message import CallDelta, Delta, Span
from untemplate.reader.events import ArgumentsDelta, TextDelta

if TYPE_CHECKING:
    from untemplate.reader.events import TextKind

__all__ = ["arguments_event", "arguments_news", "text_event", "text_news"]


def _blank(of: Any, *fields: str) -> Any:
    """A class of the same layout whose fields may be set."""
    assert of.__slots__ == fields
    return type(of.__name__, (), {"__slots__": fields})


_ArgumentsDelta = _blank(ArgumentsDelta, "index", "text", "span")
_TextDelta = _blank(TextDelta, "kind", "text", "span")
_Delta = _blank(Delta, "content", "reasoning_content", "tool_calls")
_CallDelta = _blank(CallDelta, "index", "id", "name", "arguments", "state")


def arguments_event(index: int, text: str, span: Span) -> ArgumentsDelta:
    """`ArgumentsDelta(index, text, span)`."""
    event = _ArgumentsDelta()
    event.index = index
    event.text = text
    event.span = span
    event.__class__ = ArgumentsDelta
    made: ArgumentsDelta = event
    return made


def text_event(kind: "TextKind", text: str, span: Span) -> TextDelta:
    """`TextDelta(kind, text, span)`."""
    event = _TextDelta()
    event.kind = kind
    event.text = text
    event.span = span
    event.__class__ = TextDelta
    made: TextDelta = event
    return made


def arguments_news(index: int, text: str) -> Delta:
    """`Delta(tool_calls=(CallDelta(index, arguments=text),))`."""
    call = _CallDelta()
    call.index = index
    call.id = call.name = call.state = None
    call.arguments = text
    call.__class__ = CallDelta
    news = _Delta()
    news.content = news.reasoning_content = ""
    news.tool_calls = (call,)
    news.__class__ = Delta
    made: Delta = news
    return made


def text_news(kind: "TextKind", text: str) -> Delta:
    """`Delta(content=text)`, or the same for reasoning."""
    news = _Delta()
    is_content = kind == "content"
    news.content = text if is_content else ""
    news.reasoning_content = "" if is_content else text
    news.tool_calls = ()
    news.__class__ = Delta
    made: Delta = news
    return made
