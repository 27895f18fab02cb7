"""Outputs of real templates cut after every byte: nothing wrong, nothing lost, the cut named."""

import contextlib
import json

import pytest

from corpus import corpus_dir
from cut_outputs import begin, check_cut, most_calls, read, written
from untemplate.errors import TemplateError
from untemplate.reader import Reader, deltas
from untemplate.turn import ChatTemplate

ARGUMENTS = [
    {"to": 'Zoë "Z"\\n\n🙂', "amount": 120, "memo": "</x> {a}", "tags": ["a", "b c"], "sure": True},
    {"to": "x", "amount": -5, "memo": "", "sure": False},
]
SOME = ["Qwen-Qwen3-0.6B", "Qwen3-Coder", "GLM-4.6", "google-gemma-4-31B-it", "openai-gpt-oss-120b"]
SOME += ["deepseek-ai-DeepSeek-V3.1", "mistralai-Mistral-Nemo-Instruct-2407", "LFM2.5-8B-A1B"]


def check(template):
    """Cut after every byte, read at once and byte by byte; the number of cuts."""
    expected = ARGUMENTS[: most_calls(template.dialect)]
    grammar = begin(template).grammar
    data = written(grammar, expected)
    whole = read(grammar, data, "stop")
    assert [json.loads(c.arguments) for c in whole.tool_calls] == expected
    stream, told, before = Reader(grammar, nonce="n"), [], {}
    for size in range(1, len(data) + 1):
        told += stream.feed(data[size - 1 : size])
        message = read(grammar, data[:size])
        again = Reader(grammar, nonce="n")
        for at in range(0, size, 7):
            again.feed(data[at : min(at + 7, size)])
        assert again.finish("length") == message
        check_cut(message, whole, before)
    stream.finish("length")
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
    assert checked >= 69
