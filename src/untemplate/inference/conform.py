"""Judges recorded cases: what a model wrote, and what has to come out.

    case = read_case({"id": "a1", "template": "x.jinja", "input": "Hi", "expected": {...}})
    whole, bytewise = (read_input(case, grammar, piece=n) for n in (0, 1))
    judge(case, grammar.dialect, whole, bytewise)     # "" or the first difference

Here stand the rules by which what came out is compared; the format of a case stands in `cases`, and
who opens templates and renders prompts is `untemplate conform`. The rules:

- Content and reasoning are compared without white space at their ends; null is empty.
- Names are exact. Ids count where the format writes them and the case gives one. A call of a tool
  that is not declared may come out beside those that are expected, if it is marked; its text may
  be expected as content.
- Arguments are JSON values. Where the expected text ends in mid-value, ours has to begin it, and to
  go at least as far as its last settled value; white space between values does not count.
- The input is read whole and byte by byte. The same message has to come out, and what was streamed
  has to add up to it.
- The prompt ends with `generation_prompt`, where the case has one. Of a message that is to be
  continued it was written by hand, not by a template: there white space does not count, and ours
  may have more in one place.

With `reasoning_format: none` reasoning is not told apart: its text and its tags are content, and so
is the tag that the prompt had opened. `divergences` lists the cases whose expectation is not met on
purpose, each with its reason.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import cast

from untemplate.dialect import CallBlock, Dialect, Hole, Opening, Prompt, TextBlock
from untemplate.errors import RequestError
from untemplate.grammar import Grammar
from untemplate.grammar.marks import marks
from untemplate.inference.cases import Case, ExpectedCall
from untemplate.message import JSON, FinishReason, Message, ToolCall
from untemplate.reader import Event, Part, Reader, TextDelta, TextEnd, TextStart, deltas

__all__ = [
    "Received",
    "divergences",
    "judge",
    "prompt_difference",
    "read_input",
    "unrecorded_prompt",
]


_MOST_MORE = 40
"""Characters that a template may write where a prompt written by hand has none."""


@dataclass(frozen=True, slots=True)
class Received:
    """What came out of one way of reading the input."""

    message: Message
    content: str
    """The message's, with reasoning and its tags where those are asked for as content."""
    reasoning: str
    streamed: tuple[str, str, tuple[str, ...]]
    """Content, reasoning and the arguments of each call, added up from what was streamed."""


def divergences(text: str | None = None) -> Mapping[str, str]:
    """The ids of cases whose expectation is not met on purpose, each with its reason.

    `text`: a file of such reasons, `[{"why": ..., "ids": [...]}]`; default the one for the recorded
    cases of llama.cpp and vLLM.
    """
    if text is None:
        file = resources.files("untemplate.inference").joinpath("divergences.json")
        text = file.read_text("utf-8")
    try:
        return {str(i): str(kind["why"]) for kind in json.loads(text) for i in kind["ids"]}
    except (ValueError, TypeError, KeyError) as error:
        raise RequestError(
            f'expected [{{"why": ..., "ids": [...]}}]: {error}', place="divergences"
        ) from None


# -------------------------------------------------------------------------------------- the reading


def read_input(case: Case, grammar: Grammar, lead: str = "", *, piece: int = 0) -> Received:
    """What comes out of the input, fed in pieces of so many bytes; 0: whole.

    `lead` is what the message that is continued had already written.
    """
    data = case.input.encode("utf-8", "surrogatepass")
    reason: FinishReason = "length" if case.is_partial else "stop"
    reader = Reader(grammar, nonce=case.id)
    events = list(reader.feed(lead.encode())) if lead else []
    for at in range(0, len(data), piece or max(1, len(data))):
        events += reader.feed(data[at : at + (piece or len(data))])
    message = reader.finish(reason)
    events += reader.finish_events()
    content, reasoning = message.content, message.reasoning_content
    if case.reasoning_is_content:
        written = lead.encode() + data
        content = _opened(grammar.dialect, grammar.prompt) + _tagged(
            grammar.dialect, events, written
        )
        reasoning = ""
    return Received(message, content, reasoning, _streamed(events))


