"""Inference over the corpus: what is learnt from the template alone, and its proof."""

import pytest

from corpus import template_source
from dialects import CODER, DEEPSEEK, HERMES, NEMO, QWEN3
from untemplate.errors import DialectError
from untemplate.inference import analyse
from untemplate.inference.store import load
from untemplate.template.rendering import CompiledTemplate


def analysis_of(name, **more):
    return analyse(
        CompiledTemplate(template_source(name), bos_token="<s>", eos_token="</s>"), **more
    )


def edges(dialect):
    return {(e.source, e.target, e.literal) for e in dialect.edges}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Qwen-Qwen2.5-7B-Instruct", HERMES),
        ("Qwen-Qwen3-0.6B", QWEN3),
        ("mistralai-Mistral-Nemo-Instruct-2407", NEMO),
        ("Qwen3-Coder", CODER),
        ("deepseek-ai-DeepSeek-V3.1", DEEPSEEK),
    ],
)
def test_families_are_learnt_and_proved(name, wanted):
    analysis = analysis_of(name)
    assert analysis.proof.first_difference == ""
    assert analysis.proof.proved
    dialect = analysis.dialect
    assert dialect.blocks["call"].pattern == wanted.blocks["call"].pattern
    assert wanted.stops[0] in dialect.stops
    assert analysis.source.startswith("inferred")


def test_reasoning_is_opened_by_model_or_prompt_or_closed_by_the_prompt():
    dialect = analysis_of("Qwen-Qwen3-0.6B").dialect
    on, off = dialect.prompts[:2]
    assert {(o.block, o.literal) for o in on.openings} == {
        ("reasoning", "<think>\n"),
        ("content", ""),
        ("call", ""),
    }
    assert off.switches == {"enable_thinking": False}
    assert {(o.block, o.literal) for o in off.openings} == {("content", ""), ("call", "")}


def test_reasoning_that_history_never_shows_is_found_in_the_prompts():
    dialect = analysis_of("deepseek-ai-DeepSeek-V3.1").dialect
    assert ("reasoning", "content", "</think>") in edges(dialect)
    on = next(p for p in dialect.prompts if p.switches)
    assert [(o.block, o.literal) for o in on.openings] == [("reasoning", "")]


def test_content_that_history_drops_beside_calls_may_still_be_written():
    dialect = analysis_of("mistralai-Mistral-Nemo-Instruct-2407").dialect
    assert ("content", "call", "[TOOL_CALLS][") in edges(dialect)
    assert ("call", "$", "]") in edges(dialect)


def test_a_template_without_tools_gets_the_generic_dialect():
    source = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    analysis = analyse(CompiledTemplate(source))
    assert analysis.source == "inferred + generic"
    assert analysis.dialect.polyfill is not None
    assert analysis.dialect.stops == ("<|im_end|>",)
    assert ("content", "call", "\n") in edges(analysis.dialect)
    assert [(o.block, o.literal) for o in analysis.dialect.prompts[0].openings] == [
        ("content", ""),
        ("call", ""),
    ]


def test_the_second_analysis_is_the_first():
    assert analysis_of("Qwen3-Coder") is analysis_of("Qwen3-Coder")


class Memory(dict):
    """A cache of the caller's."""

    def put(self, key, text):
        self[key] = text


@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "google-gemma-4-31B-it", "Kimi-K3"])
def test_an_analysis_survives_being_kept(name):
    memory = Memory()
    first = analysis_of(name, seed=71, cache=memory)
    assert len(memory) == 1
    (text,) = memory.values()
    assert load(text) == first


def test_what_is_damaged_in_a_cache_is_made_again():
    class Damaged(Memory):
        def get(self, key):
            return '{"dialect": {"is": "Dialect"}}'

    memory = Damaged()
    assert analysis_of("Qwen3-Coder", seed=72, cache=memory).proof.checks
    assert len(memory) == 1


def test_a_file_that_is_no_chat_template_is_refused():
    with pytest.raises(DialectError, match="is it a chat template"):
        analyse(CompiledTemplate('{"a": 1}'))
