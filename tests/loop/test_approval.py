"""Approvals: asked at once, or later in another process; what was shown is what runs, once."""

import asyncio
import json
import subprocess
import sys
import threading
from copy import deepcopy

import pytest

from tool_loop import USER, check_history, check_no_tasks, complete, once, script, statuses
from untemplate.errors import RequestError
from untemplate.loop import Decision, FolderLedger, MemoryLedger, ToolLoop, tool
from untemplate.testing import written


class Disk:
    """A destructive tool and a harmless one, and what they did."""

    def __init__(self):
        self.gone, self.seen = [], []

    def tools(self):
        @tool(effect="destructive")
        def remove(path: str):
            self.gone.append(path)
            return f"removed {path}"

        @tool(effect="read")
        def look(path: str):
            self.seen.append(path)
            return "there"

        return [remove, look]


CALLS = [("look", {"path": "/a"}), ("remove", {"path": "/a"}), ("remove", {"path": "/b"})]


def resume(loop, state, decisions):
    async def main():
        result = await loop.resume(state, decisions).complete()
        await check_no_tasks()
        return result

    result = asyncio.run(main())
    check_history(result.messages)
    return result


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_approver_is_asked_for_destructive_calls_one_at_a_time(kind):
    disk, asked, busy = Disk(), [], threading.Lock()

    def decide(request):
        assert busy.acquire(blocking=False)
        asked.append((request.name, request.arguments["path"], request.effect))
        busy.release()
        return request.arguments["path"] == "/a" or Decision(approved=False, reason="keep it")

    async def decide_async(request):
        return decide(request)

    approve = decide if kind == "sync" else decide_async
    result = complete(ToolLoop(once(*CALLS), disk.tools(), approve=approve))
    assert asked == [("remove", "/a", "destructive"), ("remove", "/b", "destructive")]
    assert disk.gone == ["/a"]
    assert statuses(result) == ["ok", "ok", "denied"]
    assert "keep it" in result.steps[0].outcomes[2].text


def test_an_approver_that_fails_has_not_approved():
    disk = Disk()

    def approve(request):
        raise OSError

    result = complete(ToolLoop(once(*CALLS), disk.tools(), approve=approve))
    assert statuses(result) == ["ok", "denied", "denied"]
    assert disk.gone == []


def test_an_approver_that_is_interrupted_interrupts_the_run():
    disk = Disk()

    def approve(request):
        raise KeyboardInterrupt

    run = ToolLoop(once(*CALLS), disk.tools(), approve=approve).run(USER)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run.complete())
    check_history(run.result.messages)
    assert disk.gone == []


def test_without_an_approver_the_run_stops_with_a_state():
    disk = Disk()
    result = complete(ToolLoop(once(*CALLS), disk.tools()))
    assert result.reason == "approval"
    assert statuses(result) == ["ok", "pending", "pending"]
    assert disk.gone == []
    state = json.loads(json.dumps(result.state))
    assert [(p["name"], p["arguments"]) for p in state["pending"]] == [
        ("remove", {"path": "/a"}),
        ("remove", {"path": "/b"}),
    ]
    first, second = (p["digest"] for p in state["pending"])
    loop = ToolLoop(script("done"), disk.tools())
    after = resume(loop, state, {first: True, second: Decision(approved=False, reason="no")})
    assert (after.reason, after.text) == ("answer", "done")
    assert statuses(after) == ["ok", "ok", "denied"]
    assert disk.gone == ["/a"]
    assert disk.seen == ["/a"]
    assert [m["role"] for m in after.messages] == ["user", "assistant", *["tool"] * 3, "assistant"]


