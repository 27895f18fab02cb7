import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from corpus import corpus_dir
from untemplate.cli import main

HERMES = "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use"
QWEN3 = "Qwen-Qwen3-0.6B"
CODER = "Qwen3-Coder"
PAY = [
    {
        "type": "function",
        "function": {
            "name": "pay",
            "parameters": {
                "type": "object",
                "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
                "required": ["to", "amount"],
            },
        },
    }
]
CALL = '<tool_call>\n{"name": "pay", "arguments": {"to": "acct-99", "amount": 120}}\n</tool_call>'


def template(name: str) -> str:
    return str(corpus_dir() / "templates" / f"{name}.jinja")


def run(*args: str, stdin: str | bytes = ""):
    return CliRunner().invoke(main, args, input=stdin)


@pytest.fixture
def tools(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(PAY), encoding="utf-8")
    return str(path)


def parse(name: str, text: str | bytes, *args: str) -> dict:
    result = run("parse", "--template", template(name), *args, stdin=text)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def test_parse_gives_one_object(tools):
    shown = parse(HERMES, f"Wait.\n{CALL}<|im_end|>", "--tools", tools)
    assert set(shown) == {
        "content",
        "reasoning_content",
        "tool_calls",
        "diagnostics",
        "end",
    }
    assert shown["content"].strip() == "Wait."
    assert shown["reasoning_content"] == ""
    assert shown["diagnostics"] == []
    assert shown["end"] == "complete"
    (call,) = shown["tool_calls"]
    assert call.pop("id")
    assert call == {
        "written_id": None,
        "name": "pay",
        "arguments": '{"to": "acct-99", "amount": 120}',
        "closing": "",
        "state": "complete",
        "cut_path": None,
        "missing": [],
        "defaulted": [],
        "arguments_state": {"/to": "complete", "/amount": "complete"},
        "ambiguous": [],
    }


def test_parse_of_a_cut_text_says_what_is_cut(tools):
    cut = CALL[: CALL.index("120") + 2]
    shown = parse(HERMES, cut, "--tools", tools, "--prefix")
    assert shown["end"] == "cut"
    (call,) = shown["tool_calls"]
    assert call["state"] == "cut"
    assert call["arguments_state"]["/to"] == "complete"
    assert call["arguments_state"]["/amount"] == "cut"
    assert json.loads(call["arguments"] + call["closing"]) == {"to": "acct-99"}


def test_parse_reads_reasoning_and_tagged_arguments(tools):
    text = f"<think>\nHm.\n</think>\n\n{CALL}<|im_end|>"
    assert parse(QWEN3, text, "--tools", tools)["reasoning_content"].strip() == "Hm."
    tagged = (
        "<tool_call>\n<function=pay>\n<parameter=to>\nacct-99\n</parameter>\n"
        "<parameter=amount>\n120\n</parameter>\n</function>\n</tool_call>"
    )
    (call,) = parse(CODER, tagged, "--tools", tools)["tool_calls"]
    assert json.loads(call["arguments"]) == {"to": "acct-99", "amount": 120}


def test_parse_takes_any_bytes(tools):
    shown = parse(HERMES, b"\xff\x00 <tool_call> {{{ \xf0\x9f", "--tools", tools)
    assert shown["content"]


def test_parse_is_repeatable(tools):
    first, again = (parse(HERMES, CALL, "--tools", tools) for _ in range(2))
    other = parse(HERMES, f" {CALL}", "--tools", tools)
    assert first == again
    assert first["tool_calls"][0]["id"] != other["tool_calls"][0]["id"]


