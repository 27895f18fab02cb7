"""What a model wrote, read as it arrives: bytes in, events out. See `reader` and `events`."""

from untemplate.reader.events import (
    ArgumentEnd,
    ArgumentsDelta,
    CallEnd,
    CallStart,
    Diagnosed,
    Event,
    Part,
    TextDelta,
    TextEnd,
    TextStart,
    deltas,
)
from untemplate.reader.reader import Reader

__all__ = [
    "ArgumentEnd",
    "ArgumentsDelta",
    "CallEnd",
    "CallStart",
    "Diagnosed",
    "Event",
    "Part",
    "Reader",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "deltas",
]
