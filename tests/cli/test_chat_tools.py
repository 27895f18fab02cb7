"""`untemplate chat --tools FILE.py`: the functions of a file run, seen from the screen."""

import functools
import json

import pytest
from click.testing import CliRunner

from serving import TEMPLATE
from untemplate.cli import main
from untemplate.testing import ScriptedEngine
from untemplate.turn import ChatTemplate

TOOLS = '''
import json
import os, signal, time
from json import dumps

from untemplate.loop import ToolContext, ToolError, tool

REMOVED = []


def add(a: int, b: int = 1) -> int:
    """The sum of two numbers."""
    return a + b


@tool(effect="read")
def look(at: str, context: ToolContext) -> str:
    context.progress("half way")
    return f"saw {at}"


@tool(effect="destructive")
def remove(path: str) -> str:
    REMOVED.append(path)
    return f"removed {REMOVED}"


def divide(a: int, b: int) -> float:
    return a / b


def refuse() -> None:
    raise ToolError("not today")


@tool(exclusive=True)
def wait() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(30)
    return "waited"


def _private() -> None: ...
'''


def call(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


@functools.cache
def template():
    return ChatTemplate(TEMPLATE)


@pytest.fixture
def chat(monkeypatch, tmp_path):
    """Talks to a script with the tools of a file; gives what stood on the screen, and the turns."""
    from untemplate.cli import chat as module
    from untemplate.cli.loading import Loaded

    def talk(*scripts, typed, source=TOOLS, args=()):
        path = tmp_path / "tools.py"
        path.write_text(source, encoding="utf-8")
        engine = ScriptedEngine(*([bytes([b]) for b in s.encode()] for s in scripts))
        loaded = Loaded("scripted", engine, template())
        monkeypatch.setattr(module, "load", lambda *_, **__: loaded)
        arguments = ["chat", "--tools", str(path), *args]
        result = CliRunner().invoke(main, arguments, input=typed)
        assert engine.left == 0
        return result, [getattr(t, "_turn", t).prompt for t in engine.turns]

    return talk


def test_functions_run_and_the_model_goes_on(chat):
    result, prompts = chat(
        f"Let me see.\n{call('add', a=1, b=2)}", "It is 3.", "Bye", typed="1+2?\nThanks\n"
    )
    assert result.exit_code == 0, result.output
    assert 'Let me see.\n→ add({"a": 1, "b": 2})\n← add: 3\nIt is 3.\n' in result.output
    assert "The sum of two numbers." in prompts[0]
    assert "<|im_start|>tool\n3<|im_end|>" in prompts[1]
    assert "It is 3.<|im_end|>\n<|im_start|>user\nThanks" in prompts[2]


def test_a_result_waits_until_the_line_of_a_call_is_whole(chat):
    calls = call("look", at="x") + "\n" + call("look", at="y")
    result, _ = chat(calls, "Done", typed="Go\n")
    lines = result.output.replace("you> ", "you>\n").splitlines()
    assert '→ look({"at": "x"})' in lines
    assert '→ look({"at": "y"})' in lines
    assert sorted(line for line in lines if line.startswith("← look: saw")) == [
        "← look: saw x",
        "← look: saw y",
    ]
    assert "← look: … half way" in lines


@pytest.mark.parametrize(("answer", "runs"), [("y", True), ("", False), ("n", False)])
def test_a_destructive_call_is_asked_about(chat, answer, runs):
    result, prompts = chat(call("remove", path="a"), "Well", typed=f"Go\n{answer}\n")
    assert 'run the destructive call remove({"path": "a"})? [y/N]' in result.output
    assert ("← remove: removed ['a']" in result.output) == runs
    assert ("removed ['a']" in prompts[1]) == runs
    assert ("The call of remove was not approved" in prompts[1]) != runs
    assert ("← remove: The call of remove was not approved" in result.output) != runs


def test_no_answer_is_a_no(chat):
    result, prompts = chat(call("remove", path="a"), "Well", typed="Go\n")
    assert result.exit_code == 0
    assert "was not approved" in prompts[1]


def test_what_went_wrong_in_a_tool_is_shown_with_its_line(chat):
    result, prompts = chat(call("divide", a=1, b=0), "Hm", typed="Go\n")
    line = TOOLS.splitlines().index("    return a / b") + 1
    assert "← divide: ZeroDivisionError: division by zero at " in result.output
    assert f"tools.py:{line}\n" in result.output
    assert "division by zero" not in prompts[1]
    result, _ = chat(call("refuse"), "Hm", typed="Go\n")
    assert "← refuse: ToolError: not today\n" in result.output


def test_calls_that_can_not_run_are_explained(chat):
    bad = call("add", a="x") + "\n" + call("ad", a=1)
    result, _ = chat(bad, "Hm", typed="Go\n")
    assert "← add: The arguments of add are not valid at /a" in result.output
    assert '← ad: There is no tool named "ad".' in result.output


def test_ctrl_c_stops_the_run_and_keeps_the_session(chat):
    calls = call("add", a=1) + "\n" + call("wait")
    result, prompts = chat(calls, "Still here", typed="Go\nHello?\n")
    assert result.exit_code == 0, result.output
    assert "(stopped)" in result.output
    assert "Still here" in result.output
    assert "<|im_start|>tool\n2<|im_end|>" in prompts[1]
    assert "wait was cancelled while it ran" in prompts[1]
    assert prompts[1].endswith("<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n")


def test_ctrl_c_at_a_question_runs_nothing(chat, monkeypatch):
    typed = iter(["Go", KeyboardInterrupt, "Hello?", EOFError])

    def asked(prompt):
        given = next(typed)
        if isinstance(given, str):
            return given
        raise given

    monkeypatch.setattr("builtins.input", asked)
    result, prompts = chat(call("remove", path="a"), "Hi", typed="")
    assert result.exit_code == 0
    assert "(stopped)" in result.output
    assert "remove was not run" in prompts[1]


def test_a_cut_reply_is_gone_on_with(chat):
    text = call("add", a=1, b=2)
    result, _ = chat(text[:60], text[60:], "3", typed="Go\n", args=["--max-tokens", "60"])
    assert result.output.count("→ add(") == 1
    assert "← add: 3\n3\n" in result.output


def test_neither_a_tool_nor_a_call_steers_the_terminal(chat):
    source = 'def odd(text: str = "") -> str:\n    return "a\\x1b[2Jb\\u202ec"\n'
    result, _ = chat(call("odd", text="\x1b]0;x\x07"), "Done", typed="Go\n", source=source)
    assert "\x1b" not in result.output
    assert "a\N{REPLACEMENT CHARACTER}[2Jb\N{REPLACEMENT CHARACTER}c" in result.output


def test_a_long_result_is_shown_in_part(chat):
    source = 'def long() -> str:\n    return "\\n".join(["x" * 1000] * 12)\n'
    result, prompts = chat(call("long"), "Done", typed="Go\n", source=source)
    assert "… 5 more lines" in result.output
    assert "x" * 401 not in result.output
    assert "x" * 1000 in prompts[1]


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("def f(:\n", ":1", "SyntaxError"),
        ("import nowhere_to_be_found\n", ":1", "No module named 'nowhere_to_be_found'"),
        ("x = 1\ny = x / 0\n", ":2", "ZeroDivisionError: division by zero"),
        ("\nraise SystemExit(3)\n", ":2", "SystemExit: 3"),
        ("x = 1\n", "", "defines no tool"),
        ("\n\ndef f(*names): ...\n", ":3", "*names can't be described to a model"),
        ("def f(x: 'Nothing'): ...\n", ":1", "an annotation can't be resolved"),
        (
            "from untemplate.loop import tool\n\n@tool(effect='reed')\ndef f(): ...\n",
            ":3",
            "effect has to be one of",
        ),
        (
            "from untemplate.loop import tool\n\ndef f(): ...\n@tool(name='f')\ndef g(): ...\n",
            ":4",
            "two tools are named 'f'",
        ),
    ],
)
def test_an_error_in_the_file_is_one_line_with_its_place(tmp_path, source, line, said):
    path = tmp_path / "mine.py"
    path.write_text(source, encoding="utf-8")
    result = CliRunner().invoke(main, ["chat", "--tools", str(path)])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"untemplate: {path}{line}: ")
    assert said in result.stderr


def test_a_file_may_use_its_neighbours_and_types_of_its_own(chat, tmp_path):
    (tmp_path / "neighbour_of_tools.py").write_text("FACTOR = 7\n", encoding="utf-8")
    source = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from neighbour_of_tools import FACTOR\n"
        "@dataclass\nclass Pair:\n    a: int\n    b: int\n"
        "async def times(pair: Pair) -> int:\n    return pair.a * pair.b * FACTOR\n"
    )
    script = call("times", pair={"a": 2, "b": 3})
    result, _ = chat(script, "Done", typed="Go\n", source=source)
    assert "← times: 42\n" in result.output
