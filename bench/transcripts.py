"""Complete runs of the tool loop with the embedded model, as a reader of the events sees them.

Three tools: a calculator, a reader of files in one folder, a clock. The first call is required,
since a model of this size rarely begins one; what it writes, and what it answers, is its own. Each
step says how many tokens of its prompt were evaluated, and how many were in the cache.
"""

import ast
import asyncio
import operator
import tempfile
from pathlib import Path

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
    StepFinished,
    Text,
    ToolError,
    ToolFinished,
    ToolLoop,
    tool,
)
from untemplate.turn import ChatTemplate

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
QUESTIONS = [
    "What is 17 times 23?",
    "How much is 1200 divided by 48?",
    "Read notes.txt and tell me the colour of the gate.",
    "What is in the file ../secret.txt?",
    "What time is it now?",
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
    def read_file(path: str) -> str:
        """Read a text file.

        Args:
            path: its name
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
                    new = usage.prompt_tokens - usage.cached_tokens
                    print(
                        f"\n      [step {record.step}: {new} tokens evaluated, "
                        f"{usage.cached_tokens} cached, {usage.completion_tokens} written]"
                    )
                case Done(result):
                    print(f"      [{result.reason}]")


def main():
    path = pull("smollm2")
    engine = LlamaEngine(Model(path), context_tokens=2048)
    model = LocalModel(engine, ChatTemplate.open(path), sampling=Sampling(temperature=0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "garden"
        folder.mkdir()
        (folder / "notes.txt").write_text("The garden gate is green.", encoding="utf-8")
        (folder.parent / "secret.txt").write_text("nothing to see", encoding="utf-8")
        tools = [calculate, reader_of(folder), clock]
        limits = Limits(steps=4)
        loop = ToolLoop(model, tools, limits=limits, choice="required", max_tokens=80)
        for question in QUESTIONS:
            asyncio.run(show(loop, question))
