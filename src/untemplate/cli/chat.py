"""`untemplate chat`: a conversation in the terminal; calls are shown as they form.

    you> What is the weather in Paris?
    → get_weather({"city": "Paris"})
    result of get_weather> 18 degrees

The one who types is also the tools: results of calls are asked for, and the model goes on. Ctrl-C
while the model writes stops it; at the prompt, Ctrl-D or Ctrl-C ends.
"""

import re
import secrets
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, assert_never

import click

from untemplate.cli.inputs import load_tools
from untemplate.cli.loading import Loaded, load, model_options
from untemplate.engines.events import Finished, Generated, Prompted
from untemplate.engines.sampling import Sampling
from untemplate.message import JSON, Delta, Message, Tool
from untemplate.reader import deltas

__all__ = ["command"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@click.command()
@model_options
@click.option("--tools", type=click.File("rb"), help="JSON list of tools that may be called.")
@click.option("--system", help="System message.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Most tokens of a reply.")
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.7, show_default=True)
@click.option("--seed", type=int)
def command(
    *,
    tools: IO[bytes] | None,
    system: str | None,
    max_tokens: int | None,
    temperature: float,
    seed: int | None,
    model: str | None,
    chat_template: Path | None,
    dialect: Path | None,
    context: int | None,
    threads: int,
) -> None:
    """Talk to a model in the terminal. Without --model a small one is fetched once."""
    declared = load_tools(tools) if tools else ()
    loaded = load(model, chat_template, dialect, context=context, threads=threads)
    sampling = Sampling(temperature=temperature, seed=seed)
    messages: list[dict[str, JSON]] = []
    if system:
        messages.append({"role": "system", "content": system})
    for said in _asked("you"):
        messages.append({"role": "user", "content": said})
        while True:
            try:
                message = _reply(loaded, messages, declared, sampling, max_tokens)
            except KeyboardInterrupt:
                click.secho("\n(stopped)", dim=True)
                break
            messages.append(_history(message))
            if not message.tool_calls:
                break
            messages += _results(message)


def _asked(who: str) -> Iterator[str]:
    """What is typed, line by line, until it ends."""
    while True:
        try:
            yield input(f"{who}> ")
        except (EOFError, KeyboardInterrupt):
            click.echo()
            return


def _reply(
    loaded: Loaded,
    messages: list[dict[str, JSON]],
    tools: tuple[Tool, ...],
    sampling: Sampling,
    max_tokens: int | None,
) -> Message:
    """One turn of the model, shown as it comes."""
    turn = loaded.template.turn(
        messages, tools=tools, nonce=secrets.token_hex(12), now=datetime.now().astimezone()
    )
    screen = _Screen()
    for event in loaded.engine.generate(turn, max_tokens=max_tokens, sampling=sampling):
        match event:
            case Generated():
                for delta in deltas(event.events):
                    screen.show(delta)
            case Finished(message):
                screen.end(message)
                return message
            case Prompted():
                pass
            case _:
                assert_never(event)
    raise AssertionError("an engine's last event is Finished")


class _Screen:
    """Shows the deltas of one turn; a call is a line of its own."""

    def __init__(self) -> None:
        self._open = ""

    def show(self, delta: Delta) -> None:
        if delta.reasoning_content:
            click.secho(_printable(delta.reasoning_content), nl=False, dim=True)
        if delta.content:
            self._close()
            click.echo(_printable(delta.content), nl=False)
        for call in delta.tool_calls:
            if call.id is not None:
                self._close()
                click.secho(f"\n→ {call.name}(", nl=False, fg="cyan")
                self._open = ")"
            click.secho(_printable(call.arguments), nl=False, fg="cyan")

    def end(self, message: Message) -> None:
        self._close()
        if message.finish_reason == "length":
            click.secho(" (cut at the token limit)", nl=False, fg="yellow")
        click.echo()

    def _close(self) -> None:
        click.secho(self._open, nl=False, fg="cyan")
        self._open = ""


def _printable(text: str) -> str:
    """The text without what would steer the terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _history(message: Message) -> dict[str, JSON]:
    """The message as a conversation holds it."""
    calls: list[JSON] = [
        {
            "id": c.id,
            "type": "function",
            "function": {"name": c.name, "arguments": c.arguments + c.closing},
        }
        for c in message.tool_calls
    ]
    history: dict[str, JSON] = {"role": "assistant", "content": message.content}
    if message.reasoning_content:
        history["reasoning_content"] = message.reasoning_content
    return {**history, "tool_calls": calls} if calls else history


def _results(message: Message) -> list[dict[str, JSON]]:
    """What the tools gave, typed by hand; a cut call is not asked for."""
    results: list[dict[str, JSON]] = []
    for call in message.tool_calls:
        if call.state == "complete":
            text = next(_asked(f"result of {call.name}"), "no result")
        else:
            text = f"not run: the call is {call.state}"
        results.append(
            {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": text}
        )
    return results
