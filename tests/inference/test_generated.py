"""Fuzzing: inference over templates that nobody wrote."""

import pytest

from generated_templates import draw
from untemplate.inference import analyse
from untemplate.template.rendering import CompiledTemplate


def check(seed):
    drawn = draw(seed)
    analysis = analyse(CompiledTemplate(drawn.source, bos_token="", eos_token=""), messages=6)
    proof = analysis.proof
    assert ": written as" not in proof.first_difference, (seed, drawn.source)
    return drawn, analysis


@pytest.mark.parametrize("seed", range(30))
def test_a_drawn_template_is_written_as_it_writes(seed):
    drawn, analysis = check(seed)
    if "generic" not in analysis.source:
        assert ("reasoning" in analysis.dialect.blocks) == drawn.reasoning
        assert (analysis.dialect.calls_max is None) == drawn.parallel


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(30, 1030))
def test_law_01_holds_for_drawn_templates(seed):
    check(seed)
