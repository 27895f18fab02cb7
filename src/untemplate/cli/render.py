"""`untemplate render`: the prompt of a request; or, of an answer, the text that its model wrote.

    $ untemplate render --template qwen3.jinja < request.json
    <|im_start|>user
    Hi<|im_end|>
    <|im_start|>assistant

With an assistant message last, and no `continue_final_message`, what comes out is the text of that
message as the template writes it, from where its prompt ends: what `parse` reads back.
"""

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from untemplate.cli.inputs import FILE, PLACE, Request, load_request
from untemplate.dialect import Before, Field
from untemplate.errors import RequestError
from untemplate.inference.text import common_prefix
from untemplate.turn import ChatTemplate, Turn

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
        text = _turn(opened, request, now).prompt
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _turn(template: ChatTemplate, request: Request, now: datetime) -> Turn:
    return template.turn(
        request.messages,
        tools=request.tools,
        tool_choice=request.choice,
        continue_final_message=request.continue_final_message,
        now=now,
        variables=request.variables,
    )


def _answer(template: ChatTemplate, request: Request, now: datetime) -> str:
    asked = replace(request, messages=request.messages[:-1])
    turn = _turn(template, asked, now)
    whole, before = (
        template.render(r.messages, r.tools, now=now, variables=r.variables)
        for r in (request, asked)
    )
    if whole.startswith(turn.prompt):
        return whole[len(turn.prompt) :]
    prompts = [before + p.text for p in template.dialect.prompts]
    fitting = [len(p) for p in prompts if whole.startswith(p)]
    if fitting:
        return whole[max(fitting) :]
    return _led_in(turn, request, whole, len(common_prefix(whole, before)))


def _led_in(turn: Turn, request: Request, whole: str, start: int) -> str:
    """The answer, where history does not go on from the prompt.

    The prompt opens reasoning, say, which history leaves out: what leads from the prompt to the
    first part of the answer is written instead of the header that history has.
    """
    history = turn.dialect.place(_place(request))
    frames = {f.has: f for f in history.frames} if history else {}
    has = _fields(request)
    frame = frames.get(has) or frames.get(tuple(f for f in has if f != "reasoning"))
    if history and frame and frame.parts:
        head = history.header + frame.literals[0]
        at = whole.rfind(head, 0, start + len(head))
        if at >= 0:
            text = whole[at + len(head) :].removesuffix(history.after)
            return _lead(turn, frame.parts[0].block) + text
    raise RequestError(
        "it can't be told where the template begins to write this message",
        place=f"messages[{len(request.messages) - 1}]",
    )


def _fields(request: Request) -> tuple[Field, ...]:
    message = request.messages[-1]
    names: dict[str, Field] = {
        "reasoning_content": "reasoning",
        "content": "content",
        "tool_calls": "calls",
    }
    return tuple(field for name, field in names.items() if message.get(name))


def _place(request: Request) -> Before:
    users = sum(m["role"] == "user" for m in request.messages)
    if request.messages[-2:-1] and request.messages[-2]["role"] == "tool":
        return "tool"
    return "user" if users < 2 else "later user"


def _lead(turn: Turn, block: str) -> str:
    """What the model writes after the prompt to get to a block."""
    openings = turn.grammar.prompt.openings
    direct = [o.literal for o in openings if o.block == block]
    around = [
        o.literal + e.literal
        for o in openings
        for e in turn.dialect.edges_from(o.block)
        if e.target == block
    ]
    return next(iter(direct + around), "")
