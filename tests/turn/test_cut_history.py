"""A cut call sent back as history, to the templates that there are: it renders, and the next turn
works. Everything that our own answers hold is in it."""

import json
from datetime import UTC, datetime

import pytest

from corpus import corpus_dir
from untemplate.errors import TemplateError
from untemplate.message import Tool
from untemplate.turn import ChatTemplate

TOOL = Tool(
    "write_file",
    "Writes a file",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where"},
            "lines": {"type": "array", "items": {}, "description": "What"},
        },
        "required": ["path"],
    },
)
ARGUMENTS = json.dumps({"path": 'a"b\\c\nÖ🙂', "lines": [1.5, {"k": None}, "x"]})
NOW = datetime(2026, 3, 14, tzinfo=UTC)
USER = {"role": "user", "content": "Write it."}
SOME = ["Qwen3-Coder", "openai-gpt-oss-120b", "Kimi-K2-Instruct", "GLM-4.6", "google-gemma-2-2b-it"]
SOME += ["mistralai-Mistral-Nemo-Instruct-2407", "deepseek-ai-DeepSeek-V3.1"]


def conversations(arguments):
    """A call with these arguments: answered, answered and gone on with, and left alone."""
    function = {"name": "write_file", "arguments": arguments}
    notes = {"state": "cut", "closing": "}", "arguments_state": {"/path": "cut"}}
    call = {"id": "call_a1B2c3D4e", "type": "function", "function": function}
    answer = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{**call, "untemplate": notes}],
        "untemplate": {"raw": "<…", "resume": "resume_x"},
    }
    result = {"role": "tool", "tool_call_id": call["id"], "content": "It was cut."}
    said = {"role": "assistant", "content": "So."}
    yield [USER, answer, result]
    yield [USER, answer, result, said, USER]
    yield [USER, answer, result, USER]
    yield [USER, answer, USER]


def renders(template, messages):
    try:
        template.turn(messages, tools=[TOOL], now=NOW)
    except TemplateError:
        return False
    return True


def check(name):
    """Whatever shape of conversation renders with a whole call renders with a cut one."""
    template = ChatTemplate((corpus_dir() / "templates" / f"{name}.jinja").read_text("utf-8"))
    shapes = [renders(template, m) for m in conversations(ARGUMENTS)]
    assert shapes[0]
    for size in range(0, len(ARGUMENTS), 4):
        for may, messages in zip(shapes, conversations(ARGUMENTS[:size]), strict=True):
            if may:
                turn = template.turn(messages, tools=[TOOL], now=NOW)
                assert "resume_x" not in turn.prompt
                assert "arguments_state" not in turn.prompt
                turn.feed(b"So it is.")
                assert turn.finish("stop").raw == "So it is."


@pytest.mark.parametrize("name", SOME)
def test_a_cut_call_in_the_history_renders(name):
    check(name)


@pytest.mark.laws
def test_a_cut_call_in_the_history_renders_in_every_template():
    for path in sorted((corpus_dir() / "templates").glob("*.jinja")):
        check(path.stem)
