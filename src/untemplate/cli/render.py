"""`untemplate render`: the prompt of a request; or, of an answer, the text that its model wrote.

    $ untemplate render --template qwen3.jinja < request.json
    <|im_start|>user
    Hi<|im_end|>
    <|im_start|>assistant

With an assistant message last, and no `continue_final_message`, what comes out is the text of that
message as the template writes it, from where its prompt ends: what `parse` reads back.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from untemplate.cli.inputs import FILE, PLACE, Request, load_request
from untemplate.cli.kept import open_template
from untemplate.dialect import Before, Field, Frame, History
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
    opened = open_template(template, dialect=dialect)
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
    # Some templates write the reasoning of earlier turns only when they are told to.
    variables = {**template.analysis.capabilities.history_switches, **request.variables}
    whole, before = (
        template.render(r.messages, r.tools, now=now, variables=variables) for r in (request, asked)
    )
    history = template.dialect.place(_place(request))
    frame = _frame(history, request) if history else None
    if whole == before:
        return ""  # the message leaves no trace
    if history is None or frame is None:
        raise _unknown(request)
    whole = _without_end(whole, before, history.header)
    if history.after:  # the template opens the next turn after every conversation
        opened = sorted((p.text for p in template.dialect.prompts), key=len, reverse=True)
        end = _first([p for p in opened if whole.endswith(history.after + p)])
        whole = whole.removesuffix(history.after + end)
    shared = len(common_prefix(whole, before))
    led = _behind_prompt(whole, turn.prompt, request, shared)
    if not frame.parts:
        if led is not None:
            return led
        text = frame.literals[0].removesuffix(history.after)
        # Where the header is not that of the prompt, it stands in front of the first part too.
        header = max(
            (o.literal for o in history.openings if text.startswith(o.literal)), key=len, default=""
        )
        text = text.removeprefix(header)
        return text if _leads(turn, "content", text) else _first(_ways(turn, "content")) + text
    block = frame.parts[0].block
    if led is not None and _leads(turn, block, led):
        return led
    prompts = sorted((before + p.text for p in template.dialect.prompts), key=len, reverse=True)
    for prompt in prompts:
        text = whole[len(prompt) :]
        if whole.startswith(prompt) and _leads(turn, block, text):
            return text
    head = history.header + frame.literals[0]
    at = whole.rfind(head, 0, shared + len(head))
    if at < 0:
        raise _unknown(request)
    # History does not go on from the prompt: the prompt opens reasoning, say, which history leaves
    # out. So the model's way to the first part stands in for the header.
    return _first(_ways(turn, block)) + whole[at + len(head) :]


def _behind_prompt(whole: str, prompt: str, request: Request, shared: int) -> str | None:
    """What follows the prompt; the message before it may be written otherwise when it is last."""
    if whole.startswith(prompt):
        return whole[len(prompt) :]
    last = request.messages[-2].get("content") if len(request.messages) > 1 else None
    if not isinstance(last, str) or not last or last not in prompt:
        return None
    opening = prompt.rpartition(last)[2]
    at = whole.find(last + opening, max(0, shared - len(last))) if opening else -1
    return whole[at + len(last + opening) :] if at >= 0 else None


def _first(texts: Sequence[str]) -> str:
    return next(iter(texts), "")


def _unknown(request: Request) -> RequestError:
    return RequestError(
        "it can't be told where the template begins to write this message",
        place=f"messages[{len(request.messages) - 1}]",
    )


def _without_end(whole: str, before: str, header: str) -> str:
    """The conversation without what the template writes behind every conversation."""
    if not whole.startswith(before):
        for start in range(len(common_prefix(whole, before)), -1, -1):
            end = before[start:]
            if whole.endswith(end) and header and whole.startswith(header, start):
                return whole[: len(whole) - len(end)]
    return whole


def _frame(history: History, request: Request) -> Frame | None:
    """How history writes a message with these fields.

    Reasoning may be dropped, calls may have become content.
    """
    has = _fields(request)
    calls = request.messages[-1].get("tool_calls")
    count = len(calls) if isinstance(calls, list) else 0
    spelt: tuple[Field, ...] = (*(f for f in has if f == "reasoning"), "content")
    tries = (has, _without_reasoning(has), spelt, _without_reasoning(spelt))
    for wanted in tries if count else tries[:2]:
        frames = [f for f in history.frames if f.has == wanted and f.calls in (None, count)]
        if frames:
            return max(frames, key=lambda f: f.calls is not None)
    return None


def _without_reasoning(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(f for f in fields if f != "reasoning")


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


def _ways(turn: Turn, block: str) -> list[str]:
    """What the model may write after the prompt to get to a block, the shortest way first."""
    openings = turn.grammar.unrestricted().prompt.openings
    direct = [o.literal for o in openings if o.block == block]
    around = [
        o.literal + e.literal
        for o in openings
        for e in turn.dialect.edges_from(o.block)
        if e.target == block
    ]
    return direct + around


def _leads(turn: Turn, block: str, text: str) -> bool:
    """Whether the text behind the prompt begins with a way to the block, whatever its space."""
    begun = "".join(text.split())
    return any(begun.startswith("".join(way.split())) for way in _ways(turn, block))
