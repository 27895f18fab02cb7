"""`untemplate budget`: where the tokens of a request go, what is dropped, what its calls take.

    $ untemplate budget --model smollm2 --context 4096 < request.json
    template             30  what stands around any message
    system               44
    tools             2,628  60 of 60; one sentence each, parameters by name and type
    ...
    dropped
      21 exchanges, the oldest:
        messages[1:43]

    call           least  typical
    get_weather       29       41

If nothing fits, the table of the last try is written all the same, and the exit status is 2.
"""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click

from untemplate.budget import FitError
from untemplate.budget.window import Window, windows
from untemplate.cli.inputs import FILE, PLACE, load_request
from untemplate.cli.kept import open_template
from untemplate.cli.models import pull_shown
from untemplate.engines.llama.model import Model
from untemplate.engines.llama.vocabulary import model_vocabulary
from untemplate.engines.models import MODELS
from untemplate.errors import RequestError
from untemplate.vocabulary import Vocabulary, from_hf, from_tokenizer_json

__all__ = ["command"]

_COUNT = click.IntRange(min=0)


@click.command()
@click.option("--model", help="GGUF file, folder, or a name of `models list`.")
@click.option("--template", type=PLACE, help="Template instead of the model's own.")
@click.option("--tokenizer", type=PLACE, help="GGUF, folder or tokenizer.json, likewise.")
@click.option("--dialect", type=FILE, help="Dialect instead of the inferred one.")
@click.option("--context", type=click.IntRange(min=16), help="Tokens of prompt and reply.")
@click.option("--output", type=_COUNT, help="Tokens kept for the reply; else for a usual call.")
@click.option("--results", type=_COUNT, default=0, help="Tokens kept for results of its calls.")
def command(
    *,
    model: str | None,
    template: Path | None,
    tokenizer: Path | None,
    dialect: Path | None,
    context: int | None,
    output: int | None,
    results: int,
) -> None:
    """Read an OpenAI request from stdin; write how it fits into a context, as a table."""
    request = load_request(sys.stdin.buffer)
    source = _found(model)
    opened = open_template(_given(template, source, "--template"), dialect=dialect)
    vocabulary, trained = _vocabulary(_given(tokenizer, source, "--tokenizer"))
    now = datetime.now().astimezone()
    context = context or trained
    if context is None:
        raise RequestError("say how many tokens the model takes", place="--context")
    try:
        plan = opened.plan(
            request.messages,
            request.tools,
            vocabulary,
            context=context,
            output=output,
            results=results,
            tool_choice=request.choice if request.tools else None,
            now=now,
            variables=request.variables,
        )
    except FitError as error:
        click.echo(str(error.plan))
        raise
    click.echo(str(plan))
    turn = opened.turn(
        plan.messages, tools=plan.tools, shown=plan.shown, now=now, variables=request.variables
    )
    if found := windows(turn.grammar, vocabulary, plan.messages):
        click.echo(f"\n{_calls(found)}")


def _calls(found: Sequence[Window]) -> str:
    width = max(len("call"), *(len(w.tool) for w in found))
    lines = [f"{'call':<{width}}  {'least':>7}  {'typical':>7}"]
    for window in found:
        seen = f"  of {window.seen} in the conversation" if window.seen else ""
        lines.append(f"{window.tool:<{width}}  {window.least:>7,}  {window.typical:>7,}{seen}")
    return "\n".join(lines)


def _found(model: str | None) -> Path | None:
    if model is None or Path(model).exists():
        return None if model is None else Path(model)
    if model in MODELS:
        return pull_shown(model)
    raise RequestError(
        f"there is no such file, and no model of that name ({', '.join(MODELS)})",
        place=f"--model {model}",
    )


def _given(place: Path | None, model: Path | None, option: str) -> Path:
    if place is None and model is None:
        raise RequestError("say which, or give a --model that has one", place=option)
    return place or model or Path()


def _vocabulary(place: Path) -> tuple[Vocabulary, int | None]:
    """The vocabulary with its encoder, and the context that the model was trained for."""
    if place.is_dir():
        return from_hf(place), None
    if place.suffix == ".json":
        return from_tokenizer_json(place), None
    model = Model(place)
    return model_vocabulary(model), model.trained_context
