"""What `serve` and `chat` run: a model in this process, with the template that fits it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from untemplate.cli.inputs import FILE
from untemplate.cli.kept import open_template, warm
from untemplate.cli.models import pull_shown
from untemplate.engines.llama.engine import LlamaEngine
from untemplate.engines.llama.model import Model
from untemplate.engines.models import MODELS
from untemplate.errors import RequestError
from untemplate.turn import ChatTemplate

__all__ = ["Loaded", "load", "model_options"]

_DEFAULT = "smollm2"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to be driven."""

    name: str
    engine: LlamaEngine
    template: ChatTemplate


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that say what to load."""
    options: list[Callable[[Any], Any]] = [
        click.option("--model", help=f"GGUF file, or a name of `models list`; else {_DEFAULT}."),
        click.option("--chat-template", type=FILE, help="Template instead of the model's own."),
        click.option("--dialect", type=FILE, help="Dialect instead of the inferred one."),
        click.option("--context", type=click.IntRange(min=16), help="Tokens of prompt and reply."),
        click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def load(
    model: str | None,
    chat_template: Path | None,
    dialect: Path | None,
    *,
    context: int | None,
    threads: int,
    sequences: int = 1,
) -> Loaded:
    """Loads a model, fetching it first if it comes by name and is not there."""
    name, path = _found(model or _DEFAULT)
    template = open_template(chat_template or path, dialect=dialect)
    proof = template.analysis.proof
    if not proof.proved:
        click.echo(
            f"warning: how this model writes is not fully proved ({proof.passed} of {proof.checks}"
            " checks; see untemplate inspect)",
            err=True,
        )
    engine = LlamaEngine(Model(path), context_tokens=context, threads=threads, sequences=sequences)
    warm(engine.vocabulary)
    return Loaded(name, engine, template)


def _found(model: str) -> tuple[str, Path]:
    path = Path(model)
    if path.is_file():
        return path.stem, path
    if model in MODELS:
        return model, pull_shown(model)
    raise RequestError(
        f"there is no such file, and no model of that name ({', '.join(MODELS)})",
        place=f"--model {model}",
    )
