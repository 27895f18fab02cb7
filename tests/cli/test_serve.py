import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner

from untemplate.cli import main


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--model", "nothing.gguf"], "--model nothing.gguf: there is no such file, and no model"),
        (["--chat-template", "nothing.jinja"], "Invalid value for '--chat-template'"),
        (["--port", "70000"], "Invalid value for '--port'"),
    ],
)
def test_what_can_not_be_served_is_one_line_and_status_2(args, error):
    result = CliRunner().invoke(main, ["serve", *args])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"untemplate: {error}")
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_no_model(tmp_path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF but not really")
    result = CliRunner().invoke(main, ["serve", "--model", str(path)])
    assert result.exit_code == 2
    assert "broken.gguf" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.model
def test_serving_from_start_to_interrupt(model_path):
    command = [sys.executable, "-m", "untemplate", "serve", "--model", str(model_path)]
    with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as server:
        line = server.stderr.readline()
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+", line)
        messages = [{"role": "user", "content": "Count to a thousand in words."}]
        body = json.dumps({"messages": messages, "stream": True}).encode()
        with urllib.request.urlopen(f"{address}/v1/chat/completions", body, 60) as answer:
            assert b'"role":"assistant"' in answer.readline()
            server.send_signal(signal.SIGINT)
            assert server.wait(20) == 0
        assert "stopped" in server.stderr.read()


@pytest.mark.model
def test_a_port_that_is_taken_is_one_line_and_status_2(model_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, ["serve", "--model", str(model_path), "--port", port])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"untemplate: 127.0.0.1:{port}: can't listen there")
    assert result.stderr.count("\n") == 1
