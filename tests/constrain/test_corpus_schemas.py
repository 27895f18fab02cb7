"""Laws 9, 14 and 15 over the schemas of the corpus, in every dialect there is."""

import functools
import gzip
import json
import random
import re

import jsonschema_rs
import pytest

from constrain.judging import ANSWERS
from constrain.test_laws import (
    SPECIALS,
    choose_any,
    choose_longest,
    choose_open,
    run,
)
from constrain.vocabularies import wide_vocabulary
from corpus import corpus_dir
from dialects import ALL
from untemplate.constrain import compile_grammar
from untemplate.dialect import CallBlock
from untemplate.errors import UntemplateError
from untemplate.grammar import Grammar, build_grammar
from untemplate.inference import analyse
from untemplate.message import Message, Tool, ToolChoice
from untemplate.reader import Reader
from untemplate.template.source import read_source

WIDE = wide_vocabulary([*SPECIALS, "<end>"])
BUDGETS = (0, 1, 3, 10, 100)
CHOICES = (choose_any, choose_longest, choose_open)


@functools.cache
def schemas(name):
    path = corpus_dir() / f"schemas/{name}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@functools.cache
def dialects():
    """Those written by hand, and those of all templates of the corpus that have calls."""
    paths = sorted((corpus_dir() / "templates").glob("*.jinja"))
    inferred = (analyse(read_source(p).compile(with_tools=True)).dialect for p in paths)
    return [
        d
        for d in (*ALL.values(), *inferred)
        if any(isinstance(b, CallBlock) for b in d.blocks.values())
    ]


def loads(text):
    """JSON; a number beyond what Python's floats hold is a number all the same."""
    return json.loads(text, parse_float=lambda digits: max(min(float(digits), 9e307), -9e307))


def read(grammar: Grammar, data: bytes) -> Message:
    reader = Reader(grammar, nonce="laws")
    reader.feed(data)
    return reader.finish("stop")


def calls_validate(row, dialect, rng, extra, choose):
    """Draws one call of a tool and validates it."""
    tool = Tool(re.sub(r"\W", "_", row["name"]), "", row["schema"])
    grammar = build_grammar(dialect, (tool,), ToolChoice("required"))
    compiled = compile_grammar(grammar, WIDE)
    written = run(compiled, extra, rng, choose)
    text = WIDE.bytes_of(written[:-1] if written[-1] in WIDE.ends else written)
    message = read(grammar, text)
    assert message.tool_calls, text
    assert not message.diagnostics, (text, message.diagnostics)
    for call in message.tool_calls:
        assert call.name == tool.name
        jsonschema_rs.validate(row["schema"], loads(call.arguments))


@pytest.mark.parametrize("name", ALL)
def test_law_09_14_some_tools_of_the_corpus(name):
    rng = random.Random(f"tools {name}")
    for row in rng.sample(schemas("bfcl"), 6):
        calls_validate(row, ALL[name], rng, rng.choice(BUDGETS), rng.choice(CHOICES))


@pytest.mark.laws
def test_law_09_14_every_tool_of_the_corpus_in_every_dialect():
    rng = random.Random(914)
    rows, kinds = schemas("bfcl"), dialects()
    for number in range(2_000):
        row, dialect = rows[number % len(rows)], kinds[number % len(kinds)]
        extra, choose = BUDGETS[number % len(BUDGETS)], CHOICES[number % len(CHOICES)]
        calls_validate(row, dialect, rng, extra, choose)


@pytest.mark.laws
def test_law_09_14_schemas_from_the_wild():
    rng = random.Random(149)
    refused = {}
    for row in schemas("jsonschemabench"):
        try:
            compiled = compile_grammar(build_grammar(ANSWERS, response_schema=row["schema"]), WIDE)
            for extra, choose in zip(BUDGETS, (*CHOICES, *CHOICES), strict=False):
                written = WIDE.bytes_of(run(compiled, extra, rng, choose)[:-1])
                validator = jsonschema_rs.validator_for(row["schema"], validate_formats=True)
                assert validator.is_valid(loads(written)), (row["id"], written)
        except UntemplateError as error:
            refused[row["id"]] = error.message
    assert len(refused) < 10, refused
