"""`untemplate render`: the prompt of a request; or, of an answer, the text that its model wrote.

    $ untemplate render --template qwen3.jinja < request.json
    <|im_start|>user
    Hi<|im_end|>
    <|im_start|>assistant

With an assistant message last, and no `continue_final_message`, what comes out is the text of that
message as the template writes it, from where its prompt ends: what `parse` reads back.
"""

import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from untemplate.cli.inputs import FILE, PLACE, Request, load_request
from untemplate.errors import RequestError
from untemplate.turn import ChatTemplate

__all__ = ["command"]


@click.command()
@click.option("--template", type=PLACE, required=True, help="Template, GGUF or folder.")
@click.option("--dialect", type=FILE, help="Dialect instead of the inferred one.")
def command(template: Path, dialect: Path | None) -> None:
    """Read an OpenAI request, or its messages alone, from stdin; write its prompt.

    With an assistant message last, write that message as its model would have written it.
    """
    request = load_request(sys.stdin.buffer)
    opened = ChatTemplate.open(template, dialect=dialect)
    now = datetime.now().astimezone()
    is_answer = request.messages[-1].get("role") == "assistant"
    if is_answer and not request.continue_final_message:
        text = _answer(opened, request, now)
    else:
        text = _prompt(opened, request, now)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _prompt(template: ChatTemplate, request: Request, now: datetime) -> str:
    turn = template.turn(
        request.messages,
        tools=request.tools,
        tool_choice=request.choice,
        continue_final_message=request.continue_final_message,
        now=now,
        variables=request.variables,
    )
    return turn.prompt


def _answer(template: ChatTemplate, request: Request, now: datetime) -> str:
    asked = replace(request, messages=request.messages[:-1])
    whole = template.render(request.messages, request.tools, now=now, variables=request.variables)
    before = template.render(asked.messages, request.tools, now=now, variables=request.variables)
    prompts = [before + p.text for p in template.dialect.prompts]
    return _behind(whole, [_prompt(template, asked, now), *prompts])


def _behind(whole: str, beginnings: Iterable[str]) -> str:
    """What follows the longest of the beginnings that the text has."""
    lengths = [len(b) for b in beginnings if whole.startswith(b)]
    if not lengths:
        raise RequestError(
            "the template writes what stands before this message in another way when it is there",
            place="messages[-1]",
        )
    return whole[max(lengths) :]
