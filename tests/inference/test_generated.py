"""Fuzzing: inference over templates that nobody wrote."""

import pytest

from generated_templates import draw
from untemplate.inference import analyse
from untemplate.template.rendering import CompiledTemplate


def check(seed):
    """Every drawn template is proved as it was drawn, or it is said where it is not."""
    drawn = draw(seed)
    analysis = analyse(CompiledTemplate(drawn.source, bos_token="", eos_token=""), messages=8)
    if drawn.runs and not analysis.proof.proved:
        assert analysis.proof.first_difference
        return
    assert analysis.proof.proved, (seed, analysis.proof.first_difference, drawn.source)
    assert analysis.source == "inferred", (seed, analysis.notes, drawn.source)
    assert ("reasoning" in analysis.dialect.blocks) == drawn.reasoning
    assert (analysis.dialect.calls_max is None) == drawn.parallel


@pytest.mark.parametrize("seed", range(40))
def test_a_drawn_template_is_proved(seed):
    check(seed)


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(40, 1040))
def test_law_01_holds_for_drawn_templates(seed):
    check(seed)
