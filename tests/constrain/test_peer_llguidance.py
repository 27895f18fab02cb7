"""Our masks beside llguidance's, step by step, where both are exact.

These differences are explained, and nothing else may differ:

- Where bytes are forced, llguidance allows only the token that it would write itself; we allow
  every spelling of them.
- Escapes: we write every character that is not printable ASCII by its code as well, and none that
  is; llguidance takes the short escapes and control characters.
- llguidance refuses DEL as a character of a string; JSON does not.
- Our numbers end after 40 digits before or after the point, and after three of an exponent;
  llguidance's never have to.
- llguidance repeats keys in open objects.
"""

import gzip
import json
import random
import re

import numpy as np
import pytest

from constrain.test_laws import allowed
from constrain.vocabularies import wide_vocabulary
from corpus import corpus_dir
from grammar.peer_llama import byte_pieces
from untemplate.constrain import compile_grammar
from untemplate.dialect import END, Dialect, Edge, Opening, Prompt, TextBlock
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.vocabulary import Vocabulary

ANSWERS = Dialect(
    blocks={"only": TextBlock("content")},
    edges=(Edge("only", END, ""),),
    prompts=(Prompt("", (Opening("only"),)),),
    stops=(),
)
OPTIONS = GrammarOptions(whitespace="exact", key_order="declared")
LONG_NUMBER = re.compile(rb"([0-9]{36,}|[eE][-+]?[0-9]*)$")
KEY = re.compile(rb'("(?:[^"\\]|\\.)*"): ')
THEIRS = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    wide = wide_vocabulary(["<end>"], "<end>")
    # A vocabulary of theirs has each piece once.
    tokens = dict.fromkeys(wide.tokens)
    tokens.pop(b"<end>")
    return Vocabulary((*tokens, b"<end>"), bytes([1] * len(tokens) + [3]), eos=len(tokens))


@pytest.fixture(scope="module")
def tokenizer(vocabulary):
    """The same for llguidance."""
    llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed")
    pieces = byte_pieces()
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    vocab = {
        "".join(pieces[b] for b in data): token_id
        for token_id, data in enumerate(vocabulary.tokens[:-1])
    }
    end = {"id": vocabulary.eos, "content": "<end>", "special": True, "normalized": False}
    end |= {"single_word": False, "lstrip": False, "rstrip": False}
    file = {
        "version": "1.0",
        "added_tokens": [end],
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": False},
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }
    return llguidance.LLTokenizer(json.dumps(file), eos_token=vocabulary.eos)


def closed(schema):
    """The schema with its objects closed; only what both engines do exactly is left in."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {k: closed(v) for k, v in schema.items() if k not in ("description", "default")}
    if isinstance(found.get("properties"), dict):
        found["properties"] = {k: closed(v) for k, v in schema["properties"].items()}
        found["additionalProperties"] = False
    return found


def rows(count: int):
    path = corpus_dir() / "schemas/bfcl.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return random.Random(4).sample(found, count)


def unexplained(apart: set[bytes], written: bytes) -> set[bytes]:
    """Of the tokens that one of the two allows alone: those for which there is no reason."""
    keys = KEY.findall(written)
    is_long = LONG_NUMBER.search(written) is not None
    return {
        data
        for data in apart
        if b"\\" not in data
        and data != b"\x7f"
        and not (is_long and data[:1].isdigit())
        and not any(key in data for key in keys)
    }


def compare(schema, vocabulary: Vocabulary, tokenizer, rng: random.Random) -> tuple[int, int]:
    """Draws a value from our masks and compares each; how many were equal, and how many forced."""
    import llguidance

    matcher = llguidance.LLMatcher
    grammar = matcher.grammar_from_json_schema(json.dumps(schema), overrides=THEIRS)
    theirs = matcher(tokenizer, grammar, log_level=0)
    assert not theirs.is_error(), theirs.get_error()
    answer = build_grammar(ANSWERS, response_schema=schema, options=OPTIONS)
    ours = compile_grammar(answer, vocabulary).constraint()
    row = np.zeros(ours.words, np.int32)
    equal = forced = 0
    left = ours.min_tokens() + 40
    written = b""
    while not ours.is_finished and not theirs.is_stopped():
        ours.fill(row)
        mine = set(allowed(row, vocabulary.size))
        other = np.frombuffer(theirs.compute_bitmask(), np.uint8)
        other = set(np.flatnonzero(np.unpackbits(other, bitorder="little")).tolist())
        must = theirs.compute_ff_bytes()
        if must:
            forced += 1
            assert not unexplained({vocabulary.tokens[t] for t in other - mine}, written)
            for token_id in mine:
                data = vocabulary.tokens[token_id]
                assert data.startswith(must) or must.startswith(data), (data, must)
        else:
            equal += 1
            apart = {vocabulary.tokens[t] for t in mine ^ other}
            assert not unexplained(apart, written), (schema, written)
        ours.fill(row, left)
        # The one token that llguidance would write itself may not be on our nearest way.
        both = [t for t in allowed(row, vocabulary.size) if t in other] or sorted(mine & other)
        token_id = rng.choice(both)
        assert ours.advance(token_id)
        assert theirs.consume_token(token_id), (written, vocabulary.tokens[token_id])
        written += vocabulary.tokens[token_id]
        left -= 1
    return equal, forced


def test_masks_equal_those_of_llguidance(vocabulary, tokenizer):
    rng = random.Random(5)
    equal = forced = 0
    for row in rows(30):
        a, b = compare(closed(row["schema"]), vocabulary, tokenizer, rng)
        equal += a
        forced += b
    assert equal > 100
    assert forced > 100


@pytest.mark.laws
def test_masks_equal_those_of_llguidance_over_all_tools(vocabulary, tokenizer):
    rng = random.Random(6)
    for row in rows(400):
        compare(closed(row["schema"]), vocabulary, tokenizer, rng)
