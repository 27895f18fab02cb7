import pytest

from dialects import CODER, DEEPSEEK, HERMES, NEMO
from interleaved import MADE_FOR_TEST_BY_ID
from untemplate.dialect import CallBlock, History, Hole, Opening
from untemplate.dialect.response_template import from_response_template, to_response_template
from untemplate.errors import DialectError


def with_header(dialect, header="<|im_start|>assistant\n"):
    from dataclasses import replace

    history = History("user", "nothing", header, (), (Opening("content"),))
    return replace(dialect, history=(history,))


def test_json_in_tags_is_said_in_full():
    said = to_response_template(with_header(HERMES))
    assert said.unsaid == ()
    assert said.template == {
        "version": 1,
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "content": {"close": ["<|im_end|>"], "repeats": True, "join": ""},
            "tool_calls": {
                "open": "<tool_call>",
                "close": "</tool_call>",
                "content": "json",
                "repeats": True,
                "transform": {
                    "type": "function",
                    "function": {"name": "{content.name}", "arguments": "{content.arguments}"},
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("dialect", "lost"),
    [(NEMO, "ids"), (CODER, "types of arguments"), (MADE_FOR_TEST_BY_ID, "written in turns")],
)
def test_what_can_not_be_said_is_listed(dialect, lost):
    assert any(lost in line for line in to_response_template(with_header(dialect)).unsaid)


@pytest.mark.parametrize("dialect", [HERMES, NEMO, CODER, DEEPSEEK])
def test_what_is_written_is_read(dialect):
    read = from_response_template(to_response_template(with_header(dialect)).template)
    call = read.blocks["call"]
    assert isinstance(call, CallBlock)
    assert Hole.NAME in call.pattern
    assert type(call.arguments) is type(dialect.blocks["call"].arguments)


def test_a_template_of_another_kind_is_refused():
    with pytest.raises(DialectError, match="response_template: has no fields"):
        from_response_template({"version": 1})
    with pytest.raises(DialectError, match="calls of content 'kv-lines'"):
        from_response_template({"fields": {"tool_calls": {"open": "<a>", "content": "kv-lines"}}})