def test_a_state_can_be_resumed_once():
    disk = Disk()
    loop = ToolLoop(script(written(*CALLS), "done", "done"), disk.tools())
    state = complete(loop).state
    decisions = {p["digest"]: True for p in state["pending"]}
    assert statuses(resume(loop, state, decisions)) == ["ok", "ok", "ok"]
    again = resume(loop, state, decisions)
    assert statuses(again) == ["ok", "denied", "denied"]
    assert "already run" in again.steps[0].outcomes[1].text
    assert disk.gone == ["/a", "/b"]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["outcomes"][1].update(arguments='{"path": "/etc"}'),
        lambda s: s["outcomes"][1].update(name="look"),
        lambda s: s["outcomes"][1].update(id="other"),
        lambda s: s["pending"][0]["arguments"].update(path="/harmless"),
        lambda s: s["pending"].pop(0),
    ],
    ids=["arguments", "name", "id", "shown", "hidden"],
)
def test_a_changed_call_is_refused(change):
    disk = Disk()
    loop = ToolLoop(once(*CALLS), disk.tools())
    state = deepcopy(complete(loop).state)
    decisions = {p["digest"]: True for p in state["pending"]}
    change(state)
    with pytest.raises(RequestError, match="not the one that was shown"):
        loop.resume(state, decisions)
    assert disk.gone == []


def test_every_waiting_call_needs_a_decision_and_no_other():
    loop = ToolLoop(once(*CALLS), Disk().tools())
    state = complete(loop).state
    digests = [p["digest"] for p in state["pending"]]
    with pytest.raises(RequestError, match="there is no decision for this call"):
        loop.resume(state, {digests[0]: True})
    with pytest.raises(RequestError, match="a decision is about no waiting call"):
        loop.resume(state, dict.fromkeys([*digests, "f00"], True))


@pytest.mark.parametrize("state", [{}, {"version": 2}, {"version": 1}, {"version": 1, "chat": 3}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(RequestError, match="state: "):
        ToolLoop(script()).resume(state, {})


def test_counts_go_on_after_a_pause():
    """Steps, calls, failures and the breaker are those of the whole run."""
    from untemplate.loop import Limits

    disk = Disk()
    call = written(("remove", {"path": "/a"}))
    loop = ToolLoop(script(*[call] * 4), disk.tools(), limits=Limits(steps=3))
    result, seen = complete(loop), []
    while result.state is not None:
        seen.append(result.reason)
        result = resume(loop, result.state, {p["digest"]: True for p in result.state["pending"]})
    assert seen == ["approval", "approval"]
    assert disk.gone == ["/a", "/a"]
    assert result.reason == "steps"
    assert statuses(result, -1) == ["duplicate"]


def test_tools_that_are_gone_after_a_pause():
    state = complete(ToolLoop(once(*CALLS), Disk().tools())).state
    loop = ToolLoop(script("done"))
    result = resume(loop, state, {p["digest"]: True for p in state["pending"]})
    assert statuses(result) == ["ok", "unknown", "unknown"]


def test_ledgers(tmp_path):
    for ledger in (MemoryLedger(), FolderLedger(tmp_path / "claims")):
        assert ledger.claim("x")
        assert not ledger.claim("x")
        assert ledger.claim("../y")
    assert not FolderLedger(tmp_path / "claims").claim("x")


OTHER = """
import asyncio, json, sys
from untemplate.loop import FolderLedger, ToolLoop, tool
from untemplate.testing import FunctionModel

@tool(effect="destructive")
def remove(path: str):
    with open(sys.argv[2], "a") as file:
        file.write(path + "\\n")
    return "removed"

loop = ToolLoop(FunctionModel(lambda _: "done"), [remove], ledger=FolderLedger(sys.argv[3]))
state = json.load(open(sys.argv[1]))
decisions = {p["digest"]: True for p in state["pending"]}
result = asyncio.run(loop.resume(state, decisions).complete())
print(json.dumps([[o.status for o in result.steps[0].outcomes], result.text]))
"""


def test_two_processes_that_resume_one_state_run_each_call_once(tmp_path):
    state = complete(ToolLoop(once(*CALLS), Disk().tools())).state
    (tmp_path / "state.json").write_text(json.dumps(state), encoding="utf-8")
    arguments = [str(tmp_path / n) for n in ("state.json", "log", "claims")]
    both = [
        subprocess.Popen([sys.executable, "-c", OTHER, *arguments], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    got = [json.loads(p.communicate(timeout=30)[0]) for p in both]
    assert sorted((tmp_path / "log").read_text(encoding="utf-8").split()) == ["/a", "/b"]
    assert [text for _, text in got] == ["done", "done"]
    ran = [s for statuses, _ in got for s in statuses[1:]]
    assert sorted(ran) == ["denied", "denied", "ok", "ok"]
