"""Cancellation, time limits and KeyboardInterrupt: every open call has its result first."""

import asyncio
import json
import subprocess
import sys
import threading

import pytest

from tool_loop import USER, check_history, check_no_tasks, once, script, statuses
from untemplate.loop import (
    CallReady,
    Limits,
    Reply,
    StepFinished,
    Text,
    ToolContext,
    ToolFinished,
    ToolLoop,
    ToolStarted,
    tool,
)
from untemplate.loop.threads import ThreadPool
from untemplate.message import CallDelta, Delta, ToolCall
from untemplate.testing import FunctionModel, written


@tool(effect="read")
async def forever(n: int = 0):
    await asyncio.sleep(1000)


@tool(effect="read")
def quick(n: int = 0):
    return n


async def until(run, kind):
    async for event in run:
        if isinstance(event, kind):
            return event
    return None


def test_cancelling_the_task_that_iterates():
    started, cancelled = [], []

    async def watched(n: int):
        started.append(n)
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            cancelled.append(n)
            raise

    async def main():
        model = once(("quick", {}), *(("watched", {"n": n}) for n in range(3)))
        run = ToolLoop(model, [quick, watched], limits=Limits(concurrency=2)).run(USER)
        task = asyncio.create_task(until(run, StepFinished))
        while len(started) < 2:  # noqa: ASYNC110 - tools start in their own time
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await check_no_tasks()
        return run.result

    result = asyncio.run(main())
    assert result.reason == "cancelled"
    check_history(result.messages)
    assert statuses(result) == ["ok", "cancelled", "cancelled", "cancelled"]
    assert started == cancelled == [0, 1]
    assert [o.started for o in result.steps[0].outcomes] == [True, True, True, False]


def test_leaving_the_iteration_early():
    async def main():
        loop = ToolLoop(once(("forever", {})), [forever])
        async with loop.run(USER) as run:
            assert await until(run, ToolStarted)
        await check_no_tasks()
        return run.result

    result = asyncio.run(main())
    assert result.reason == "cancelled"
    assert statuses(result) == ["cancelled"]
    assert "its effect may have happened" in result.messages[-1]["content"]


def test_a_run_that_is_dropped_is_stopped():
    async def main():
        loop = ToolLoop(once(("forever", {})), [forever])
        run = loop.run(USER)
        await until(run, ToolStarted)
        del run
        for _ in range(500):  # nobody waits for it, and the machine may be busy
            if len(asyncio.all_tasks()) == 1:
                break
            await asyncio.sleep(0.01)
        await check_no_tasks()

    asyncio.run(main())


def test_cancellation_closes_the_model_and_keeps_what_was_received():
    closed = []

    async def reply(request):
        try:
            yield Delta(content="half an answ")
            call = written(("quick", {})).tool_calls[0]
            yield call
            await asyncio.sleep(1000)
        finally:
            closed.append(1)

    async def main():
        run = ToolLoop(FunctionModel(reply), [quick]).run(USER)
        async with run:
            await until(run, ToolFinished)
        return run.result

    result = asyncio.run(main())
    assert closed == [1]
    check_history(result.messages)
    assert result.text == "half an answ"
    assert statuses(result) == ["ok"]


def test_sync_tools_hear_of_their_cancellation():
    heard = threading.Event()

    def work(context: ToolContext):
        while not context.is_cancelled:
            threading.Event().wait(0.001)
        heard.set()

    async def main():
        loop = ToolLoop(once(("work", {})), [work])
        async with loop.run(USER) as run:
            await until(run, ToolStarted)

    asyncio.run(main())
    assert heard.wait(2)


def test_the_limit_on_time_gives_a_partial_result():
    async def main():
        model = once(("quick", {}), ("forever", {"n": 1}), ("forever", {"n": 2}), content="wait")
        loop = ToolLoop(model, [quick, forever], limits=Limits(time_s=0.05, concurrency=2))
        return await loop.complete(USER)

    result = asyncio.run(main())
    assert result.reason == "time"
    assert result.text == "wait"
    assert statuses(result) == ["ok", "cancelled", "cancelled"]
    check_history(result.messages)


