"""Random schedules: whatever happens in whatever order, each call has one outcome and runs once.

A schedule is made from a seed: tools of every effect, sync and async, that return, raise, exit,
hang or give rubbish after a random delay; replies with valid, invalid, unknown, repeated and cut
calls, streamed with random pauses; random limits; an approver with moods; and, sometimes, a
cancellation at a random moment. Each call carries a number, so that the log shows what ran.
"""

import asyncio
import itertools
import json
import random
import threading
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from tool_loop import USER, check_history, check_no_tasks
from untemplate.loop import (
    Done,
    Limits,
    ToolContext,
    ToolError,
    ToolFinished,
    ToolLoop,
    ToolStarted,
    tool,
)
from untemplate.message import ToolCall
from untemplate.testing import Cut, FunctionModel, ScriptedModel, stream, written

EFFECTS = ["read", "idempotent", "write", "destructive"]
ENDINGS = ["ok"] * 8 + ["raise", "refuse", "exit", "hang", "stubborn", "big", "bad", "quit"]


@dataclass
class World:
    """What the tools did in one schedule."""

    release: threading.Event = field(default_factory=threading.Event)
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    entered: Counter = field(default_factory=Counter)
    """Call id and number to how often its tool was entered."""
    running: dict = field(default_factory=dict)
    """Call id to context. What was left behind in its thread does not count as running."""
    overlaps: list = field(default_factory=list)

    def enter(self, context, n, *, exclusive):
        self.entered[context.call_id, n] += 1
        # A thread may lose the processor between the last look at its context and here.
        if exclusive and not context.is_cancelled:
            others = [c.call_id for c in list(self.running.values()) if not c.is_cancelled]
            self.overlaps += [(context.call_id, other) for other in others]
        self.running[context.call_id] = context


def ending(then):
    match then:
        case "raise":
            raise ValueError("secret")
        case "refuse":
            raise ToolError("no")
        case "exit":
            raise SystemExit
        case "quit":
            raise asyncio.CancelledError
        case "big":
            return itertools.count()
        case "bad":
            return object()
    return then


def make_tools(rng, world):
    def make(effect, kind, exclusive):
        def body(n: int, delay: float, then: str, context: ToolContext):
            world.enter(context, n, exclusive=exclusive)
            try:
                world.release.wait(1000 if then in ("hang", "stubborn") else delay)
                return ending(then)
            finally:
                world.running.pop(context.call_id, None)

        async def async_body(n: int, delay: float, then: str, context: ToolContext):
            world.enter(context, n, exclusive=exclusive)
            try:
                if then == "hang":
                    await asyncio.sleep(1000)
                while then == "stubborn" and not world.freed.is_set():
                    try:
                        await world.freed.wait()
                    except asyncio.CancelledError:
                        continue
                await asyncio.sleep(delay)
                return ending(then)
            finally:
                world.running.pop(context.call_id, None)

        return tool(
            name=f"{effect}_{kind}",
            effect=effect,
            exclusive=exclusive,
            timeout_s=0.02,
            result_max=50,
            failures_max=rng.choice([1, 3]),
        )(async_body if kind == "async" else body)

    kinds = itertools.product(EFFECTS, ["sync", "async"])
    return [make(effect, kind, rng.random() < 0.2) for effect, kind in kinds]


def make_call(rng, numbers, index, tools, made):
    """A call, or one that was made before; `made` keeps them."""
    if made and rng.random() < 0.15:
        return replace(rng.choice(made), index=index)
    made.append(new_call(rng, numbers, index, tools))
    return made[-1]


def new_call(rng, numbers, index, tools):
    roll = rng.random()
    name = "nothing" if roll < 0.05 else rng.choice(tools).name
    number = rng.choice([next(numbers), next(numbers), rng.randrange(1, 5)])
    arguments = {
        "n": number,
        "delay": rng.choice([0, 0, 0.001, 0.004]),
        "then": rng.choice(ENDINGS),
    }
    if roll > 0.92:
        arguments["n"] = "three"
    text = json.dumps(arguments)
    if roll < 0.15:
        size = rng.randrange(1, len(text))
        return ToolCall(index, "", name, "{", closing="}", state="cut", span=(0, size))
    return ToolCall(index, "", name, text)


