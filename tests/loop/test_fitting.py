"""Conversations that are too long for the context of a model in this process."""

import pytest

from byte_engine import ByteEngine
from conversations import call
from serving import TEMPLATE
from tool_loop import complete
from untemplate.budget import FitError
from untemplate.errors import RequestError
from untemplate.loop import LocalModel, ToolLoop, tool
from untemplate.testing import ScriptedEngine
from untemplate.turn import ChatTemplate

TURNS = ChatTemplate(TEMPLATE)
LOOK = '<tool_call>\n{"name": "look", "arguments": {"at": "x"}}\n</tool_call>'
END = "<|im_end|>"


@tool(effect="read")
def look(at: str) -> str:
    return f"seen {at}"


def talk(exchanges):
    messages = [{"role": "system", "content": "Be brief."}]
    for number in range(exchanges):
        made = call(f"call_{number}", "look", at=f"place {number}")
        messages += [
            {"role": "user", "content": f"Question {number}."},
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": made["id"], "content": f"Result {number}. " * 5},
            {"role": "assistant", "content": f"Answer {number}."},
        ]
    return [*messages, {"role": "user", "content": "The last question."}]


def played(context_tokens, *script, **options):
    engine = ByteEngine(END, *script, context_tokens=context_tokens)
    loop = ToolLoop(LocalModel(engine, TURNS, **options), [look], max_tokens=200)
    return engine, complete(loop, talk(20))


def test_a_long_conversation_is_cut_down_by_whole_exchanges_and_says_so():
    engine, result = played(2000, LOOK, "done", fit=True)
    assert (result.reason, result.text) == ("answer", "done")
    assert result.messages[: len(talk(20))] == tuple(talk(20))
    for number, sent in enumerate(engine.sent):
        text = engine.text(sent)
        assert len(sent) + 200 <= 2000
        assert "Be brief." in text
        assert "The last question." in text
        shown = [n for n in range(20) if f"Question {n}." in text]
        assert shown == list(range(shown[0], 20))
        assert all(f"Result {n}." in text and f"Answer {n}." in text for n in shown)
        dropped = result.steps[number].dropped
        assert len([d for d in dropped if d.startswith("messages[")]) == shown[0] > 0
    assert "seen x" in engine.text(engine.sent[1])


def test_own_turns_are_replayed_in_what_is_left():
    """The second prompt goes on behind the first and what was written, blanks and all."""
    spaced = LOOK.replace('{"at"', '{  "at"')
    engine, _ = played(2600, spaced, "done", fit=True)
    first, second = engine.sent
    written = [*first, *engine.vocabulary.encode(spaced, special=True)]
    assert second[: len(written)] == written


def test_what_fits_is_left_alone():
    engine, result = played(1 << 16, "done", fit=True)
    assert result.steps[0].dropped == ()
    assert "Question 0." in engine.text(engine.sent[0])


def test_what_can_not_fit_is_an_error_with_the_table():
    with pytest.raises(FitError, match="the context holds 260"):
        played(260, "done", fit=True)


def test_an_engine_that_can_not_count_is_refused():
    with pytest.raises(RequestError, match="can't count tokens"):
        LocalModel(ScriptedEngine([b"x"]), TURNS, fit=True)
