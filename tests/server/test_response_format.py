"""Answers by a schema: `response_format`, through the server and with the embedded model."""

import json

import jsonschema_rs
import openai
import pytest

from serving import HELLO, TEMPLATE, client, listening

CHAT = "/v1/chat/completions"
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["gift", "loan"]},
        "title": {"type": "string", "minLength": 1, "maxLength": 12},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 2},
        "amount": {"type": "integer", "minimum": 0, "maximum": 999},
    },
    "required": ["kind", "title", "amount"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "note", "strict": True, "schema": SCHEMA}}
OBJECT = {"type": "json_object"}
PING = {"type": "function", "function": {"name": "ping"}}
CALL = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'


def error_of(**fields):
    response = client([b"{}"]).post(CHAT, json={**HELLO, **fields})
    assert response.status_code == 400
    return response.json()["error"]


def test_the_content_is_the_json_text():
    text = '{"kind": "gift", "title": "<b>", "amount": 1}'
    for form in (FORM, OBJECT):
        answer = client([text.encode()]).post(CHAT, json={**HELLO, "response_format": form}).json()
        (choice,) = answer["choices"]
        assert choice["message"] == {"role": "assistant", "content": text}
        assert choice["finish_reason"] == "stop"


def test_with_tools_it_is_a_call_or_the_answer():
    body = {**HELLO, "tools": [PING], "response_format": OBJECT}
    call = client([CALL.encode()]).post(CHAT, json=body).json()["choices"][0]
    assert call["message"]["tool_calls"][0]["function"]["name"] == "ping"
    assert call["message"]["content"] is None
    answer = client([b'{"name": "ping"}']).post(CHAT, json=body).json()["choices"][0]
    assert answer["message"]["content"] == '{"name": "ping"}'
    assert "tool_calls" not in answer["message"]


def test_the_stock_client_parses_it_into_a_model():
    with (
        listening([b'{"kind": "loan", ', b'"title": "x", "amount": 3}']) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as stock,
        stock.chat.completions.stream(
            model="scripted", messages=HELLO["messages"], response_format=FORM
        ) as stream,
    ):
        text = stream.get_final_completion().choices[0].message.content
    assert json.loads(text) == {"kind": "loan", "title": "x", "amount": 3}


def test_a_schema_that_is_not_valid_is_a_400_that_names_the_pointer():
    schema = {"type": "object", "properties": {"a": {"type": "text"}}}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    error = error_of(response_format=form)
    assert error["code"] == "invalid_schema"
    assert error["param"] == "response_schema #/properties/a/type"
    schema["properties"]["a"] = {"$ref": "#/$defs/none"}
    assert "response_schema #/properties/a/$ref" in error_of(response_format=form)["message"]


TWICE = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^(.+)\\1$"}}}


def test_a_strict_schema_that_can_not_be_exact_is_a_400_that_names_the_pointer():
    form = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": TWICE}}
    error = error_of(response_format=form)
    assert error["code"] == "invalid_schema"
    assert error["param"] == "response_schema #/properties/word/pattern"
    assert "the schema is strict" in error["message"]
    form["json_schema"]["strict"] = False
    response = client([b'{"word": "soso"}']).post(CHAT, json={**HELLO, "response_format": form})
    assert response.status_code == 200
    named = "response_schema #/properties/word/pattern"
    assert response.headers["x-untemplate-checked"] == named


def test_a_template_whose_calls_begin_like_the_answer():
    bare = TEMPLATE.replace("<tool_call>\\n", "").replace("\\n</tool_call>", "")
    body = {**HELLO, "tools": [PING], "response_format": OBJECT}
    call = '{"name": "ping", "arguments": {}}'
    for text, choice, is_call in (
        (call, "auto", True),
        (call, "none", False),
        ('{"name": "pong", "arguments": {}}', "auto", False),
        (f'{{"a": {call}}}', "auto", False),
    ):
        asked = {**body, "tool_choice": choice}
        response = client([text[:9].encode(), text[9:].encode()], template=bare)
        (answer,) = response.post(CHAT, json=asked).json()["choices"]
        if is_call:
            assert answer["message"]["tool_calls"][0]["function"]["name"] == "ping"
            assert answer["finish_reason"] == "tool_calls"
        else:
            assert answer["message"] == {"role": "assistant", "content": text}


@pytest.mark.model
def test_the_embedded_model_answers_by_the_schema(model):
    from untemplate.engines.llama.engine import LlamaEngine

    engine = LlamaEngine(model, context_tokens=2048, sequences=1)
    asked = client(engine=engine, template=TEMPLATE)
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
    ping = {"type": "function", "function": {"name": "ping", "parameters": parameters}}
    ended = 0
    for seed in range(4):
        tools = {"tools": [ping]} if seed % 2 else {}
        body = {**HELLO, **tools, "response_format": FORM, "temperature": 1.5, "seed": seed}
        answer = asked.post(CHAT, json={**body, "max_tokens": 200}).json()
        (choice,) = answer["choices"]
        assert choice["finish_reason"] in ("stop", "tool_calls", "length"), answer
        if choice["finish_reason"] == "stop":
            value = json.loads(choice["message"]["content"])
            assert jsonschema_rs.is_valid(SCHEMA, value), value
        ended += choice["finish_reason"] != "length"
    assert ended >= 3