def test_the_limit_on_time_holds_while_the_model_writes():
    async def reply(request):
        yield Delta(content="so ")
        await asyncio.sleep(1000)
        yield Reply(written(content="so far"))

    async def main():
        return await ToolLoop(FunctionModel(reply), limits=Limits(time_s=0.03)).complete(USER)

    result = asyncio.run(main())
    assert (result.reason, result.text) == ("time", "so ")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_keyboard_interrupt_of_a_tool_passes_through_after_each_call_has_its_result(kind):
    def stop():
        raise KeyboardInterrupt

    async def astop():
        raise KeyboardInterrupt

    interrupting = tool(name="stop")(stop if kind == "sync" else astop)
    loop = ToolLoop(
        once(("forever", {}), ("stop", {}), ("quick", {})), [quick, forever, interrupting]
    )
    run = loop.run(USER)

    async def main():
        async for _ in run:
            pass

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    check_history(run.result.messages)
    got = statuses(run.result)
    assert got[:2] == ["cancelled", "cancelled"]
    assert got[2] in ("ok", "cancelled")


def test_keyboard_interrupt_of_an_early_call_ends_the_reply_and_starts_nothing_more():
    ran, said = [], []

    @tool(effect="read")
    def stop():
        raise KeyboardInterrupt

    def write():
        ran.append("write")

    async def reply(request):
        calls = [ToolCall(0, "a", "stop", "{}"), ToolCall(1, "b", "write", "{}")]
        for call in calls:
            yield Delta(tool_calls=(CallDelta(call.index, call.id, call.name, "{}"),))
            yield call
        for _ in range(50):
            said.append("x")
            yield Delta(content="x")
            await asyncio.sleep(0.01)
        yield Reply(written(*calls))

    run = ToolLoop(FunctionModel(reply), [stop, write]).run(USER)

    async def main():
        async for _ in run:
            pass

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    check_history(run.result.messages)
    assert statuses(run.result) == ["cancelled", "cancelled"]
    assert ran == []
    assert len(said) < 40


def test_a_model_that_is_slow_to_close_does_not_lose_a_second_cancellation():
    async def reply(request):
        try:
            yield Delta(content="x")
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.02)

    async def main():
        run = ToolLoop(FunctionModel(reply)).run(USER)
        task = asyncio.create_task(until(run, CallReady))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)
        await check_no_tasks()
        assert run.result.reason == "cancelled"

    asyncio.run(main())


def test_a_slow_reader_slows_the_model_down():
    made = 0

    async def reply(request):
        nonlocal made
        for _ in range(5000):
            made += 1
            yield Delta(content="x")
        yield Reply(written(content="x" * 5000))

    async def main():
        run = ToolLoop(FunctionModel(reply)).run(USER)
        await until(run, Text)
        await asyncio.sleep(0.01)
        assert made < 600
        assert (await run.complete()).reason == "answer"

    asyncio.run(main())


HANGING = """
import asyncio, threading, time
from untemplate.loop import ToolLoop, tool
from untemplate.testing import FunctionModel, written

@tool(timeout_s=0.05)
def hang(n: int):
    threading.Event().wait()

left = [written(("hang", {"n": 1}), ("hang", {"n": 2})), "done"]
loop = ToolLoop(FunctionModel(lambda _: left.pop(0)), [hang])
result = asyncio.run(loop.complete([{"role": "user", "content": "go"}]))
print([o.status for o in result.steps[0].outcomes], loop.hanging(), flush=True)
"""


def test_the_interpreter_exits_although_sync_tools_hang():
    out = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, check=True, timeout=20, text=True
    )
    assert out.stdout.strip() == "['timed_out', 'timed_out'] {'hang': 2}"
    assert out.stderr == ""


def test_a_history_left_by_a_cancellation_can_be_gone_on_with():
    async def main():
        async with ToolLoop(once(("forever", {})), [forever]).run(USER) as run:
            await until(run, ToolStarted)
        messages = json.loads(json.dumps(run.result.messages))
        model = script("fine")
        return await ToolLoop(model).complete([*messages, *USER])

    assert asyncio.run(main()).text == "fine"


def test_a_thread_that_wakes_behind_the_timeout_begins_nothing(monkeypatch):
    ran, awake = [], threading.Event()
    take = ThreadPool._next

    def take_late(pool):
        job = take(pool)
        awake.wait(10)
        return job

    monkeypatch.setattr(ThreadPool, "_next", take_late)
    monkeypatch.setattr("untemplate.loop.execution._GRACE_S", 0.01)

    @tool(effect="write", timeout_s=0.01)
    def late():
        ran.append("late")

    async def main():
        loop = ToolLoop(script(written(("late", {})), "done"), [late])
        run = loop.run(USER)
        async for _ in run:
            pass
        awake.set()
        while loop.hanging():  # noqa: ASYNC110 - threads end in their own time
            await asyncio.sleep(0.001)
        return run.result

    assert statuses(asyncio.run(main())) == ["timed_out"]
    assert not ran