def unrecorded_prompt(case: Case, dialect: Dialect, prompt: Prompt) -> Prompt:
    """The prompt that the input was written after, where the case does not record it.

    Where the usual prompt has opened reasoning, and the text closes none, it was written after one
    that opens none.
    """
    if not all(_is_reasoning(dialect, o.block) and not o.literal for o in prompt.openings):
        return prompt
    closers = [
        found[0]
        for e in dialect.edges
        if _is_reasoning(dialect, e.source) and (found := marks(e.literal))
    ]
    if any(c in case.input for c in closers):
        return prompt
    for other in dialect.prompts:
        if not any(_is_reasoning(dialect, o.block) and not o.literal for o in other.openings):
            return other
    contents = [n for n, b in dialect.blocks.items() if b == TextBlock("content")]
    calls = [
        Opening(e.target, e.literal.lstrip())
        for e in dialect.edges
        if e.source in contents and isinstance(dialect.blocks.get(e.target), CallBlock)
    ]
    return replace(prompt, openings=(*(Opening(n) for n in contents), *calls))


def _streamed(events: Sequence[Event]) -> tuple[str, str, tuple[str, ...]]:
    content, reasoning, calls = "", "", dict[int, str]()
    for delta in deltas(events):
        content += delta.content
        reasoning += delta.reasoning_content
        for call in delta.tool_calls:
            calls[call.index] = calls.get(call.index, "") + call.arguments
    return content, reasoning, tuple(calls.values())


def _opened(dialect: Dialect, prompt: Prompt) -> str:
    """The tag of reasoning that the prompt has opened."""
    inside = any(_is_reasoning(dialect, o.block) and not o.literal for o in prompt.openings)
    headers = [h.header for h in dialect.history if prompt.text.startswith(h.header)]
    return prompt.text.removeprefix(max(headers, key=len, default="")) if inside else ""


def _is_reasoning(dialect: Dialect, block: str) -> bool:
    pattern = dialect.blocks.get(block)
    return isinstance(pattern, TextBlock) and pattern.kind == "reasoning"


def _tagged(dialect: Dialect, events: Sequence[Event], written: bytes) -> str:
    """Content and reasoning in their order, reasoning with what opens and closes it."""
    out: list[str] = []
    marks: list[str] = []
    """Markers since the last text."""
    after_reasoning = False
    for event in events:
        match event:
            case Part(kind, (start, end)) if kind in ("marker", "space", "structure"):
                marks.append(written[start:end].decode("utf-8", "replace"))
            case TextStart(kind):
                if kind == "reasoning":
                    out.extend(marks)
                elif after_reasoning:
                    out.append(_without_lead(dialect, "".join(marks)))
                marks.clear()
            case TextDelta(kind, text):
                out.append(text)
            case TextEnd(kind):
                after_reasoning = kind == "reasoning"
                marks.clear()
            case _:
                pass
    return "".join(out)


def _without_lead(dialect: Dialect, closing: str) -> str:
    """What closes reasoning, without what opens the content behind it."""
    openings = [o for p in dialect.prompts for o in p.openings]
    openings += [o for h in dialect.history for o in h.openings]
    leads = {o.literal.strip() for o in openings if not _is_reasoning(dialect, o.block)}
    found = [x for x in leads if x and closing.rstrip().endswith(x)]
    return closing.rstrip().removesuffix(max(found, key=len)) if found else closing


# ----------------------------------------------------------------------------------- the comparison


def judge(case: Case, dialect: Dialect, whole: Received, bytewise: Received) -> str:
    """The first difference from what is expected, or nothing."""
    expected = case.expected
    calls, contents = _without_undeclared(case, whole)
    for name, got, wanted in (
        ("content", contents, expected.content),
        ("reasoning_content", [whole.reasoning], expected.reasoning),
    ):
        if wanted.strip() not in (text.strip() for text in got):
            return f"{name} is {got[0]!r}, expected {wanted!r}"
    if len(calls) != len(expected.calls):
        names = ", ".join(c.name for c in calls) or "none"
        return f"{len(calls)} calls ({names}), expected {len(expected.calls)}"
    writes_ids = any(
        isinstance(b, CallBlock) and (Hole.ID in b.pattern or b.id_pattern)
        for b in dialect.blocks.values()
    )
    for number, (call, expected_call) in enumerate(zip(calls, expected.calls, strict=True)):
        difference = _call_difference(call, expected_call, writes_ids=writes_ids)
        if difference:
            return f"call {number}: {difference}"
    for name in Message.__dataclass_fields__:
        one, other = (getattr(r.message, name) for r in (whole, bytewise))
        if one != other:
            return f"byte by byte {name} is {other!r}, whole {one!r}"
    for received in (whole, bytewise):
        message = received.message
        told = tuple(c.arguments for c in message.tool_calls)
        if received.streamed != (message.content, message.reasoning_content, told):
            return f"what was streamed adds up to {received.streamed!r}"
    return ""


