import json
from dataclasses import replace

from untemplate.message import CallDelta, Delta, Diagnostic, Message, ToolCall, Usage
from untemplate.wire.openai.response import AnswerNotes, AnswerWriter, ModelCard, encode_models

CUT = ToolCall(
    index=0,
    id="call_a",
    name="pay",
    arguments='{"to": "acct-99"',
    closing="}",
    state="cut",
    arguments_state={"/to": "complete", "/amount": "cut"},
    ambiguous=("/to",),
    written_id="0",
)


def writer() -> AnswerWriter:
    return AnswerWriter("chatcmpl-1", model="m", created=7)


def deltas(*news: Delta) -> list[dict]:
    answer = writer()
    chunks = [json.loads(c) for delta in news for c in answer.chunks(delta)]
    for chunk in chunks:
        assert (chunk["id"], chunk["object"]) == ("chatcmpl-1", "chat.completion.chunk")
        assert (chunk["model"], chunk["created"]) == ("m", 7)
        assert [c["finish_reason"] for c in chunk["choices"]] == [None]
    return [c["choices"][0]["delta"] for c in chunks]


def test_text_in_one_answer():
    answer = json.loads(writer().completion(Message("Hi", "hm"), Usage(5, 2, 3)))
    assert answer == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 7,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi", "reasoning_content": "hm"},
                "finish_reason": "stop",
                "untemplate": {"end": "complete"},
            }
        ],
        "usage": {
            "prompt_tokens": 5,
            "completion_tokens": 2,
            "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 3},
        },
    }


def test_a_cut_call_says_what_is_cut():
    message = Message(
        tool_calls=(CUT,),
        diagnostics=(Diagnostic("cut", (3, 9), "cut at the limit"),),
        end="cut",
        finish_reason="length",
    )
    choice = json.loads(writer().completion(message, Usage()))["choices"][0]
    assert choice["finish_reason"] == "length"
    assert choice["message"] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_a",
                "type": "function",
                "function": {"name": "pay", "arguments": '{"to": "acct-99"'},
                "untemplate": {
                    "state": "cut",
                    "closing": "}",
                    "arguments_state": {"/to": "complete", "/amount": "cut"},
                    "cut_path": "/amount",
                    "ambiguous": ["/to"],
                    "written_id": "0",
                    "span": [0, 0],
                },
            }
        ],
    }
    assert choice["untemplate"] == {
        "end": "cut",
        "diagnostics": [{"code": "cut", "span": [3, 9], "message": "cut at the limit"}],
    }


def test_a_stream_tells_one_thing_in_each_chunk():
    assert json.loads(writer().first())["choices"] == [
        {"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}
    ]
    assert deltas(Delta()) == []
    assert deltas(Delta(content="a", reasoning_content="b")) == [
        {"reasoning_content": "b"},
        {"content": "a"},
    ]
    ends = (CallDelta(0, arguments="}", state="complete"), CallDelta(1, state="cut"))
    assert [d["tool_calls"] for d in deltas(Delta(tool_calls=ends))] == [
        [{"index": 0, "function": {"arguments": "}"}, "untemplate": {"state": "complete"}}],
        [{"index": 1, "function": {"arguments": ""}, "untemplate": {"state": "cut"}}],
    ]
    news = (CallDelta(0, "call_a", "pay", '{"to'), CallDelta(1, "call_b", "ping"))
    assert deltas(Delta(tool_calls=news)) == [
        {
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "pay", "arguments": ""},
                }
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"to'}}]},
        {
            "tool_calls": [
                {
                    "index": 1,
                    "id": "call_b",
                    "type": "function",
                    "function": {"name": "ping", "arguments": ""},
                }
            ]
        },
    ]


