"""Runs of the loop, one behaviour at a time."""

import asyncio
import json
import threading
import tracemalloc
from dataclasses import replace

import pytest

from tool_loop import USER, check_history, check_no_tasks, complete, once, play, script, statuses
from untemplate.errors import EngineError, RequestError, SchemaError
from untemplate.loop import (
    ArgumentDelta,
    CallReady,
    CallStarted,
    Done,
    Limits,
    Reply,
    StepFinished,
    StepStarted,
    Text,
    ToolContext,
    ToolError,
    ToolFinished,
    ToolLoop,
    ToolProgress,
    ToolStarted,
    schema_tool,
    tool,
)
from untemplate.message import Delta, ToolCall, ToolChoice
from untemplate.testing import FunctionModel, stream, written


@tool(effect="read")
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@tool(effect="read")
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return f"waited {seconds:g}"


def error_of(result, step=0, call=0):
    return json.loads(result.steps[step].outcomes[call].text)["error"]


def test_a_plain_run():
    model = once(("add", {"a": 1, "b": 2}), ("wait", {"seconds": 0}), content="Let me see.")
    events, result = play(ToolLoop(model, [add, wait]))
    assert (result.reason, result.text) == ("answer", "done")
    assert [m.get("content") for m in result.messages] == [
        "go",
        "Let me see.",
        "3",
        "waited 0",
        "done",
    ]
    assert [t.name for t in model.requests[0].tools] == ["add", "wait"]
    kinds = [type(e) for e in events]
    assert kinds[:3] == [StepStarted, Text, CallStarted]
    assert kinds[-4:] == [StepStarted, Text, StepFinished, Done]
    assert kinds.count(CallReady) == kinds.count(ToolStarted) == kinds.count(ToolFinished) == 2
    assert "".join(e.text for e in events if isinstance(e, ArgumentDelta)) == (
        '{"a": 1, "b": 2}{"seconds": 0}'
    )


def test_results_stand_in_call_order_and_finish_in_any():
    model = once(("wait", {"seconds": 0.03}), ("wait", {"seconds": 0.0}), ("add", {"a": 1, "b": 1}))
    events, result = play(ToolLoop(model, [add, wait]))
    assert [o.text for o in result.steps[0].outcomes] == ["waited 0.03", "waited 0", "2"]
    finished = [e.outcome.text for e in events if isinstance(e, ToolFinished)]
    assert finished[-1] == "waited 0.03"


def test_a_failing_call_leaves_its_siblings_alone():
    def fail(why: str):
        raise {"plain": ValueError, "wanted": ToolError, "exit": SystemExit}[why]("a secret")

    model = once(
        ("fail", {"why": "plain"}),
        ("wait", {"seconds": 0.01}),
        ("fail", {"why": "wanted"}),
        ("fail", {"why": "exit"}),
    )
    result = complete(ToolLoop(model, [fail, wait]))
    assert statuses(result) == ["failed", "ok", "failed", "failed"]
    assert error_of(result, 0, 0) == {
        "type": "tool_failed",
        "message": "fail failed with ValueError.",
        "details": [],
        "hint": "The reason is in the host's log. Other tools still work.",
    }
    assert error_of(result, 0, 2)["message"] == "a secret"
    assert error_of(result, 0, 3)["message"] == "fail failed with SystemExit."
    assert result.steps[0].outcomes[0].fault == "ValueError: a secret"


