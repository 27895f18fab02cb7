"""Running tool loops in tests, and what must hold for every history they leave."""

import asyncio

from untemplate.loop import ToolLoop
from untemplate.testing import FunctionModel, written

USER = [{"role": "user", "content": "go"}]


def script(*replies):
    """A model that gives these replies in turn; each may be a function of the request."""
    left = list(replies)

    def answer(request):
        assert left, "the script has no further reply"
        reply = left.pop(0)
        return reply(request) if callable(reply) else reply

    return FunctionModel(answer)


def once(*calls, **fields):
    """A model that makes these calls in its first reply and answers `done` in its second."""
    return script(written(*calls, **fields), "done")


def play(loop, messages=USER):
    """All events of a run, and its result; the task list has to be empty afterwards."""

    async def main():
        run = loop.run(messages)
        events = [event async for event in run]
        await check_no_tasks()
        return events, run.result

    events, result = asyncio.run(main())
    check_history(result.messages)
    return events, result


def complete(loop, messages=USER):
    return play(loop, messages)[1]


async def check_no_tasks():
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, left


def statuses(result, step=0):
    return [o.status for o in result.steps[step].outcomes]


def check_history(messages):
    """Every call has one tool message, directly after it, in call order; ids are unique."""
    seen, waiting = set(), []
    for message in messages:
        if message["role"] == "tool":
            assert waiting, "a tool message without a call"
            assert message["tool_call_id"] == waiting.pop(0)
            assert isinstance(message["content"], str)
            continue
        assert not waiting, f"no tool message for {waiting}"
        for call in message.get("tool_calls", ()):
            assert call["id"]
            assert call["id"] not in seen
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting, f"no tool message for {waiting}"


__all__ = ["USER", "ToolLoop", "check_history", "check_no_tasks", "complete", "once", "play"]
__all__ += ["script", "statuses"]
