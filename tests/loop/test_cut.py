"""Replies that the length limit cut: nothing cut runs, and the ladder is short."""

import json
from dataclasses import replace

import pytest

from tool_loop import complete, play, script, statuses
from untemplate.loop import Reply, Restarted, Text, ToolLoop, tool
from untemplate.message import CallDelta, Delta, Diagnostic, ToolCall
from untemplate.testing import FunctionModel, stream, written

FULL = '{"to": "acct-99", "amount": 120}'


def cut_call(index=0, size=25, **fields):
    """`pay` cut inside the amount: 12 of 120 was written."""
    states = {"/to": "complete", "/amount": "cut"}
    return ToolCall(
        index,
        f"id{index}",
        "pay",
        '{"to": "acct-99"',
        closing="}",
        state="cut",
        arguments_state=states,
        **fields,
    )


class Till:
    """Two tools that remember what they did."""

    def __init__(self):
        self.paid, self.seen = [], []

    def tools(self):
        def pay(to: str, amount: int = 0):
            self.paid.append((to, amount))
            return "paid"

        @tool(effect="read", on_cut="partial", cut_strings=("at",))
        def look(at: str, deep: bool = False):
            self.seen.append((at, deep))
            return "seen"

        return [pay, look]


def test_a_cut_call_is_never_run_and_its_complete_sibling_is():
    till = Till()
    first = ToolCall(0, "a", "pay", FULL)
    model = script(written(first, cut_call(1)), "done")
    result = complete(ToolLoop(model, till.tools()))
    assert till.paid == [("acct-99", 120)]
    assert statuses(result) == ["ok", "incomplete"]
    error = json.loads(result.steps[0].outcomes[1].text)["error"]
    assert error["type"] == "incomplete_call"
    assert {d["path"] for d in error["details"]} == {"/amount"}
    assert json.loads(result.messages[1]["tool_calls"][1]["function"]["arguments"]) == {
        "to": "acct-99"
    }


@pytest.mark.parametrize(
    "call",
    [
        replace(cut_call(), arguments='{"to": "acct-99", "amount": 12', arguments_state={}),
        replace(cut_call(), state="forced", arguments='{"to": "a", "amount": 12}', closing=""),
        ToolCall(0, "a", "pay", FULL, arguments_state={"/to": "undecided"}),
        ToolCall(0, "a", "pay", FULL, arguments_state={"/to": "defaulted"}),
        ToolCall(0, "a", "pay", '{"to": "acct-99"', closing="}"),
    ],
    ids=["cut", "forced", "undecided", "defaulted", "open"],
)
@pytest.mark.parametrize("finish_reason", ["length", "stop", "tool_calls"])
def test_law_21_what_is_not_sealed_does_not_run(call, finish_reason):
    till = Till()
    model = script(written(call, finish_reason=finish_reason), "done")
    result = complete(ToolLoop(model, till.tools()))
    assert till.paid == []
    assert statuses(result) == ["incomplete"]


def test_malformed_is_not_cut():
    till = Till()
    call = ToolCall(0, "a", "pay", '{"to": ', closing="null}", state="malformed", span=(5, 20))
    message = replace(
        written(call), diagnostics=(Diagnostic("bad", (7, 8), "a colon stands where a key should"),)
    )
    result = complete(ToolLoop(script(message, "done"), till.tools()))
    assert statuses(result) == ["malformed"]
    assert "a colon stands where" in result.steps[0].outcomes[0].text
    assert till.paid == []


@pytest.mark.parametrize("name", ["pay", "look"])
def test_law_21_what_was_repaired_in_reading_only_reads(name):
    till = Till()
    arguments = FULL if name == "pay" else '{"at": "x"}'
    call = ToolCall(0, "a", name, arguments, span=(5, 50))
    message = replace(written(call), diagnostics=(Diagnostic("bad_escape", (7, 8), "a quote"),))
    result = complete(ToolLoop(script(message, "done"), till.tools()))
    assert (till.paid, len(till.seen)) == ([], 1 if name == "look" else 0)
    assert statuses(result) == ["ok" if name == "look" else "malformed"]