def test_arguments_are_checked_twice_and_the_answer_names_field_rule_and_value():
    def book(day: str, seats: int = 1) -> str: ...

    result = complete(ToolLoop(once(("book", {"seats": "two", "dya": "x"})), [book]))
    assert statuses(result) == ["invalid"]
    details = sorted(error_of(result)["details"], key=lambda d: d["path"])
    assert [(d["path"], d["rule"], d["got"]) for d in details] == [
        ("/day", "required", None),
        ("/dya", "additionalProperties", "x"),
        ("/seats", "type", "two"),
    ]
    assert "day (required), seats" in error_of(result)["hint"]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ("[1]", "type"),
        ('{"a": NaN, "b": 1}', "json"),
        ('{"a": "\\ud800", "b": 1}', "unicode"),
        ("[" * 300 + "]" * 300, "depth"),
        ('{"a": 1,', "json"),
        ('{"a": 1' + "0" * 5000 + ', "b": 1}', "json"),
    ],
)
def test_arguments_that_are_no_object(arguments, rule):
    result = complete(ToolLoop(once(("add", arguments)), [add]))
    assert statuses(result) == ["invalid"]
    assert error_of(result)["details"][0]["rule"] == rule


def test_an_unknown_tool_gets_the_closest_names():
    result = complete(ToolLoop(once(("ad", {}), ("zzz", {})), [add, wait]))
    assert statuses(result) == ["unknown", "unknown"]
    assert "Did you mean add?" in error_of(result, 0, 0)["hint"]
    assert error_of(result, 0, 1)["hint"] == "Use one of the available tools: add, wait."


def test_at_most_so_many_calls_run_at_a_time():
    running, most = 0, 0

    @tool(effect="read")
    async def work(n: int):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    calls = [("work", {"n": n}) for n in range(792)]
    result = complete(ToolLoop(once(*calls), [work]))
    assert statuses(result) == ["ok"] * 792
    assert most == 8


def test_792_sync_calls_use_eight_threads():
    names = set()

    @tool(effect="read")
    def work(n: int) -> int:
        names.add(threading.get_ident())
        return n

    calls = [("work", {"n": n}) for n in range(792)]
    result = complete(ToolLoop(once(*calls), [work]))
    assert [o.text for o in result.steps[0].outcomes] == [str(n) for n in range(792)]
    assert len(names) <= 8


def test_an_exclusive_call_runs_alone():
    log = []

    async def step(name: str):
        log.append(f"+{name}")
        await asyncio.sleep(0.005)
        log.append(f"-{name}")

    alone = tool(name="alone", exclusive=True)(step)
    names = [("step", "a"), ("step", "b"), ("alone", "X"), ("step", "c"), ("step", "d")]
    model = once(*((t, {"name": n}) for t, n in names))
    complete(ToolLoop(model, [step, alone]))
    at = {entry: i for i, entry in enumerate(log)}
    assert at["-a"] < at["+X"]
    assert at["-b"] < at["+X"]
    assert at["-X"] < at["+c"]
    assert at["+d"] < at["-c"]


def test_a_timeout_fires_for_async_and_for_sync_tools():
    release = threading.Event()

    @tool(timeout_s=0.02)
    async def hang_async():
        await asyncio.sleep(60)

    @tool(timeout_s=0.02)
    def hang_sync():
        release.wait()

    loop = ToolLoop(once(("hang_async", {}), ("hang_sync", {})), [hang_async, hang_sync])
    result = complete(loop)
    assert statuses(result) == ["timed_out", "timed_out"]
    assert "may still happen" not in error_of(result, 0, 0)["message"]
    assert "may still happen" in error_of(result, 0, 1)["message"]
    assert loop.hanging() == {"hang_sync": 1}
    release.set()


def test_a_tool_that_ignores_its_cancellation_is_left_behind(monkeypatch):
    monkeypatch.setattr("untemplate.loop.execution._GRACE_S", 0.02)
    release = None

    @tool(timeout_s=0.01)
    async def stubborn():
        nonlocal release
        release = asyncio.Event()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async def main():
        loop = ToolLoop(once(("stubborn", {})), [stubborn])
        result = await loop.complete(USER)
        assert statuses(result) == ["timed_out"]
        assert "may still happen" in error_of(result)["message"]
        assert loop.hanging() == {"stubborn": 1}
        release.set()
        await asyncio.sleep(0.01)
        assert loop.hanging() == {}

    asyncio.run(main())


