"""One helper through which every case goes: fed whole, byte by byte, at random cuts, all alike.

`read_all` checks laws 2 (chunking), 3 (monotone), 5 (closing), 7 (spans tile) and 8 (snapshot) on
the way, and gives the message and the merged events.
"""

import json
import random
from dataclasses import replace

from untemplate.grammar import build_grammar
from untemplate.message import Tool
from untemplate.reader import (
    ArgumentEnd,
    ArgumentsDelta,
    ArgumentStart,
    CallEnd,
    CallPause,
    CallResume,
    CallStart,
    Part,
    Reader,
    TextDelta,
    TextEnd,
    TextStart,
    deltas,
)

TOOLS = (
    Tool(
        "f",
        parameters={
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "n": {"type": "integer"},
                "x": {"type": "number"},
                "b": {"type": "boolean"},
                "o": {"type": "object"},
                "l": {"type": "array", "items": {"type": "string"}},
                "u": {"type": ["string", "null"]},
                "v": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "e": {"enum": ["red", "green"]},
                "any": {},
            },
            "required": ["a"],
        },
    ),
    Tool("ping"),
)


def grammar_of(dialect, tools=TOOLS, choice=None, prompt=0):
    return build_grammar(dialect, tools, choice, prompt=dialect.prompts[prompt])


def merged(events):
    """The events with neighbours of one kind joined."""
    out = []
    for event in events:
        last = out[-1] if out else None
        if type(event) is type(last):
            if isinstance(event, TextDelta) and event.kind == last.kind:
                text, span = last.text + event.text, (last.span[0], event.span[1])
                out[-1] = replace(event, text=text, span=span)
                continue
            if isinstance(event, ArgumentsDelta) and event.index == last.index:
                text, span = last.text + event.text, (last.span[0], event.span[1])
                out[-1] = replace(event, text=text, span=span)
                continue
            if isinstance(event, Part) and event.kind == last.kind:
                out[-1] = Part(event.kind, (last.span[0], event.span[1]))
                continue
        out.append(event)
    return out


class Fold:
    """Adds deltas up, and refuses what an OpenAI client could not take."""

    def __init__(self):
        self.content = self.reasoning = ""
        self.calls = []
        self.ended = set()

    def add(self, events):
        for delta in deltas(events):
            self.content += delta.content
            self.reasoning += delta.reasoning_content
            for call in delta.tool_calls:
                if call.id is not None:
                    assert call.index == len(self.calls), "indexes rise by one"
                    assert call.name
                    assert call.arguments == ""
                    self.calls.append([call.id, call.name, ""])
                else:
                    assert call.index not in self.ended, "a call that has ended never changes"
                    assert call.arguments or call.state, "no delta is empty"
                    self.calls[call.index][2] += call.arguments
                if call.state is not None:
                    self.ended.add(call.index)


def check_closing(text, closing):
    """Law 5: valid JSON with the closing suffix, which holds only quotes and brackets."""
    if not text:
        assert closing == "{}"
    else:
        assert set(closing) <= set('"}]')
    value = json.loads(text + closing)
    assert isinstance(value, dict)
    return value


def check_tiling(events, data):
    """Law 7: the spans tile the input, and texts are the decoding of their spans."""
    at = 0
    for event in events:
        span = getattr(event, "span", None)
        if span is None:
            continue
        assert span[0] == at, f"gap or overlap at {at}: {event}"
        at = span[1]
        if isinstance(event, TextDelta):
            assert event.text == data[span[0] : span[1]].decode("utf-8", "replace")
    assert at == len(data), f"{data[at:]!r} was not told"


def check_calls(events):
    """Each call starts and ends once, and is told of in between, but not while it is put aside."""
    begun, open_, paused = 0, set(), set()
    for event in events:
        match event:
            case CallStart(index):
                assert index == begun
                assert open_ == paused, "one call is read at a time"
                begun += 1
                open_.add(index)
            case CallPause(index):
                assert index in open_ - paused
                paused.add(index)
            case CallResume(index):
                assert open_ == paused
                paused.remove(index)
            case CallEnd(index):
                open_.remove(index)
                paused.discard(index)
            case ArgumentsDelta(index) | ArgumentStart(index) | ArgumentEnd(index):
                assert index in open_ - paused
            case TextStart() | TextDelta() | TextEnd():
                assert open_ == paused
            case _:
                pass
    assert not open_


def feed(grammar, pieces, reason="stop", *, snapshots=False, check=True, reads=Reader, **more):
    """The message and all events for these pieces."""
    reader = reads(grammar, nonce="n", **more)
    events, fold = [], Fold()
    for piece in pieces:
        if snapshots:
            point = reader.snapshot()
            draft = reader.feed(b"<|x|>\"}{'draft")
            reader.restore(point)
            first = reader.feed(piece)
            reader.restore(point)
            new = reader.feed(piece)
            assert new == first
            del draft
        else:
            new = reader.feed(piece)
        events += new
        fold.add(new)
        for call in [c for c in reader.live.calls if c.is_open][-5:] if check else ():
            assert call.arguments == fold.calls[call.index][2]
            check_closing(call.arguments, call.closing)
    message = reader.finish(reason)
    new = reader.finish_events()
    events += new
    fold.add(new)
    assert fold.content == message.content
    assert fold.reasoning == message.reasoning_content
    assert fold.calls == [[c.id, c.name, c.arguments] for c in message.tool_calls]
    for call in message.tool_calls:
        check_closing(call.arguments, call.closing)
    check_calls(events)
    check_tiling(events, b"".join(pieces))
    return message, merged(events)


def cut(data, places):
    """The data cut at these places."""
    ends = [*sorted(set(places)), len(data)]
    return [data[a:b] for a, b in zip([0, *ends], ends, strict=False) if a < b]


def read_all(grammar, text, reason="stop", *, seed=0, **more):
    """The message and merged events, after checking that no chunking gives others."""
    data = text if isinstance(text, bytes) else text.encode()
    whole = feed(grammar, [data] if data else [], reason, **more)
    bytewise = [data[i : i + 1] for i in range(len(data))]
    assert feed(grammar, bytewise, reason, **more) == whole
    rng = random.Random(seed)
    for size in (2, 5, 17):
        places = [rng.randrange(len(data)) for _ in range(len(data) // size)] if data else []
        assert feed(grammar, cut(data, places), reason, **more) == whole
    assert feed(grammar, cut(data, range(0, len(data), 7)), reason, snapshots=True, **more) == whole
    return whole
