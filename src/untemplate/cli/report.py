r"""`untemplate report`: what becomes of each keyword of each schema.

    $ untemplate report --template qwen3.jinja < tools.json
    tool pay
      #/properties/to/type     exact
      #/properties/to/pattern  checked  the pattern has no automaton: a back-reference
    tool old
      #/properties/n/type      refused  'strin' is no type
    2 tools: 1 exact, 1 checked, 1 refused

`exact` is enforced by masks, `checked` by validation of what was written, `ignored` asks nothing.
What is `refused` is no schema, or stands in a strict one and can't be exact. Each tool is looked at
by itself. A template matters where it writes arguments pair by pair; without one they are JSON.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

import click

from untemplate.cli.inputs import FILE, PLACE, load_json
from untemplate.cli.kept import open_template
from untemplate.errors import LimitError, RequestError, SchemaError
from untemplate.grammar.answer import ANSWER
from untemplate.grammar.report import Report, in_pairs, report_on
from untemplate.message import JSON, Tool
from untemplate.wire.openai.conversation import read_response_format, read_tools

__all__ = ["command"]

_REQUEST = frozenset({"messages", "response_format", "tools"})
_ORDER = ("exact", "checked", "ignored", "refused")


@click.command()
@click.argument("schemas", type=click.File("rb"), default="-")
@click.option(
    "--template", type=PLACE, help="Template, GGUF or folder whose calls are asked about."
)
@click.option("--dialect", type=FILE, help="Dialect instead of the inferred one.")
@click.option("--open-objects", is_flag=True, help="Objects take keys that are not listed.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.pass_context
def command(
    context: click.Context,
    schemas: IO[bytes],
    template: Path | None,
    dialect: Path | None,
    *,
    open_objects: bool,
    as_json: bool,
) -> None:
    """Read tools, a request, or one JSON schema; say what becomes of its keywords.

    Exit status 1: something is refused.
    """
    if dialect is not None and template is None:
        raise RequestError("needs --template", place="--dialect")
    tools, answer, is_strict = _read(load_json(schemas))
    opened = open_template(template, dialect=dialect) if template else None
    pairs = in_pairs(opened.dialect) if opened else ""
    rows: list[Row] = []
    for tool in tools:
        report = partial(report_on, (tool,), None, open_objects=open_objects, in_pairs=pairs)
        rows += _rows(f"tool {tool.name}", report, is_strict=tool.strict)
    if answer is not None:
        report = partial(report_on, (), answer, open_objects=True)
        rows += _rows(ANSWER, report, is_strict=is_strict)
    if as_json:
        keys = ("origin", "pointer", "status", "reason")
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
    else:
        _show(rows, len(tools))
    context.exit(int(any(status == "refused" for _, _, status, _ in rows)))


Row = tuple[str, str, str, str]
"""Whose it is, pointer, status, reason."""


def _read(value: JSON) -> tuple[tuple[Tool, ...], JSON, bool]:
    """The tools, the schema of the answer, and whether that is strict."""
    if isinstance(value, list):
        return read_tools(value), None, False
    if isinstance(value, dict) and _REQUEST & value.keys():
        schema, is_strict = read_response_format(value.get("response_format"))
        return read_tools(value.get("tools")), schema, is_strict
    return (), value, False


def _rows(origin: str, report: Callable[[], Report], *, is_strict: bool) -> Iterator[Row]:
    """What is said of one tool, or of the answer."""
    try:
        keywords = report().keywords
    except (SchemaError, LimitError) as error:
        yield origin, error.place.removeprefix(origin).strip() or "#", "refused", error.message
        return
    for k in keywords:
        is_refused = is_strict and k.status == "checked"
        yield origin, k.pointer, "refused" if is_refused else k.status, k.reason


def _show(rows: list[Row], tools: int) -> None:
    width = max((len(pointer) for _, pointer, _, _ in rows), default=0)
    last = ""
    for origin, pointer, status, reason in rows:
        if origin != last:
            click.echo(origin)
            last = origin
        click.echo(f"  {pointer:{width}}  {status:7}  {reason}".rstrip())
    counts = Counter(status for _, _, status, _ in rows)
    told = ", ".join(f"{counts[status]} {status}" for status in _ORDER if counts[status])
    asked = f"{tools} tool{'s' * (tools != 1)}"
    if any(origin == ANSWER for origin, *_ in rows):
        asked = f"{asked} and the answer" if tools else "the answer"
    click.echo(f"{asked}: {told or 'nothing is asked'}")
