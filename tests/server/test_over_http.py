"""A real server, real sockets, OpenAI's own client."""

import json
import socket
import threading
from urllib.parse import urlsplit

import openai
import pytest

from serving import HELLO, listening
from untemplate.testing import ScriptedEngine

MESSAGES = HELLO["messages"]


def connect(address: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)


def test_the_openai_client_gets_an_answer():
    with listening([b"Hel", b"lo"]) as address, connect(address) as api:
        answer = api.chat.completions.create(model="scripted", messages=MESSAGES)
        assert answer.choices[0].message.content == "Hello"
        assert answer.choices[0].finish_reason == "stop"
        assert answer._request_id.startswith("req_")
        assert [m.id for m in api.models.list()] == ["scripted"]


def test_the_openai_client_reads_a_stream():
    with listening([b"Hel", b"lo"]) as address, connect(address) as api:
        stream = api.chat.completions.create(
            model="scripted",
            messages=MESSAGES,
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert text == "Hello"
        assert chunks[-1].usage.completion_tokens == 2


def test_the_openai_client_raises_what_went_wrong():
    def broken():
        yield b"Hel"
        raise OSError

    with listening(broken) as address, connect(address) as api:
        with pytest.raises(openai.NotFoundError, match="gpt-9"):
            api.chat.completions.create(model="gpt-9", messages=MESSAGES)
        with pytest.raises(openai.BadRequestError, match="temperature"):
            api.chat.completions.create(model="scripted", messages=MESSAGES, temperature=7)
        with pytest.raises(openai.APIError, match="log says why"):
            list(api.chat.completions.create(model="scripted", messages=MESSAGES, stream=True))


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_goes_away_stops_the_engine(stream):
    began, ended = threading.Event(), threading.Event()

    def endless():
        try:
            while True:
                yield b"word "
                began.set()
                ended.wait(0.002)  # as long as a token takes
        finally:
            ended.set()

    engine = ScriptedEngine(endless, [b"Hi"])
    with listening(engine=engine) as address, connect(address) as api:
        body = json.dumps({**HELLO, "stream": stream}).encode()
        with raw_post(address, body) as connection:
            assert began.wait(10)
            if stream:
                assert b"word" in read_until(connection, b"word")
            assert not ended.is_set()
        assert ended.wait(10)
        assert engine.turns[0] is not None
        answer = api.chat.completions.create(model="scripted", messages=MESSAGES)
        assert answer.choices[0].message.content == "Hi"


def test_a_client_that_goes_away_while_it_sends_harms_nothing():
    with listening([b"Hi"]) as address, connect(address) as api:
        with raw_post(address, b'{"messages": [', declared=1000):
            pass
        answer = api.chat.completions.create(model="scripted", messages=MESSAGES)
        assert answer.choices[0].message.content == "Hi"


def test_a_body_of_20_mb_gets_its_answer_over_a_socket():
    with listening([b"Hi"]) as address, connect(address) as api:
        big = [{"role": "user", "content": "x" * (20 << 20)}]
        with pytest.raises(openai.APIStatusError, match="larger than") as caught:
            api.chat.completions.create(model="scripted", messages=big)
        assert caught.value.status_code == 413
        answer = api.chat.completions.create(model="scripted", messages=MESSAGES)
        assert answer.choices[0].message.content == "Hi"


def raw_post(address: str, body: bytes, declared: int | None = None) -> socket.socket:
    parts = urlsplit(address)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=10)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {parts.netloc}\r\n"
    head += f"Content-Length: {declared or len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def read_until(connection: socket.socket, wanted: bytes) -> bytes:
    got = b""
    while wanted not in got:
        piece = connection.recv(65536)
        assert piece, got
        got += piece
    return got
