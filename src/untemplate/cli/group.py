"""The group of all commands, and how they fail.

`untemplate --help` imports no command: what it says of each stands here. A command's module defines
`command`. Whatever goes wrong is one line on stderr and exit status 2.
"""

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO, Any

import click

from untemplate.errors import UntemplateError

__all__ = ["main"]

_COMMANDS = {
    "serve": "Serve a model to OpenAI clients.",
    "chat": "Talk to a model in the terminal.",
    "models": "Fetch the models that come by name.",
    "inspect": "Show how a template's model writes, and the proof.",
    "render": "Turn a request into the prompt that its template makes.",
    "parse": "Turn what a model wrote into one JSON object.",
    "report": "Say what becomes of each keyword of tools' schemas.",
    "budget": "Show where the tokens of a request go, and make it fit.",
    "conform": "Read recorded cases, and tell which come out as they have to.",
    "matrix": "Show what becomes of calls that go wrong, for each template.",
}

_EXTRAS = {
    "anyio": "server",
    "msgspec": "server",
    "starlette": "server",
    "uvicorn": "server",
    "tokenizers": "hf",
    "xllamacpp": "local",
}
"""Packages that a command may miss, and the extra that brings them."""


class _Failed(click.ClickException):
    """What went wrong, in one line."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"untemplate: {' '.join(self.message.split())}", file=file, err=file is None)


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"untemplate.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _one_line():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_line():
            return super().invoke(ctx)


@contextmanager
def _one_line() -> Generator[None]:
    """Whatever goes wrong inside fails in one line."""
    try:
        yield
    except click.UsageError as error:
        hint = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
        raise _Failed(error.format_message() + hint) from None
    except click.ClickException as error:
        raise _Failed(error.format_message()) from None
    except UntemplateError as error:
        raise _Failed(str(error)) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        install = f"pip install 'untemplate[{_EXTRAS[package]}]'"
        raise _Failed(f"{package} is not installed: {install}") from None


@click.group(
    cls=_Group, invoke_without_command=True, context_settings={"auto_envvar_prefix": "UNTEMPLATE"}
)
@click.version_option(package_name="untemplate")
@click.pass_context
def main(context: click.Context) -> None:
    """Any LLM chat template, turned inside out: one grammar that masks and reads tool calls."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