def test_a_tool_in_which_too_many_threads_hang_is_withdrawn():
    release = threading.Event()

    @tool(timeout_s=0.01, abandoned_max=2, failures_max=100)
    def hang(n: int):
        release.wait()

    model = script(
        written(("hang", {"n": 1}), ("hang", {"n": 2})), written(("hang", {"n": 3})), "done"
    )
    result = complete(ToolLoop(model, [hang]))
    assert statuses(result, 0) == ["timed_out", "timed_out"]
    assert statuses(result, 1) == ["withdrawn"]
    assert model.requests[1].tools == ()
    release.set()


def test_an_exception_is_retried_for_reading_only():
    tries = {"look": 0, "send": 0}

    @tool(effect="read")
    def look():
        tries["look"] += 1
        if tries["look"] == 1:
            raise ConnectionError
        return "seen"

    @tool
    def send():
        tries["send"] += 1
        raise ConnectionError

    result = complete(ToolLoop(once(("look", {}), ("send", {})), [look, send]))
    assert statuses(result) == ["ok", "failed"]
    assert tries == {"look": 2, "send": 1}
    assert [o.attempts for o in result.steps[0].outcomes] == [2, 1]


def test_identical_reads_of_one_reply_share_a_result():
    ran = []

    @tool(effect="read")
    def look(at: str):
        ran.append(at)
        return f"{at} {len(ran)}"

    model = once(("look", {"at": "x"}), ("look", {"at": "y"}), ("look", '{ "at" : "x" }'))
    result = complete(ToolLoop(model, [look]))
    texts = [o.text for o in result.steps[0].outcomes]
    assert len(ran) == 2
    assert texts[0] == texts[2] != texts[1]


def test_read_only_calls_start_while_the_reply_streams():
    log = []

    @tool(effect="read")
    async def look(n: int):
        log.append(f"look {n}")

    @tool
    async def write(n: int):
        log.append(f"write {n}")

    async def reply(request):
        calls = [
            ToolCall(i, f"id{i}", n, json.dumps({"n": i}))
            for i, n in enumerate(["look", "write", "look"])
        ]
        message = written(*calls)
        for item in stream(message):
            yield item
            await asyncio.sleep(0.005)
            log.append("streamed")

    complete(ToolLoop(FunctionModel(reply), [look, write], limits=Limits(steps=1)))
    last = len(log) - 1 - log[::-1].index("streamed")
    assert log.index("look 0") < last
    assert log.index("write 1") > log.index("streamed", log.index("look 0"))
    assert log.index("look 2") > log.index("write 1")


def test_progress_and_context():
    def crawl(url: str, context: ToolContext) -> str:
        context.progress(f"reading {url}")
        return context.call_id

    events, result = play(ToolLoop(once(("crawl", {"url": "x"})), [crawl]))
    (progress,) = [e for e in events if isinstance(e, ToolProgress)]
    assert (progress.name, progress.text) == ("crawl", "reading x")
    assert result.steps[0].outcomes[0].text == progress.id


def test_a_result_over_the_limit_is_cut_and_says_so():
    @tool(effect="read", result_max=10)
    def dump(kind: str):
        return "x" * 1000 if kind == "text" else [1] * 1000

    result = complete(
        ToolLoop(once(("dump", {"kind": "text"}), ("dump", {"kind": "json"})), [dump])
    )
    text, value = result.steps[0].outcomes
    assert (
        text.text
        == "xxxxxxxxxx\n[result cut by the host: the first 10 of 1,000 characters are shown]"
    )
    assert value.text.startswith("[1,1,1,1,1\n[result cut by the host: the first 10 characters")
    assert text.cut
    assert value.cut


