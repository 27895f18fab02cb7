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


def compiled(path):
    return CompiledTemplate(path.read_text(encoding="utf-8"), bos_token="<s>", eos_token="</s>")


@pytest.mark.parametrize("path", sources(), ids=lambda p: p.stem)
def test_law_01_a_turn_is_written_and_read_as_the_template_writes_it(path):
    analysis = analyse(compiled(path), messages=8)
    assert analysis.proof.proved, analysis.proof.first_difference
    assert analysis.dialect.prompts
    assert analysis.dialect.stops
    assert "call" in analysis.dialect.blocks


@pytest.mark.laws
@pytest.mark.parametrize("path", sources(), ids=lambda p: p.stem)
def test_law_01_on_many_messages(path):
    analysis = analyse(compiled(path), seed=1, messages=200)
    assert analysis.proof.proved, analysis.proof.first_difference
