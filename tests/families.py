"""Every dialect there is, by name: written by hand for the tests, written down, and inferred.

    for name in names():           # the names cost nothing
        dialect = family(name)     # inferred when asked for, once

`SOME` is one for each shape of call, for `make test`; the laws take all.
"""

from functools import cache

import pytest

from corpus import corpus_dir
from dialects import ALL
from interleaved import INTERLEAVED
from untemplate.dialect import END, Dialect, read_given
from untemplate.inference import analyse
from untemplate.template.rendering import CompiledTemplate

SOME = (
    "hermes",
    "qwen3",
    "nemo",
    "coder",
    "deepseek",
    "Apertus-8B-Instruct",
    "Cohere2MoE",
    "GLM-4.6",
    "HuggingFaceTB-SmolLM3-3B",
    "Kimi-K2-Instruct",
    "LFM2.5-8B-A1B",
    "MiniMax-M3",
    "deepseek-ai-DeepSeek-V3.2",
    "fireworks-ai-llama-3-firefunction-v2",
    "google-gemma-4-31B-it",
    "meetkai-functionary-medium-v3.2",
    "meta-llama-Llama-3.1-8B-Instruct",
    "mistralai-Ministral-3-14B-Reasoning-2512",
    "openai-gpt-oss-120b",
    "made for test by id",
)
"""JSON in tags, behind a name, in an array, in a list behind a marker; tagged, nested, Python's."""


def is_whole(dialect: Dialect) -> bool:
    """Whether it says all of a turn; a written-down one may only add to an inferred one."""
    named = {b for e in dialect.edges for b in (e.source, e.target)} - {END}
    named |= {o.block for p in dialect.prompts for o in p.openings}
    return bool(dialect.prompts) and named <= dialect.blocks.keys() >= {"call"}


@cache
def _known() -> dict[str, Dialect]:
    given = {g.name: g.dialect for g in read_given() if is_whole(g.dialect)}
    return {**ALL, **INTERLEAVED, **given}


def names() -> list[str]:
    """All names; without a corpus those that need none."""
    try:
        templates = sorted(p.stem for p in (corpus_dir() / "templates").glob("*.jinja"))
    except pytest.skip.Exception:
        templates = []
    return [*_known(), *templates]


@cache
def family(name: str) -> Dialect:
    """The dialect of this name."""
    if name in _known():
        return _known()[name]
    source = (corpus_dir() / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
    template = CompiledTemplate(source, bos_token="<s>", eos_token="</s>")
    return analyse(template, messages=6).dialect


FAMILIES = [n if n in SOME else pytest.param(n, marks=pytest.mark.laws) for n in names()]
"""All names, for `parametrize`: `make laws` adds to what `make test` takes."""
