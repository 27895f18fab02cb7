import json

import pytest

from untemplate.errors import RequestError
from untemplate.message import Tool, ToolChoice
from untemplate.wire.openai.request import DEPTH_LIMIT, ChatRequest, Sampling, decode_request

HELLO = [{"role": "user", "content": "Hi"}]


def decode(**fields) -> ChatRequest:
    return decode_request(json.dumps({"messages": HELLO, **fields}).encode())


def error_of(body: bytes) -> str:
    with pytest.raises(RequestError) as caught:
        decode_request(body)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_the_least_request():
    assert decode() == ChatRequest(messages=HELLO, choice=ToolChoice("none"))
    tools = [{"type": "function", "function": {"name": "ping"}}]
    assert decode(tools=tools).choice == ToolChoice("auto")


def test_every_field():
    request = decode(
        model="m",
        tools=[{"type": "function", "function": {"name": "ping"}}],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=1.5,
        top_p=0.9,
        top_k=40,
        min_p=0.05,
        repeat_penalty=1.1,
        seed=-7,
        logit_bias={"17": -100},
        max_tokens=10,
        max_completion_tokens=20,
        stop="\n\n",
        stream=True,
        stream_options={"include_usage": True, "other": 1},
        n=1,
        response_format={"type": "text"},
        reasoning_effort="high",
        chat_template_kwargs={"enable_thinking": False},
        continue_final_message=True,
        presence_penalty=0,
        user="somebody",
    )
    assert request == ChatRequest(
        messages=HELLO,
        model="m",
        tools=(Tool("ping"),),
        choice=ToolChoice("required", parallel=False),
        sampling=Sampling(1.5, 0.9, 40, 0.05, 1.1, None, 0.0, -7, {17: -100.0}),
        max_tokens=20,
        stop=("\n\n",),
        stream=True,
        include_usage=True,
        continue_final_message=True,
        variables={"reasoning_effort": "high", "enable_thinking": False},
    )


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"temperature": 3}, "temperature: expected float <= 2.0"),
        ({"temperature": "hot"}, "temperature: expected float | null, got str"),
        ({"max_tokens": 0}, "max_tokens: expected int >= 1"),
        ({"max_tokens": True}, "max_tokens: expected int | null, got bool"),
        ({"stop": ["a", 1]}, "stop[1]: expected str, got int"),
        ({"stop": [""]}, "stop[0]: expected str of length >= 1"),
        ({"stream": "yes"}, "stream: expected bool | null, got str"),
        ({"n": 2}, "n: one answer per request: send n requests instead"),
        ({"logit_bias": {"word": 1}}, "logit_bias: expected token ids as keys, not 'word'"),
        (
            {"chat_template": "{{ messages }}"},
            "chat_template: a request can't bring a template; start the server with one",
        ),
        (
            {"chat_template_kwargs": {"chat_template": "x"}},
            "chat_template_kwargs.chat_template: 'chat_template' can't be set by a request",
        ),
        (
            {"chat_template_kwargs": {"messages": []}},
            "chat_template_kwargs.messages: 'messages' can't be set by a request",
        ),
        (
            {"functions": [{}]},
            "functions: deprecated and not supported; use tools",
        ),
        ({"logprobs": True}, "logprobs: not supported; leave it out"),
        (
            {"response_format": {"type": "grammar"}},
            'response_format.type: expected "text", "json_object" or "json_schema"',
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": []}}},
            "response_format.json_schema.schema: expected an object, not a list",
        ),
        (
            {"response_format": {"type": "json_schema"}},
            "response_format.json_schema: expected an object, not null",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"strict": 1}}},
            "response_format.json_schema.strict: expected true or false",
        ),
        ({"response_format": "json"}, "response_format: expected an object, not a string"),
        ({"messages": [{"role": 1}]}, "messages[0].role: expected a string, not a number"),
        ({"tools": "ping"}, "tools: expected a list, not a string"),
    ],
)
def test_a_field_that_is_not_as_it_must_be_is_named(fields, error):
    assert error_of(json.dumps({"messages": HELLO, **fields}).encode()) == error


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "the body is not JSON: Input data was truncated"),
        (b"{", "the body is not JSON: Input data was truncated"),
        (b"[]", "body: expected object, got array"),
        (b"{}", "messages: this field is required"),
        (b'{"messages": "\xff"}', "the body is not JSON: Invalid UTF-8 encoded string"),
    ],
)
def test_a_body_that_is_no_request(body, error):
    assert error_of(body) == error


def test_nesting_is_bounded():
    def nested(levels: int) -> bytes:
        inner = "[" * levels + "]" * levels
        message = f'{{"role": "user", "content": "x", "k": {inner}}}'
        return f'{{"messages": [{message}]}}'.encode()

    fits = DEPTH_LIMIT - 3  # the body, the messages, the message
    assert decode_request(nested(fits)).messages
    too_deep = f"body: nested deeper than {DEPTH_LIMIT} levels"
    assert error_of(nested(fits + 1)) == too_deep
    assert error_of(nested(100_000)) == too_deep
    assert error_of(b'{"messages": [], "unknown": ' + b"[" * 100_000) == too_deep
