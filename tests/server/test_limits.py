"""What the server does where tokens are short: cut, resume, close, warn, fit."""

import json
import time

import pytest

from corpus import template_source
from serving import HELLO, TEMPLATE, client, frames
from untemplate.server.points import Points
from untemplate.testing import ScriptedEngine
from untemplate.turn import ChatTemplate
from untemplate.vocabulary import byte_vocabulary

CHAT = "/v1/chat/completions"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "pay",
            "parameters": {
                "type": "object",
                "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
                "required": ["to", "amount"],
            },
        },
    },
]
ASK = {**HELLO, "tools": TOOLS}
PAY = '<tool_call>\n{"name": "pay", "arguments": {"to": "Zoë 東京", "amount": 120}}\n</tool_call>'
CUT = PAY.encode().index("東".encode()) + 1
VOCABULARY = byte_vocabulary(["<|im_start|>", "<|im_end|>"], eos="<|im_end|>")
LEAST = len('<tool_call>\n{"name": "pay", "arguments": {"to":"","amount":0}}\n</tool_call>') + 1


def bytewise(text):
    data = text.encode() if isinstance(text, str) else text
    return [data[i : i + 1] for i in range(len(data))]


def counting(*scripts, context_tokens=4096):
    """An engine that has a vocabulary, though its scripts are what they are."""
    engine = ScriptedEngine(*scripts)
    engine.vocabulary = VOCABULARY
    engine.context_tokens = context_tokens
    return engine


def ask(api, **options):
    response = api.post(CHAT, json={**ASK, **options})
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def go_on(api, message, **options):
    """The answer to a message that was sent back."""
    messages = [*HELLO["messages"], message]
    return ask(api, messages=messages, continue_final_message=True, **options)


