"""`untemplate chat`: a conversation in the terminal; calls are shown as they form.

    you> What is the weather in Paris?
    → get_weather({"city": "Paris"})
    ← get_weather: 18 degrees
    It is 18 degrees in Paris.

With `--tools FILE.py` the calls run: each public function of the file is a tool (`tool_file`), and
the tool loop runs them (`hosted`). With `--tools FILE.json`, a list as OpenAI writes it, the one
who types is also the tools: results of calls are asked for, and the model goes on.

Ctrl-C while the model writes or a tool runs stops them; the conversation stays. At the prompt,
Ctrl-D or Ctrl-C ends.
"""

import asyncio
import secrets
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import assert_never

import click

from untemplate.cli.hosted import Hosted
from untemplate.cli.inputs import FILE, load_tools
from untemplate.cli.loading import Loaded, load, model_options
from untemplate.cli.screen import Screen
from untemplate.cli.tool_file import load_functions
from untemplate.engines.events import Finished, Generated, Prompted
from untemplate.engines.sampling import Sampling
from untemplate.loop import Limits, LocalModel, ToolLoop
from untemplate.message import JSON, Delta, Message, Tool, ToolCall
from untemplate.reader import deltas

__all__ = ["command"]


@click.command()
@model_options
@click.option(
    "--tools",
    type=FILE,
    help="Python file whose functions may be called, or JSON list of tools that you play.",
)
@click.option("--system", help="System message.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Most tokens of a reply.")
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.7, show_default=True)
@click.option("--seed", type=int)
def command(
    *,
    tools: Path | None,
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
    functions = load_functions(tools) if tools and tools.suffix == ".py" else []
    declared = _declared(tools) if tools and not functions else ()
    loaded = load(model, chat_template, dialect, context=context, threads=threads)
    sampling = Sampling(temperature=temperature, seed=seed)
    messages: list[dict[str, JSON]] = []
    if system:
        messages.append({"role": "system", "content": system})
    if tools and functions:
        can_count = hasattr(loaded.engine, "vocabulary")
        writer = LocalModel(
            loaded.engine, loaded.template, sampling=sampling, clock=_now, fit=can_count
        )
        loop = ToolLoop(writer, functions, limits=Limits(final_answer=True), max_tokens=max_tokens)
        _run(Hosted(loop, messages, tools))
    else:
        _play(loaded, messages, declared, sampling, max_tokens)


def _run(hosted: Hosted) -> None:
    """A conversation whose tools are run."""
    with asyncio.Runner() as runner:
        for said in _asked("you"):
            hosted.answer(runner, said)


def _play(
    loaded: Loaded,
    messages: list[dict[str, JSON]],
    tools: tuple[Tool, ...],
    sampling: Sampling,
    max_tokens: int | None,
) -> None:
    """A conversation in which the one who types is the tools."""
    for said in _asked("you"):
        messages.append({"role": "user", "content": said})
        while True:
            try:
                message = _reply(loaded, messages, tools, sampling, max_tokens)
            except KeyboardInterrupt:
                click.secho("\n(stopped)", dim=True)
                break
            messages.append(_history(message))
            if not message.tool_calls:
                break
            messages += _results(message)


def _declared(path: Path) -> tuple[Tool, ...]:
    with path.open("rb") as stream:
        return load_tools(stream)


def _now() -> datetime:
    return datetime.now().astimezone()


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
    turn = loaded.template.turn(messages, tools=tools, nonce=secrets.token_hex(12), now=_now())
    screen = Screen()
    for event in loaded.engine.generate(turn, max_tokens=max_tokens, sampling=sampling):
        match event:
            case Generated():
                for delta in deltas(event.events):
                    _show(delta, screen)
            case Finished(message):
                screen.end()
                for call in message.tool_calls:
                    if call.state != "complete":
                        screen.note(_state(call))
                if message.finish_reason == "length":
                    screen.note("cut at the token limit")
                return message
            case Prompted():
                pass
            case _:
                assert_never(event)
    raise AssertionError("an engine's last event is Finished")


def _state(call: ToolCall) -> str:
    """How a call stands that is not complete."""
    where = f" at {call.cut_path}" if call.cut_path else ""
    missing = f", without {', '.join(call.missing)}" if call.missing else ""
    return f"the call of {call.name} is {call.state}{where}{missing}"


def _show(delta: Delta, screen: Screen) -> None:
    if delta.reasoning_content:
        screen.reasoning(delta.reasoning_content)
    if delta.content:
        screen.text(delta.content)
    for call in delta.tool_calls:
        if call.name is not None:
            screen.call(call.name)
        screen.arguments(call.arguments)


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
