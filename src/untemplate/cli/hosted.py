"""A conversation whose tools are run: the tool loop, seen from the terminal.

    hosted = Hosted(ToolLoop(model, tools), messages=[], path=Path("tools.py"))
    with asyncio.Runner() as runner:
        hosted.answer(runner, "What is the weather in Paris?")

Calls that need an approval stop the run. They are asked about here, where nothing else is going on,
and the run goes on with the decisions; the tool loop makes sure that what runs is what was shown.
Ctrl-C stops the model and the tools, and what was said and done until then stays.
"""

import asyncio
import json
import logging
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import click

from untemplate.cli.screen import Screen, printable
from untemplate.loop import (
    ArgumentDelta,
    CallReady,
    CallStarted,
    ChatMessage,
    Done,
    LoopEvent,
    Outcome,
    Reason,
    Reasoning,
    Restarted,
    Run,
    RunResult,
    StepFinished,
    Text,
    ToolFinished,
    ToolLoop,
    ToolProgress,
)
from untemplate.message import JSON

__all__ = ["Hosted"]

_LEFT_OUT_SHOWN = 3
_ENDS: dict[Reason, str] = {
    "cut": "cut at the token limit",
    "loop": "stopped: the same call over and over",
    "steps": "stopped: too many calls in a row; say something to go on",
}


class Hosted:
    """The conversation so far, and the loop that goes on with it."""

    def __init__(self, loop: ToolLoop, messages: list[ChatMessage], path: Path) -> None:
        self._loop = loop
        self._messages = messages
        self._faults = _Faults(path)

    def answer(self, runner: asyncio.Runner, said: str) -> None:
        """Show what the model makes of it, and run what it calls."""
        log = logging.getLogger("untemplate.loop")
        log.addHandler(self._faults)
        try:
            run = self._loop.run([*self._messages, {"role": "user", "content": said}])
            while True:
                result = self._play(runner, run)
                if result.state is None:
                    break
                run = self._loop.resume(result.state, _decisions(result.state))
        except (KeyboardInterrupt, asyncio.CancelledError):
            click.secho("(stopped)", dim=True)
        finally:
            log.removeHandler(self._faults)

    def _play(self, runner: asyncio.Runner, run: Run) -> RunResult:
        screen = Screen()
        try:
            runner.run(self._show(run, screen))
        except (KeyboardInterrupt, asyncio.CancelledError):
            screen.interrupt()
            raise
        finally:
            self._messages = list(run.messages)
            screen.end()
        result = run.result
        if result.reason in _ENDS:
            screen.note(_ENDS[result.reason])
        return result

    async def _show(self, run: Run, screen: Screen) -> None:
        async with run:
            async for event in run:
                self._event(event, screen)

    def _event(self, event: LoopEvent, screen: Screen) -> None:
        match event:
            case Text(text):
                screen.text(text)
            case Reasoning(text):
                screen.reasoning(text)
            case CallStarted(_, _, name):
                screen.call(name)
            case ArgumentDelta(_, _, text):
                screen.arguments(text)
            case CallReady():
                screen.end_call()
            case Restarted(_, reason):
                screen.note(reason)
            case ToolProgress(_, name, text):
                screen.result(name, f"… {text}")
            case ToolFinished(outcome) if outcome.status != "pending":
                text = _told(outcome, self._faults.places)
                screen.result(outcome.call.name, text, is_failure=outcome.status != "ok")
            case StepFinished(record) if record.dropped:
                screen.note(_left_out(record.dropped))
            case Done():
                screen.end()
            case _:
                pass


def _told(outcome: Outcome, places: Mapping[str, str]) -> str:
    """A result as the one who wrote the tool wants to see it."""
    if outcome.status == "ok":
        return outcome.text
    if outcome.started and outcome.fault:
        return " at ".join(filter(None, (outcome.fault, places.get(outcome.call.id, ""))))
    error = cast("dict[str, dict[str, str]]", json.loads(outcome.text))["error"]
    return error["message"]


def _left_out(dropped: Sequence[str]) -> str:
    more = f" and {len(dropped) - _LEFT_OUT_SHOWN} more" if len(dropped) > _LEFT_OUT_SHOWN else ""
    return f"too long for the context; not shown: {', '.join(dropped[:_LEFT_OUT_SHOWN])}{more}"


def _decisions(state: Mapping[str, JSON]) -> dict[str, bool]:
    """A yes or a no for each call that waits; whatever is no yes is a no."""
    decisions: dict[str, bool] = {}
    for request in cast("list[dict[str, JSON]]", state["pending"]):
        arguments = json.dumps(request["arguments"], ensure_ascii=False)
        what = "destructive call" if request["effect"] == "destructive" else "call"
        question = printable(f"run the {what} {request['name']}({arguments})?")
        try:
            answer = input(f"{question} [y/N] ")
        except EOFError:
            click.echo()
            answer = ""
        except KeyboardInterrupt:
            click.echo()
            raise
        decisions[str(request["digest"])] = answer.strip().lower() in ("y", "yes")
    return decisions


class _Faults(logging.Handler):
    """Takes what the loop logs of tools that failed, and keeps where in the file it was."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.places: dict[str, str] = {}
        """By the id of the call."""

    def emit(self, record: logging.LogRecord) -> None:
        call_id = record.args[1] if isinstance(record.args, tuple) and record.args[1:] else None
        if record.exc_info is None or call_id is None:
            return
        frames = traceback.extract_tb(record.exc_info[2])
        lines = [f.lineno for f in frames if f.filename == str(self._path)]
        if lines:
            self.places[str(call_id)] = f"{self._path}:{lines[-1]}"
