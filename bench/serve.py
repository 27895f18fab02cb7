"""Tool calls of the embedded model, served by us and by llama.cpp's own server, side by side.

Both serve the same file with the same number of threads, to the same openai client, streaming, one
request after the other, greedy. Each of 20 prompts asks for one of three tools, under
`tool_choice` auto and required. Counted: answers with a call, calls of the right tool, calls whose
arguments the schema accepts; the median time to the first argument delta, and tokens per second
over all.
"""

import contextlib
import json
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import jsonschema_rs
import openai
import uvicorn
import xllamacpp

from untemplate.engines.llama.engine import LlamaEngine
from untemplate.engines.llama.model import Model
from untemplate.engines.models import pull
from untemplate.server import create_app
from untemplate.turn import ChatTemplate

MAX_TOKENS = 80


def tool(name, description, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TEXT = {"type": "string", "maxLength": 60}
TOOLS = [
    tool("get_weather", "Get the current weather in a city", city=TEXT),
    tool("calculate", "Evaluate an arithmetic expression", expression=TEXT),
    tool("send_email", "Send an email to somebody", to=TEXT, subject=TEXT, body=TEXT),
]
PARAMETERS = {t["function"]["name"]: t["function"]["parameters"] for t in TOOLS}
PROMPTS = [
    ("What is the weather in Paris?", "get_weather"),
    ("How warm is it in Tokyo today?", "get_weather"),
    ("Is it raining in London right now?", "get_weather"),
    ("Tell me the forecast for Berlin.", "get_weather"),
    ("Do I need an umbrella in Seattle?", "get_weather"),
    ("What's the temperature in Cairo?", "get_weather"),
    ("Will it snow in Oslo tomorrow?", "get_weather"),
    ("What is 17 times 23?", "calculate"),
    ("Compute 144 divided by 12.", "calculate"),
    ("How much is 15% of 80?", "calculate"),
    ("Add 1234 and 4321.", "calculate"),
    ("What is (3 + 4) * 5?", "calculate"),
    ("What's the square of 12?", "calculate"),
    ("Subtract 99 from 1000.", "calculate"),
    ("Send an email to bob@example.com saying I will be late.", "send_email"),
    ("Email alice@example.com that the meeting is at noon.", "send_email"),
    ("Write to carol@example.com to say thanks.", "send_email"),
    ("Mail dave@example.com about lunch on Friday.", "send_email"),
    ("Please send erin@example.com the message: happy birthday!", "send_email"),
    ("Let frank@example.com know by email that the report is ready.", "send_email"),
]


@dataclass
class Row:
    """What one server did under one choice."""

    server: str
    choice: str
    calls: int = 0
    right: int = 0
    valid: int = 0
    first_delta_s: list[float] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0

    def cells(self):
        first = f"{statistics.median(self.first_delta_s):.2f}" if self.first_delta_s else "-"
        rate = f"{self.tokens / self.seconds:.0f}"
        return [self.server, self.choice, self.calls, self.right, self.valid, first, rate]


@contextlib.contextmanager
def ours(path) -> Iterator[str]:
    engine = LlamaEngine(Model(path), context_tokens=4096)
    app = create_app(engine, ChatTemplate.open(path), model="smollm2")
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/v1"
    server.should_exit = True
    thread.join()


@contextlib.contextmanager
def llama_cpp(path) -> Iterator[str]:
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads, params.cpuparams_batch.n_threads = 1, 2
    params.use_jinja, params.hostnames, params.port = True, ["127.0.0.1"], 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"


def measure(url, name, choice) -> Row:
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=120)
    row = Row(name, choice)
    for question, expected in PROMPTS:
        ask(client, row, question, expected)
    return row


def ask(client, row, question, expected):
    started = time.perf_counter()
    stream = client.chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": question}],
        tools=TOOLS,
        tool_choice=row.choice,
        parallel_tool_calls=False,
        temperature=0,
        max_tokens=MAX_TOKENS,
        stream=True,
        stream_options={"include_usage": True},
    )
    name, arguments, first = "", "", None
    for chunk in stream:
        if chunk.usage:
            row.tokens += chunk.usage.completion_tokens
        for choice in chunk.choices:
            for call in choice.delta.tool_calls or []:
                if call.index == 0 and call.function:
                    name += call.function.name or ""
                    if call.function.arguments and first is None:
                        first = time.perf_counter() - started
                    arguments += call.function.arguments or ""
    row.seconds += time.perf_counter() - started
    if name:
        row.calls += 1
        row.right += name == expected
        row.valid += is_valid(name, arguments)
    if first is not None:
        row.first_delta_s.append(first)


def is_valid(name, arguments) -> bool:
    try:
        value = json.loads(arguments)
    except ValueError:
        return False
    return name in PARAMETERS and jsonschema_rs.is_valid(PARAMETERS[name], value)


def main():
    path = pull("smollm2")
    rows = []
    for name, serve in (("untemplate", ours), ("llama.cpp", llama_cpp)):
        with serve(path) as url:
            rows += [measure(url, name, choice).cells() for choice in ("auto", "required")]
    heads = ["server", "tool_choice", "calls", "right tool", "valid", "first delta s", "tokens/s"]
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
