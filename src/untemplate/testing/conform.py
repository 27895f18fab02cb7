"""Checks recorded cases: what a model wrote, and what has to come out.

    for outcome in conform(load_cases(path), templates=folder):
        outcome.case_id, outcome.passed, outcome.why

A case is one object a line, in the format of the corpus: `template` (a file), `input` (the text
after the generation prompt), `expected` (content, reasoning, tool calls), and how it was asked:
`messages`, `tools`, `tool_choice`, `parallel_tool_calls`, `enable_thinking`, `reasoning_format`,
`continue_final_message`, `is_partial`. Each is read whole and byte by byte, and both have to give
what is expected. Content and reasoning are compared without white space at their ends, arguments as
JSON values; where the expected arguments end in mid-value, ours must begin them and go at least as
far.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from untemplate.dialect import Dialect, Opening, Prompt
from untemplate.errors import UntemplateError
from untemplate.grammar import build_grammar
from untemplate.message import JSON, FinishReason, Message, Tool, ToolChoice
from untemplate.reader import Reader
from untemplate.turn import ChatTemplate
from untemplate.turn.continuation import written_so_far

__all__ = ["Outcome", "conform", "load_cases"]

Case = Mapping[str, Any]

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one case went."""

    case_id: str
    template: str
    passed: bool
    why: str
    """The first difference, or nothing."""
    whole: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """What came out."""
    bytewise: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """What came out when it was fed byte by byte."""


