import functools
import json

import pytest
from click.testing import CliRunner

from serving import TEMPLATE
from untemplate.cli import main
from untemplate.testing import ScriptedEngine
from untemplate.turn import ChatTemplate

TOOLS = [{"type": "function", "function": {"name": "ping"}}]
PING = b'<tool_call>\n{"name": "ping", "arguments": {"n": 1}}\n</tool_call>'


@functools.cache
def template():
    return ChatTemplate(TEMPLATE)


@pytest.fixture
def chat(monkeypatch):
    """Talks to a script; gives what stood on the screen, and the turns."""
    from untemplate.cli import chat as module
    from untemplate.cli.loading import Loaded

    def talk(*scripts, typed: str, args=()):
        engine = ScriptedEngine(*scripts)
        loaded = Loaded("scripted", engine, template())
        monkeypatch.setattr(module, "load", lambda *_, **__: loaded)
        result = CliRunner().invoke(main, ["chat", *args], input=typed)
        assert result.exit_code == 0, result.output
        assert engine.left == 0
        return result.output, engine.turns

    return talk


def test_a_reply_is_shown_and_remembered(chat):
    screen, turns = chat([b"Hel", b"lo"], [b"Bye"], typed="Hi\nSo?\n", args=["--system", "Be kind"])
    assert "Hello\n" in screen
    assert "Bye\n" in screen
    assert "Be kind" in turns[0].prompt
    assert "<|im_start|>assistant\nHello<|im_end|>" in turns[1].prompt


def test_a_call_is_shown_and_its_result_is_asked_for(chat, tmp_path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS))
    screen, turns = chat([PING], [b"Done"], typed="Go\npong\n", args=["--tools", str(tools)])
    assert '→ ping({"n": 1})' in screen
    assert "result of ping> " in screen
    assert "<|im_start|>tool\npong<|im_end|>" in turns[1].prompt
    assert "Done\n" in screen


def test_a_cut_call_is_not_asked_for(chat, tmp_path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS))
    cut = [bytes([b]) for b in PING]
    args = ["--tools", str(tools), "--max-tokens", str(PING.index(b"1"))]
    screen, turns = chat(cut, [b"Hm"], typed="Go\n", args=args)
    assert "(the call of ping is cut at /n)" in screen
    assert "(cut at the token limit)" in screen
    assert "result of" not in screen
    assert "not run: the call is cut" in turns[1].prompt


def test_a_model_can_not_steer_the_terminal(chat):
    screen, _ = chat([b"a\x1b[2Jb"], typed="Hi\n")
    assert "\x1b" not in screen
    assert "a\N{REPLACEMENT CHARACTER}[2Jb" in screen
