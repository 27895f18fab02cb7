import json

import pytest

from dialects import CODER, HERMES, QWEN3
from untemplate.budget.typical import typical_arguments
from untemplate.budget.window import Window, reply_tokens, too_small, windows
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.vocabulary import byte_vocabulary

VOCABULARY = byte_vocabulary(["<|im_end|>"], eos="<|im_end|>")
CITY = Tool(
    "weather",
    "",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
BARE = Tool("bare", "", {"type": "object", "properties": {}, "additionalProperties": False})


def grammar(dialect, *tools, choice=None, **options):
    return build_grammar(dialect, tools, choice, options=GrammarOptions(**options))


def test_the_least_is_the_smallest_call_and_the_end_token():
    (window,) = windows(grammar(HERMES, CITY), VOCABULARY)
    smallest = '<tool_call>\n{"name": "weather", "arguments": {"city":"xx"}}\n</tool_call>'
    assert window.least == len(smallest) + 1
    assert not window.is_exact


def test_tags_take_more_than_json():
    (json_window,) = windows(grammar(HERMES, CITY), VOCABULARY)
    (tag_window,) = windows(grammar(CODER, CITY), VOCABULARY)
    assert tag_window.least > json_window.least


def test_a_call_without_a_choice_is_exact():
    (window,) = windows(grammar(HERMES, BARE, whitespace="exact"), VOCABULARY)
    assert window.is_exact
    assert window.typical == window.least


def test_the_typical_call_has_optional_arguments_as_the_dialect_writes_them():
    (window,) = windows(grammar(HERMES, CITY), VOCABULARY)
    arguments = json.dumps(typical_arguments(CITY.parameters))
    call = f'<tool_call>\n{{"name": "weather", "arguments": {arguments}}}\n</tool_call>'
    assert window.typical == len(call) + 1


def test_sizes_are_learnt_from_the_conversation():
    def call(city):
        function = {"name": "weather", "arguments": json.dumps({"city": city})}
        return {"role": "assistant", "tool_calls": [{"id": "a", "function": function}]}

    history = [call("x" * size) for size in range(100, 120)]
    history.append({"role": "assistant", "tool_calls": [{"function": {"name": "weather"}}, 7]})
    (window,) = windows(grammar(HERMES, CITY), VOCABULARY, history)
    assert window.seen == 20
    overhead = len('<tool_call>\n{"name": "weather", "arguments": {"city": ""}}\n</tool_call>') + 1
    assert window.typical == overhead + 118


def test_the_choice_says_which_tools_have_a_window():
    both = [CITY, BARE]
    assert [w.tool for w in windows(grammar(HERMES, *both), VOCABULARY)] == ["weather", "bare"]
    named = ToolChoice("required", "bare")
    assert [w.tool for w in windows(grammar(HERMES, *both, choice=named), VOCABULARY)] == ["bare"]
    assert windows(grammar(HERMES, *both, choice=ToolChoice("none")), VOCABULARY) == ()


def test_reasoning_that_the_prompt_opened_has_to_be_closed():
    open_prompt = QWEN3.prompts[2]
    inside = build_grammar(QWEN3, (CITY,), prompt=open_prompt)
    (plain,), (after,) = windows(grammar(QWEN3, CITY), VOCABULARY), windows(inside, VOCABULARY)
    # White space at the borders of reasoning may be left out.
    assert plain.least + len("</think>") <= after.least <= plain.least + len("\n</think>\n\n")


def test_a_call_of_the_least_size_is_always_reached():
    from untemplate.constrain import compile_grammar

    named = ToolChoice("required", "weather", parallel=False)
    turn = grammar(HERMES, CITY, choice=named)
    (window,) = windows(turn, VOCABULARY)
    assert compile_grammar(turn, VOCABULARY).constraint().min_tokens() == window.least


@pytest.mark.parametrize(
    ("choice", "room", "expected"),
    [
        (ToolChoice(), 9000, 9000),
        (ToolChoice("required"), 9000, 4000),
        (ToolChoice("required", parallel=False), 9000, 2000),
        (ToolChoice("required"), 300, 300),
    ],
)
def test_how_long_a_reply_may_get(choice, room, expected):
    found = [Window("a", 20, 100), Window("b", 50, 1000)]
    assert reply_tokens(found, choice, room) == expected
    assert reply_tokens(found[:1], ToolChoice("required"), 9000) == 512


def test_tools_whose_calls_do_not_fit():
    found = [Window("a", 20, 100), Window("b", 50, 1000)]
    assert too_small(found, 20) == (found[1],)
    assert too_small(found, 50) == ()


def test_typical_arguments_follow_the_schema():
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 40},
            "when": {"type": "string", "format": "date"},
            "n": {"type": "integer", "maximum": 7},
            "x": {"type": ["null", "number"]},
            "tags": {"type": "array", "items": {"enum": ["a", "bb", "ccc"]}, "minItems": 3},
            "to": {"$ref": "#/$defs/person"},
            "way": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
            "fast": {"type": "boolean", "default": False},
            "sample": {"type": "string", "examples": ["so"]},
            "whole": {"allOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {}}}]},
        },
        "required": ["text"],
        "$defs": {"person": {"type": "object", "properties": {"name": {"type": "null"}}}},
    }
    value = typical_arguments(schema)
    assert len(value.pop("text")) == 40
    assert len(value["whole"].pop("b")) == 24
    assert value == {
        "when": "2026-03-14",
        "n": 7,
        "x": 42.5,
        "tags": ["bb", "bb", "bb"],
        "to": {"name": None},
        "way": True,
        "sample": "so",
        "whole": {"a": 1},
    }


def test_typical_arguments_of_odd_schemas():
    loop = {"properties": {"a": {"$ref": "#"}}}
    assert isinstance(typical_arguments(loop), dict)
    assert typical_arguments({"properties": {"a": True, "b": {"$ref": "#/no/where"}}})
    assert typical_arguments({"type": "string"}) == {}
