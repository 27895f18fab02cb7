"""Calls through the server, read from scripted text by a real turn."""

import json

import openai
import pytest

from serving import HELLO, TEMPLATE, client, frames, listening

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
    {"type": "function", "function": {"name": "ping"}},
]
ASK = {**HELLO, "tools": TOOLS}
ARGUMENTS = '{"to": "Zoë \\"Z\\" 東京", "amount": 120}'
PAY = f'<tool_call>\n{{"name": "pay", "arguments": {ARGUMENTS}}}\n</tool_call>'
PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'


def bytewise(text: str) -> list[bytes]:
    data = text.encode()
    return [data[i : i + 1] for i in range(len(data))]


def test_calls_in_one_answer():
    answer = client([f"Sure.\n{PAY}\n{PING}".encode()]).post(CHAT, json=ASK).json()
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Sure."
    pay, ping = choice["message"]["tool_calls"]
    assert pay["function"] == {"name": "pay", "arguments": ARGUMENTS}
    assert ping["function"] == {"name": "ping", "arguments": "{}"}
    assert pay["id"] != ping["id"]
    assert pay["untemplate"]["state"] == "complete"
    assert pay["untemplate"]["arguments_state"] == {"/to": "complete", "/amount": "complete"}


def test_calls_stream_argument_by_argument():
    response = client(bytewise(f"Sure.\n{PAY}\n{PING}")).post(CHAT, json={**ASK, "stream": True})
    chunks = [c for c in frames(response.text) if isinstance(c, dict)]
    news = [c["choices"][0]["delta"] for c in chunks]
    calls = [call for delta in news for call in delta.get("tool_calls", [])]
    assert all(len(delta.get("tool_calls", [])) <= 1 for delta in news)
    headers = [c for c in calls if "id" in c]
    assert [h["index"] for h in headers] == [0, 1]
    assert [h["function"] for h in headers] == [
        {"name": "pay", "arguments": ""},
        {"name": "ping", "arguments": ""},
    ]
    pieces = [c["function"]["arguments"] for c in calls if c["index"] == 0 and "id" not in c]
    assert "".join(pieces) == ARGUMENTS
    assert len(pieces) > 10
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    notes = chunks[-1]["choices"][0]["untemplate"]
    assert [n["state"] for n in notes["tool_calls"]] == ["complete", "complete"]


def test_a_call_that_the_limit_cuts():
    cut = PAY.encode().index(b"120") + 2
    for stream in (False, True):
        body = {**ASK, "max_tokens": cut, "stream": stream}
        response = client(bytewise(PAY)).post(CHAT, json=body)
        if stream:
            chunks = [c for c in frames(response.text) if isinstance(c, dict)]
            news = [c["choices"][0]["delta"].get("tool_calls", []) for c in chunks]
            arguments = "".join(c["function"]["arguments"] for calls in news for c in calls)
            choice = chunks[-1]["choices"][0]
            (notes,) = choice["untemplate"]["tool_calls"]
        else:
            (choice,) = response.json()["choices"]
            (call,) = choice["message"]["tool_calls"]
            arguments, notes = call["function"]["arguments"], call["untemplate"]
        assert choice["finish_reason"] == "length"
        assert choice["untemplate"]["end"] == "cut"
        assert notes["state"] == "cut"
        assert notes["arguments_state"] == {"/to": "complete", "/amount": "cut"}
        assert json.loads(arguments + notes["closing"]) == {"to": 'Zoë "Z" 東京'}


def test_the_openai_client_puts_calls_together():
    with (
        listening(bytewise(f"{PAY}\n{PING}")) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as api,
        api.chat.completions.stream(
            model="scripted", messages=HELLO["messages"], tools=TOOLS
        ) as stream,
    ):
        kinds = [event.type for event in stream]
        message = stream.get_final_completion().choices[0].message
    assert "tool_calls.function.arguments.delta" in kinds
    assert [c.function.name for c in message.tool_calls] == ["pay", "ping"]
    assert message.tool_calls[0].function.arguments == ARGUMENTS


def test_no_calls_are_made_where_the_choice_is_none():
    for body in ({**ASK, "tool_choice": "none"}, HELLO):
        choice = client([PING.encode()]).post(CHAT, json=body).json()["choices"][0]
        assert choice["finish_reason"] == "stop"
        assert choice["message"]["content"] == PING
        assert "tool_calls" not in choice["message"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "fly"}}}, "tool_choice"),
        ({"tool_choice": "required", "tools": []}, "tool_choice"),
        ({"tool_choice": "fly"}, "tool_choice"),
    ],
)
def test_a_choice_that_can_not_be_kept_is_a_400(change, place):
    http = client([b"Hi"])
    response = http.post(CHAT, json={**ASK, **change})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == place
    assert http.post(CHAT, json=HELLO).status_code == 200


def test_results_and_cut_calls_in_history_are_taken():
    call = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": '{"to": '}}
    messages = [
        *HELLO["messages"],
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "not run"},
    ]
    response = client([b"Hi"]).post(CHAT, json={**ASK, "messages": messages})
    assert response.status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_message_that_is_continued_is_told_from_there(stream):
    messages = [*HELLO["messages"], {"role": "assistant", "content": "Once upon"}]
    body = {"messages": messages, "continue_final_message": True, "stream": stream}
    response = client([b" a ", b"time"]).post(CHAT, json=body)
    if stream:
        chunks = [c for c in frames(response.text) if isinstance(c, dict)]
        told = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)
    else:
        told = response.json()["choices"][0]["message"]["content"]
    assert told == " a time"


REFUSING = "{{ raise_exception('no such role') }}"
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(("source", "code"), [(REFUSING, "template_error"), (ENDLESS, "limit")])
def test_a_template_that_turns_bad_on_a_request_is_a_4xx(source, code):
    trap = "{% if messages[0].content == 'trap' %}" + source + "{% endif %}"
    http = client([b"Hi"], template=trap + TEMPLATE)
    response = http.post(CHAT, json={"messages": [{"role": "user", "content": "trap"}]})
    assert response.status_code == 400
    assert response.json()["error"]["code"].startswith(code)
    assert "line" in response.json()["error"]["message"]
    assert http.post(CHAT, json=HELLO).status_code == 200
