"""What the model is told when a call could not be run: one JSON object with stable keys.

    {"error": {"type": "invalid_arguments", "message": "...", "details":
        [{"path": "/days", "rule": "maximum", "message": "30 is greater than ...", "got": 30}],
        "hint": "Call get_weather again with corrected arguments."}}

All text that the loop writes to a model stands here, apart from what users and logs get. Small
models repeat a call whose error does not say what was wrong, so each text names the field, the rule
and the value, and says what to do next. The text of an exception is passed on only for `ToolError`,
which a tool raises on purpose: any other may hold secrets of the host.
"""

import difflib
import json
from collections.abc import Iterable, Sequence

from untemplate.loop.model import CallSize
from untemplate.loop.outcome import Detail, Status
from untemplate.message import JSON, Tool

__all__ = [
    "cancelled",
    "cut_mark",
    "denied",
    "duplicate",
    "error",
    "failed",
    "incomplete",
    "invalid",
    "invalid_output",
    "malformed",
    "partial_note",
    "pending",
    "raised",
    "skipped",
    "timed_out",
    "unknown",
    "unserialisable",
    "withdrawn",
]

_DETAILS_MAX = 10
_NAMES_MAX = 50
_GOT_MAX = 200
_EARLIER_MAX = 1000

_TYPES: dict[Status, str] = {
    "invalid": "invalid_arguments",
    "unknown": "unknown_tool",
    "failed": "tool_failed",
    "timed_out": "tool_timeout",
    "unserialisable": "unserialisable_result",
    "incomplete": "incomplete_call",
    "malformed": "malformed_call",
    "duplicate": "repeated_call",
    "denied": "denied",
    "pending": "approval_pending",
    "withdrawn": "tool_withdrawn",
    "skipped": "not_run",
    "cancelled": "cancelled",
}


def error(
    status: Status,
    message: str,
    *,
    hint: str = "",
    details: Iterable[Detail] = (),
    extra: dict[str, JSON] | None = None,
) -> str:
    """The JSON text of one error; every key is always there."""
    listed: list[JSON] = [
        {"path": d.path, "rule": d.rule, "message": d.message, "got": _shortened(d.got)}
        for d in details
    ]
    if len(listed) > _DETAILS_MAX:
        more = len(listed) - _DETAILS_MAX
        listed = listed[:_DETAILS_MAX]
        hint = f"{hint} ({more} more errors are not shown.)".strip()
    body: JSON = {"type": _TYPES[status], "message": message, "details": listed, "hint": hint}
    return json.dumps({"error": body, **(extra or {})}, ensure_ascii=False)


def unknown(name: str, names: Sequence[str]) -> str:
    """No tool of that name: the closest names, then all of them."""
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    shown = ", ".join(names[:_NAMES_MAX]) or "none"
    if len(names) > _NAMES_MAX:
        shown += f" and {len(names) - _NAMES_MAX} more"
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    detail = Detail("/name", "known", f"available tools: {shown}", name)
    return error(
        "unknown",
        f"There is no tool named {_quoted(name)}.",
        hint=f"{meant}Use one of the available tools: {shown}.",
        details=[detail],
        extra={"close_names": list[JSON](close)},
    )


def invalid(tool: Tool, details: Sequence[Detail]) -> str:
    """Arguments that break the schema or the types: what is wrong, and what there is."""
    first = details[0]
    where = f" at {first.path}" if first.path else ""
    required = _listed(tool.parameters.get("required"))
    names = [f"{n} (required)" if n in required else n for n in _listed(_properties(tool))]
    known = f" Its arguments are: {', '.join(names[:_NAMES_MAX])}." if names else ""
    return error(
        "invalid",
        f"The arguments of {tool.name} are not valid{where}: {first.message}.",
        hint=f"Call {tool.name} again with corrected arguments.{known}",
        details=details,
    )


def raised(name: str, text: str) -> str:
    """A tool raised `ToolError` on purpose: its text is meant for the model."""
    return error("failed", text, hint=f"{name} reported this itself.")


def failed(name: str, kind: str) -> str:
    """A tool raised anything else: only the kind of the exception is passed on."""
    return error(
        "failed",
        f"{name} failed with {kind}.",
        hint="The reason is in the host's log. Other tools still work.",
    )


