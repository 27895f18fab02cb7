"""`untemplate conform`: reads recorded cases, and tells which come out as they have to.

    $ untemplate conform cases.jsonl --templates templates --show 1
    Qwen3-Coder.jinja                        10/11   a1
    a1: content is 'A', expected 'B'
    ...
    10 passed, 1 failed

A case whose expectation is not met on purpose (`--divergences`; default the package's list,
`inference/divergences.json`) counts as failed; the exit status is 1 if any other failed. The case
format stands in `untemplate.inference.cases`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import cast

import click

from untemplate.cli.admits import Admitted, admitted_by
from untemplate.cli.inputs import FILE
from untemplate.errors import RequestError, UntemplateError
from untemplate.grammar import Grammar, build_grammar
from untemplate.inference.cases import Case, read_case
from untemplate.inference.conform import (
    Received,
    divergences,
    judge,
    prompt_difference,
    read_input,
    unrecorded_prompt,
)
from untemplate.message import JSON, ToolCall
from untemplate.turn import ChatTemplate
from untemplate.turn.continuation import written_so_far

__all__ = ["command"]

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class _Outcome:
    case: Case
    why: str
    """The first difference, or nothing."""
    admitted_by: Admitted | None = None
    """How the grammar takes what it has to; None: there is nothing that it has to."""
    listed: str = ""
    """Why the expectation is not met on purpose; empty: it should be."""
    whole: Received | None = None
    bytewise: Received | None = None


@click.command()
@click.argument("cases", type=FILE)
@click.option("--templates", type=_FOLDER, required=True, help="Folder of the .jinja files.")
@click.option("--show", type=click.IntRange(min=0), default=0, help="Say of so many what differs.")
@click.option("--json", "as_json", is_flag=True, help="Write what came out of each case.")
@click.option("--divergences", "list_", type=FILE, help="Cases that fail on purpose, and why.")
@click.pass_context
def command(
    context: click.Context,
    cases: Path,
    templates: Path,
    *,
    show: int,
    as_json: bool,
    list_: Path | None,
) -> None:
    """Read each of CASES (one JSON object a line) and compare with what it expects.

    The list of divergences that comes with the package is for the recorded cases of llama.cpp and
    vLLM. A listed case counts as failed all the same; the exit status is 1 if another one failed.
    """
    listed = divergences(None if list_ is None else list_.read_text(encoding="utf-8"))
    read = (_outcome(case, templates) for case in _load(cases))
    outcomes = [replace(o, listed=listed.get(o.case.id, "")) for o in read]
    failed = [o for o in outcomes if o.why]
    if as_json:
        lines = ",\n".join(json.dumps(_plain(o), ensure_ascii=False) for o in outcomes)
        click.echo(f"[\n{lines}\n]".encode("utf-8", "replace"))
    else:
        for line in (*_rows(outcomes), *(_shown(o) for o in failed[:show])):
            click.echo(line.encode("utf-8", "replace"))
        asked = [o.admitted_by for o in outcomes if o.admitted_by is not None]
        by_mask, by_reading = asked.count("mask"), asked.count("reading")
        click.echo(f"must_accept: {by_mask} of {len(asked)} by the mask, {by_reading} by reading")
    click.echo(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed", err=as_json)
    if not all(o.listed for o in failed):
        context.exit(1)


def _load(path: Path) -> Iterator[Case]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            place = f"{path.name} line {number}"
            try:
                value = cast("JSON", json.loads(line))
            except (ValueError, RecursionError) as error:
                raise RequestError(f"is not JSON: {error}", place=place) from None
            yield read_case(value, place)


@lru_cache(maxsize=256)
def _template(path: Path) -> ChatTemplate:
    """The template of a file; special tokens that it asks for are given stand-ins."""
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RequestError(error.strerror or "can't be read", place=str(path)) from None
    return ChatTemplate(source, bos_token="<s>", eos_token="</s>")  # noqa: S106  no secrets


def _outcome(case: Case, templates: Path) -> _Outcome:
    """How a case goes; one that can't be asked has failed."""
    try:
        turn = _template(templates / case.template).turn(
            case.messages,
            tools=case.tools or (),
            # With no tools at all there is nothing to choose from, whatever the case says.
            tool_choice=None if case.tools == () else case.choice,
            response_schema=case.response_schema,
            continue_final_message=case.continues,
            variables=case.variables,
            nonce=case.id,
            now=_NOW,
        )
        last = case.messages[-1]
        grammar, dialect = turn.grammar, turn.dialect
        lead = (
            written_so_far(dialect, grammar.prompt, last, case.continues) if case.continues else ""
        )
        why = prompt_difference(case, turn.prompt)
        admitted = _admitted(case, grammar, lead)
    except UntemplateError as error:
        return _Outcome(case, str(error))
    if not case.is_recorded:
        prompt = unrecorded_prompt(case, dialect, grammar.prompt)
        grammar = build_grammar(dialect, grammar.tools, grammar.choice, prompt=prompt)
    try:
        whole, bytewise = (read_input(case, grammar, lead, piece=n) for n in (0, 1))
    except Exception as error:  # noqa: BLE001  a reader that raises is one of the things looked for
        return _Outcome(case, f"reading raises {error!r}")
    why = judge(case, dialect, whole, bytewise) or why
    if not why and admitted == "none":
        why = f"the grammar does not allow {case.must_accept!r}"
    return _Outcome(case, why, admitted, "", whole, bytewise)