def test_an_unserialisable_result_is_a_named_error():
    def handle():
        return {"file": object()}

    result = complete(ToolLoop(once(("handle", {})), [handle]))
    assert statuses(result) == ["unserialisable"]
    assert error_of(result)["type"] == "unserialisable_result"
    assert "the value at /file is of type object" in error_of(result)["message"]


def test_the_third_identical_call_is_not_run_and_the_fifth_ends_the_run():
    ran = []

    def ping(x: int):
        ran.append(x)
        return "pong"

    model = FunctionModel(lambda _: written(("ping", {"x": 1})))
    result = complete(ToolLoop(model, [ping]))
    assert result.reason == "loop"
    assert len(ran) == 2
    got = [o.status for s in result.steps for o in s.outcomes]
    assert got == ["ok", "ok", "duplicate", "duplicate", "duplicate"]
    feedback = json.loads(result.steps[2].outcomes[0].text)
    assert feedback["earlier_result"] == "pong"


def test_polling_is_legal():
    ran = []

    @tool(effect="read")
    def poll():
        ran.append(1)
        return "ready" if len(ran) == 7 else f"{len(ran)} of 7"

    model = FunctionModel(
        lambda r: "done" if r.messages[-1]["content"] == "ready" else written(("poll", {}))
    )
    result = complete(ToolLoop(model, [poll]))
    assert (result.reason, len(ran)) == ("answer", 7)


def test_a_tool_that_keeps_failing_is_withdrawn():
    def broken(n: int):
        raise ValueError

    count = iter(range(100))
    model = script(*[lambda _: written(("broken", {"n": next(count)}))] * 4, "done")
    result = complete(ToolLoop(model, [broken, add]))
    got = [o.status for s in result.steps for o in s.outcomes]
    assert got == ["failed", "failed", "failed", "withdrawn"]
    assert [t.name for t in model.requests[-1].tools] == ["add"]


def test_ids_are_made_unique():
    """As with servers that give every call one constant id."""
    calls = [ToolCall(i, "call_0", "add", f'{{"a": 1, "b": {i}}}') for i in range(3)]
    model = script(written(*calls), written(*calls), "done")
    events, result = play(ToolLoop(model, [add]))
    told = {e.id for e in events if isinstance(e, CallStarted)}
    kept = {o.call.id for s in result.steps for o in s.outcomes}
    assert told == kept
    assert len(kept) == 6
    assert {o.call.written_id for s in result.steps for o in s.outcomes} == {"call_0", None}


def test_the_history_goes_on_in_a_later_run_and_is_json():
    first = complete(ToolLoop(once(("add", {"a": 1, "b": 2})), [add]))
    stored = json.loads(json.dumps(first.messages))
    model = once(("add", {"a": 3, "b": 4}))
    second = complete(ToolLoop(model, [add]), [*stored, {"role": "user", "content": "more"}])
    assert len(second.messages) == 8
    assert list(model.requests[0].messages[:4]) == stored


def test_the_choice_holds_for_the_first_reply_only():
    model = once(("add", {"a": 1, "b": 2}))
    complete(ToolLoop(model, [add], choice=ToolChoice("required", parallel=False)))
    assert [r.choice for r in model.requests] == [
        ToolChoice("required", parallel=False),
        ToolChoice("auto", parallel=False),
    ]


def test_calls_against_the_choice_are_not_run():
    ran = []

    def act():
        ran.append(1)

    result = complete(ToolLoop(once(("act", {})), [act], choice="none"))
    assert statuses(result) == ["skipped"]
    assert ran == []


