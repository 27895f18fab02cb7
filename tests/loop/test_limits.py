"""Limits end a run with a partial result and a reason."""

import itertools

import pytest

from tool_loop import USER, check_history, complete, script, statuses
from untemplate.loop import Limits, ToolLoop
from untemplate.message import ToolChoice, Usage
from untemplate.testing import FunctionModel, stream, written


def endless():
    """A model that never stops calling."""
    count = itertools.count()

    def answer(request):
        if request.choice.mode == "none":
            return "as far as I came"
        return written(("act", {"n": next(count)}), content="more")

    return FunctionModel(answer)


def act(n: int) -> int:
    return n


def test_steps():
    model = endless()
    result = complete(ToolLoop(model, [act]))
    assert (result.reason, len(model.requests), len(result.steps)) == ("steps", 8, 8)
    assert result.messages[-1]["content"] == "7"


def test_a_last_answer_without_calls():
    model = endless()
    result = complete(ToolLoop(model, [act], limits=Limits(steps=3, final_answer=True)))
    assert (result.reason, result.text) == ("steps", "as far as I came")
    assert [r.choice for r in model.requests][-2:] == [ToolChoice(), ToolChoice("none")]


def test_calls():
    ran = []
    model = script(written(*(("act", {"n": n}) for n in range(5))), "never asked")

    def act(n: int):
        ran.append(n)

    result = complete(ToolLoop(model, [act], limits=Limits(calls=3)))
    assert result.reason == "calls"
    assert sorted(ran) == [0, 1, 2]
    assert statuses(result) == ["ok"] * 3 + ["skipped"] * 2


def test_tokens():
    def reply(request):
        async def items():
            for item in stream(written(("act", {"n": 1})), Usage(50, 10)):
                yield item

        return items()

    model = script(reply, "never asked")
    result = complete(ToolLoop(model, [act], limits=Limits(tokens=60), max_tokens=100))
    assert result.reason == "tokens"
    assert result.usage == Usage(50, 10)
    assert statuses(result) == ["ok"]
    assert model.requests[0].max_tokens == 60


@pytest.mark.parametrize("bad", [{"calls": 0}, {"time_s": -1}, {"tokens": 0}, {"concurrency": 0}])
def test_bounds_have_to_be_positive(bad):
    from untemplate.errors import RequestError

    with pytest.raises(RequestError, match=f"limits.{next(iter(bad))}"):
        Limits(**bad)


def test_the_partial_result_can_be_gone_on_with():
    first = complete(ToolLoop(endless(), [act], limits=Limits(steps=2)))
    result = complete(ToolLoop(script("done"), [act]), [*first.messages, *USER])
    assert result.text == "done"
    check_history(result.messages)
