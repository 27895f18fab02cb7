"""`untemplate serve`: a model in this process behind an OpenAI-compatible address."""

import logging
from pathlib import Path

import click

from untemplate.cli.loading import load, model_options
from untemplate.server import create_app
from untemplate.server.listen import listen

__all__ = ["command"]


@click.command()
@model_options
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free."
)
@click.option("--parallel", type=click.IntRange(1, 64), default=4, show_default=True)
@click.option("--alias", help="Name of the model in /v1/models.")
def command(
    *,
    host: str,
    port: int,
    parallel: int,
    alias: str | None,
    model: str | None,
    chat_template: Path | None,
    dialect: Path | None,
    context: int | None,
    threads: int,
) -> None:
    """Serve a model to OpenAI clients. Without --model a small one is fetched once."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    loaded = load(
        model, chat_template, dialect, context=context, threads=threads, sequences=parallel
    )
    name = alias or loaded.name
    app = create_app(
        loaded.engine,
        loaded.template,
        model=name,
        meta={
            "context_tokens": loaded.engine.context_tokens,
            "description": loaded.engine.model.description,
            "dialect": loaded.template.analysis.source,
            "dialect_proved": loaded.template.analysis.proof.proved,
        },
    )

    def ready(address: str) -> None:
        click.echo(f"{name} is served at {address}/v1 (stop with Ctrl-C)", err=True)

    try:
        listen(app, host=host, port=port, ready=ready)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
