"""What a model wrote, read as it arrives: bytes in, events out. See `reader` and `events`."""

from untemplate.reader.deltas import deltas
from untemplate.reader.events import (
    ArgumentEnd,
    ArgumentsDelta,
    ArgumentStart,
    CallEnd,
    CallPause,
    CallResume,
    CallStart,
    Diagnosed,
    Event,
    Part,
    TextDelta,
    TextEnd,
    TextStart,
)
from untemplate.reader.live import LiveCall, LiveTurn
from untemplate.reader.reader import OnArgument, Reader, Snapshot

__all__ = [
    "ArgumentEnd",
    "ArgumentStart",
    "ArgumentsDelta",
    "CallEnd",
    "CallPause",
    "CallResume",
    "CallStart",
    "Diagnosed",
    "Event",
    "LiveCall",
    "LiveTurn",
    "OnArgument",
    "Part",
    "Reader",
    "Snapshot",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "deltas",
]
