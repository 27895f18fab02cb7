"""The loop with the embedded model: a calculator, a file reader in a folder, a clock."""

import ast
import asyncio
import operator
import threading
import time

import pytest
import uvicorn

from tool_loop import check_history, complete
from untemplate.loop import Limits, LocalModel, RemoteModel, ToolError, ToolLoop, tool
from untemplate.message import ToolChoice
from untemplate.turn import ChatTemplate

pytestmark = pytest.mark.model

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


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


def clock() -> str:
    """The time now."""
    return "12:34"


def reader_of(folder):
    @tool(effect="read")
    def read_file(path: str) -> str:
        """Read a text file.

        Args:
            path: its name
        """
        file = (folder / path).resolve()
        if not file.is_relative_to(folder.resolve()):
            raise ToolError("only files of the folder may be read")
        try:
            return file.read_text(encoding="utf-8")
        except OSError as error:
            raise ToolError(error.strerror) from None

    return read_file


@pytest.fixture(scope="module")
def engine(model):
    from untemplate.engines.llama.engine import LlamaEngine

    return LlamaEngine(model, context_tokens=2048, sequences=2)


@pytest.fixture(scope="module")
def template(model_path):
    return ChatTemplate.open(model_path)


@pytest.fixture
def local(engine, template):
    from untemplate.engines.sampling import Sampling

    return LocalModel(engine, template, sampling=Sampling(temperature=0))


def ask(question):
    return [{"role": "user", "content": question}]


QUESTIONS = [
    ("What is 17 times 23?", "calculate"),
    ("Read the file notes.txt", "read_file"),
    ("What time is it?", "clock"),
]


@pytest.mark.parametrize(("question", "name"), QUESTIONS)
def test_a_whole_run_evaluates_only_new_tokens(local, tmp_path, question, name):
    (tmp_path / "notes.txt").write_text("The garden gate is green.", encoding="utf-8")
    tools = [calculate, reader_of(tmp_path), clock]
    loop = ToolLoop(
        local,
        tools,
        choice=ToolChoice("required", name, parallel=False),
        limits=Limits(steps=2),
        max_tokens=60,
    )
    result = complete(loop, ask(question))
    first, second = result.steps
    (outcome,) = first.outcomes
    assert outcome.call.name == name
    assert outcome.status in ("ok", "failed")
    assert (
        second.usage.cached_tokens >= first.usage.prompt_tokens + first.usage.completion_tokens - 1
    )


def test_a_call_that_does_not_fit_says_how_many_tokens_it_takes(local):
    choice = ToolChoice("required", "calculate", parallel=False)
    loop = ToolLoop(local, [calculate], choice=choice, limits=Limits(steps=1), max_tokens=6)
    result = complete(loop, ask("What is 17 times 23?"))
    (outcome,) = result.steps[0].outcomes
    assert outcome.status == "incomplete"
    assert outcome.fault.startswith("a call of calculate takes at least ")
    assert "A call of calculate takes at least " in outcome.text
    least = int(outcome.fault.split("at least ")[1].split()[0])
    assert 9 < least < 60


def test_a_call_that_is_cut_is_the_same_after_the_resume(local):
    def run(max_tokens):
        loop = ToolLoop(
            local,
            [calculate],
            choice=ToolChoice("required", "calculate", parallel=False),
            limits=Limits(steps=1),
            max_tokens=max_tokens,
        )
        return complete(loop, ask("What is 17 times 23?")).steps[0]

    whole = run(100)
    size = whole.usage.completion_tokens
    for cut in (size // 3 + 1, size - 2):
        step = run(cut)
        assert step.generations == -(-size // cut)
        assert step.message.raw == whole.message.raw
        assert [o.text for o in step.outcomes] == [o.text for o in whole.outcomes]


def test_a_run_through_the_server(engine, template):
    from untemplate.server import create_app

    app = create_app(engine, template, model="smollm2")
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        remote = RemoteModel(
            f"http://127.0.0.1:{port}/v1", "smollm2", options={"temperature": 0, "seed": 1}
        )
        loop = ToolLoop(
            remote, [calculate], choice="required", limits=Limits(steps=2), max_tokens=60
        )
        result = asyncio.run(loop.complete(ask("What is 17 times 23?")))
    finally:
        server.should_exit = True
        thread.join(10)
    check_history(result.messages)
    assert result.steps[0].outcomes[0].text == "391"
    assert result.usage.completion_tokens > 10
