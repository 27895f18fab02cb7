"""Golden cases: what a model wrote, and the message that has to come out of it.

Each file of `cases/<family>/` is a case, for people to read and to edit:

    What it shows.                          then options, if any: prompt: 1, reason: length
    --- output                              the raw output, without the last line break
    --- reasoning                           left out when there is none; likewise the others
    --- content
    --- calls                               state, name, arguments; what is not complete
    cut send {"to": "a@b", "text": "Dear"} /text=cut ~/to
    --- diagnostics                         codes in order

`~` marks an ambiguous argument. The tools are in `cases/tools.json`. Every case is read whole, byte
by byte, at random cuts, from snapshots, and with a tail.
"""

import json
from pathlib import Path

import pytest

from families import family
from reader.feeding import feed, read_all
from untemplate.grammar import build_grammar
from untemplate.message import Tool

FOLDER = Path(__file__).parent / "cases"
TOOLS = [Tool(**t) for t in json.loads((FOLDER / "tools.json").read_text(encoding="utf-8"))]
FILES = sorted(FOLDER.glob("*/*.txt"))
TAIL = b"\n\nAnd so on."


def sections(path):
    """The options and the sections of a case."""
    head, *rest = path.read_text(encoding="utf-8").split("\n--- ")
    options = dict(line.split(": ", 1) for line in head.splitlines()[1:] if ": " in line)
    parts = (part.removesuffix("\n" if part is rest[-1] else "").partition("\n") for part in rest)
    return options, {name: text for name, _, text in parts}


def written_call(call):
    """The line of a call."""
    arguments = json.dumps(json.loads(call.arguments + call.closing), ensure_ascii=False)
    states = [f"{p}={s}" for p, s in sorted(call.arguments_state.items()) if s != "complete"]
    marks = [f"~{p}" for p in call.ambiguous]
    return " ".join([call.state, call.name, arguments, *states, *marks])


def written(message):
    """The sections of a message."""
    found = {
        "reasoning": message.reasoning_content,
        "content": message.content,
        "calls": "\n".join(map(written_call, message.tool_calls)),
        "diagnostics": " ".join(d.code for d in message.diagnostics),
    }
    return {name: text for name, text in found.items() if text}


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_case_reads_as_it_is_written_down(path):
    options, expected = sections(path)
    dialect, data = family(path.parent.name), expected.pop("output").encode()
    grammar = build_grammar(dialect, TOOLS, prompt=dialect.prompts[int(options.get("prompt", 0))])
    message, _ = read_all(grammar, data, options.get("reason", "stop"))
    assert written(message) == expected
    assert message.raw == data.decode()
    longer, _ = feed(grammar, [data, TAIL])
    for call in message.tool_calls:
        if call.state == "complete":
            assert written_call(longer.tool_calls[call.index]) == written_call(call)


def test_there_are_many_cases_of_many_families():
    assert len(FILES) >= 60
    assert len({f.parent for f in FILES}) >= 20
