"""`untemplate matrix`: what becomes of calls that nobody constrained and that go wrong somehow.

    $ untemplate matrix --templates templates
    template            one call  two calls  parallel off  optional first  required missing  ...
    Qwen3-Coder         ok        ok         marked        ok              marked            ...
    ...
    70 templates, 0 with a cell that failed

`marked` means that all came out, and that what is not in order is said. With `--show` the marks
stand in the cells; what failed is told below the table in any case, and makes the exit status 1.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from untemplate.cli.kept import open_template
from untemplate.dialect import Dialect
from untemplate.errors import UntemplateError
from untemplate.inference.matrix import COLUMNS, Cell, Row, matrix

__all__ = ["command"]

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.option("--templates", type=_FOLDER, required=True, help="Folder of the .jinja files.")
@click.option("--show", is_flag=True, help="Write the marks into the cells.")
@click.option("--json", "as_json", is_flag=True, help="Write a list of objects.")
@click.pass_context
def command(context: click.Context, templates: Path, *, show: bool, as_json: bool) -> None:
    """Read eight kinds of turns that go wrong, for each template of a folder."""
    rows = list(matrix(_dialects(templates)))
    if as_json:
        plain = [
            {"template": r.name, **{n: {"is": c.kind, "why": c.why} for n, c in r.cells.items()}}
            for r in rows
        ]
        click.echo(json.dumps(plain, ensure_ascii=False, indent=1))
    else:
        for line in (*_table(rows, show=show), *_failures(rows)):
            click.echo(line)
    bad = sum(not row.is_good for row in rows)
    click.echo(f"{len(rows)} templates, {bad} with a cell that failed", err=as_json)
    if bad:
        context.exit(1)


def _dialects(folder: Path) -> Iterator[tuple[str, Dialect]]:
    for path in sorted(folder.glob("*.jinja")):
        try:
            yield path.stem, open_template(path).dialect
        except UntemplateError as error:
            click.echo(f"{path.stem}: {' '.join(str(error).split())}", err=True)


def _table(rows: Sequence[Row], *, show: bool) -> Iterator[str]:
    lines = [("template", *COLUMNS)]
    lines += [(r.name, *(_shown(r.cells[n], show=show) for n in COLUMNS)) for r in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip()


def _shown(cell: Cell, *, show: bool) -> str:
    match cell.kind:
        case "read":
            return "ok"
        case "marked":
            return cell.why if show else "marked"
        case "failed":
            return "FAILED"


def _failures(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        for name, cell in row.cells.items():
            if cell.kind == "failed":
                yield f"{row.name}, {name}: {cell.why}"