def _without_undeclared(case: Case, received: Received) -> tuple[tuple[ToolCall, ...], list[str]]:
    """The calls that may be expected, and the contents that may.

    A call of an undeclared tool is a call, and marked; a recorded parser has left it out, or has
    left its text in the content.
    """
    message = received.message
    marked = [d.span for d in message.diagnostics if d.code == "unknown_tool"]
    wanted = {c.name for c in case.expected.calls}
    undeclared = [
        c
        for c in message.tool_calls
        if c.name not in wanted
        and any(c.span[0] <= start and end <= c.span[1] for start, end in marked)
    ]
    contents = [received.content]
    if undeclared:
        raw = message.raw.encode("utf-8", "surrogatepass")
        texts = {c.index: raw[slice(*c.span)].decode("utf-8", "replace") for c in undeclared}
        shown = (texts.get(b.call, "") if b.call is not None else b.text for b in message.blocks)
        contents.append("".join(shown) if not received.reasoning else received.content)
    return tuple(c for c in message.tool_calls if c not in undeclared), contents


def _call_difference(call: ToolCall, wanted: ExpectedCall, *, writes_ids: bool) -> str:
    if call.name != wanted.name:
        return f"the name is {call.name!r}, expected {wanted.name!r}"
    if writes_ids and wanted.id and call.written_id != wanted.id:
        return f"the id is {call.written_id!r}, expected {wanted.id!r}"
    if isinstance(wanted.arguments, str):
        if not _goes_as_far(call.arguments, wanted.arguments):
            return f"arguments are {call.arguments!r}, expected to begin {wanted.arguments!r}"
        return ""
    try:
        got = cast("JSON", json.loads((call.arguments + call.closing) or "{}"))
    except ValueError:
        return f"arguments are no JSON: {call.arguments!r}"
    if not _same(got, dict(wanted.arguments)):
        return f"arguments are {got!r}, expected {wanted.arguments!r}"
    return ""


def _same(one: JSON, other: JSON) -> bool:
    """Whether two JSON values are equal: 5 and 5.0 are, 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(v, other[k]) for k, v in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PIECE = re.compile(_STRING.pattern + r'|".*|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
"""Of JSON text that may end anywhere; white space between pieces is skipped."""


def _goes_as_far(got: str, wanted: str) -> bool:
    """Whether ours begins the unfinished text, and holds all that is settled in it."""
    ours, theirs = ("".join(_PIECE.findall(text)) for text in (got, wanted))
    return theirs.startswith(ours) and len(ours) >= _settled(theirs)


def _settled(text: str) -> int:
    """Where the last value ends that can't change any more; `text` has no space between pieces."""
    end = 0
    containers: list[str] = []
    before = ""
    for found in _PIECE.finditer(text):
        piece = found.group()
        if piece in ("{", "["):
            containers.append(piece)
        elif piece in ("}", "]"):
            del containers[-1:]
            end = found.end()
        elif piece not in (":", ","):
            is_key = containers[-1:] == ["{"] and before in ("{", ",")
            is_whole = found.end() < len(text) or _STRING.fullmatch(piece)
            end = found.end() if is_whole and not is_key else end
        before = piece
    return end


def prompt_difference(case: Case, prompt: str) -> str:
    """How the end of the prompt differs from what the case has there, or nothing."""
    wanted = case.generation_prompt or ""
    is_there = prompt.endswith(wanted)
    if case.continues and not is_there:
        is_there = _ends_alike("".join(prompt.split()), "".join(wanted.split()))
    return "" if is_there else f"the prompt ends with {prompt[-len(wanted) :]!r}, not {wanted!r}"


def _ends_alike(prompt: str, wanted: str) -> bool:
    """Whether the prompt ends as wanted, perhaps with more in one place than was wanted."""
    shared = len(wanted)
    while not prompt.endswith(wanted[len(wanted) - shared :]):
        shared -= 1
    lead = wanted[: len(wanted) - shared]
    return shared > 0 and lead in prompt[: len(prompt) - shared][-len(lead) - _MOST_MORE :]
