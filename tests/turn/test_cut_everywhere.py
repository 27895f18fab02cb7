"""Outputs of real templates cut after every byte: nothing wrong, nothing lost, the cut named."""

import contextlib
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from corpus import corpus_dir
from untemplate.dialect import END, CallBlock, write_calls
from untemplate.errors import TemplateError
from untemplate.message import Tool, ToolCall
from untemplate.reader import deltas
from untemplate.turn import ChatTemplate

NOW = datetime(2026, 3, 14, tzinfo=UTC)
SAID = {"description": "Said."}
TOOL = Tool(
    "pay_out",
    "Pays",
    {
        "type": "object",
        "properties": {
            "to": {"type": "string", **SAID},
            "amount": {"type": "integer", **SAID},
            "memo": {"type": "string", **SAID},
            "tags": {"type": "array", "items": {"type": "string"}, **SAID},
            "sure": {"type": "boolean", **SAID},
        },
        "required": ["to", "amount", "memo"],
    },
)
ARGUMENTS = [
    {"to": 'Zoë "Z"\\n\n🙂', "amount": 120, "memo": "</x> {a}", "tags": ["a", "b c"], "sure": True},
    {"to": "x", "amount": -5, "memo": "", "sure": False},
]
USER = {"role": "user", "content": "Pay them."}
SOME = ["Qwen-Qwen3-0.6B", "Qwen3-Coder", "GLM-4.6", "google-gemma-4-31B-it", "openai-gpt-oss-120b"]
SOME += ["deepseek-ai-DeepSeek-V3.1", "mistralai-Mistral-Nemo-Instruct-2407", "LFM2.5-8B-A1B"]


def written(template, arguments):
    """What the model writes in such a turn: as its dialect says, and so as templates mostly do."""
    calls = [
        ToolCall(number, f"abcdefgh{number}", TOOL.name, json.dumps(value))
        for number, value in enumerate(arguments)
    ]
    grammar = begin(template).grammar
    dialect = replace(grammar.dialect, written={})
    name = next(n for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    ways = [o.literal for o in grammar.prompt.openings if o.block == name]
    for opening in grammar.prompt.openings:
        ways += [
            opening.literal + e.literal
            for e in dialect.edges_from(opening.block)
            if e.target == name
        ]
    end = next((e.literal for e in dialect.edges_from(name) if e.target == END), "")
    return (ways[0] + write_calls(dialect, name, calls) + end).encode()


def begin(template):
    return template.turn([USER], tools=[TOOL], nonce="n", now=NOW)


def read(template, data):
    turn = begin(template)
    turn.feed(data)
    return turn.finish("length")


def settled(call):
    """Values that the call says are whole, by name."""
    received = json.loads(call.arguments + call.closing)
    return {
        name: value
        for name, value in received.items()
        if call.arguments_state.get(f"/{name}") == "complete"
    }


def check(template):
    """Cut after every byte, read at once and byte by byte; the number of cuts."""
    again = any(e.source == e.target for e in template.dialect.edges)
    most = template.dialect.calls_max if again else 1
    expected = ARGUMENTS[:most]
    data = written(template, expected)
    turn = begin(template)
    turn.feed(data)
    whole = turn.finish("stop")
    if [json.loads(c.arguments) for c in whole.tool_calls] != expected:
        return 0  # the dialect lists what it loses; other tests hold it
    stream, told, before = begin(template), [], {}
    for size in range(1, len(data) + 1):
        told += stream.feed(data[size - 1 : size])
        message = read(template, data[:size])
        again = begin(template)
        for at in range(0, size, 7):
            again.feed(data[at : min(at + 7, size)])
        assert again.finish("length") == message
        for call in message.tool_calls:
            values = settled(call)
            expected = json.loads(whole.tool_calls[call.index].arguments)
            assert values.items() <= expected.items()
            received = json.loads(call.arguments + call.closing)
            for name in received.keys() - values.keys():
                # What is not whole is the beginning of a string, or a list that is open.
                assert isinstance(received[name], str | list)
                if isinstance(received[name], str):
                    assert expected[name].startswith(received[name])
            assert before.get(call.index, {}).items() <= values.items()
            before[call.index] = values
            if call.state == "complete":
                assert values == expected
            else:
                assert call is message.tool_calls[-1]
                assert message.end == "cut"
                lacking = {"to", "amount", "memo"} - values.keys()
                assert all(
                    any(p == f"/{n}" or p.startswith(f"/{n}/") for p in call.arguments_state)
                    for n in lacking
                )
        assert before.keys() == {c.index for c in message.tool_calls}
    sent = [c for d in deltas([*told, *stream.finish_events()]) for c in d.tool_calls]
    for call in whole.tool_calls:
        pieces = "".join(c.arguments for c in sent if c.index == call.index)
        assert call.arguments.startswith(pieces)
    return len(data)


@pytest.mark.parametrize("name", SOME)
def test_law_17_18_19_an_output_cut_anywhere(name):
    source = (corpus_dir() / "templates" / f"{name}.jinja").read_text("utf-8")
    assert check(ChatTemplate(source)) > 100


@pytest.mark.laws
def test_law_17_18_19_outputs_of_every_template_cut_anywhere():
    checked = 0
    for path in sorted((corpus_dir() / "templates").glob("*.jinja")):
        template = ChatTemplate(path.read_text("utf-8"))
        with contextlib.suppress(TemplateError):  # it wants variables that nobody gives here
            checked += check(template) > 0
    assert checked >= 60
