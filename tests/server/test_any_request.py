"""Whatever stands where in a request: it is answered, and never by a 500."""

import copy
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving import HELLO, client

TOOL = {
    "type": "function",
    "function": {
        "name": "pay",
        "description": "Pay",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
            "required": ["to"],
        },
    },
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
WHOLE = {
    "model": "scripted",
    "messages": [
        *HELLO["messages"],
        {"role": "assistant", "content": None, "reasoning_content": "Hm", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "ok"}]},
        *HELLO["messages"],
    ],
    "tools": [TOOL],
    "tool_choice": {"type": "function", "function": {"name": "pay"}},
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "top_p": 0.5,
    "top_k": 3,
    "min_p": 0.1,
    "seed": 1,
    "logit_bias": {"1": 1},
    "max_tokens": 5,
    "stop": ["x"],
    "stream": False,
    "stream_options": {"include_usage": True},
    "n": 1,
    "response_format": {"type": "text"},
    "chat_template_kwargs": {"enable_thinking": False},
    "continue_final_message": False,
}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=5,
)


def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from paths(inner, (*path, key))


def changed(path, change):
    """The whole request with another value in one place, or without it."""
    request = copy.deepcopy({"body": WHOLE})
    target, key = request, "body"
    for step in path:
        target, key = target[key], step
    if change is None:
        del target[key]
    else:
        target[key] = change[0]
    return request.get("body")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(list(paths(WHOLE))), st.none() | st.tuples(ANYTHING))
def test_any_change_of_a_request_is_answered(path, change):
    body = json.dumps(changed(path, change)).encode("utf-8", "surrogatepass")
    response = client([b"Hi"]).post("/v1/chat/completions", content=body)
    assert response.status_code in (200, 400, 404), response.text
    if response.status_code != 200:
        error = response.json()["error"]
        assert error["message"]
        assert "\n" not in error["message"]


def test_the_whole_request_is_fine():
    response = client([b"Hi"]).post("/v1/chat/completions", json=WHOLE)
    assert response.status_code == 200, response.text
