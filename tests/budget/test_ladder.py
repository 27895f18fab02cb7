from dataclasses import replace

import pytest

from untemplate.budget.ladder import Attempt, Climb, Stop, climb
from untemplate.message import Message, ToolCall, Usage

CALL = ToolCall(0, "a", "pay", '{"to": "x', '"}', "cut", {"/to": "cut"})
WHOLE = ToolCall(0, "a", "pay", "{}")


def cut(*calls, raw="r", **fields):
    message = Message(tool_calls=calls, end="cut", finish_reason="length", raw=raw)
    return {"message": message, "usage": Usage(100, 50), **fields}


def first(**fields):
    return Attempt(None, **cut(CALL, **fields))


def test_a_reply_that_ended_by_itself_stays():
    done = Attempt(None, Message(tool_calls=(WHOLE,), finish_reason="tool_calls"), Usage())
    assert climb([done]) == Stop()
    long_text = Attempt(None, Message(content="So", end="cut", finish_reason="length"), Usage())
    assert climb([long_text], has_other_model=True) == Stop()


def test_it_goes_on_in_place_while_that_adds_something():
    attempts = [first(can_resume=True)]
    assert climb(attempts) == Climb("resume")
    attempts.append(Attempt("resume", **cut(CALL, raw="rr", can_resume=True)))
    assert climb(attempts) == Climb("resume")
    attempts[1] = replace(attempts[1], message=attempts[0].message)
    assert climb(attempts) == Stop("the limit is too low for pay: cut at /to after 50 tokens")


def test_then_a_larger_window_then_another_model():
    attempts = [first(max_tokens=50)]
    assert climb(attempts, has_other_model=True) == Climb("window", 100)
    attempts.append(Attempt("window", **cut(CALL, max_tokens=100)))
    assert climb(attempts, has_other_model=True) == Climb("model")


def test_a_second_cut_at_the_same_place_asks_for_less():
    attempts = [first(max_tokens=50), Attempt("window", **cut(CALL, max_tokens=100))]
    assert climb(attempts, tools=5) == Climb("tools", tool="pay")
    assert climb(attempts, tools=1).diagnosis.startswith("the limit is too low for pay")
    further = replace(CALL, arguments='{"to": "xy')
    attempts[1] = Attempt("window", **cut(further, max_tokens=100))
    assert isinstance(climb(attempts, tools=5), Stop)


def test_at_most_two_further_generations():
    attempts = [first(max_tokens=50), *[Attempt("window", **cut(CALL, max_tokens=100))] * 2]
    assert isinstance(climb(attempts, tools=5, has_other_model=True), Stop)


@pytest.mark.parametrize("calls", [(WHOLE, replace(CALL, index=1)), (WHOLE,)])
def test_complete_work_is_not_thrown_away(calls):
    attempt = Attempt(None, **cut(*calls, max_tokens=50))
    stop = climb([attempt], has_other_model=True)
    assert isinstance(stop, Stop)
    assert "too low for" in stop.diagnosis
