r"""Server-sent events: the frames of a stream (WHATWG HTML, section 9.2).

    event(b'{"a":1}') -> b'data: {"a":1}\n\n'

The payload is one line: JSON encoders write none of the line ends that would split it. `PING` is a
comment that clients skip; proxies close connections that stay silent for a minute.
"""

__all__ = ["DONE", "PING", "event"]

DONE = b"data: [DONE]\n\n"
"""The last frame of a chat completion stream."""

PING = b": ping\n\n"


def event(payload: bytes) -> bytes:
    return b"data: " + payload + b"\n\n"