def load_cases(path: Path) -> list[Case]:
    """The cases of a file with one JSON object a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def conform(cases: Iterable[Case], *, templates: Path) -> Iterator[Outcome]:
    """Read each case and compare; nothing that a case holds raises."""
    for case in cases:
        name = str(case["template"])
        try:
            whole, bytewise = _read(case, _template(templates / name))
        except UntemplateError as error:
            yield Outcome(str(case["id"]), name, passed=False, why=str(error))
            continue
        why = _difference(case, whole)
        if not why and whole != bytewise:
            why = "byte by byte it is read differently"
        yield Outcome(str(case["id"]), name, not why, why, whole, bytewise)


@lru_cache(maxsize=128)
def _template(path: Path) -> ChatTemplate:
    return ChatTemplate(path.read_text(encoding="utf-8"), bos_token="<s>", eos_token="</s>")  # noqa: S106  no secrets


def _read(case: Case, template: ChatTemplate) -> tuple[dict[str, JSON], dict[str, JSON]]:
    messages = case.get("messages") or [{"role": "user", "content": "Hi"}]
    tools = tuple(_tool(t) for t in case.get("tools") or ())
    variables: dict[str, JSON] = dict(case.get("chat_template_kwargs") or {})
    if case.get("enable_thinking") is not None:
        variables["enable_thinking"] = case["enable_thinking"]
    choice = ToolChoice(
        case.get("tool_choice") or "auto", parallel=bool(case.get("parallel_tool_calls", True))
    )
    goes_on = case.get("continue_final_message") not in (None, "none", False)
    turn = template.turn(
        messages,
        tools=tools,
        tool_choice=choice,
        continue_final_message=goes_on,
        variables=variables,
        nonce="conform",
        now=_NOW,
    )
    written = str(case["input"]).encode("utf-8", "surrogatepass")
    grammar = turn.grammar
    lead = written_so_far(turn.dialect, grammar.prompt, messages[-1]) if goes_on else ""
    if case.get("reasoning_format") == "none":
        dialect, prompt, opened = _with_reasoning_as_content(turn.dialect, grammar.prompt)
        grammar = build_grammar(dialect, tools, choice, prompt=prompt)
        lead = opened + lead
    reason: FinishReason = "length" if case.get("is_partial") else "stop"
    out: list[dict[str, JSON]] = []
    for size in (max(1, len(written)), 1):
        reader = Reader(grammar, nonce="conform")
        reader.feed(lead.encode())
        for at in range(0, len(written), size):
            reader.feed(written[at : at + size])
        out.append(_shown(reader.finish(reason)))
    return out[0], out[1]


def _tool(tool: Mapping[str, Any]) -> Tool:
    function = tool.get("function", tool)
    return Tool(
        str(function["name"]),
        str(function.get("description") or ""),
        function.get("parameters") or {"type": "object"},
    )


def _with_reasoning_as_content(dialect: Dialect, prompt: Prompt) -> tuple[Dialect, Prompt, str]:
    """The dialect in which reasoning is content, markers and all; and what the prompt opened."""
    header = next((h.header for h in dialect.history if h.before == "user"), "")
    preopened = any(o.block == "reasoning" and not o.literal for o in prompt.openings)
    opened = prompt.text.removeprefix(header) if preopened else ""
    blocks = {n: b for n, b in dialect.blocks.items() if n != "reasoning"}
    edges = tuple(e for e in dialect.edges if e.source in blocks and e.target != "reasoning")
    openings = [o for o in prompt.openings if o.block in blocks]
    if Opening("content") not in openings:
        openings.append(Opening("content"))
    return (
        replace(dialect, blocks=blocks, edges=edges),
        replace(prompt, openings=tuple(openings)),
        opened,
    )


def _shown(message: Message) -> dict[str, JSON]:
    return {
        "content": message.content,
        "reasoning_content": message.reasoning_content,
        "tool_calls": [
            {
                "name": c.name,
                "arguments": c.arguments,
                "closing": c.closing,
                "state": c.state,
                "id": c.written_id,
            }
            for c in message.tool_calls
        ],
        "diagnostics": [f"{d.code}: {d.message}" for d in message.diagnostics],
    }


# --------------------------------------------------------------------------------- comparison


def _difference(case: Case, got: Mapping[str, Any]) -> str:
    """The first difference from what is expected, or nothing."""
    expected: Mapping[str, Any] = case["expected"]
    reasoning = expected.get("reasoning_content") or expected.get("reasoning")
    for name, wanted in (("content", expected.get("content")), ("reasoning_content", reasoning)):
        if (wanted or "").strip() != got[name].strip():
            return f"{name} is {got[name]!r}, expected {wanted!r}"
    wanted_calls = expected.get("tool_calls") or []
    calls = got["tool_calls"]
    if len(calls) > len(wanted_calls):
        # The recorded parsers lose calls of undeclared tools; here they are kept, and marked.
        names = {_tool(t).name for t in case.get("tools") or ()}
        calls = [c for c in calls if not names or c["name"] in names]
    if len(wanted_calls) != len(calls):
        return f"{len(calls)} calls, expected {len(wanted_calls)}"
    for number, (call, wanted) in enumerate(zip(calls, wanted_calls, strict=True)):
        found = _call_difference(call, {**wanted, **(wanted.get("function") or {})})
        if found:
            return f"call {number}: {found}"
    return ""


def _call_difference(call: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    if call["name"] != wanted["name"]:
        return f"the name is {call['name']!r}, expected {wanted['name']!r}"
    if wanted.get("id") and call["id"] is not None and call["id"] != wanted["id"]:
        return f"the id is {call['id']!r}, expected {wanted['id']!r}"
    arguments = wanted.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            if not _goes_as_far(str(call["arguments"]), str(arguments)):
                return f"arguments are {call['arguments']!r}, expected to begin {arguments!r}"
            return ""
    try:
        got = json.loads((call["arguments"] + call["closing"]) or "{}")
    except ValueError:
        return f"arguments are no JSON: {call['arguments']!r}"
    if not _same(got, arguments or {}):
        return f"arguments are {got!r}, expected {arguments!r}"
    return ""


def _same(one: JSON, other: JSON) -> bool:
    """Whether two JSON values are equal: 5 and 5.0 are, 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(v, other[k]) for k, v in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _goes_as_far(got: str, wanted: str) -> bool:
    """Whether unfinished arguments begin with ours, and ours hold what is settled in them."""
    ours, theirs = "".join(got.split()), "".join(wanted.split())
    if ours.startswith(theirs):
        return True
    settled = max(theirs.rfind(","), theirs.rfind("{"), theirs.rfind("["), 0)
    return theirs.startswith(ours) and len(ours) >= settled
