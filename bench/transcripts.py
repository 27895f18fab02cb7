"""Complete runs of the tool loop with the embedded model, as a reader of the events sees them.

Three tools: a calculator, a reader of files in one folder, a clock. The tool of the first call is
named, since a model of this size rarely begins one; the arguments and the answer are its own. Each
step says how many tokens of its prompt were evaluated, and how many were in the cache. The last two
runs go through the server: one by the stock client of openai, with a loop written by hand, one by
`RemoteModel`, whose replies are cut on purpose and gone on with in place.
"""

import ast
import asyncio
import operator
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import openai
import uvicorn
from pydantic import Field

from untemplate.engines.llama.engine import LlamaEngine
from untemplate.engines.llama.model import Model
from untemplate.engines.models import pull
from untemplate.engines.sampling import Sampling
from untemplate.loop import (
    ArgumentDelta,
    CallStarted,
    Done,
    Limits,
    LocalModel,
    RemoteModel,
    StepFinished,
    Text,
    ToolError,
    ToolFinished,
    ToolLoop,
    tool,
)
from untemplate.message import ToolChoice
from untemplate.server import create_app
from untemplate.turn import ChatTemplate

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
QUESTIONS = [
    ("What is 17 times 23?", "calculate"),
    ("How much is 1200 / 48?", "calculate"),
    ("Read notes.txt and tell me the colour of the gate.", "read_file"),
    ("What is in the file ../secret.txt?", "read_file"),
    ("What time is it now?", "clock"),
]


@tool(effect="read")
def calculate(expression: str) -> float:
    """Evaluate an arithmetic expression.

    Args:
        expression: numbers and + - * /, as 17 * 23
    """

    def value(node):
        match node:
            case ast.Expression(body):
                return value(body)
            case ast.BinOp(left, op, right) if type(op) in OPERATORS:
                return OPERATORS[type(op)](value(left), value(right))
            case ast.Constant(int() | float() as number):
                return number
        raise ToolError("only numbers and + - * / are allowed")

    try:
        return value(ast.parse(expression, mode="eval"))
    except SyntaxError:
        raise ToolError("this is no arithmetic expression") from None


@tool(effect="read")
def clock() -> str:
    """The time of day now."""
    return "12:34"


def reader_of(folder):
    @tool(effect="read")
    def read_file(path: Annotated[str, Field(pattern=r"^(\.\./)?[a-z]{1,12}\.txt$")]) -> str:
        """Read a text file.

        Args:
            path: its name, as notes.txt
        """
        file = (folder / path).resolve()
        if not file.is_relative_to(folder):
            raise ToolError("only files of the folder may be read")
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            raise ToolError(error.strerror) from None

    return read_file


async def show(loop, question):
    print(f"\nuser: {question}")
    async with loop.run([{"role": "user", "content": question}]) as run:
        async for event in run:
            match event:
                case Text(text) | ArgumentDelta(_, _, text):
                    print(text, end="", flush=True)
                case CallStarted(_, _, name):
                    print(f"call: {name} ", end="")
                case ToolFinished(outcome):
                    print(f"\ntool: {outcome.status}: {outcome.text}")
                case StepFinished(record):
                    usage = record.usage
                    if record.generations > 1:
                        print(
                            f"\n      [cut, and gone on with: {record.generations} generations]",
                            end="",
                        )
                    new = usage.prompt_tokens - usage.cached_tokens
                    print(
                        f"\n      [step {record.step}: {new} tokens evaluated, "
                        f"{usage.cached_tokens} cached, {usage.completion_tokens} written]"
                    )
                case Done(result):
                    print(f"      [{result.reason}]")


@contextmanager
def serving(engine, template):
    """The address of a server that runs the engine."""
    app = create_app(engine, template, model="smollm2")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


def with_openai(address, question):
    """What any program does that knows nothing of this library."""
    client = openai.OpenAI(base_url=address, api_key="none")
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    function = {"name": "clock", "description": "The time of day now.", "parameters": nothing}
    tools = [{"type": "function", "function": function}]
    messages = [{"role": "user", "content": question}]
    print(f"\nuser, over HTTP: {question}")
    for choice in ("required", "none"):
        with client.chat.completions.stream(
            model="smollm2",
            messages=messages,
            tools=tools,
            tool_choice=choice,
            temperature=0,
            max_tokens=80,
        ) as stream:
            answer = stream.get_final_completion().choices[0]
        message = answer.message
        print(message.content or "", f"[{answer.finish_reason}]")
        calls = message.tool_calls or []
        messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
        for call in calls:
            state = call.model_extra["untemplate"]["state"]
            print(f"call: {call.function.name} {call.function.arguments} [{state}]")
            result = "12:34"
            print(f"tool: {result}")
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def main():
    path = pull("smollm2")
    engine = LlamaEngine(Model(path), context_tokens=2048)
    model_template = ChatTemplate.open(path)
    model = LocalModel(engine, model_template, sampling=Sampling(temperature=0))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "garden"
        folder.mkdir()
        (folder / "notes.txt").write_text("The garden gate is green.", encoding="utf-8")
        (folder.parent / "secret.txt").write_text("nothing to see", encoding="utf-8")
        tools = [calculate, reader_of(folder), clock]
        limits = Limits(steps=4)
        for question, name in QUESTIONS:
            choice = ToolChoice("required", name, parallel=False)
            loop = ToolLoop(model, tools, limits=limits, choice=choice, max_tokens=80)
            asyncio.run(show(loop, question))
        with serving(engine, model_template) as address:
            with_openai(address, "What time is it now?")
            remote = RemoteModel(address, "smollm2", options={"temperature": 0})
            choice = ToolChoice("required", "calculate", parallel=False)
            loop = ToolLoop(remote, tools, limits=limits, choice=choice, max_tokens=16)
            asyncio.run(show(loop, "What is 17 times 23?"))
    engine.close()