def test_the_last_chunk_has_the_notes_on_all_calls():
    message = Message(tool_calls=(CUT,), end="cut", finish_reason="length")
    assert json.loads(writer().last(message))["choices"] == [
        {
            "index": 0,
            "delta": {},
            "finish_reason": "length",
            "untemplate": {
                "end": "cut",
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "call_a",
                        "state": "cut",
                        "closing": "}",
                        "arguments_state": {"/to": "complete", "/amount": "cut"},
                        "cut_path": "/amount",
                        "ambiguous": ["/to"],
                        "written_id": "0",
                        "span": [0, 0],
                    }
                ],
            },
        }
    ]


def test_a_cut_answer_says_how_to_go_on_with_it():
    message = Message(tool_calls=(CUT,), end="cut", finish_reason="length", raw="<call>")
    notes = AnswerNotes(resume="resume_1", warnings=("too few",), dropped=("messages[0]: old",))
    choice = json.loads(writer().completion(message, Usage(), notes=notes))["choices"][0]
    assert choice["message"]["untemplate"] == {"raw": "<call>", "resume": "resume_1"}
    assert choice["untemplate"]["warnings"] == ["too few"]
    assert choice["untemplate"]["dropped"] == ["messages[0]: old"]
    last = json.loads(writer().last(message, notes))["choices"][0]["untemplate"]
    assert (last["raw"], last["resume"]) == ("<call>", "resume_1")
    whole = replace(message, end="complete", finish_reason="stop")
    choice = json.loads(writer().completion(whole, Usage(), notes=AnswerNotes(resumed="exact")))
    assert "untemplate" not in choice["choices"][0]["message"]
    assert choice["choices"][0]["untemplate"]["resumed"] == "exact"


def test_what_the_limit_wrote_is_named():
    states = {"/a": "complete", "/b/1": "cut", "/c": "forced", "/d": "defaulted", "/e": "missing"}
    call = replace(CUT, state="forced", closing="", arguments_state=states)
    message = Message(tool_calls=(call,), end="forced", finish_reason="length")
    choice = json.loads(writer().completion(message, Usage()))["choices"][0]
    notes = choice["message"]["tool_calls"][0]["untemplate"]
    assert choice["finish_reason"] == "length"
    assert notes["state"] == "forced"
    assert (notes["cut_path"], notes["forced"]) == ("/b/1", ["/c"])
    assert (notes["defaulted"], notes["missing"]) == (["/d"], ["/e"])


def test_a_call_that_was_left_open_is_none_to_be_run():
    message = Message(tool_calls=(CUT,), end="cut", finish_reason="stop")
    choice = json.loads(writer().completion(message, Usage()))["choices"][0]
    assert choice["finish_reason"] == "stop"


def test_the_finish_reason_is_length_or_tells_of_calls():
    whole = ToolCall(0, "call_a", "ping", "{}")
    for message, reason in (
        (Message("x"), "stop"),
        (Message("x", finish_reason="length"), "length"),
        (Message(tool_calls=(whole,)), "tool_calls"),
        (Message(tool_calls=(whole,), finish_reason="length"), "length"),
        (Message("x", finish_reason="cancelled"), "stop"),
    ):
        assert json.loads(writer().last(message))["choices"][0]["finish_reason"] == reason


def test_the_usage_chunk_has_no_choices():
    chunk = json.loads(writer().usage(Usage(5, 2)))
    assert chunk["choices"] == []
    assert chunk["usage"]["total_tokens"] == 7


def test_models():
    card = ModelCard(id="m", object="model", created=1, owned_by="us", meta={"context": 4096})
    assert json.loads(encode_models([card])) == {
        "object": "list",
        "data": [
            {
                "id": "m",
                "object": "model",
                "created": 1,
                "owned_by": "us",
                "meta": {"context": 4096},
            }
        ],
    }


def test_a_continued_message_is_told_without_its_beginning():
    message = Message("Once upon a time", "hm")
    before = [Delta(reasoning_content="hm"), Delta("Once upon")]
    answer = json.loads(writer().completion(message, Usage(), before))
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": " a time"}
