import json

import pytest
from click.testing import CliRunner

from corpus import corpus_dir
from untemplate.cli import main

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"find_{noun}",
            "description": f"Finds a {noun}. " + "It may take a while. " * 10,
            "parameters": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": "As it is written."}},
                "required": ["name"],
            },
        },
    }
    for noun in ("invoice", "letter", "person")
]
TALK = [{"role": r, "content": "So it is. " * 30} for r in ("user", "assistant")] * 10
REQUEST = {"messages": [*TALK, {"role": "user", "content": "An invoice?"}], "tools": TOOLS}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """Words and single bytes: the smallest tokenizer.json that spells everything."""
    tokenizers = pytest.importorskip("tokenizers")
    pre = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre.alphabet(), special_tokens=["<|im_end|>"]
    )
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = pre
    made.decoder = tokenizers.decoders.ByteLevel()
    made.train_from_iterator(["So it is. It may take a while."] * 10, trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(path))
    return str(path)


def run(tokenizer, *options, request=REQUEST):
    template = str(corpus_dir() / "templates/Qwen-Qwen3-0.6B.jinja")
    args = ["budget", "--template", template, "--tokenizer", tokenizer, *options]
    return CliRunner().invoke(main, args, input=json.dumps(request))


def test_the_table_the_losses_and_the_windows(tokenizer):
    result = run(tokenizer, "--context", "2600", "--output", "300")
    assert result.exit_code == 0, result.output
    assert "3 of 3" in result.output
    assert "exchanges, the oldest:" in result.output
    assert "messages[0:" in result.output
    windows = result.output[result.output.index("call") :].splitlines()
    assert [line.split()[0] for line in windows] == [
        "call",
        "find_invoice",
        "find_letter",
        "find_person",
    ]
    assert all(int(line.split()[1]) <= int(line.split()[2]) for line in windows[1:])


def test_what_can_not_fit_gives_the_table_and_one_line(tokenizer):
    result = run(tokenizer, "--context", "400", "--output", "300")
    assert result.exit_code == 2
    assert "missing" in result.stdout
    (line,) = result.stderr.splitlines()
    assert "but the context holds 400" in line


def test_what_it_needs_is_said(tokenizer):
    assert "--context: say how many" in run(tokenizer).stderr
    nothing = CliRunner().invoke(main, ["budget"], input=json.dumps(REQUEST))
    assert "--template: say which" in nothing.stderr
    unknown = CliRunner().invoke(main, ["budget", "--model", "nope"], input=json.dumps(REQUEST))
    assert "no such file, and no model of that name" in unknown.stderr