def test_parse_by_a_whole_request(tmp_path):
    request = {
        "messages": [{"role": "user", "content": "Pay"}],
        "tools": PAY,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    shown = parse(QWEN3, CALL, "--request", str(path))
    assert [c["name"] for c in shown["tool_calls"]] == ["pay"]


def test_render_writes_the_prompt():
    request = {"messages": [{"role": "user", "content": "Hi ｜"}]}
    result = run("render", "--template", template(QWEN3), stdin=json.dumps(request))
    assert result.stdout == "<|im_start|>user\nHi ｜<|im_end|>\n<|im_start|>assistant\n"
    alone = run("render", "--template", template(QWEN3), stdin=json.dumps(request["messages"]))
    assert alone.stdout == result.stdout


def test_render_writes_the_turn_of_an_answer_and_parse_reads_it_back(tools):
    call = {"name": "pay", "arguments": '{"to": "acct-99", "amount": 120}'}
    answer = {
        "role": "assistant",
        "content": "Sure.",
        "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
    }
    messages = [{"role": "user", "content": "Pay"}, answer]
    request = {"messages": messages, "tools": PAY}
    result = run("render", "--template", template(QWEN3), stdin=json.dumps(request))
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip("\n").endswith("</tool_call><|im_end|>")
    assert "Pay" not in result.stdout
    shown = parse(QWEN3, result.stdout, "--tools", tools)
    assert shown["content"] == "Sure."
    assert shown["tool_calls"][0]["arguments"] == call["arguments"]


def test_inspect_shows_dialect_and_proof():
    result = run("inspect", template(QWEN3))
    assert result.exit_code == 0, result.output
    assert "proved by" in result.stdout
    assert '"<|im_end|>"' in result.stdout
    assert r"<tool_call>\n" in result.stdout


def test_inspect_as_json(tmp_path):
    result = run("inspect", template(QWEN3), "--json")
    shown = json.loads(result.stdout)
    assert shown["proof"]["proved"] is True
    assert shown["stops"] == ["<|im_end|>"]
    assert shown["grammar"]
    saved = tmp_path / "dialect.json"
    saved.write_text(json.dumps(shown["dialect"]), encoding="utf-8")
    given = json.loads(run("inspect", template(QWEN3), "--dialect", str(saved), "--json").stdout)
    assert given["proof"]["proved"] is True
    assert given["dialect"]["edges"] == shown["dialect"]["edges"]


def test_inspect_says_what_each_rendering_shows():
    shown = json.loads(run("inspect", template(QWEN3), "--json").stdout)
    assert "<tool_call>" in shown["triggers"]["content:0"]
    assert "<|im_start|>" in shown["special_tokens"]["marks"]
    both = next(r for r in shown["renderings"] if r["has"] == ["content", "calls"])
    assert "content → call" in both["shows"]
    assert "<tool_call>" in both["text"]
    assert all(loss["shown_by"] for loss in shown["proof"]["losses"])


def test_inspect_all_has_a_row_for_each_template(tmp_path):
    (tmp_path / "a.jinja").write_text(Path(template(QWEN3)).read_text(encoding="utf-8"))
    (tmp_path / "b.jinja").write_text("{% for m in messages %}")
    result = run("inspect", "--all", str(tmp_path))
    assert result.exit_code == 0, result.output
    good, broken, total = result.stdout.splitlines()
    assert good.startswith("a ")
    assert "proved by" in good
    assert broken.startswith("b ")
    assert "line" in broken
    assert total == "1 of 2 proved"
    assert run("inspect", "--all", template(QWEN3)).exit_code == 2


def test_inspect_all_as_json_is_a_list(tmp_path):
    (tmp_path / "a.jinja").write_text(Path(template(QWEN3)).read_text(encoding="utf-8"))
    (tmp_path / "b.jinja").write_text("{% for m in messages %}")
    chatml = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    (tmp_path / "c.jinja").write_text(chatml)
    good, broken, plain = json.loads(run("inspect", "--all", str(tmp_path), "--json").stdout)
    names = ["template", "source", "tools", "proof", "proved", "first_difference", "seconds"]
    for entry in (good, broken, plain):
        assert list(entry) == [*names, "dialect"]
        assert list(entry["proof"]) == ["checks", "passed", "calls_max", "losses", "not_covered"]
    assert (good["template"], good["proved"], good["tools"]) == ("a", True, True)
    assert good["proof"]["checks"] >= 200
    assert not broken["proved"]
    assert "line" in broken["first_difference"]
    assert plain["tools"] is False
    assert "calls are not written" in [x["what"] for x in plain["proof"]["losses"]]


def test_inspect_draws_with_the_seed():
    first, other = (
        json.loads(run("inspect", template(HERMES), "--json", "--seed", seed).stdout)["proof"]
        for seed in ("1", "2")
    )
    assert first["passed"] == first["checks"] == other["checks"]
    assert first["losses"] != other["losses"]


@pytest.mark.parametrize("command", ["parse", "render"])
def test_a_broken_template_is_one_line_and_status_2(command, tmp_path):
    broken = tmp_path / "broken.jinja"
    broken.write_text("\n{% for m in messages %}", encoding="utf-8")
    result = run(command, "--template", str(broken), stdin="[]")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("untemplate: ")


@pytest.mark.parametrize(
    ("stdin", "error"),
    [
        ("{", "stdin: is not JSON: "),
        ("3", "request: expected an object with messages"),
        ("{}", "messages: expected a list, not null"),
        ('[{"role": 1}]', "messages[0].role: expected a string, not a number"),
    ],
)
def test_a_wrong_request_is_one_line_and_status_2(stdin, error):
    result = run("render", "--template", template(QWEN3), stdin=stdin)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"untemplate: {error}")
    assert result.stderr.count("\n") == 1


def test_parse_needs_no_extra(tools):
    code = (
        "import sys\n"
        "for name in ('msgspec', 'starlette', 'anyio', 'uvicorn', 'tokenizers', 'xllamacpp',"
        " 'pydantic', 'httpx2'):\n"
        "    sys.modules[name] = None\n"
        "from untemplate.cli import main\n"
        f"main(['parse', '--template', {template(HERMES)!r}, '--tools', {tools!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=CALL.encode(), capture_output=True, check=True
    )
    assert json.loads(done.stdout)["tool_calls"][0]["name"] == "pay"