def test_raw_schema_tools():
    schema = {"type": "object", "properties": {"q": {"$ref": "#/$defs/q"}}, "required": ["q"]}
    schema["$defs"] = {"q": {"type": "string", "minLength": 2}}
    search = schema_tool("search", schema, lambda q: [q], effect="read", description="Search.")

    async def fetch(context, url):
        return context.name + url

    get = schema_tool("get", {"type": "object"}, fetch, wants_context=True)
    model = once(("search", {"q": "ab"}), ("search", {"q": "a"}), ("get", {"url": "!"}))
    result = complete(ToolLoop(model, [search, get]))
    assert statuses(result) == ["ok", "invalid", "ok"]
    assert result.steps[0].outcomes[2].text == "get!"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "wat"},
        {"$ref": "https://example.org/x.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/$defs/no"},
        {"properties": {"a": {"pattern": "("}}},
    ],
    ids=["type", "http", "file", "nowhere", "pattern"],
)
def test_bad_schemas_are_refused_at_the_door(schema):
    with pytest.raises(SchemaError, match="tool t: the schema is not valid"):
        schema_tool("t", schema, print)


def test_bad_setups_are_refused_at_the_door():
    model = script()
    with pytest.raises(RequestError, match="two tools are named 'add'"):
        ToolLoop(model, [add, add])
    with pytest.raises(RequestError, match="neither a function nor a tool"):
        ToolLoop(model, [3])
    with pytest.raises(RequestError, match=r"limits\.steps: has to be at least 1"):
        Limits(steps=0)
    with pytest.raises(RequestError, match=r"messages\[1\]"):
        ToolLoop(model).run([*USER, {"content": "x"}])
    with pytest.raises(RequestError, match="the run has not ended"):
        _ = ToolLoop(model).run(USER).result


async def drain(run, events):
    async for event in run:
        events.append(event)


def test_a_model_that_fails_raises_after_the_last_event():
    async def reply(request):
        yield Delta(content="half an ")
        raise EngineError("gone")

    async def main():
        loop = ToolLoop(FunctionModel(reply), [add])
        run = loop.run(USER)
        events = []
        with pytest.raises(EngineError, match="gone"):
            await drain(run, events)
        await check_no_tasks()
        return events, run.result

    events, result = asyncio.run(main())
    assert isinstance(events[-1], Done)
    assert result.reason == "error"
    assert result.text == "half an "
    check_history(result.messages)


def test_a_model_that_ends_without_a_reply_is_an_error():
    async def reply(request):
        yield Delta(content="x")

    with pytest.raises(EngineError, match="step 1: the model ended without a reply"):
        complete(ToolLoop(FunctionModel(reply)))


def test_sealed_calls_that_the_message_forgets_are_kept():
    async def reply(request):
        call = ToolCall(0, "a", "add", '{"a": 1, "b": 1}')
        message = written(call)
        yield call
        yield Reply(replace(message, tool_calls=()))

    result = complete(ToolLoop(FunctionModel(reply), [add], limits=Limits(steps=1)))
    assert statuses(result) == ["ok"]


def test_792_large_results_take_bounded_memory():
    @tool(effect="read", result_max=1000)
    def dump(n: int) -> str:
        return str(n) * 300_000

    tracemalloc.start()
    result = complete(ToolLoop(once(*(("dump", {"n": n}) for n in range(792))), [dump]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert statuses(result) == ["ok"] * 792
    assert peak < 40_000_000


def test_a_model_may_be_any_async_iterator():
    class Plain:
        def reply(self, request):
            items = iter(stream(written(content="done")))

            class Items:
                def __aiter__(self):
                    return self

                async def __anext__(self):
                    try:
                        return next(items)
                    except StopIteration:
                        raise StopAsyncIteration from None

            return Items()

    assert complete(ToolLoop(Plain())).text == "done"


def test_a_required_tool_that_is_withdrawn_is_no_longer_asked_for():
    release = threading.Event()

    @tool(timeout_s=0.01, abandoned_max=1)
    def hang():
        release.wait()

    choice = ToolChoice("required", "hang")
    model = script(written(("hang", {})), "done", "fine")
    loop = ToolLoop(model, [hang, add], choice=choice)
    complete(loop)
    assert complete(loop).text == "fine"
    assert [r.choice.mode for r in model.requests] == ["required", "auto", "auto"]
    release.set()
