"""Laws 9, 14 and 15 over the schemas of the corpus, in every dialect there is."""

import functools
import gzip
import json
import random
import re

import jsonschema_rs
import pytest

from constrain.judging import ANSWERS
from constrain.test_laws import CHOICES, SPECIALS, run
from constrain.vocabularies import wide_vocabulary
from corpus import corpus_dir
from dialects import ALL
from untemplate.constrain import compile_grammar
from untemplate.dialect import CallBlock
from untemplate.grammar import Grammar, build_grammar
from untemplate.inference import analyse
from untemplate.message import Message, Tool, ToolChoice
from untemplate.reader import Reader
from untemplate.template.source import read_source

WIDE = wide_vocabulary([*SPECIALS, "<end>"])
BUDGETS = (0, 1, 3, 10, 100)


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
        validator = jsonschema_rs.validator_for(row["schema"], validate_formats=True)
        assert validator.is_valid(loads(call.arguments)), (row["schema"], call.arguments)


@pytest.mark.parametrize("name", ALL)
def test_law_09_14_some_tools_of_the_corpus(name):
    rng = random.Random(f"tools {name}")
    for row in rng.sample(schemas("bfcl"), 4):
        choose = CHOICES[rng.choice(list(CHOICES))]
        calls_validate(row, ALL[name], rng, rng.choice(BUDGETS), choose)


@pytest.mark.laws
def test_law_09_14_every_tool_of_the_corpus_in_every_dialect():
    rows, kinds = schemas("bfcl"), dialects()
    for number in range(2_000):
        rng = random.Random(f"914 {number}")
        choose = CHOICES[rng.choice(list(CHOICES))]
        calls_validate(rows[number % 400], rng.choice(kinds), rng, rng.choice(BUDGETS), choose)


TOO_LARGE = {"Github_ultra---o65891", "Github_ultra---o90698"}
"""A hundred keys in any order, and values of 1,500 tokens and more: one turn close to its budget
meets more states than `Limits` allows."""


def is_exact(grammar: Grammar) -> bool:
    return not grammar.report().checked


def answers_validate(row, number):
    """Draws an answer of a schema with each budget."""
    grammar = build_grammar(ANSWERS, response_schema=row["schema"])
    if not is_exact(grammar):
        return
    validator = jsonschema_rs.validator_for(row["schema"], validate_formats=True)
    names = list(CHOICES)
    for n, extra in enumerate(BUDGETS):
        # Asked for anew, as for a new turn: what has learnt too much is begun anew.
        compiled = compile_grammar(grammar, WIDE)
        choose = CHOICES[names[(number + n) % len(names)]]
        data = WIDE.bytes_of(run(compiled, extra, random.Random(f"{number} {n}"), choose)[:-1])
        assert validator.is_valid(loads(data)), (row["id"], data)


def test_law_09_14_some_schemas_from_the_wild():
    rows = [r for r in schemas("jsonschemabench") if len(json.dumps(r["schema"])) < 600]
    for number, row in enumerate(random.Random(3).sample(rows, 3)):
        answers_validate(row, number)


@pytest.mark.laws
def test_law_09_14_schemas_from_the_wild():
    for number, row in enumerate(schemas("jsonschemabench")):
        if row["id"] not in TOO_LARGE:
            answers_validate(row, number)


@pytest.mark.laws
def test_law_09_14_schemas_from_the_wild_as_tools_in_every_dialect():
    for number, row in enumerate(schemas("jsonschemabench")):
        rng = random.Random(f"wild {number}")
        dialect = rng.choice(dialects())
        tool = {"name": "f", "schema": row["schema"]}
        grammar = build_grammar(dialect, (Tool("f", "", row["schema"]),), ToolChoice("required"))
        is_object = row["schema"].get("type", "object") == "object"
        if row["id"] not in TOO_LARGE and is_object and is_exact(grammar):
            for extra in rng.sample(BUDGETS, 2):
                calls_validate(tool, dialect, rng, extra, CHOICES[rng.choice(list(CHOICES))])