def make_model(rng, tools):
    numbers, made = itertools.count(10), []

    async def reply(request):
        size = rng.choice([0, 1, 2, 3, 6, 20])
        calls = [make_call(rng, numbers, i, tools, made) for i in range(size)]
        if request.choice.mode == "none":
            calls = []
        same_id = rng.random() < 0.2
        calls = [
            ToolCall(c.index, "same" if same_id else f"{request.nonce}{c.index}", *rest(c))
            for c in calls
        ]
        for item in stream(written(*calls, content=rng.choice(["", "so"]))):
            if rng.random() < 0.1:
                await asyncio.sleep(rng.choice([0, 0.001]))
            yield item

    return FunctionModel(reply)


def make_script(rng, tools):
    """Raw text in a real dialect, cut at random bytes; what comes after a cut may go on with it."""
    numbers, made, script = itertools.count(10), [], []
    for _ in range(15):
        size = rng.choice([0, 1, 2, 3, 6])
        calls = [make_call(rng, numbers, i, tools, made) for i in range(size)]
        text = "so\n" + "\n".join(
            f'<tool_call>\n{{"name": "{c.name}", "arguments": {c.arguments}}}\n</tool_call>'
            for c in calls
        )
        data = text.encode()
        if rng.random() < 0.4:
            size = rng.randrange(1, len(data))
            script.append(Cut(data[:size]))
            script += [data[size:]] if rng.random() < 0.5 else []
        else:
            script.append(data)
    return ScriptedModel(*script, "done", "done", piece=rng.choice([1, 5, 50]))


def rest(call):
    return call.name, call.arguments, call.closing, call.state


async def play_schedule(seed):
    rng = random.Random(seed)
    world = World()
    tools = make_tools(rng, world)
    limits = Limits(
        steps=rng.randint(1, 5),
        calls=rng.choice([None, None, 5]),
        time_s=rng.choice([None, None, None, 0.01]),
        concurrency=rng.randint(1, 8),
    )
    denied = set()

    async def approve(request):
        await asyncio.sleep(rng.choice([0, 0.001]))
        if rng.random() < 0.5:
            denied.add(request.id)
            return False
        return True

    model = rng.choice([make_model, make_script])(rng, tools)
    loop = ToolLoop(model, tools, limits=limits, approve=approve)
    run = loop.run(USER)
    events = []

    async def drain():
        async for event in run:
            events.append(event)  # noqa: PERF401 - it may be cancelled in the middle

    task = asyncio.create_task(drain())
    if rng.random() < 0.3:
        await asyncio.wait({task}, timeout=rng.choice([0, 0.001, 0.01]))
        task.cancel()
    try:
        await task
        heard_all = True
    except asyncio.CancelledError:
        heard_all = False
    world.release.set()
    world.freed.set()
    while loop.hanging():  # noqa: ASYNC110 - threads end in their own time
        await asyncio.sleep(0.0005)
    await check_no_tasks()
    check(run.result, events if heard_all else None, world, denied, loop.tools)


def check(result, events, world, denied, tools):
    check_history(result.messages)
    for step in result.steps:
        assert [o.call for o in step.outcomes] == list(step.message.tool_calls)
    outcomes = [o for s in result.steps for o in s.outcomes]
    allowed = {}
    for outcome in outcomes:
        call = outcome.call
        repeatable = call.name in tools and tools[call.name].rules.is_repeatable
        if call.state == "complete" and call.id not in denied and outcome.status != "invalid":
            allowed[call.id] = 2 if repeatable else 1
        assert len(outcome.text) < 5000
    for (call_id, _), times in world.entered.items():
        assert times <= allowed.get(call_id, 0), (call_id, times)
    for outcome in outcomes:
        if outcome.status == "ok":
            assert outcome.started
    assert not world.overlaps
    if events is not None:
        assert isinstance(events[-1], Done)
        started = [e.call.id for e in events if isinstance(e, ToolStarted)]
        finished = [e.outcome.call.id for e in events if isinstance(e, ToolFinished)]
        assert len(set(started)) == len(started)
        assert set(started) <= set(finished)
        assert sorted(finished) == sorted(o.call.id for o in outcomes)


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch):
    monkeypatch.setattr("untemplate.loop.execution._GRACE_S", 0.003)


def run_schedule(seed):
    try:
        asyncio.run(play_schedule(seed))
    except AssertionError as error:
        raise AssertionError(f"schedule {seed}: {error}") from error


def test_law_21_random_schedules():
    for seed in range(60):
        run_schedule(seed)


@pytest.mark.laws
def test_law_21_ten_thousand_random_schedules():
    for seed in range(10_000):
        run_schedule(seed)
