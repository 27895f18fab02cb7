"""Calls of the embedded model, cut, gone on with, and closed in time."""

import itertools
import json
import random

import jsonschema_rs
import pytest

from cut_calls import TOOLS, asks
from dialects import QWEN3
from untemplate.budget.window import windows
from untemplate.engines.events import Finished, Prompted
from untemplate.engines.sampling import Sampling
from untemplate.grammar import build_grammar
from untemplate.message import ToolChoice
from untemplate.template.marking import MarkedPrompt
from untemplate.turn import ChatTemplate, Turn

pytestmark = pytest.mark.model

GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def template(model):
    return ChatTemplate.open(model.path)


def begin(template, messages, tool):
    choice = ToolChoice("required", tool.name, parallel=False)
    return template.turn(messages, tools=[tool], tool_choice=choice, nonce="n")


def run(engine, turn, **options):
    """The message, and whether a resume was exact."""
    options = {"sampling": GREEDY, "reuse": "exact", **options}
    first, *_, last = engine.generate(turn, **options)
    assert isinstance(first, Prompted)
    assert isinstance(last, Finished)
    return last.message, first.is_exact


def cut_at_every_token(engine, turn, between=None):
    """The message of a turn that is cut after each token and resumed from the point."""
    while True:
        message, is_exact = run(engine, turn, max_tokens=1)
        assert is_exact
        if message.finish_reason != "length":
            return turn, message
        point = turn.resume_point()
        if between is not None:
            between(point)
        turn = Turn.resumed(point)


def check_resumes(engine, template, count):
    for messages, tool in asks(count):
        whole = begin(template, messages, tool)
        expected, _ = run(engine, whole)
        assert expected.tool_calls[0].state == "complete"
        turn, message = cut_at_every_token(engine, begin(template, messages, tool))
        assert turn.tokens == whole.tokens
        assert turn.batches == whole.batches
        assert message == expected


def test_law_20_calls_cut_at_every_token_are_byte_identical(engine, template):
    check_resumes(engine, template, 2)


@pytest.mark.laws
def test_law_20_two_hundred_calls_cut_at_every_token_are_byte_identical(engine, template):
    check_resumes(engine, template, 200)


def test_law_20_other_requests_in_between_change_nothing(engine, template):
    """More of them than there are caches, so that the cut turn lives on as a saved state."""
    others = itertools.cycle(asks(40))

    def between(point):
        if len(point.tokens) % 12 == 0:
            for _ in range(4):
                messages, tool = next(others)
                run(engine, begin(template, [*messages, *messages], tool), max_tokens=2)

    messages, tool = next(asks(1))
    whole = begin(template, messages, tool)
    expected, _ = run(engine, whole)
    turn, message = cut_at_every_token(engine, begin(template, messages, tool), between)
    assert turn.tokens == whole.tokens
    assert message == expected


def check_text(engine, template, count):
    draw = random.Random(count)
    for messages, tool in asks(count):
        turn = begin(template, messages, tool)
        cut, _ = run(engine, turn, max_tokens=draw.randint(1, 30))
        answer = {"role": "assistant", "content": cut.content, "untemplate": {"raw": cut.raw}}
        choice = ToolChoice("required", tool.name, parallel=False)
        later = template.turn(
            [*messages, answer], tools=[tool], tool_choice=choice, continue_final_message=True
        )
        message, _ = run(engine, later)
        (call,) = message.tool_calls
        assert message.raw.startswith(cut.raw.rstrip("\ufffd"))
        assert jsonschema_rs.is_valid(tool.parameters, json.loads(call.arguments))


def test_law_20_calls_gone_on_with_by_their_text_are_valid(engine, template):
    check_text(engine, template, 2)


@pytest.mark.laws
def test_law_20_a_hundred_calls_gone_on_with_by_their_text_are_valid(engine, template):
    check_text(engine, template, 100)


def check_closing(engine, template, seeds):
    """Hot, and with little room: what ends, ends properly, and says what was cut."""
    found = {
        w.tool: w for w in windows(template.turn(NO_ONE, tools=TOOLS).grammar, engine.vocabulary)
    }
    decided = 0
    for seed, (messages, tool) in zip(seeds, itertools.cycle(asks(100))):
        budget = found[tool.name].least + seed % 7 * (1 + seed % 3)
        turn = begin(template, messages, tool)
        hot = Sampling(temperature=1.5, seed=seed)
        message, _ = run(engine, turn, max_tokens=budget, close_at_limit=True, sampling=hot)
        (call,) = message.tool_calls
        assert len(turn.tokens) <= budget
        assert not call.closing
        assert jsonschema_rs.is_valid(tool.parameters, json.loads(call.arguments))
        if message.end == "complete":
            assert message.finish_reason == "tool_calls"
            continue
        decided += 1
        assert (message.end, message.finish_reason, call.state) == ("forced", "length", "forced")
        states = list(call.arguments_state.values())
        assert "complete" not in states[states.index("cut") + 1 :] if "cut" in states else True
        if not {"cut", "forced"} & {*states}:
            # Every argument was whole by then, so none is cut: the limit wrote brackets alone.
            before = "".join(c.arguments for c in turn._at_limit.tool_calls)
            assert not {*call.arguments[len(before) :]} - {*"}] \n"}
    return decided


def test_reasoning_is_ended_in_time_for_the_call(engine):
    """A prompt that opens reasoning, a model that would never stop, and little room."""
    (tool,) = TOOLS[:1]
    choice = ToolChoice("required", tool.name, parallel=False)
    prompt = QWEN3.prompts[2]
    grammar = build_grammar(QWEN3, [tool], choice, prompt=prompt)
    (window,) = windows(grammar, engine.vocabulary)
    text = f"<|im_start|>user\nThink about rain, at length.<|im_end|>\n{prompt.text}"
    turn = Turn(text, grammar, render=lambda _: MarkedPrompt(((text, False),)))
    budget = window.typical + 40
    message, _ = run(engine, turn, max_tokens=budget, close_at_limit=True, reasoning_tokens=12)
    reasoning = engine.vocabulary.encode(message.reasoning_content, special=False)
    assert 10 <= len(reasoning) <= 13
    assert turn.reasoning_tokens >= 12
    assert message.tool_calls[0].name == tool.name
    assert message.end in ("complete", "forced")
    assert len(turn.tokens) <= budget


NO_ONE = [{"role": "user", "content": "?"}]


def test_law_14_calls_closed_at_the_limit_are_valid_and_say_what_was_cut(engine, template):
    assert check_closing(engine, template, range(6)) >= 3


@pytest.mark.laws
def test_law_14_three_hundred_calls_closed_at_the_limit(engine, template):
    assert check_closing(engine, template, range(300)) >= 100
