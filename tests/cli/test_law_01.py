"""Law 1 through the commands: what `render` writes, `parse` reads, and `render` writes again.

The messages are not those of the proof: other names, keys and values, other conversations.
"""

import json
import random

import pytest
from click.testing import CliRunner

from corpus import corpus_dir
from untemplate.cli import main
from untemplate.turn import ChatTemplate

NAMES = ["get_weather", "Fetch-URL", "ns.tool_x", "_f", "a", "x9_9", "functions", "name"]
KEYS = {
    **dict.fromkeys(["city", "name", "arguments", "id", "x-y", "type", "function"], "string"),
    "n": "integer",
    "ratio": "number",
    "flag": "boolean",
    "nothing": "null",
    "list": "array",
    "obj": "object",
}
VALUES = {
    "string": [
        *["", "Zürich", " \n edge \n ", "two\nlines \"quoted\" 'single' back\\slash", "true"],
        *["12", "None", "1e5", "🦀 \U0001f469\u200d\U0001f680", '</b> [END] <a="b">', "\ttab\r\n"],
        *["%s {0} {{ x }} {% y %}", '{"a": 1}', "[1, 2]", "a, b=c", "it's", "\\n", "\\", "&amp;"],
    ],
    "integer": [0, -40, 7, 10**20, 2**63],
    "number": [2.75, -0.5, 1e30, 1.5e-7, -0.0, 1e5, 1e16, 123456789.125],
    "boolean": [True, False],
    "null": [None],
    "array": [[], [1, "zwei", None, [True, 2.5]], [[], {}, ""], [-0.0, 1e5], ["it's", '"q"', "\\"]],
    "object": [{}, {"p": {"q": [{"t": 1}]}}, {"x": "1", "z": 'say "hi"\n'}, {"": "empty key"}],
}
TEXTS = ["Sure.", "Thinking about it.\n\nStill.", "0", "{}", "a < b and c > d", "日本語 🦀 ok"]
TEXTS += ['He said "no" & left', "```py\nprint(1)\n```", "# Title\n\n| a | b |", "C:\\dir"]
EDGES = ["", "", "", "\n", " ", "\n\n", " \n ", "\t"]


def templates():
    try:
        return sorted((corpus_dir() / "templates").glob("*.jinja"))
    except pytest.skip.Exception:
        return []


def tool(name):
    properties = {k: {"type": t} for k, t in KEYS.items()}
    properties["nothing"] = {"type": ["string", "null"]}
    properties["obj"] = {"type": "object", "properties": {}, "additionalProperties": True}
    properties["list"] = {"type": "array", "items": {}}
    for member in properties.values():
        member["description"] = "d"
    parameters = {"type": "object", "properties": properties, "required": []}
    return {
        "type": "function",
        "function": {"name": name, "description": "What it does", "parameters": parameters},
    }


def call(chance, names):
    some = chance.sample(list(KEYS), chance.choice((0, 1, 1, 2, 3, 5)))
    arguments = {k: chance.choice(VALUES[KEYS[k]]) for k in some}
    function = {"name": chance.choice(names), "arguments": json.dumps(arguments)}
    return {"id": f"call{chance.randrange(10**5):05d}", "type": "function", "function": function}


def text(chance):
    parts = chance.sample(TEXTS, chance.choice((1, 1, 2)))
    return chance.choice(EDGES) + " ".join(parts) + chance.choice(EDGES)


def answer(chance, names):
    shape = chance.choice(["c", "k", "rc", "rk", "ck", "rck", "r"])
    message = {"role": "assistant", "content": text(chance) if "c" in shape else ""}
    if "r" in shape:
        message["reasoning_content"] = text(chance)
    if "k" in shape:
        message["tool_calls"] = [call(chance, names) for _ in range(chance.choice((1, 1, 2, 4)))]
    return message


def conversation(chance, names):
    messages = [{"role": "system", "content": "Be brief."}] if chance.random() < 0.3 else []
    messages.append({"role": "user", "content": "Hello there"})
    kind = chance.choice(["first", "second", "results"])
    if kind == "second":
        messages.append({"role": "assistant", "content": "Hi."})
        messages.append({"role": "user", "content": "And now?"})
    elif kind == "results":
        calls = [call(chance, names) for _ in range(chance.choice((1, 2)))]
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": c["id"], "content": "ok"} for c in calls]
    return messages


def run(*args, request):
    result = CliRunner().invoke(main, args, input=request)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def check(path, seed, tmp_path):
    chance = random.Random(seed)
    names = chance.sample(NAMES, 3)
    asked = {"messages": conversation(chance, names), "tools": [tool(n) for n in names]}
    request = tmp_path / "request.json"
    request.write_text(json.dumps(asked), encoding="utf-8")

    def render(message):
        whole = {**asked, "messages": [*asked["messages"], message]}
        return run("render", "--template", str(path), request=json.dumps(whole)).decode()

    message = answer(chance, names)
    history = ChatTemplate.open(path).dialect.place()
    if history.calls_max is not None and "tool_calls" in message:
        message["tool_calls"] = message["tool_calls"][: history.calls_max]
    written = render(message)
    read = json.loads(
        run("parse", "--template", str(path), "--request", str(request), request=written)
    )
    calls = [
        {
            "id": c["written_id"] or c["id"],
            "type": "function",
            "function": {"name": c["name"], "arguments": c["arguments"] + c["closing"]},
        }
        for c in read["tool_calls"]
    ]
    again = {"role": "assistant", "content": read["content"]}
    again |= {"reasoning_content": read["reasoning_content"]} if read["reasoning_content"] else {}
    again |= {"tool_calls": calls} if calls else {}
    assert render(again) == written, (seed, message)


@pytest.mark.parametrize("path", templates(), ids=lambda p: p.stem)
def test_law_01_holds_through_the_commands(path, tmp_path):
    for seed in range(2):
        check(path, seed, tmp_path)


def test_an_answer_that_leaves_no_trace_behind_results_whose_header_differs(tmp_path):
    path = corpus_dir() / "templates/NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja"
    check(path, 3, tmp_path)


@pytest.mark.laws
@pytest.mark.parametrize("path", templates(), ids=lambda p: p.stem)
def test_law_01_holds_through_the_commands_for_many_messages(path, tmp_path):
    for seed in range(2, 40):
        check(path, seed, tmp_path)
