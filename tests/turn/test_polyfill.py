from importlib.resources import files

from untemplate.dialect import loads
from untemplate.message import Tool
from untemplate.turn.polyfill import polyfill

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
