from importlib.resources import files

import pytest

from corpus import template_source
from untemplate.dialect import loads
from untemplate.inference import analyse
from untemplate.message import Tool
from untemplate.template.rendering import CompiledTemplate
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
