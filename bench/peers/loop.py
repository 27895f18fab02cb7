"""One library's tool loop over a scripted model: CPU time per call. Run by `bench/loop.py`.

    python loop.py untemplate async 8 20        -> JSON with the least microseconds per call

The model answers at once: in each of `steps` replies it calls a tool that does nothing `calls`
times, then it says `done`. So what is measured is the loop alone: reading the reply, checking the
arguments, running the tool, writing the history. Each library is used as its own documentation
says, with its tracing off.
"""

# ruff: noqa: ARG001, ARG002 - the peers say what a tool and a model have to take
import asyncio
import json
import sys
import time

ROUNDS = 12


def sync_noop(n: int) -> str:
    """Do nothing."""
    return "ok"


async def async_noop(n: int) -> str:
    """Do nothing."""
    return "ok"


class Script:
    """Which calls the next reply has; None when it is the answer."""

    def __init__(self, calls, steps):
        self.calls, self.steps, self.reply, self.number = calls, steps, 0, 0

    def next(self):
        self.reply += 1
        if self.reply % (self.steps + 1) == 0:
            return None
        start, self.number = self.number, self.number + self.calls
        return [(f"call_{n}", n) for n in range(start, self.number)]


def untemplate(tool, script):
    from untemplate.loop import Limits, ToolLoop
    from untemplate.message import ToolCall
    from untemplate.testing.function_model import FunctionModel, written

    def reply(_request):
        calls = script.next()
        if calls is None:
            return "done"
        return written(
            *(ToolCall(i, c, tool.__name__, json.dumps({"n": n})) for i, (c, n) in enumerate(calls))
        )

    loop = ToolLoop(FunctionModel(reply), [tool], limits=Limits(steps=script.steps + 1))
    return lambda: loop.complete([{"role": "user", "content": "go"}])


def pydantic_ai(tool, script):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits

    def reply(_messages, _info):
        calls = script.next()
        if calls is None:
            return ModelResponse(parts=[TextPart("done")])
        parts = [
            ToolCallPart(tool.__name__, json.dumps({"n": n}), tool_call_id=c) for c, n in calls
        ]
        return ModelResponse(parts=parts)

    agent = Agent(FunctionModel(reply), tools=[tool])
    limits = UsageLimits(request_limit=script.steps + 1)
    return lambda: agent.run("go", usage_limits=limits)


def openai_agents(tool, script):
    from agents import (
        Agent,
        Model,
        ModelResponse,
        Runner,
        Usage,
        function_tool,
        set_tracing_disabled,
    )
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    set_tracing_disabled(True)

    class Scripted(Model):
        async def get_response(self, *args, **kwargs):
            calls = script.next()
            if calls is None:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                output = [
                    ResponseOutputMessage(
                        id="m", content=[text], role="assistant", status="completed", type="message"
                    )
                ]
            else:
                output = [
                    ResponseFunctionToolCall(
                        arguments=json.dumps({"n": n}),
                        call_id=c,
                        name=tool.__name__,
                        type="function_call",
                    )
                    for c, n in calls
                ]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *args, **kwargs):
            raise NotImplementedError

    agent = Agent(name="a", model=Scripted(), tools=[function_tool(tool)])
    return lambda: Runner.run(agent, "go", max_turns=script.steps + 1)


def langgraph(tool, script):
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool as as_tool

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self):
            return "scripted"

        def bind_tools(self, tools, **kwargs):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            calls = script.next()
            message = AIMessage(
                content="done" if calls is None else "",
                tool_calls=[
                    {"name": tool.__name__, "args": {"n": n}, "id": c} for c, n in calls or []
                ],
            )
            return ChatResult(generations=[ChatGeneration(message=message)])

        async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
            return self._generate(messages)

    agent = create_agent(Scripted(), tools=[as_tool(tool)])
    config = {"recursion_limit": 4 * script.steps + 10}
    return lambda: agent.ainvoke({"messages": [{"role": "user", "content": "go"}]}, config)


LIBRARIES = {f.__name__: f for f in (untemplate, pydantic_ai, openai_agents, langgraph)}


async def measure(library, kind, calls, steps):
    """The least microseconds of CPU and of wall time per call."""
    tool = async_noop if kind == "async" else sync_noop
    run = LIBRARIES[library](tool, Script(calls, steps))
    cpu, wall = [], []
    for _ in range(ROUNDS):
        started, clock = time.process_time(), time.perf_counter()
        await run()
        cpu.append(time.process_time() - started)
        wall.append(time.perf_counter() - clock)
    return [round(min(times) / (calls * steps) * 1e6, 1) for times in (cpu, wall)]


if __name__ == "__main__":
    name, kind, calls, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    print(json.dumps(asyncio.run(measure(name, kind, calls, steps))))
