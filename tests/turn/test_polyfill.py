from datetime import UTC, datetime
from importlib.resources import files

import pytest

from corpus import template_source
from untemplate.dialect import loads
from untemplate.inference import analyse
from untemplate.message import Tool
from untemplate.template.rendering import CompiledTemplate
from untemplate.turn import ChatTemplate
from untemplate.turn.polyfill import polyfill, spell_calls

GENERIC = loads((files("untemplate.dialect") / "data/generic.json").read_text("utf-8"))
WEATHER = Tool(
    "get_weather",
    "Weather in a city",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["c", "f"]},
            "days": {"type": "array", "items": {"type": ["integer", "null"]}},
            "place": {"type": "object", "properties": {"lat": {"type": "number"}}},
        },
        "required": ["city"],
    },
)


def test_tools_are_described_in_the_system_turn_with_worked_examples_after_it():
    system, *examples, user = polyfill([{"role": "user", "content": "hi"}], [WEATHER], GENERIC)
    assert (
        '- get_weather(city: string, unit?: "c" | "f", days?: (integer | null)[], '
        "place?: {lat?: number}): Weather in a city" in system["content"]
    )
    assert [m["role"] for m in examples] == ["user", "assistant"] * 3
    assert user == {"role": "user", "content": "hi"}


def test_a_system_message_is_kept_before_the_tools():
    system = polyfill([{"role": "system", "content": "Be brief."}], [WEATHER], GENERIC)[0]
    assert system["content"].startswith("Be brief.\n\nYou have these tools:")


def test_without_tools_nothing_is_added():
    conversation = [{"role": "user", "content": "hi"}]
    assert polyfill(conversation, [], GENERIC) == conversation


def call(call_id, name, arguments):
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def test_earlier_calls_are_written_as_the_dialect_writes_them():
    calls = [call("1", "ping", "{}"), call("2", "get_weather", {"city": "Köln"})]
    said = {"role": "assistant", "content": "Sure.", "tool_calls": calls}
    assert polyfill([said], [], GENERIC) == [
        {
            "role": "assistant",
            "content": "Sure.\n"
            '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>\n'
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Köln"}}\n</tool_call>',
        }
    ]


def test_the_arguments_of_a_cut_call_are_written_as_far_as_they_came():
    said = {"role": "assistant", "content": None, "tool_calls": [call("1", "f", '{"a": "x')]}
    written = polyfill([said], [], GENERIC)[0]["content"]
    assert written == '<tool_call>\n{"name": "f", "arguments": {"a": "x}\n</tool_call>'


def test_results_become_one_user_turn():
    results = [{"role": "tool", "content": "1"}, {"role": "tool", "content": [{"text": "2"}]}]
    assert polyfill(results, [], GENERIC) == [
        {
            "role": "user",
            "content": "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>",
        }
    ]


def content_after_calls(name, *calls, content="", before=()):
    function = {"name": "f", "arguments": '{"x": "y"}'}
    made = [{"id": f"c{n}", "type": "function", "function": function} for n in range(*calls)]
    answer = {"role": "assistant", "content": content, "tool_calls": made}
    dialect = analyse(CompiledTemplate(template_source(name))).dialect
    return spell_calls([{"role": "user", "content": "hi"}, *before, answer], dialect)[-1]


@pytest.mark.parametrize(
    ("name", "content", "written"),
    [
        ("LFM2-8B-A1B", "", "<|tool_call_start|>[f(x='y')]<|tool_call_end|>"),
        ("LFM2-8B-A1B", "So", "So<|tool_call_start|>[f(x='y')]<|tool_call_end|>"),
        (
            "ibm-granite-granite-3.3-2B-Instruct",
            "",
            '<|tool_call|>[{"name": "f", "arguments": {"x": "y"}}]',
        ),
        (
            "llama-cpp-deepseek-r1",
            "So",
            (
                "So<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n"
                '{"x": "y"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
            ),
        ),
    ],
)
def test_calls_that_a_template_leaves_out_of_history_become_content(name, content, written):
    spelt = content_after_calls(name, 1, content=content)
    assert spelt == {"role": "assistant", "content": written}


def test_calls_that_a_template_writes_stay_as_they_are():
    assert "tool_calls" in content_after_calls("Qwen3-Coder", 3)
    assert "tool_calls" in content_after_calls("llama-cpp-deepseek-r1", 1)


def test_calls_that_a_template_writes_in_one_place_only_become_content_in_others():
    name = "deepseek-ai-DeepSeek-R1-Distill-Llama-8B"
    assert "tool_calls" in content_after_calls(name, 2)
    assert "tool_calls" not in content_after_calls(name, 3)
    result = {"role": "tool", "tool_call_id": "c0", "content": "r"}
    assert "tool_calls" not in content_after_calls(name, 2, before=[result])


def test_tools_that_a_template_does_not_show_are_described_with_a_call_of_its_own_form():
    template = ChatTemplate(template_source("deepseek-ai-DeepSeek-V3.1"))
    turn = template.turn([{"role": "user", "content": "hi"}], tools=[WEATHER])
    assert '{"name": "get_weather", "description": "Weather in a city"' in turn.prompt
    assert (
        '<｜tool▁call▁begin｜>TOOL<｜tool▁sep｜>{"NAME": "VALUE"}<｜tool▁call▁end｜>' in turn.prompt
    )
    assert turn.changes == ("tools: they are described in words: the template shows none",)
    assert "TOOL" not in template.turn([{"role": "user", "content": "hi"}]).prompt


def test_content_beside_reasoning_and_calls_is_told_as_reasoning_where_it_is_refused():
    template = ChatTemplate(template_source("openai-gpt-oss-120b"))
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    answer = {"role": "assistant", "content": "Let me see.", "reasoning_content": "Hm."}
    asked = [{"role": "user", "content": "hi"}, {**answer, "tool_calls": [call]}]
    result = {"role": "tool", "tool_call_id": "c", "content": "r"}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    turn = template.turn([*asked, result], tools=[WEATHER], now=now)
    assert "<|channel|>analysis<|message|>Hm.\n\nLet me see.<|end|>" in turn.prompt
    assert turn.changes[0].startswith("messages[1]: content is told as reasoning")


def test_strings_that_a_template_puts_into_quotes_as_they_are_are_escaped_for_it():
    template = ChatTemplate(template_source("LFM2.5-8B-A1B"))
    arguments = {"city": "it's \\ here\n", "days": [1]}
    call = {"function": {"name": "get_weather", "arguments": arguments}}
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    text = template.render([{"role": "user", "content": "hi"}, answer], [WEATHER])
    assert r"get_weather(city='it\'s \\ here\n', days=[1])" in text


def test_reasoning_that_the_model_opens_though_the_prompt_closed_it_is_read():
    template = ChatTemplate(template_source("poolside-Laguna-XS-2.1"))
    turn = template.turn([{"role": "user", "content": "hi"}])
    assert turn.prompt.endswith("</think>")
    turn.feed(b"\n<think>\nHm.\n</think>\nSo.\n</assistant>")
    message = turn.finish("stop")
    assert (message.reasoning_content, message.content) == ("Hm.", "So.")
