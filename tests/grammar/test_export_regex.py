"""The export as a regular expression: the language of the mask, where that is regular."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects import ALL, CODER, HERMES
from families import family
from untemplate.constrain import compile_grammar
from untemplate.errors import SchemaError
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.vocabulary import byte_vocabulary

PROPERTIES = {
    "city": {"type": "string"},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "unit": {"enum": ["c", "f", None]},
    "when": {"type": "array", "items": {"type": "number"}, "maxItems": 3},
}
TOOLS = (
    Tool("weather", "", {"type": "object", "properties": PROPERTIES, "required": ["city"]}),
    Tool("ping", "", {"type": "object", "properties": {}}),
)
DECLARED = GrammarOptions(key_order="declared")
CHOICES = (ToolChoice(), ToolChoice("required", parallel=False), ToolChoice("none"))
NAMES = ("hermes", "coder", "nemo", "deepseek", "LFM2-8B-A1B")


def drawn(compiled, rng: random.Random) -> bytes:
    constraint, vocabulary = compiled.constraint(), compiled.vocabulary
    row = np.zeros(constraint.words, np.int32)
    ids: list[int] = []
    left = constraint.min_tokens() + rng.choice((0, 20, 100))
    while not constraint.is_finished:
        constraint.fill(row, left - len(ids))
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        ids.append(int(rng.choice(allowed)))
        assert constraint.advance(ids[-1])
    return vocabulary.bytes_of(ids[:-1])


def takes(compiled, text: str) -> bool:
    constraint = compiled.constraint()
    return constraint.feed(text.encode()) and constraint.min_tokens() == 1


@pytest.mark.parametrize("choice", CHOICES, ids=["auto", "required", "none"])
@pytest.mark.parametrize("name", NAMES)
def test_law_11_what_a_mask_allows_matches_and_mutations_are_judged_alike(name, choice):
    dialect = ALL.get(name) or family(name)
    grammar = build_grammar(dialect, TOOLS, choice, options=DECLARED)
    export = grammar.regex()
    assert export.notes == ()
    expression = re.compile(export.text)
    vocabulary = byte_vocabulary(dialect.stops, eos=dialect.stops[0])
    compiled = compile_grammar(grammar, vocabulary)
    rng = random.Random(11)
    for _ in range(15):
        text = drawn(compiled, rng).decode()
        assert expression.fullmatch(text)
        # A marker that is a token is not spelt by its bytes, so those stay as they are.
        for at in rng.sample(range(len(text)), min(4, len(text))):
            changed = text[:at] + rng.choice('a1"{}<,\\\n ') + text[at + 1 :]
            assert bool(expression.fullmatch(changed)) is takes(compiled, changed), changed


@pytest.mark.laws
@settings(max_examples=50, deadline=None)
@given(st.data())
def test_law_11_what_matches_is_allowed(data):
    grammar = build_grammar(HERMES, TOOLS, ToolChoice("required", parallel=False), options=DECLARED)
    text = data.draw(st.from_regex(grammar.regex().text, fullmatch=True))
    assert takes(compile_grammar(grammar, byte_vocabulary(HERMES.stops, eos=HERMES.stops[0])), text)


@pytest.mark.parametrize("dialect", [HERMES, CODER])
def test_what_is_not_regular_is_refused_and_names_the_tool(dialect):
    tree = {"type": "object", "properties": {"kids": {"items": {"$ref": "#"}, "type": "array"}}}
    for schema in (tree, {"type": "object", "properties": {"any": {"type": "object"}}}):
        grammar = build_grammar(dialect, (Tool("grow", "", schema),))
        with pytest.raises(SchemaError, match=r"^tool grow: the language is not regular"):
            grammar.regex()
    assert build_grammar(dialect, (Tool("grow", "", tree),), ToolChoice("none")).regex().text
