"""`untemplate conform`: reads recorded cases, and tells which come out as they have to.

    $ untemplate conform cases.jsonl --templates templates --show 1
    Qwen3-Coder.jinja                        10/11   a1
    a1: content is 'A', expected 'B'
    ...
    10 passed, 1 failed

A case whose expectation is not met on purpose (see `inference/divergences.json`) counts as failed;
the exit status is 1 if any other failed. The case format stands in `untemplate.inference.conform`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

import click

from untemplate.cli.inputs import FILE
from untemplate.errors import RequestError, UntemplateError
from untemplate.grammar import Grammar, build_grammar
from untemplate.inference.conform import (
    Case,
    Received,
    divergences,
    is_read_whole,
    judge,
    prompt_difference,
    read_case,
    read_input,
    unrecorded_prompt,
)
from untemplate.message import JSON, ToolCall
from untemplate.turn import ChatTemplate
from untemplate.turn.continuation import written_so_far
from untemplate.vocabulary import byte_vocabulary

__all__ = ["command"]

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


_AllowedBy = Literal["nothing", "mask", "reading", "none"]
"""`nothing`: there is nothing that has to be allowed."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    case: Case
    why: str
    """The first difference, or nothing."""
    allowed_by: _AllowedBy = "nothing"
    whole: Received | None = None
    bytewise: Received | None = None

    @property
    def is_listed(self) -> bool:
        return self.case.id in divergences()


@click.command()
@click.argument("cases", type=FILE)
@click.option("--templates", type=_FOLDER, required=True, help="Folder of the .jinja files.")
@click.option("--show", type=click.IntRange(min=0), default=0, help="Say of so many what differs.")
@click.option("--json", "as_json", is_flag=True, help="Write what came out of each case.")
@click.pass_context
def command(
    context: click.Context, cases: Path, templates: Path, *, show: int, as_json: bool
) -> None:
    """Read each of CASES (one JSON object a line) and compare with what it expects."""
    outcomes = [_outcome(case, templates) for case in _load(cases)]
    failed = [o for o in outcomes if o.why]
    if as_json:
        lines = ",\n".join(json.dumps(_plain(o), ensure_ascii=False) for o in outcomes)
        click.echo(f"[\n{lines}\n]".encode("utf-8", "replace"))
    else:
        for line in (*_rows(outcomes), *(_shown(o) for o in failed[:show])):
            click.echo(line.encode("utf-8", "replace"))
    click.echo(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed", err=as_json)
    if not all(o.is_listed for o in failed):
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
        allowed_by = _allowed_by(case, grammar, lead)
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
    if not why and allowed_by == "none":
        why = f"the grammar does not allow {case.must_accept!r}"
    return _Outcome(case, why, allowed_by, whole, bytewise)


def _allowed_by(case: Case, grammar: Grammar, lead: str) -> _AllowedBy:
    """In which sense the grammar takes what it has to take.

    The text may begin with the prompt, or where the first call does. The mask keeps to the spelling
    of the template; what is spelt otherwise is taken by the lenient sense, that of reading.
    """
    text = case.must_accept
    if not text or not (grammar.tools or grammar.response_schema is not None):
        return "nothing"
    starts = [text, case.input] if case.input.endswith(text) else [text]
    if case.generation_prompt and text.startswith(case.generation_prompt):
        starts = [text.removeprefix(case.generation_prompt)]
    if any(_accepts(grammar, lead + start) for start in starts):
        return "mask"
    if any(is_read_whole(case, grammar, lead + start) for start in starts):
        return "reading"
    return "none"


def _accepts(grammar: Grammar, text: str) -> bool:
    """Whether the mask allows a text, byte by byte, and the end of the turn behind it."""
    from untemplate.constrain import compile_grammar  # noqa: PLC0415  numpy is heavy

    stops = grammar.dialect.stops or ("</s>",)
    vocabulary = byte_vocabulary(stops, eos=stops[0])
    ends = [vocabulary.special[stop] for stop in stops]
    try:
        constraint = compile_grammar(grammar, vocabulary).constraint()
        is_allowed = constraint.feed(text.encode("utf-8", "surrogatepass"))
        return is_allowed and (constraint.is_finished or any(map(constraint.allows, ends)))
    except UntemplateError:
        return False


# ------------------------------------------------------------------------------------------- output


def _rows(outcomes: Sequence[_Outcome]) -> Iterator[str]:
    """A row for each template, with the ids that failed; listed ones in brackets."""
    names = dict.fromkeys(o.case.template for o in outcomes)
    width = max(map(len, names), default=0)
    for name in sorted(names):
        own = [o for o in outcomes if o.case.template == name]
        failed = [f"({o.case.id})" if o.is_listed else o.case.id for o in own if o.why]
        count = f"{len(own) - len(failed)}/{len(own)}"
        yield f"{name:<{width}}  {count:>7}  {' '.join(failed)}".rstrip()


def _shown(outcome: _Outcome) -> str:
    case = outcome.case
    listed = f"\n  listed: {divergences()[case.id]}" if outcome.is_listed else ""
    return f"\n{case.id} {case.template}\n  input: {case.input!r}\n  {outcome.why}{listed}"


def _plain(outcome: _Outcome) -> JSON:
    case = outcome.case
    return {
        "id": case.id,
        "template": case.template,
        "passed": not outcome.why,
        "why": outcome.why,
        "divergence": divergences().get(case.id),
        "must_accept": outcome.allowed_by,
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