def _admitted(case: Case, grammar: Grammar, lead: str) -> Admitted | None:
    """How the grammar takes the text that it has to; None: there is none.

    The text may begin with the prompt, or where the first call does.
    """
    text = case.must_accept
    if not text or not (grammar.tools or grammar.response_schema is not None):
        return None
    starts = [text, case.input] if case.input.endswith(text) else [text]
    if case.generation_prompt and text.startswith(case.generation_prompt):
        starts = [text.removeprefix(case.generation_prompt)]
    return admitted_by(grammar, [lead + start for start in starts])


# ------------------------------------------------------------------------------------------- output


def _rows(outcomes: Sequence[_Outcome]) -> Iterator[str]:
    """A row for each template, with the ids that failed; listed ones in brackets."""
    names = dict.fromkeys(o.case.template for o in outcomes)
    width = max(map(len, names), default=0)
    for name in sorted(names):
        own = [o for o in outcomes if o.case.template == name]
        failed = [f"({o.case.id})" if o.listed else o.case.id for o in own if o.why]
        count = f"{len(own) - len(failed)}/{len(own)}"
        yield f"{name:<{width}}  {count:>7}  {' '.join(failed)}".rstrip()


def _shown(outcome: _Outcome) -> str:
    case = outcome.case
    listed = f"\n  listed: {outcome.listed}" if outcome.listed else ""
    return f"\n{case.id} {case.template}\n  input: {case.input!r}\n  {outcome.why}{listed}"


def _plain(outcome: _Outcome) -> JSON:
    case = outcome.case
    return {
        "id": case.id,
        "template": case.template,
        "passed": not outcome.why,
        "why": outcome.why,
        "divergence": outcome.listed or None,
        "must_accept": outcome.admitted_by,
        "whole": _plain_reading(outcome.whole),
        "byte_by_byte": _plain_reading(outcome.bytewise),
    }


def _plain_reading(received: Received | None) -> JSON:
    if received is None:
        return None
    message = received.message
    return {
        "content": received.content,
        "reasoning_content": received.reasoning,
        "tool_calls": [_plain_call(c) for c in message.tool_calls],
        "diagnostics": [f"{d.code}: {d.message}" for d in message.diagnostics],
        "end": message.end,
    }


def _plain_call(call: ToolCall) -> JSON:
    return {
        "id": call.written_id or "",
        "name": call.name,
        "arguments": call.arguments,
        "closing": call.closing,
        "state": call.state,
    }
