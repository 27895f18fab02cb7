r"""`untemplate inspect`: what was found out about a template, and how far it is proved.

For people; `--json` is for programs, and has the whole dialect and grammar.

    $ untemplate inspect qwen3.jinja
    dialect   inferred; proved by 96 of 96 checks, up to 4 calls in a turn
    stops     "<|im_end|>"
    prompts   "<|im_start|>assistant\n" → "" call  "" content  "<think>\n" reasoning
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import click

from untemplate.cli.inputs import FILE, PLACE
from untemplate.dialect import END, BlockPattern, CallBlock, Dialect, Hole, Prompt, dumps
from untemplate.errors import UntemplateError
from untemplate.grammar import build_grammar
from untemplate.grammar.export import to_gbnf
from untemplate.inference import Analysis, Proof
from untemplate.message import JSON, Tool
from untemplate.turn import ChatTemplate

__all__ = ["command"]

_EXAMPLE = Tool(
    "example",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["text"],
    },
)
"""The tool for which the grammar is summed up."""


@click.command()
@click.argument("template", type=PLACE)
@click.option("--dialect", type=FILE, help="Dialect to prove, instead of the inferred one.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@click.option("--all", "all_of", is_flag=True, help="One line for each .jinja file of a folder.")
def command(template: Path, dialect: Path | None, *, as_json: bool, all_of: bool) -> None:
    """Show how the model of TEMPLATE (a template, GGUF or folder) writes, and the proof."""
    if all_of:
        if as_json or dialect or not template.is_dir():
            raise click.UsageError("--all takes a folder, and neither --json nor --dialect")
        for path in sorted(template.glob("*.jinja")):
            click.echo(f"{path.stem:<50}{_summary(path)}")
        return
    analysis = ChatTemplate.open(template, dialect=dialect).analysis
    if as_json:
        click.echo(json.dumps(_plain(analysis), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(analysis)))


def _summary(path: Path) -> str:
    try:
        analysis = ChatTemplate.open(path).analysis
    except UntemplateError as error:
        return " ".join(str(error).split())
    return f"{analysis.source}; {_verdict(analysis.proof)}"


def _plain(analysis: Analysis) -> JSON:
    proof = analysis.proof
    losses: list[JSON] = [{"what": x.what, "shown_by": x.shown_by} for x in proof.losses]
    return {
        "source": analysis.source,
        "dialect": cast("JSON", json.loads(dumps(analysis.dialect))),
        "proof": {
            "proved": proof.proved,
            "checks": proof.checks,
            "passed": proof.passed,
            "calls_max": proof.calls_max,
            "losses": losses,
            "not_covered": list(proof.not_covered),
            "first_difference": proof.first_difference,
        },
        "stops": list(analysis.dialect.stops),
        "prompts": [p.text for p in analysis.dialect.prompts],
        "notes": list(analysis.notes),
        "grammar": to_gbnf(build_grammar(analysis.dialect, [_EXAMPLE])).text,
    }


def _lines(analysis: Analysis) -> Iterator[str]:
    dialect = analysis.dialect
    yield _row("dialect", f"{analysis.source}; {_verdict(analysis.proof)}")
    if analysis.proof.first_difference:
        yield _row("", f"first difference: {analysis.proof.first_difference}")
    yield _row("stops", "  ".join(map(_quoted, dialect.stops)))
    yield from _table("prompts", (_shown_prompt(p) for p in dialect.prompts))
    yield from _table("blocks", (_shown_block(n, b) for n, b in dialect.blocks.items()))
    yield from _table("between", _shown_edges(dialect))
    yield from _table("losses", (x.what for x in analysis.proof.losses))
    yield from _table("unproved", analysis.proof.not_covered)
    yield from _table("notes", analysis.notes)
    grammar = build_grammar(dialect, [_EXAMPLE])
    size = len(to_gbnf(grammar).text.splitlines())
    yield _row("grammar", f"{len(grammar.rules)} rules: {', '.join(grammar.rules)}")
    yield _row("", f"{size} rules as GBNF with one small tool; --json shows them")


def _verdict(proof: Proof) -> str:
    word = "proved" if proof.proved else "NOT proved"
    calls = f", up to {proof.calls_max} calls in a turn" if proof.calls_max else ""
    return f"{word} by {proof.passed} of {proof.checks} checks{calls}"


def _row(name: str, text: str) -> str:
    return f"{name:<10}{text}"


def _table(name: str, rows: Iterable[str]) -> Iterator[str]:
    for i, row in enumerate(rows):
        yield _row(name if i == 0 else "", row)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _shown_prompt(prompt: Prompt) -> str:
    switches = ", ".join(f"{k}={json.dumps(v)}" for k, v in prompt.switches.items())
    openings = "  ".join(f"{_quoted(o.literal)} {o.block}" for o in prompt.openings)
    where = f" before {prompt.before}" if prompt.before != "user" else ""
    return f"{_quoted(prompt.text)}{where}{f' with {switches}' if switches else ''} → {openings}"


def _shown_block(name: str, block: BlockPattern) -> str:
    if not isinstance(block, CallBlock):
        return f"{name}: text"
    parts = (p.value.upper() if isinstance(p, Hole) else _quoted(p) for p in block.pattern)
    return f"{name}: {' '.join(parts)}, arguments as {type(block.arguments).__name__}"


def _shown_edges(dialect: Dialect) -> Iterator[str]:
    for edge in dialect.edges:
        target = "end" if edge.target == END else edge.target
        yield f"{edge.source} → {target}  {_quoted(edge.literal)}  ({edge.evidence})"
