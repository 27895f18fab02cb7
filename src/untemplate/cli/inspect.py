r"""`untemplate inspect`: what was found out about a template, and how far it is proved.

For people; `--json` is for programs, and has the whole dialect and grammar, and the response
template that transformers would read; `unsaid` is what of the dialect that can't say.

    $ untemplate inspect qwen3.jinja
    dialect   inferred; proved by 500 of 500 checks, up to 4 calls in a turn
    stops     "<|im_end|>"
    prompts   "<|im_start|>assistant\n" → "" call  "" content  "<think>\n" reasoning

With `--all` each template of a folder has one row, or one object of a list. The proof draws 200
messages with the seed. A template is proved only if all checks passed and each limit (fewer than
four calls, something that history loses, no turn with calls) is listed with a rendering.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import click

from untemplate.cli.inputs import FILE, PLACE
from untemplate.dialect import END, BlockPattern, CallBlock, Dialect, Hole, Prompt, dumps
from untemplate.dialect.response_template import to_response_template
from untemplate.errors import UntemplateError
from untemplate.grammar import Grammar, build_grammar, nodes
from untemplate.grammar.export import to_gbnf
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.inference import Analysis, Proof, analyse, prove
from untemplate.inference.evidence import Shown, find_evidence
from untemplate.message import JSON, Tool
from untemplate.template.rendering import CompiledTemplate
from untemplate.template.source import read_source
from untemplate.turn import ChatTemplate

__all__ = ["command"]

_MESSAGES = 200
"""How many messages a proof draws for the first place of a conversation, half for the others."""

_MOST_CALLS = 4
"""As many calls as a message of the proof may have."""

_EXAMPLE = Tool(
    "example",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["text"],
    },
)
"""The tool for which the grammar is summed up."""


@dataclass(frozen=True, slots=True)
class _Inspected:
    """One template under inspection."""

    template: CompiledTemplate
    analysis: Analysis
    seconds: float
    """CPU seconds of the analysis as every use makes it, without the long proof."""

    @property
    def is_proved(self) -> bool:
        proof = self.analysis.proof
        limits = [x.what for x in proof.losses if x.shown_by and "call" in x.what]
        few = proof.calls_max < _MOST_CALLS and not limits
        return proof.proved and not few and all(x.shown_by for x in proof.losses)


@click.command()
@click.argument("template", type=PLACE)
@click.option("--dialect", type=FILE, help="Dialect to prove, instead of the inferred one.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON value.")
@click.option("--all", "all_of", is_flag=True, help="One row for each .jinja file of a folder.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the proof's messages.")
def command(
    template: Path, dialect: Path | None, *, as_json: bool, all_of: bool, seed: int
) -> None:
    """Show how the model of TEMPLATE (a template, GGUF or folder) writes, and the proof."""
    if all_of:
        if dialect or not template.is_dir():
            raise click.UsageError("--all takes a folder, and no --dialect")
        _all(sorted(template.glob("*.jinja")), seed, as_json=as_json)
        return
    found = _inspected(template, seed, dialect)
    if as_json:
        click.echo(json.dumps(_plain(found), ensure_ascii=False, indent=2))
    else:
        click.echo("\n".join(_lines(found)))


def _inspected(path: Path, seed: int, dialect: Path | None = None) -> _Inspected:
    source = read_source(path)
    template = source.compile(with_tools=True)
    start = time.process_time()
    analysis = analyse(template, response_template=source.response_template)
    seconds = time.process_time() - start
    if dialect is not None:
        analysis = ChatTemplate.open(path, dialect=dialect).analysis
    proof = prove(template, analysis.dialect, analysis.capabilities, seed=seed, messages=_MESSAGES)
    return _Inspected(template, replace(analysis, proof=proof), seconds)


# --------------------------------------------------------------------------------- many templates


def _all(paths: Iterable[Path], seed: int, *, as_json: bool) -> None:
    """A row for each template as it is done, or a list of objects, one a line."""
    proved, count = 0, 0
    for count, path in enumerate(paths, 1):
        try:
            found = _inspected(path, seed)
        except UntemplateError as error:
            why = " ".join(str(error).split())
            entry, row = _refused(path.stem, why), why
        else:
            entry = {"template": path.stem, **_entry(found)}
            row = f"{found.analysis.source}; {_verdict(found)}, {found.seconds * 1000:.0f} ms"
            proved += found.is_proved
        if as_json:
            click.echo(
                ("[\n" if count == 1 else ",\n") + json.dumps(entry, ensure_ascii=False), nl=False
            )
        else:
            click.echo(f"{path.stem:<50}{row}")
    if as_json:
        click.echo("\n]" if count else "[]")
    else:
        click.echo(f"{proved} of {count} proved")


def _refused(name: str, why: str) -> dict[str, JSON]:
    """What is told of a template that can't be analysed."""
    return {
        "template": name,
        "source": "",
        "tools": False,
        "proof": {"checks": 0, "passed": 0, "calls_max": 0, "losses": [], "not_covered": []},
        "proved": False,
        "first_difference": why,
        "seconds": 0.0,
        "dialect": None,
    }


