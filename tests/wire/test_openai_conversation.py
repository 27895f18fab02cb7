import pytest

from untemplate.errors import RequestError
from untemplate.message import Tool, ToolChoice
from untemplate.wire.openai.conversation import read_messages, read_tool_choice, read_tools


def test_messages_keep_keys_that_openai_does_not_know():
    messages = [
        {"role": "user", "content": "Hi", "cache_control": {"type": "ephemeral"}},
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": None},
    ]
    assert read_messages(messages) == messages


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ("hi", "messages: expected a list, not a string"),
        ([], "messages: expected at least one message"),
        (["hi"], "messages[0]: expected an object, not a string"),
        ([{}], "messages[0].role: expected a string, it is missing"),
        ([{"role": 7}], "messages[0].role: expected a string, not a number"),
        ([{"role": "user"}], "messages[0].content: expected text, or a list of text parts"),
        (
            [{"role": "user", "content": {"text": "x"}}],
            "messages[0].content: expected text, or a list of text parts",
        ),
        (
            [{"role": "user", "content": [{"type": "text"}]}],
            "messages[0].content[0].text: expected a string, it is missing",
        ),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            "messages[0].content[0].type: text only, not image_url; send a text part",
        ),
        (
            [{"role": "assistant", "tool_calls": {}}],
            "messages[0].tool_calls: expected a list, not an object",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"id": "1", "name": "x"}]}],
            "messages[0].tool_calls[0].function: expected an object, not null",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"name": "x", "arguments": 3}}]}],
            "messages[0].tool_calls[0].function.arguments: expected the arguments as JSON text",
        ),
    ],
)
def test_a_message_that_is_not_as_it_must_be_is_named(messages, error):
    with pytest.raises(RequestError) as caught:
        read_messages(messages)
    assert str(caught.value) == error


def test_tools_become_values():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [
        {"type": "function", "function": {"name": "ping"}},
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "Tells it",
                "parameters": schema,
                "strict": True,
            },
        },
    ]
    assert read_tools(tools) == (Tool("ping"), Tool("weather", "Tells it", schema, strict=True))
    assert read_tools(None) == ()


@pytest.mark.parametrize(
    ("tools", "error"),
    [
        ({}, "tools: expected a list, not an object"),
        ([[]], "tools[0]: expected an object, not a list"),
        ([{"type": "web_search"}], "tools[0].type: expected function, not 'web_search'"),
        ([{"type": "function"}], "tools[0].function: expected an object, not null"),
        ([{"function": {}}], "tools[0].function.name: expected a string, it is missing"),
        (
            [{"function": {"name": 'a"b'}}],
            "tools[0].function.name: expected up to 128 letters, digits or any of _ - . : /",
        ),
        (
            [{"function": {"name": "a"}}, {"function": {"name": "a"}}],
            "tools[1].function.name: two tools are named 'a'",
        ),
        (
            [{"function": {"name": "a", "parameters": []}}],
            "tools[0].function.parameters: expected an object, not a list",
        ),
        (
            [{"function": {"name": "a", "strict": "yes"}}],
            "tools[0].function.strict: expected true or false",
        ),
    ],
)
def test_a_tool_that_is_not_as_it_must_be_is_named(tools, error):
    with pytest.raises(RequestError) as caught:
        read_tools(tools)
    assert str(caught.value) == error


def test_tool_choices():
    named = {"type": "function", "function": {"name": "ping"}}
    assert read_tool_choice(None) == ToolChoice()
    assert read_tool_choice("none") == ToolChoice("none")
    assert read_tool_choice("required", parallel=False) == ToolChoice("required", parallel=False)
    assert read_tool_choice(named) == ToolChoice("required", "ping")
    with pytest.raises(RequestError, match=r"^tool_choice: expected"):
        read_tool_choice("ping")
