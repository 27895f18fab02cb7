"""`untemplate models`: the models that come by name."""

import sys
from pathlib import Path

import click

from untemplate.engines.models import MODELS, find_model, pull

__all__ = ["command", "pull_shown"]


@click.group(no_args_is_help=False)
def command() -> None:
    """Fetch the models that come by name, pinned by version and checksum."""


@command.command("list")
def list_models() -> None:
    """List the models, and where those lie that were fetched."""
    for name in MODELS:
        click.echo(f"{name}\t{find_model(name) or 'not fetched'}")


@command.command("pull")
@click.argument("name", type=click.Choice(sorted(MODELS)))
def pull_model(name: str) -> None:
    """Fetch a model into the cache, and print where it lies."""
    click.echo(pull_shown(name))


def pull_shown(name: str) -> Path:
    """Path of a model by name; if it has to be fetched, with a message and a progress bar."""
    found = find_model(name)
    if found is not None:
        return found
    click.echo(f"fetching model {name}, once", err=True)
    with click.progressbar(length=1, label=name, file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return pull(name, progress=progress)