def test_a_read_only_tool_may_opt_in_to_run_on_what_is_complete():
    till = Till()

    def look(arguments, states):
        return ToolCall(0, "a", "look", arguments, closing="}", state="cut", arguments_state=states)

    cases = [
        ('{"at": "x"', {"/at": "complete", "/deep": "cut"}, "without /deep"),
        ('{"at": "x"', {"/at": "complete"}, "with the default of /deep"),
        ('{"at": "x', {"/at": "cut"}, "with the beginning of /at, with the default of /deep"),
    ]
    for arguments, states, note in cases:
        call = replace(look(arguments, states), closing="}" if arguments.endswith('"') else '"}')
        result = complete(ToolLoop(script(written(call), "done"), till.tools()))
        text = result.steps[0].outcomes[0].text
        assert text == f"[the call was cut off; it ran {note}]\nseen"
    assert till.seen == [("x", False)] * 3
    result = complete(ToolLoop(script(written(look("{", {})), "done"), till.tools()))
    assert statuses(result) == ["incomplete"]
    assert len(till.seen) == 3


def resumable(pieces):
    """A model that writes one call in pieces, cut after each but the last."""

    async def reply(request):
        done = 0 if request.resume is None else request.resume
        if request.messages[-1]["role"] == "tool":
            for item in stream(written(content="done")):
                yield item
            return
        if done == 0:
            yield Delta(content="Paying.", tool_calls=(CallDelta(0, "a", "pay"),))
        yield Delta(tool_calls=(CallDelta(0, arguments=pieces[done]),))
        text = "".join(pieces[: done + 1])
        if done + 1 == len(pieces):
            yield ToolCall(0, "a", "pay", FULL)
            yield Reply(
                replace(written(ToolCall(0, "a", "pay", FULL)), content="Paying.", raw=text)
            )
            return
        message = replace(written(cut_call()), content="Paying.", raw=text)
        yield Reply(message, point=done + 1)

    return FunctionModel(reply)


def test_a_cut_call_is_resumed_in_place():
    till = Till()
    model = resumable([FULL[:10], FULL[10:20], FULL[20:]])
    events, result = play(ToolLoop(model, till.tools()))
    assert till.paid == [("acct-99", 120)]
    assert statuses(result) == ["ok"]
    assert [r.resume for r in model.requests] == [None, 1, 2, None]
    assert result.steps[0].generations == 3
    assert not [e for e in events if isinstance(e, Restarted)]
    assert [e.text for e in events if isinstance(e, Text)] == ["Paying.", "done"]


def test_at_most_two_further_generations():
    till = Till()
    model = resumable([FULL[:5], FULL[5:10], FULL[10:15], FULL[15:]])
    result = complete(ToolLoop(model, till.tools()))
    assert till.paid == []
    assert statuses(result) == ["incomplete"]
    assert result.steps[0].generations == 3


def test_a_resume_that_adds_nothing_ends_the_ladder():
    model = resumable([FULL[:5], "", "", FULL[5:]])
    result = complete(ToolLoop(model, Till().tools()))
    assert result.steps[0].generations == 2


def test_a_larger_window_then_the_fallback_model():
    till = Till()
    small = script(written(cut_call()), written(cut_call()), "done")
    large = script(written(ToolCall(0, "b", "pay", FULL)))
    loop = ToolLoop(small, till.tools(), max_tokens=50, fallback=large)
    events, result = play(loop)
    assert [r.max_tokens for r in small.requests] == [50, 100, 50]
    assert len(large.requests) == 1
    assert till.paid == [("acct-99", 120)]
    assert result.steps[0].generations == 3
    assert len([e for e in events if isinstance(e, Restarted)]) == 2


def test_a_deterministic_cut_is_not_tried_again():
    """Without a window of ours to enlarge and without a fallback the same would come again."""
    model = script(written(cut_call()), "done")
    result = complete(ToolLoop(model, Till().tools()))
    assert result.steps[0].generations == 1


def test_complete_work_is_not_thrown_away_for_another_try():
    till = Till()
    message = written(ToolCall(0, "a", "pay", FULL), cut_call(1))
    model = script(message, "done")
    fallback = script()
    result = complete(ToolLoop(model, till.tools(), max_tokens=50, fallback=fallback))
    assert statuses(result) == ["ok", "incomplete"]
    assert result.steps[0].generations == 1


def test_the_same_cut_over_and_over_ends_the_run():
    model = FunctionModel(lambda _: written(cut_call()))
    result = complete(ToolLoop(model, Till().tools()))
    assert result.reason == "loop"
    assert [s.outcomes[0].status for s in result.steps] == ["incomplete"] * 2 + ["duplicate"] * 3


def test_a_cut_answer_is_kept_with_its_reason():
    model = script(written(content="once upon a", finish_reason="length"))
    result = complete(ToolLoop(model))
    assert (result.reason, result.text) == ("cut", "once upon a")
