"""Shows a conversation in the terminal while it happens.

    → get_weather({"city": "Paris"})
    ← get_weather: 18 degrees

A call is a line that grows as its arguments are written; while it grows, the results of other calls
wait. What comes from outside (a model, a tool) can't steer the terminal: control characters, and
those that change the direction of text, are shown as a replacement.
"""

import re

import click

__all__ = ["Screen", "printable"]

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_RESULT_LINES = 8
_RESULT_WIDTH = 400


class Screen:
    """What is shown of the model's turns and of its calls."""

    def __init__(self) -> None:
        self._in_call = False
        self._is_fresh = True
        """Whether the cursor is at the start of a line."""
        self._waiting: list[tuple[str, str]] = []

    def text(self, text: str) -> None:
        """More of what the model says."""
        self.end_call()
        self._write(text)

    def reasoning(self, text: str) -> None:
        """More of what it thinks."""
        self.end_call()
        self._write(text, dim=True)

    def call(self, name: str) -> None:
        """A call begins."""
        self.end_call()
        self._line()
        self._write(f"→ {name}(", fg="cyan")
        self._in_call = True

    def arguments(self, text: str) -> None:
        """More of its arguments."""
        self._write(text, fg="cyan")

    def end_call(self) -> None:
        """The call is whole, or will not get any further."""
        if self._in_call:
            self._write(")", fg="cyan")
            self._in_call = False
            self._line()
        for text, color in self._waiting:
            self._line()
            self._write(text, fg=color)
            self._line()
        self._waiting.clear()

    def result(self, name: str, text: str, *, is_failure: bool = False) -> None:
        """What a call gave."""
        self._waiting.append((f"← {name}: {_short(text)}", "red" if is_failure else "green"))
        if not self._in_call:
            self.end_call()

    def note(self, text: str) -> None:
        """Something about the conversation."""
        self.end_call()
        self._line()
        self._write(f"({text})", fg="yellow")
        self._line()

    def interrupt(self) -> None:
        """Ctrl-C was typed; the terminal has shown it, wherever the cursor was."""
        click.echo()
        self._in_call = False
        self._is_fresh = True

    def end(self) -> None:
        """The turn is over: the next thing starts on a line of its own."""
        self.end_call()
        self._line()

    def _line(self) -> None:
        if not self._is_fresh:
            click.echo()
        self._is_fresh = True

    def _write(self, text: str, *, fg: str | None = None, dim: bool | None = None) -> None:
        if text:
            styled = click.style(printable(text), fg=fg, dim=dim) if fg or dim else printable(text)
            click.echo(styled, nl=False)
            self._is_fresh = text.endswith("\n")


def printable(text: str) -> str:
    """The text without what would steer the terminal."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def _short(text: str) -> str:
    """The first lines of a result, behind its name or below it."""
    lines = text.strip().splitlines() or ["(nothing)"]
    shown = [line if len(line) <= _RESULT_WIDTH else line[:_RESULT_WIDTH] + "…" for line in lines]
    if len(shown) > _RESULT_LINES:
        shown = [*shown[: _RESULT_LINES - 1], f"… {len(lines) - _RESULT_LINES + 1} more lines"]
    return shown[0] if len(shown) == 1 else "\n  ".join(["", *shown])
