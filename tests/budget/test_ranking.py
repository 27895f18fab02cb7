import pytest

from conversations import call
from untemplate.budget.ranking import rank
from untemplate.message import Tool


def described(name, description="", **properties):
    return Tool(name, description, {"type": "object", "properties": properties})


TOOLS = [
    described("sendMail", "Sends a message", to={"type": "string"}),
    described("get_weather", "", city={"type": "string", "description": "Town or village"}),
    described("read_file", "Opens documents", path={"type": "string"}),
    described("suche", "在数据库中查找天气预报"),
]


@pytest.mark.parametrize(
    ("asked", "best"),
    [
        ("What is the weather like?", "get_weather"),
        ("send a mail to Anna", "sendMail"),
        ("which village?", "get_weather"),
        ("open this document", "read_file"),
        ("今天的天气预报", "suche"),
    ],
)
def test_the_words_of_the_last_turn_decide(asked, best):
    messages = [{"role": "user", "content": asked}]
    assert rank(TOOLS, messages)[0].name == best


def test_the_last_turn_counts_more_than_the_one_before():
    messages = [
        {"role": "user", "content": "the weather please"},
        {"role": "assistant", "content": "Sunny."},
        {"role": "user", "content": [{"type": "text", "text": "and a mail"}]},
    ]
    assert [t.name for t in rank(TOOLS, messages)][:2] == ["sendMail", "get_weather"]


def test_a_tool_that_was_called_comes_first():
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "tool_calls": [call("a", "read_file")]},
        {"role": "tool", "tool_call_id": "a", "content": "."},
        {"role": "user", "content": "weather"},
    ]
    assert rank(TOOLS, messages)[0].name == "read_file"


def test_without_a_hint_the_order_stays():
    assert list(rank(TOOLS, [])) == TOOLS
    assert list(rank([], [])) == []