def timed_out(name: str, seconds: float, *, may_still_act: bool) -> str:
    """A tool did not answer in time."""
    still = " It could not be stopped: its effect may still happen." if may_still_act else ""
    return error(
        "timed_out",
        f"{name} did not finish within {seconds:g} seconds.{still}",
        hint="Ask for less at once, or go on without it.",
    )


def unserialisable(name: str, problem: str) -> str:
    """A tool gave something that is no JSON."""
    return error(
        "unserialisable",
        f"{name} ran, but its result can't be shown: {problem}.",
        hint="Its effect has happened. Do not call it again for the same thing.",
    )


def incomplete(
    name: str,
    *,
    cut: Sequence[str],
    missing: Sequence[str],
    received: int,
    size: CallSize | None = None,
) -> str:
    """A call that the token limit cut."""
    details = [Detail(p, "complete", "this argument was cut off") for p in cut]
    details += [Detail(p, "required", "this argument is missing") for p in missing]
    return error(
        "incomplete",
        f"The call of {name or 'a tool'} was cut off by the length limit after {received} "
        "characters of arguments, so it was not run."
        + ("" if size is None else f" A call of {name} takes {size}."),
        hint="Write the call again, shorter, or split the work into several smaller calls.",
        details=details,
    )


def malformed(name: str, problem: str) -> str:
    """A call that does not follow the format."""
    return error(
        "malformed",
        f"The call of {name or 'a tool'} could not be read, so it was not run: {problem}.",
        hint="Write the call again in the format of the other calls, with a JSON object.",
    )


def duplicate(name: str, times: int, earlier: str) -> str:
    """The same call once more, which would only give the same again."""
    return error(
        "duplicate",
        f"{name} was called {times} times with the same arguments and nothing new came of it; "
        "this call was not run.",
        hint="Use the earlier result, change the arguments, or answer.",
        extra={"earlier_result": earlier[:_EARLIER_MAX]},
    )


def denied(name: str, reason: str) -> str:
    """A person or a rule said no."""
    because = f": {reason}" if reason else ""
    return error(
        "denied",
        f"The call of {name} was not approved{because}.",
        hint="Do not try it again unless you are asked to.",
    )


def pending(name: str) -> str:
    """The call waits for an approval that has not been given yet."""
    return error("pending", f"{name} was not run: it waits for an approval.")


def withdrawn(name: str, why: str) -> str:
    """The tool is not offered any more."""
    return error(
        "withdrawn",
        f"{name} is not available any more: {why}.",
        hint="Go on without it.",
    )


def skipped(name: str, why: str) -> str:
    """A limit of the run, or the choice of the turn, forbade the call."""
    return error("skipped", f"{name} was not run: {why}.")


def cancelled(name: str, *, started: bool) -> str:
    """The run was cancelled before the call was through."""
    if started:
        return error(
            "cancelled", f"{name} was cancelled while it ran: its effect may have happened."
        )
    return error("cancelled", f"{name} was not run: the run was cancelled.")


def cut_mark(shown: int, total: int | None) -> str:
    """The line under a result that was too long."""
    size = f" of {total:,}" if total is not None else ""
    return f"\n[result cut by the host: the first {shown:,}{size} characters are shown]"


def invalid_output(problem: str) -> str:
    """The final answer is no JSON of the wanted schema; a user message asks for it again."""
    return (
        f"The answer does not have the wanted form: {problem}. "
        "Answer again with the JSON value alone, without any other text."
    )


def partial_note(
    left_out: Sequence[str], shortened: Sequence[str], defaulted: Sequence[str]
) -> str:
    """The line above the result of a call that was cut and ran on what was complete."""
    said = [
        f"without {', '.join(left_out)}" if left_out else "",
        f"with the beginning of {', '.join(shortened)}" if shortened else "",
        f"with the default of {', '.join(defaulted)}" if defaulted else "",
    ]
    how = ", ".join(filter(None, said)) or "on all that it needs"
    return f"[the call was cut off; it ran {how}]"


def _properties(tool: Tool) -> JSON:
    properties = tool.parameters.get("properties")
    return list[JSON](properties) if isinstance(properties, dict) else []


def _listed(value: JSON) -> list[str]:
    return [n for n in value if isinstance(n, str)] if isinstance(value, list) else []


def _shortened(value: JSON) -> JSON:
    """The value itself, or the start of its text if it is long."""
    if value is None or isinstance(value, bool | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _GOT_MAX else text[:_GOT_MAX] + "…"


def _quoted(name: str) -> str:
    return json.dumps(name[:_GOT_MAX], ensure_ascii=False)
