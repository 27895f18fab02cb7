"""Other readers of JSON that is not whole yet, each as its users use it in streams.

    for peer in installed(): peer.name, peer.again("{\"a\": [1", ), peer.stream()

Most parse the text so far again at each piece: `again` is that parse. Two keep a state: `stream`
gives a function that takes the next piece. What is not installed is named by `absent`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True)
class Peer:
    """One library."""

    name: str
    package: str
    module: str
    again: Callable | None = None
    """Text so far -> value so far."""
    stream: Callable | None = None
    """Nothing -> a function for the next piece of the arguments, and one for the value so far."""
    is_python: bool = False
    """Whether it is written in Python and parses again."""

    @property
    def version(self):
        return version(self.package)


def partial_json_parser(text):
    from partial_json_parser import loads

    return loads(text)


def json_repair(text):
    from json_repair import repair_json

    return repair_json(text, return_objects=True, stream_stable=True)


def jiter(text):
    from jiter import from_json

    return from_json(text.encode(), partial_mode="trailing-strings")


def langchain(text):
    from langchain_core.utils.json import parse_partial_json

    return parse_partial_json(text)


def ijson():
    """Push coroutine that builds the value; an open string is not shown."""
    import ijson as library
    from ijson.common import ObjectBuilder

    builder = ObjectBuilder()
    events = library.sendable_list()
    parser = library.basic_parse_coro(events)

    def feed(piece):
        parser.send(piece.encode("utf-8", "surrogatepass"))
        for event, value in events:
            builder.event(event, value)
        events.clear()

    return feed, lambda: _with_floats(getattr(builder, "value", None))


def _with_floats(value):
    """Decimals as floats, as the other libraries give them."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return list(map(_with_floats, value))
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    return value


def openai():
    """The accumulation of streamed chunks; with a strict tool, so that arguments are parsed."""
    from openai.lib.streaming.chat import ChatCompletionStreamState

    tool = {"type": "function", "function": {"name": "write_file", "strict": True}}
    state = ChatCompletionStreamState(input_tools=[tool])
    first = {"id": "a", "type": "function", "function": {"name": "write_file", "arguments": ""}}
    state.handle_chunk(openai_chunk({"role": "assistant", "tool_calls": [{"index": 0, **first}]}))

    def feed(chunk):
        state.handle_chunk(chunk)

    def value():
        call = state.current_completion_snapshot.choices[0].message.tool_calls[0]
        return call.function.parsed_arguments

    return feed, value


def openai_chunk(delta):
    from openai.types.chat import ChatCompletionChunk

    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return ChatCompletionChunk.model_validate(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "m",
            "choices": [choice],
        }
    )


def openai_piece(text):
    """A piece of the arguments as it comes from the stream."""
    return openai_chunk({"tool_calls": [{"index": 0, "function": {"arguments": text}}]})


PEERS = [
    Peer(
        "partial-json-parser",
        "partial-json-parser",
        "partial_json_parser",
        again=partial_json_parser,
        is_python=True,
    ),
    Peer("json-repair", "json-repair", "json_repair", again=json_repair, is_python=True),
    Peer("LangChain", "langchain-core", "langchain_core", again=langchain, is_python=True),
    Peer("jiter", "jiter", "jiter", again=jiter),
    Peer("ijson", "ijson", "ijson", stream=ijson),
    Peer("openai-python", "openai", "openai", stream=openai),
]


def _is_there(peer):
    try:
        importlib.import_module(peer.module)
    except ImportError:
        return False
    try:
        return bool(peer.version)
    except PackageNotFoundError:
        return False


def installed():
    return [p for p in PEERS if _is_there(p)]


def absent():
    return [p.name for p in PEERS if not _is_there(p)]
