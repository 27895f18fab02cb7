"""Law 15: what a vocabulary can't spell is refused when the grammar is compiled, and named."""

import random

import numpy as np
import pytest

from constrain.judging import ANSWERS, calls_in
from constrain.test_corpus_schemas import WIDE, schemas
from constrain.test_law_10_templates import vocabulary as known
from constrain.test_laws import CHOICES, allowed, choose_open, run
from dialects import CODER, HERMES
from untemplate.constrain import compile_grammar
from untemplate.dialect import JsonText, Whole
from untemplate.errors import VocabularyError
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.vocabulary import TokenKind, Vocabulary
from untemplate.vocabulary.from_gguf import from_gguf


def without(*missing: int) -> Vocabulary:
    """All bytes but these, an empty piece, and the end."""
    tokens = [bytes([b]) for b in range(256) if b not in missing] + [b"", b"<|im_end|>"]
    kinds = [TokenKind.NORMAL] * (len(tokens) - 1) + [TokenKind.CONTROL]
    return Vocabulary(tuple(tokens), bytes(kinds), eos=len(tokens) - 1)


LACKING = (0x04, 0x06, 0x13, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100))
"""As small vocabularies do: some control characters, and bytes that begin no character of text."""


@pytest.mark.parametrize(
    ("schema", "place", "shown"),
    [
        ({"required": ["a\x04"]}, "tool f #/required", "04"),
        ({"properties": {"x": {"const": "\U00040000"}}}, "tool f #/properties/x/const", "f1"),
        ({"properties": {"x": {"enum": ["\x13", "\x06"]}}}, "tool f #/properties/x/enum", "13"),
    ],
)
def test_what_has_no_spelling_is_named(schema, place, shown):
    grammar = build_grammar(CODER, (Tool("f", "", schema),), ToolChoice("required"))
    with pytest.raises(VocabularyError) as refused:
        compile_grammar(grammar, without(*LACKING))
    assert refused.value.place == place
    assert refused.value.message == f"the vocabulary has no token for the bytes {shown}"


def test_a_tool_whose_name_has_no_spelling_is_named():
    grammar = build_grammar(HERMES, (Tool("fine"), Tool("qu")))
    with pytest.raises(
        VocabularyError, match=r"tool qu: the vocabulary has no token for .* 71, 75"
    ):
        compile_grammar(grammar, without(0x71, 0x75))


def test_an_answer_without_a_spelling_is_named():
    grammar = build_grammar(ANSWERS, response_schema={"const": "a{"})
    with pytest.raises(VocabularyError, match=r"response_schema #/const: .* bytes 7b"):
        compile_grammar(grammar, without(0x7B))


def test_json_spells_such_characters_by_their_code():
    values = {"enum": ["\U00040000", "\x06"]}
    schema = {"type": "object", "properties": {"x\x04": values}, "required": ["x\x04"]}
    grammar = build_grammar(
        calls_in(Whole(JsonText())), (Tool("f", "", schema),), ToolChoice("required")
    )
    vocabulary = without(*LACKING)
    written = run(compile_grammar(grammar, vocabulary), 0, random.Random(1), choose_open)
    text = vocabulary.bytes_of(written).decode()
    assert "x\\u0004" in text


def test_no_mask_is_empty_and_no_empty_piece_is_allowed():
    vocabulary = without(*LACKING)
    tool = Tool("f", "", {"properties": {"x": {"type": "string"}}, "required": ["x"]})
    for dialect in (HERMES, CODER):
        compiled = compile_grammar(build_grammar(dialect, (tool,)), vocabulary)
        for seed in range(5):
            run(compiled, 60, random.Random(seed), choose_open)
        constraint = compiled.constraint()
        row = np.zeros(constraint.words, np.int32)
        constraint.fill(row)
        assert vocabulary.tokens.index(b"") not in allowed(row, vocabulary.size)


def with_empty(vocabulary: Vocabulary, count: int) -> Vocabulary:
    """As models have it whose logits are wider than their vocabulary."""
    tokens, kinds = (
        (*vocabulary.tokens, *[b""] * count),
        [*vocabulary.kinds, *[TokenKind.NORMAL] * count],
    )
    return Vocabulary(tokens, bytes(kinds), eos=vocabulary.eos, encode=vocabulary.encode)


def draw_all(vocabulary: Vocabulary, turns: int) -> None:
    """Turns drawn in all ways: no mask is empty, and none allows what has no bytes or no place."""
    rng = random.Random(15)
    named = {*vocabulary.ends, *vocabulary.special.values()}
    never = [
        n
        for n, token in enumerate(vocabulary.tokens)
        if not token or (vocabulary.kinds[n] != TokenKind.NORMAL and n not in named)
    ]
    for number in range(turns):
        row = rng.choice(schemas("bfcl"))
        tool = Tool("f", "", row["schema"])
        dialect = (HERMES, CODER)[number % 2]
        compiled = compile_grammar(
            build_grammar(dialect, (tool,), ToolChoice("required")), vocabulary
        )
        name = rng.choice(list(CHOICES))

        def choose(ids, vocabulary, rng, name=name):
            assert ids
            assert set(never).isdisjoint(ids)
            return CHOICES[name](ids, vocabulary, rng)

        assert run(compiled, rng.choice((0, 1, 3, 10, 30)), rng, choose)[-1] in vocabulary.ends


def test_law_15_with_271_empty_pieces():
    draw_all(with_empty(WIDE, 271), 4)


@pytest.mark.model
def test_law_15_with_a_vocabulary_that_lacks_bytes(model_path):
    v = from_gguf(model_path)
    missing = sorted(set(range(256)) - {token[0] for token in v.tokens if len(token) == 1})
    assert len(missing) == 21
    draw_all(v, 2)
    lacking = chr(missing[0])
    tool = Tool("f", "", {"properties": {"x": {"const": f"a{lacking}"}}, "required": ["x"]})
    with pytest.raises(VocabularyError) as refused:
        compile_grammar(build_grammar(CODER, (tool,), ToolChoice("required")), v)
    assert refused.value.place == "tool f #/properties/x/const"
    assert refused.value.message.endswith(f"the bytes {missing[0]:02x}")
    # JSON has another spelling of it.
    assert compile_grammar(build_grammar(HERMES, (tool,), ToolChoice("required")), v)


@pytest.mark.laws
def test_law_15_with_the_vocabulary_of_qwen():
    v = known("qwen3")
    draw_all(with_empty(v, 271), 60)


@pytest.mark.laws
@pytest.mark.model
def test_law_15_with_the_vocabulary_of_smollm2(model_path):
    draw_all(from_gguf(model_path), 60)
