"""Random outputs of real templates cut after every token of a real vocabulary.

Read at once and streamed give the same message; no value is wrong, none is lost, and the cut call
is named. What peers make of such cuts stands in docs/truncation.md.
"""

import json
import random
from itertools import accumulate

import pytest

from corpus import corpus_dir
from cut_outputs import begin, check_cut, drawn, most_calls, read, written
from untemplate.engines.llama.vocabulary import model_vocabulary
from untemplate.errors import TemplateError
from untemplate.reader import Reader
from untemplate.turn import ChatTemplate

pytestmark = pytest.mark.model

SOME = ["Qwen-Qwen3-0.6B", "Qwen3-Coder", "GLM-4.6", "openai-gpt-oss-120b", "Kimi-K2-Instruct"]
OUTPUTS = 4
"""Outputs of each template in the long run."""
CONTENT = ["", "Let me pay them.", "Zwölf 🙂: a < b"]


@pytest.fixture(scope="module")
def vocabulary(model):
    return model_vocabulary(model)


def output(grammar, draw):
    """What a model might write, and the arguments of its calls."""
    most = most_calls(grammar.dialect) or 3
    arguments = [drawn(draw) for _ in range(draw.randint(1, min(3, most)))]
    reasoning = draw.choice(["", "They want money."])
    return written(grammar, arguments, draw.choice(CONTENT), reasoning), arguments


def check(template, vocabulary, seeds):
    """So many outputs cut after every token; how many cuts that were, and outputs with a loss."""
    grammar = begin(template).grammar
    cuts, lossy = 0, 0
    for seed in seeds:
        data, arguments = output(grammar, random.Random(seed))
        whole = read(grammar, data, "stop")
        if [json.loads(c.arguments) for c in whole.tool_calls] != arguments:
            lossy += 1  # the dialect lists what it can't tell apart
        ids = vocabulary.encode(data.decode(), special=True)
        sizes = accumulate(len(vocabulary.tokens[i]) for i in ids)
        stream, told, before = Reader(grammar, nonce="n"), 0, {}
        for size in sizes:
            stream.feed(data[told:size])
            told = size
            here = stream.snapshot()
            message = stream.finish("length")
            stream.restore(here)
            assert message == read(grammar, data[:size])
            check_cut(message, whole, before)
            cuts += 1
        assert told == len(data)
    return cuts, lossy


@pytest.mark.parametrize("name", SOME)
def test_law_17_18_19_outputs_cut_at_every_token(vocabulary, name):
    source = (corpus_dir() / "templates" / f"{name}.jinja").read_text("utf-8")
    cuts, lossy = check(ChatTemplate(source), vocabulary, range(2))
    assert cuts > 50
    assert not lossy


@pytest.mark.laws
def test_law_17_18_19_outputs_of_every_template_cut_at_every_token(vocabulary):
    checked, total, losses = 0, 0, {}
    for path in sorted((corpus_dir() / "templates").glob("*.jinja")):
        template = ChatTemplate(path.read_text("utf-8"))
        try:
            cuts, lossy = check(template, vocabulary, range(OUTPUTS))
        except TemplateError:  # it wants variables that nobody gives here
            continue
        except AssertionError as error:
            raise AssertionError(f"{path.stem}: {error}") from error
        total += cuts
        checked += 1
        losses |= {path.stem: lossy} if lossy else {}
    print(f"{total} cuts of {OUTPUTS * checked} outputs of {checked} templates; lossy: {losses}")
    assert checked >= 69
    assert not losses