def _entry(found: _Inspected) -> dict[str, JSON]:
    analysis = found.analysis
    return {
        "source": analysis.source,
        "tools": analysis.dialect.polyfill is None,
        "proof": _plain_proof(analysis.proof),
        "proved": found.is_proved,
        "first_difference": analysis.proof.first_difference,
        "seconds": round(found.seconds, 4),
        "dialect": cast("JSON", json.loads(dumps(analysis.dialect))),
    }


def _plain_proof(proof: Proof) -> dict[str, JSON]:
    return {
        "checks": proof.checks,
        "passed": proof.passed,
        "calls_max": proof.calls_max,
        "losses": [{"what": x.what, "shown_by": x.shown_by} for x in proof.losses],
        "not_covered": list(proof.not_covered),
    }


# ----------------------------------------------------------------------------------- one template


def _plain(found: _Inspected) -> JSON:
    dialect = found.analysis.dialect
    grammar = build_grammar(dialect, [_EXAMPLE])
    proof = found.analysis.proof
    return {
        **_entry(found),
        "proof": {
            **_plain_proof(proof),
            "proved": found.is_proved,
            "first_difference": proof.first_difference,
        },
        "stops": list(dialect.stops),
        "prompts": [p.text for p in dialect.prompts],
        "triggers": dict(_triggers(grammar)),
        "special_tokens": dict(_special_tokens(found)),
        "notes": list(found.analysis.notes),
        "response_template": _response_template(dialect),
        "renderings": [
            {"before": x.before, "has": list(x.has), "text": x.text, "shows": list(x.parts)}
            for x in find_evidence(found.template, found.analysis)
        ],
        "grammar": to_gbnf(grammar).text,
    }


def _response_template(dialect: Dialect) -> JSON:
    """The dialect as transformers reads it, and what that leaves unsaid."""
    said = to_response_template(dialect)
    return {"template": dict(said.template), "unsaid": list(said.unsaid)}


def _triggers(grammar: Grammar) -> Iterator[tuple[str, JSON]]:
    """What ends free text, by the rule of the text."""
    for name, node in grammar.rules.items():
        if isinstance(node, nodes.Text) and node.triggers:
            yield name, [t.data.decode("utf-8", "replace") for t in node.triggers]


def _special_tokens(found: _Inspected) -> Iterator[tuple[str, JSON]]:
    """Tokens that the file names, and marks that a vocabulary may well have as one token."""
    for name, token in found.template.special_tokens.items():
        if token:
            yield name, token
    dialect = found.analysis.dialect
    literals = [e.literal for e in dialect.edges] + [p.text for p in dialect.prompts]
    for block in dialect.blocks.values():
        if isinstance(block, CallBlock):
            literals += [p for p in block.pattern if not isinstance(p, Hole)]
    found_marks = dict.fromkeys(m for x in (*literals, *dialect.stops) for m in marks(x))
    yield "marks", [m for m in found_marks if is_distinctive(m)]


def _lines(found: _Inspected) -> Iterator[str]:
    analysis, dialect = found.analysis, found.analysis.dialect
    grammar = build_grammar(dialect, [_EXAMPLE])
    yield _row("dialect", f"{analysis.source}; {_verdict(found)}")
    if analysis.proof.first_difference:
        yield _row("", f"first difference: {analysis.proof.first_difference}")
    yield _row("stops", "  ".join(map(_quoted, dialect.stops)))
    yield from _table("prompts", (_shown_prompt(p) for p in dialect.prompts))
    yield from _table("blocks", (_shown_block(n, b) for n, b in dialect.blocks.items()))
    yield from _table("between", _shown_edges(dialect))
    yield from _table(
        "triggers", (f"{n}  {json.dumps(t, ensure_ascii=False)}" for n, t in _triggers(grammar))
    )
    yield from _table(
        "special", (f"{n}  {json.dumps(t, ensure_ascii=False)}" for n, t in _special_tokens(found))
    )
    yield from _table("shown by", map(_shown_rendering, find_evidence(found.template, analysis)))
    yield from _table("losses", (f"{x.what}: {_quoted(x.shown_by)}" for x in analysis.proof.losses))
    yield from _table("unproved", analysis.proof.not_covered)
    yield from _table("notes", analysis.notes)
    yield from _table("unsaid", to_response_template(dialect).unsaid)
    size = len(to_gbnf(grammar).text.splitlines())
    yield _row("grammar", f"{len(grammar.rules)} rules: {', '.join(grammar.rules)}")
    yield _row("", f"{size} rules as GBNF with one small tool; --json shows them")


def _shown_rendering(shown: Shown) -> str:
    what = " and ".join(shown.has) or "nothing"
    return f"{what} after {shown.before}: {_quoted(shown.text)}  ({', '.join(shown.parts)})"


def _verdict(found: _Inspected) -> str:
    proof = found.analysis.proof
    word = "proved" if found.is_proved else "NOT proved"
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
