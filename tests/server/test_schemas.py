"""Schemas of requests: what is no schema, what no mask can enforce, and what a strict tool is."""

import json
from dataclasses import asdict

import pytest

from dialects import HERMES
from serving import HELLO, client
from untemplate.constrain import compile_grammar
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.grammar.report import Keyword
from untemplate.server.keywords import told_in_header
from untemplate.vocabulary import byte_vocabulary
from untemplate.wire.openai.request import decode_request

CHAT = "/v1/chat/completions"


def tool(name, schema, *, strict=False):
    function = {"name": name, "parameters": schema, "strict": strict}
    return {"type": "function", "function": function}


FINE = tool("ping", {"type": "object", "properties": {"n": {"type": "integer"}}})
TWICE = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^(.+)\\1$"}}}
CALL = '<tool_call>\n{"name": "say", "arguments": {"word": "%s"}}\n</tool_call>'


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_names_what_no_mask_enforces(stream):
    ask = {**HELLO, "tools": [FINE, tool("say", TWICE)], "stream": stream}
    response = client([b"Hello"]).post(CHAT, json=ask)
    assert response.status_code == 200
    assert response.headers["x-untemplate-checked"] == "tool say #/properties/word/pattern"
    response = client([b"Hello"]).post(CHAT, json={**ask, "tools": [FINE]})
    assert "x-untemplate-checked" not in response.headers


def test_what_breaks_such_a_keyword_is_marked():
    ask = {**HELLO, "tools": [FINE, tool("say", TWICE)]}
    for word, is_marked in (("soso", False), ("sosa", True)):
        answer = client([(CALL % word).encode()]).post(CHAT, json=ask).json()
        choice = answer["choices"][0]
        assert (
            choice["message"]["tool_calls"][0]["function"]["arguments"] == f'{{"word": "{word}"}}'
        )
        codes = [d["code"] for d in choice["untemplate"].get("diagnostics", [])]
        assert ("against_schema" in codes) is is_marked


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        (tool("say", {"type": "strin"}), "tool say #/type"),
        (tool("say", {"properties": {"a": {"$ref": "#/b"}}}), "tool say #/properties/a/$ref"),
        (tool("say", {"$ref": "https://x.example/a"}), "tool say #/$ref"),
        (tool("say", TWICE, strict=True), "tool say #/properties/word/pattern"),
    ],
)
def test_a_tool_that_can_not_be_kept_is_named(bad, place):
    response = client([b"Hello"]).post(CHAT, json={**HELLO, "tools": [FINE, bad]})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == place
    assert error["code"] == "invalid_schema"
    assert place in error["message"]


def test_a_header_is_bounded_and_ascii():
    keywords = [
        Keyword("tool zahlen", f"#/properties/größe{n}/pattern", "checked") for n in range(99)
    ]
    told = told_in_header(keywords)
    assert told.isascii()
    assert len(told) < 2_100
    assert told.startswith("tool zahlen #/properties/gr%C3%B6%C3%9Fe0/pattern, tool zahlen")
    assert told.endswith(" more")


@pytest.mark.parametrize(
    ("asked", "text", "is_written"),
    [
        ({}, '{"b": 1, "a": 2}', True),
        ({}, '{"b":1,\n "a": 2}', True),
        ({}, '{"a": 2, "c": 3}', False),
        ({"open_objects": True}, '{"a": 2, "c": 3}', True),
        ({"key_order": "declared"}, '{"b": 1, "a": 2}', False),
        ({"key_order": "declared"}, '{"a":2,"b": 1}', True),
        ({"whitespace": "exact"}, '{"a":2, "b": 1}', False),
        ({"whitespace": "exact"}, '{"b": 2, "a": 1}', True),
    ],
)
def test_how_calls_are_written_is_for_the_request_to_say(asked, text, is_written):
    numbers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    body = {**HELLO, **asked, "tools": [tool("f", {"type": "object", "properties": numbers})]}
    request = decode_request(json.dumps(body).encode())
    options = GrammarOptions(**asdict(request.writing))
    grammar = build_grammar(HERMES, request.tools, request.choice, options=options)
    constraint = compile_grammar(grammar, byte_vocabulary(["<|im_end|>"], eos="<|im_end|>"))
    call = f'<tool_call>\n{{"name": "f", "arguments": {text}}}\n</tool_call>'
    assert constraint.constraint().feed(call.encode()) is is_written
    assert client([call.encode()]).post(CHAT, json=body).status_code == 200


def test_unknown_ways_of_writing_are_refused():
    response = client([b"Hello"]).post(CHAT, json={**HELLO, "key_order": "sorted"})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "key_order"