def test_a_cut_call_goes_on_exactly_by_its_handle():
    api = client(bytewise(PAY), bytewise(PAY)[CUT:])
    first = ask(api, max_tokens=CUT)
    assert first["finish_reason"] == "length"
    assert first["message"]["untemplate"]["resume"].startswith("resume_")
    assert first["message"]["tool_calls"][0]["function"]["arguments"] == '{"to": "Zoë '
    second = go_on(api, first["message"])
    assert second["finish_reason"] == "tool_calls"
    assert second["untemplate"]["resumed"] == "exact"
    (call,) = second["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"to": "Zoë 東京", "amount": 120}
    assert call["id"] == first["message"]["tool_calls"][0]["id"]
    assert call["untemplate"]["state"] == "complete"


def test_without_its_handle_it_goes_on_by_its_text():
    kept = PAY.encode().index("東".encode())
    api = client(bytewise(PAY), bytewise(PAY)[kept:])
    message = ask(api, max_tokens=CUT)["message"]
    del message["untemplate"]["resume"]
    second = go_on(api, message)
    assert second["untemplate"]["resumed"] == "from text"
    (call,) = second["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"to": "Zoë 東京", "amount": 120}


def test_and_without_its_text_by_its_arguments():
    kept = PAY.encode().index("東".encode())
    api = client(bytewise(PAY), bytewise(PAY)[kept:])
    message = ask(api, max_tokens=CUT)["message"]
    del message["untemplate"]
    (call,) = go_on(api, message)["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"to": "Zoë 東京", "amount": 120}


def test_a_handle_of_another_conversation_is_not_taken():
    api = client(bytewise(PAY), bytewise(PAY)[CUT - 1 :])
    message = ask(api, max_tokens=CUT)["message"]
    other = [{"role": "user", "content": "Something else"}, message]
    second = ask(api, messages=other, continue_final_message=True)
    assert second["untemplate"]["resumed"] == "from text"


def test_a_stream_can_be_cut_and_gone_on_with():
    engine = ScriptedEngine(bytewise("Sure.\n" + PAY), bytewise("Sure.\n" + PAY)[20:])
    api = client(engine=engine)
    response = api.post(CHAT, json={**ASK, "max_tokens": 20, "stream": True})
    chunks = [c for c in frames(response.text) if isinstance(c, dict)]
    said = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)
    notes = chunks[-1]["choices"][0]["untemplate"]
    assert notes["raw"] == 'Sure.\n<tool_call>\n{"'
    message = {"role": "assistant", "content": said, "untemplate": notes}
    messages = [*HELLO["messages"], message]
    body = {**ASK, "messages": messages, "continue_final_message": True, "stream": True}
    response = api.post(CHAT, json=body)
    chunks = [c for c in frames(response.text) if isinstance(c, dict)]
    assert chunks[-1]["choices"][0]["untemplate"]["resumed"] == "exact"
    news = [c["choices"][0]["delta"].get("tool_calls", []) for c in chunks]
    arguments = "".join(c["function"]["arguments"] for calls in news for c in calls)
    assert json.loads(arguments) == {"to": "Zoë 東京", "amount": 120}


def test_a_cut_call_in_the_history_fails_no_later_request():
    api = client(bytewise(PAY), [b"Once more?"])
    message = ask(api, max_tokens=CUT)["message"]
    (call,) = message["tool_calls"]
    result = {"role": "tool", "tool_call_id": call["id"], "content": "It was cut."}
    messages = [*HELLO["messages"], message, result]
    assert ask(api, messages=messages)["message"]["content"] == "Once more?"


def test_points_are_forgotten():
    turn = ChatTemplate(TEMPLATE).turn(HELLO["messages"])
    points = Points(most=2, age_s=100)
    handles = [points.put(turn.resume_point()) for _ in range(3)]
    assert points.get(handles[0]) is None
    assert points.get(handles[1]) == points.get(handles[2]) == turn.resume_point()
    brief = Points(most=2, age_s=0.001)
    handle = brief.put(turn.resume_point())
    time.sleep(0.005)
    assert brief.get(handle) is None
    assert brief.get("") is None


@pytest.mark.parametrize(("trust", "reason"), [(False, "length"), (True, "tool_calls")])
def test_a_call_that_the_limit_closed_is_no_call_unless_it_is_trusted(trust, reason):
    class Closing(ScriptedEngine):
        def generate(self, turn, **options):
            def script():
                yield PAY[:50].encode()
                turn.limit_decides()
                yield PAY[50:].encode()

            self._scripts.append(script)
            return super().generate(turn, **options)

    engine = Closing()
    choice = ask(client(engine=engine), on_limit="close", max_tokens=500, trust_forced=trust)
    assert choice["finish_reason"] == reason
    assert choice["untemplate"]["end"] == "forced"
    notes = choice["message"]["tool_calls"][0]["untemplate"]
    assert notes["state"] == "forced"
    assert notes["cut_path"] == "/to"
    assert notes["forced"] == ["/amount"]
    assert engine.options[0][0] is True


def test_a_call_goes_on_in_place_up_to_the_second_limit():
    engine = ScriptedEngine(bytewise(PAY), bytewise(PAY))
    api = client(engine=engine)
    choice = ask(api, on_limit="resume", max_tokens=40, resume_tokens=200)
    assert choice["finish_reason"] == "tool_calls"
    choice = ask(api, on_limit="resume", max_tokens=40, resume_tokens=10)
    assert choice["finish_reason"] == "length"
    assert len(choice["message"]["untemplate"]["raw"]) == 50


def test_a_window_that_is_too_small_is_told_of_and_refused_where_it_is_asked_for():
    api = client(engine=counting([b"Hi"], [b"Hi"], [b"Hi"]))
    choice = ask(api, max_tokens=LEAST - 1)
    (warning,) = choice["untemplate"]["warnings"]
    assert f"no call of pay fits: it needs at least {LEAST}" in warning
    assert "warnings" not in ask(api, max_tokens=LEAST, check_max_tokens=True)["untemplate"]
    body = {**ASK, "max_tokens": LEAST - 1, "check_max_tokens": True}
    response = api.post(CHAT, json=body)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "max_tokens"
    assert f"no call of pay fits: it needs at least {LEAST}" in response.json()["error"]["message"]


def test_a_window_that_is_too_small_is_told_of_for_large_calls_too():
    report = {"type": "string", "minLength": 900}
    parameters = {"type": "object", "properties": {"text": report}, "required": ["text"]}
    tools = [*TOOLS, {"type": "function", "function": {"name": "send", "parameters": parameters}}]
    choice = ask(client(engine=counting([b"Hi"])), tools=tools, max_tokens=900)
    (warning,) = choice["untemplate"]["warnings"]
    assert "no call of send fits" in warning


def test_a_turn_that_can_not_be_closed_in_time_is_refused():
    api = client(engine=counting([b"Hi"]))
    body = {**ASK, "tool_choice": "required", "on_limit": "close", "max_tokens": LEAST - 1}
    response = api.post(CHAT, json=body)
    assert response.status_code == 400
    assert f"at least {LEAST} tokens" in response.json()["error"]["message"]


def test_reasoning_leaves_room_for_the_call():
    engine = counting([PAY.encode()], [PAY.encode()], [PAY.encode()])
    api = client(engine=engine)
    ask(api, on_limit="close", max_tokens=1000)
    typical = 1000 - engine.options[0][2]
    assert LEAST <= typical < 2 * LEAST
    ask(api, on_limit="close", max_tokens=1000, reasoning_tokens=7)
    ask(api, on_limit="close", max_tokens=LEAST)
    assert [o[2] for o in engine.options[1:]] == [7, LEAST // 4]


def test_required_calls_have_a_longest_size_of_their_own():
    class Noting(ScriptedEngine):
        def generate(self, turn, *, max_tokens=None, **options):
            self.max_tokens = max_tokens
            return super().generate(turn, max_tokens=max_tokens, **options)

    engine = Noting([PAY.encode()], [PAY.encode()])
    engine.vocabulary, engine.context_tokens = VOCABULARY, 100_000
    ask(client(engine=engine), tool_choice="required")
    assert 512 <= engine.max_tokens < 5000
    ask(client(engine=engine))
    assert engine.max_tokens is None


def test_a_required_call_gets_its_room_behind_any_reasoning():
    class Noting(ScriptedEngine):
        def generate(self, turn, *, max_tokens=None, **options):
            self.max_tokens = max_tokens
            return super().generate(turn, max_tokens=max_tokens, **options)

    engine = Noting([PAY.encode()], [PAY.encode()], [PAY.encode()])
    engine.vocabulary, engine.context_tokens = VOCABULARY, 100_000
    api = client(engine=engine, template=template_source("Qwen-Qwen3-0.6B"))
    ask(api, tool_choice="required")
    prompt = len(engine.turns[0].prompt_tokens(VOCABULARY))
    assert engine.max_tokens == 100_000 - prompt
    assert engine.max_tokens - 2000 < engine.options[0][2] <= engine.max_tokens - 512
    ask(api, tool_choice="required", max_tokens=1000)
    assert 1000 - 2 * LEAST < engine.options[1][2] < 1000 - LEAST
    ask(api, max_tokens=1000)
    assert engine.options[2][2] is None


def test_a_cut_call_says_what_such_a_call_takes():
    api = client(engine=counting(bytewise(PAY), bytewise(PAY)))
    (call,) = ask(api, max_tokens=CUT)["message"]["tool_calls"]
    assert call["untemplate"]["needs"]["least"] == LEAST
    assert call["untemplate"]["needs"]["typical"] >= LEAST
    (call,) = ask(api)["message"]["tool_calls"]
    assert "needs" not in call["untemplate"]


def test_a_conversation_that_is_too_long_is_made_to_fit_where_it_is_asked_for():
    talk = [{"role": r, "content": "x" * 100} for r in ("user", "assistant")] * 30
    messages = [*talk, *HELLO["messages"]]
    engine = counting([b"Hi"], context_tokens=2000)
    choice = ask(client(engine=engine), messages=messages, truncation="auto")
    assert choice["untemplate"]["dropped"][0] == "messages[0:2]: exchanges, the oldest"
    prompt = engine.turns[0].prompt_tokens(VOCABULARY)
    assert len(prompt) <= 2000 - 256
    # A cut answer to it goes on in the same place.
    api = client(engine=counting(bytewise(PAY), bytewise(PAY)[CUT:], context_tokens=2000))
    options = {"truncation": "auto", "max_tokens": CUT}
    message = ask(api, messages=messages, **options)["message"]
    options |= {"messages": [*messages, message], "continue_final_message": True}
    second = ask(api, **options)
    assert second["untemplate"]["resumed"] == "exact"
    assert second["finish_reason"] == "tool_calls"
    body = {**ASK, "messages": messages, "truncation": "auto", "max_tokens": 1990}
    response = client(engine=engine).post(CHAT, json=body)
    assert response.status_code == 400
    assert "but the context holds 2000" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "bad", [{"on_limit": "stop"}, {"resume_tokens": 0}, {"truncation": "middle"}]
)
def test_what_is_asked_for_is_checked(bad):
    response = client([b"Hi"]).post(CHAT, json={**ASK, **bad})
    assert response.status_code == 400
    assert next(iter(bad)) in response.json()["error"]["message"]
