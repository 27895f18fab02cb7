"""A template, a scripted engine and a client, for the tests of the server."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.testclient import TestClient

from untemplate.server import Settings, create_app
from untemplate.testing import ScriptedEngine
from untemplate.turn import ChatTemplate

TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n<tools>\\n' }}
    {%- for tool in tools %}
        {{- tool | tojson }}{{ '\\n' }}
    {%- endfor %}
    {{- '</tools><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|im_start|>tool\\n' + message.content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' + (message.content or '') }}
        {%- for call in message.tool_calls or [] %}
            {{- '\\n' if message.content or not loop.first }}
            {{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
            {{- call.function.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
"""Hermes-like: JSON in tags."""

HELLO = {"messages": [{"role": "user", "content": "Hi"}]}


def client(
    *scripts, template: str = TEMPLATE, engine: ScriptedEngine | None = None, **settings
) -> TestClient:
    app = create_app(
        engine or ScriptedEngine(*scripts),
        ChatTemplate(template),
        model="scripted",
        meta={"context_tokens": 4096},
        settings=Settings(**settings),
    )
    return TestClient(app, raise_server_exceptions=False, base_url="http://127.0.0.1")


def frames(text: str) -> list[dict | str]:
    """The payloads of a stream; pings as `: ping`, and `[DONE]`."""
    out: list[dict | str] = []
    for frame in text.split("\n\n")[:-1]:
        payload = frame.removeprefix("data: ")
        out.append(json.loads(payload) if payload.startswith("{") else payload)
    return out


@contextmanager
def listening(*scripts, **options) -> Iterator[str]:
    """A real server on a free port of this machine; gives its address."""
    app = client(*scripts, **options).app
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
