"""All templates of the corpus: what is proved about each."""

import pytest

from corpus import corpus_dir
from untemplate.inference import analyse
from untemplate.template.rendering import CompiledTemplate


def sources():
    try:
        return sorted((corpus_dir() / "templates").glob("*.jinja"))
    except pytest.skip.Exception:
        return []


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.stem)
def test_law_01_a_turn_is_written_as_the_template_writes_it(path):
    template = CompiledTemplate(path.read_text(encoding="utf-8"), bos_token="<s>", eos_token="</s>")
    analysis = analyse(template, messages=8)
    assert ": written as" not in analysis.proof.first_difference
    assert ": the template refuses" not in analysis.proof.first_difference
    assert analysis.dialect.prompts
    assert analysis.dialect.stops
    assert any(b for b in analysis.dialect.blocks if b == "call")
