"""Law 10 over all templates with the vocabularies of real models, as their tokenizers spell."""

import functools
import json
import os
import random
import re
from pathlib import Path

import numpy as np
import pytest

from constrain.judging import written
from constrain.test_corpus_schemas import dialects, schemas
from untemplate.constrain import compile_grammar
from untemplate.errors import VocabularyError
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.vocabulary import Vocabulary
from untemplate.vocabulary.huggingface import from_hf


@functools.cache
def vocabulary(name: str) -> Vocabulary:
    cache = os.environ.get("UNTEMPLATE_TOKENIZERS") or Path.home() / ".cache/untemplate/tokenizers"
    folder = Path(cache) / name
    if not folder.is_dir():
        pytest.skip(f"no tokenizer in {folder}: `python -m bench.mask` fetches it")
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    return from_hf(folder)


@pytest.mark.laws
@pytest.mark.parametrize("name", ["llama3_1", "qwen3"])
def test_law_10_every_template_in_real_tokens(name):
    v = vocabulary(name)
    rng = random.Random(10)
    good = [r for r in schemas("bfcl") if any(t["valid"] for t in r["tests"])]
    done = 0
    for dialect in dialects():
        for row in rng.sample(good, 3):
            tool = Tool(re.sub(r"\W", "_", row["name"]), "", row["schema"])
            arguments = next(t["data"] for t in row["tests"] if t["valid"])
            turn = written(dialect, tool, arguments)
            if turn is None:
                continue
            prompt, text = turn
            grammar = build_grammar(dialect, (tool,), ToolChoice("auto"), prompt=prompt)
            try:
                constraint = compile_grammar(grammar, v).constraint()
            except VocabularyError:
                continue
            buffer = np.zeros(constraint.words, np.int32)
            ids = v.encode(text, special=True)
            for at, token_id in enumerate(ids):
                constraint.fill(buffer)
                assert buffer[token_id >> 5] >> (token_id & 31) & 1, (
                    dialect.stops,
                    v.bytes_of(ids[:at]).decode(errors="replace"),
                    v.tokens[token_id],
                    json.dumps(row["schema"])[:300],
                )
                assert constraint.advance(token_id)
            done += 1
    assert done > 150
