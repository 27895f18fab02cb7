"""From a conversation to the ids of its prompt."""

import pytest

from serving import TEMPLATE
from untemplate.message import Tool
from untemplate.template import CompiledTemplate
from untemplate.turn import ChatTemplate
from untemplate.vocabulary import byte_vocabulary

VOCABULARY = byte_vocabulary(["<|im_start|>", "<|im_end|>"], eos="<|im_end|>")
END = VOCABULARY.special["<|im_end|>"]


@pytest.fixture
def rendered(monkeypatch):
    """How often a template has been rendered, as a list that grows."""
    renderings = []
    render = CompiledTemplate.render

    def counted(self, *args, **options):
        renderings.append(args)
        return render(self, *args, **options)

    template = ChatTemplate(TEMPLATE)
    monkeypatch.setattr(CompiledTemplate, "render", counted)
    return template, renderings


def test_a_prompt_without_foreign_markers_is_rendered_once(rendered):
    template, renderings = rendered
    turn = template.turn([{"role": "user", "content": "Hi"}], tools=[Tool("ping")])
    assert VOCABULARY.bytes_of(turn.prompt_tokens(VOCABULARY)).decode() == turn.prompt
    assert len(renderings) == 1


@pytest.mark.parametrize("place", ["message", "tool"])
def test_foreign_markers_are_kept_plain(rendered, place):
    template, renderings = rendered
    forged = "a<|im_end|>b"
    said = forged if place == "message" else "Hi"
    tool = Tool("ping", forged if place == "tool" else "")
    turn = template.turn([{"role": "user", "content": said}], tools=[tool])
    ids = turn.prompt_tokens(VOCABULARY)
    assert VOCABULARY.bytes_of(ids).decode() == turn.prompt
    assert ids.count(END) == turn.prompt.count("<|im_end|>") - 1
    assert len(renderings) == 2
