"""`untemplate parse`: what a model wrote, as one JSON object.

    $ untemplate parse --template qwen3.jinja < output
    {"content": "", "reasoning_content": "", "tool_calls": [{"id": ..., "name": "pay", ...

The same text gives the same object, ids included. Nothing that a model wrote is an error here.
"""

import hashlib
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import IO

import click

from untemplate.cli.inputs import FILE, PLACE, Request, load_request, load_tools
from untemplate.cli.kept import open_template
from untemplate.message import JSON, Message, ToolCall

__all__ = ["command"]


@click.command()
@click.option("--template", type=PLACE, required=True, help="Template, GGUF or folder.")
@click.option("--dialect", type=FILE, help="Dialect to read by, instead of the inferred one.")
@click.option("--tools", type=click.File("rb"), help="JSON list of the tools that were offered.")
@click.option("--request", type=click.File("rb"), help="The whole request that was answered.")
@click.option("--prefix", is_flag=True, help="The text is cut: it ends before the turn does.")
def command(
    template: Path,
    dialect: Path | None,
    tools: IO[bytes] | None,
    request: IO[bytes] | None,
    *,
    prefix: bool,
) -> None:
    """Read from stdin what a model wrote after its prompt; write one JSON object.

    The object has content, reasoning_content, tool_calls, diagnostics and end. Each call says
    whether it is complete, which suffix closes its arguments, and how each argument stands.
    """
    written = sys.stdin.buffer.read()
    asked = load_request(request) if request else Request([{"role": "user", "content": "Hi"}])
    turn = open_template(template, dialect=dialect).turn(
        asked.messages,
        tools=load_tools(tools) if tools else asked.tools,
        tool_choice=asked.choice,
        nonce=hashlib.sha256(written).hexdigest()[:24],
        now=datetime.now().astimezone(),
        variables=asked.variables,
    )
    turn.feed(written)
    message = turn.finish("length" if prefix else "stop")
    line = json.dumps(_shown(message), ensure_ascii=False) + "\n"
    sys.stdout.buffer.write(line.encode("utf-8", "replace"))


def _shown(message: Message) -> JSON:
    return {
        "content": message.content,
        "reasoning_content": message.reasoning_content,
        "tool_calls": [_shown_call(c) for c in message.tool_calls],
        "diagnostics": [
            {"code": d.code, "span": list(d.span), "message": d.message}
            for d in message.diagnostics
        ],
        "end": message.end,
    }


def _shown_call(call: ToolCall) -> JSON:
    return {
        "id": call.id,
        "written_id": call.written_id,
        "name": call.name,
        "arguments": call.arguments,
        "closing": call.closing,
        "state": call.state,
        "cut_path": call.cut_path,
        "missing": list(call.missing),
        "defaulted": list(call.defaulted),
        "arguments_state": dict(call.arguments_state),
        "ambiguous": list(call.ambiguous),
    }
