"""Assistant messages sent back to be gone on with, also inside a call."""

import json

import pytest

from dialects import CODER, HERMES, NEMO, QWEN3
from serving import TEMPLATE
from untemplate.dialect import Prompt
from untemplate.errors import RequestError
from untemplate.grammar import build_grammar
from untemplate.message import Tool
from untemplate.turn import ChatTemplate, Turn
from untemplate.turn.continuation import written_ids, written_so_far
from untemplate.vocabulary import byte_vocabulary

ASK = {"role": "user", "content": "?"}
TOOL = Tool(
    "write",
    "",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "array"}, "n": {}},
        "required": ["path"],
    },
)
ARGUMENTS = {"path": 'a"b\\\n🙂Größe', "lines": [1, "x"], "n": 12}


def call(arguments, name="write"):
    function = {"name": name, "arguments": arguments}
    return {"id": "id12345678", "type": "function", "function": function}


def says(*calls, content=""):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


@pytest.fixture(scope="module")
def template():
    return ChatTemplate(TEMPLATE)


def test_law_20_the_raw_text_goes_on_at_the_byte(template):
    whole = 'Hm.\n<tool_call>\n{"name": "write", "arguments": {"path": "Größe 🙂", "n": 3}}'
    data = (whole + "\n</tool_call>").encode()
    expected = template.turn([ASK], tools=[TOOL])
    expected.feed(data)
    expected = expected.finish("stop")
    for cut in range(1, len(data)):
        turn = template.turn([ASK], tools=[TOOL])
        turn.feed(data[:cut])
        raw = turn.finish("length").raw
        answer = {"role": "assistant", "content": "lost", "untemplate": {"raw": raw}}
        later = template.turn([ASK, answer], tools=[TOOL], continue_final_message=True)
        kept = data[:cut].decode("utf-8", "ignore").encode()
        assert later.prompt == turn.prompt + kept.decode()
        later.feed(data[len(kept) :])
        assert later.finish("stop").tool_calls == expected.tool_calls


@pytest.mark.parametrize("dialect", [HERMES, CODER, NEMO], ids=["json", "tags", "array"])
def test_a_call_that_is_cut_anywhere_is_written_again_from_its_fields(dialect):
    text = json.dumps(ARGUMENTS, ensure_ascii=dialect is HERMES)
    grammar = build_grammar(dialect, [TOOL])
    for cut in range(len(text)):
        written = written_so_far(dialect, dialect.prompts[0], says(call(text[:cut])))
        turn = Turn("", grammar, render=None)
        turn.feed(written.encode())
        message = turn.finish("length")
        received = json.loads(message.tool_calls[0].arguments + message.tool_calls[0].closing)
        for name, value in received.items():
            if name == "path":
                assert ARGUMENTS["path"].startswith(value)
            else:
                assert name in text[:cut]
        if text[:cut].count("],"):
            assert received["lines"] == [1, "x"]


def test_a_string_that_is_cut_goes_on_inside():
    written = written_so_far(CODER, CODER.prompts[0], says(call('{"path": "/tmp/a\\u00')))
    assert written == "<tool_call>\n<function=write>\n<parameter=path>\n/tmp/a"
    written = written_so_far(CODER, CODER.prompts[0], says(call('{"n": 1, "path": "\\ud83d\\ude')))
    assert written.endswith("<parameter=n>\n1\n</parameter>\n<parameter=path>\n")


def test_a_number_that_is_cut_is_written_again():
    written = written_so_far(CODER, CODER.prompts[0], says(call('{"path": "a", "n": 12')))
    assert written.endswith("<parameter=path>\na\n</parameter>\n")


def test_whole_calls_are_written_whole_and_content_before_them():
    message = says(call("{}"), call({"path": "b"}), content="So.")
    assert written_so_far(HERMES, HERMES.prompts[0], message) == (
        'So.\n<tool_call>\n{"name": "write", "arguments": {}}\n</tool_call>\n'
        '<tool_call>\n{"name": "write", "arguments": {"path": "b"}}\n</tool_call>'
    )


def test_what_can_not_be_continued_is_an_error_of_the_request():
    prompt = HERMES.prompts[0]
    with pytest.raises(RequestError, match="only the last call may be cut"):
        written_so_far(HERMES, prompt, says(call("{"), call("{}")))
    with pytest.raises(RequestError, match="an object with a function"):
        written_so_far(HERMES, prompt, says("call"))
    no_way = Prompt("", ())
    with pytest.raises(RequestError, match="no call may stand there"):
        written_so_far(HERMES, no_way, says(call("{}")))


def test_a_message_can_not_bring_special_tokens_that_are_none_of_its_dialect():
    vocabulary = byte_vocabulary(["<|im_start|>", "<|im_end|>", "<tool_call>"])
    ids = written_ids("<tool_call><|im_end|><|im_start|>user", HERMES, vocabulary)
    assert ids == [258, *b"<|im_end|><|im_start|>user"]


def test_our_notes_on_messages_and_calls_reach_no_template():
    shows_all = ChatTemplate(
        TEMPLATE.replace("(message.content or '')", "(message | tojson)"), dialect=None
    )
    noted = {**says({**call("{}"), "untemplate": {"state": "cut"}}), "untemplate": {"raw": "x"}}
    assert "untemplate" not in shows_all.turn([ASK, noted, ASK]).prompt
    assert "untemplate" not in shows_all.render([ASK, noted, ASK])


def test_tools_may_be_shown_in_other_words(template):
    shown = Tool(TOOL.name, "Short.", {"type": "object"})
    turn = template.turn([ASK], tools=[TOOL], shown=[shown])
    assert "Short." in turn.prompt
    assert "path" not in turn.prompt
    assert turn.grammar.tools == (TOOL,)


def test_a_conversation_is_planned_with_the_template_and_the_vocabulary(template):
    vocabulary = byte_vocabulary(["<|im_start|>", "<|im_end|>"], eos="<|im_end|>")
    pinned = {"role": "user", "content": "Never forget.", "untemplate": {"pinned": True}}
    talk = [{"role": r, "content": "x" * 99} for r in ("user", "assistant")] * 20
    plan = template.plan([pinned, *talk, ASK], [TOOL], vocabulary, context=2000, results=50)
    turn = template.turn(plan.messages, tools=plan.tools, shown=plan.shown)
    assert len(turn.prompt_tokens(vocabulary)) == plan.prompt <= 2000 - plan.output - 50
    assert plan.kept[0] == 0
    assert plan.kept[-1] == 41
    assert len(plan.kept) < 42
    assert plan.output >= 256


def test_a_field_that_is_named_goes_on_even_when_it_is_empty():
    prompt = QWEN3.prompts[0]
    message = {"role": "assistant", "content": "", "reasoning_content": "Hm."}
    assert written_so_far(QWEN3, prompt, message) == "<think>\nHm."
    assert written_so_far(QWEN3, prompt, message, "reasoning_content") == "<think>\nHm."
    assert written_so_far(QWEN3, prompt, message, "content") == "<think>\nHm.\n</think>\n\n"
