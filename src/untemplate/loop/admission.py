"""Decides, call by call and in call order, what may run: the state of a run that outlives a reply.

    admission.admit(call, ...)   -> Ready, or the Outcome of a call that is not to be run
    admission.settle(outcomes)   after all calls of a reply: what the breaker and limits learn
    admission.ended              why the run is to end after this reply, if it is

Checks in order: the run is not already ending; the breaker; the tool is known and not withdrawn;
the call is sealed; its arguments fit the schema; the limit on calls. All of them are synchronous,
so a call may be admitted while the reply still streams.
"""

from collections.abc import Sequence
from typing import Literal, cast

from untemplate.budget.policy import (
    Allowed,
    Refused,
    is_sealed,
    judge,
    missing_arguments,
    unfinished,
)
from untemplate.loop import feedback
from untemplate.loop.arguments import Arguments, Invalid, canonical, check, decode
from untemplate.loop.breaker import END_AT, REFUSE_AT, Breaker
from untemplate.loop.execution import Ready
from untemplate.loop.model import CallSize
from untemplate.loop.outcome import FAILURES, Outcome
from untemplate.loop.tools import HostTool
from untemplate.message import JSON, Diagnostic, Tool, ToolCall, ToolChoice

__all__ = ["Admission"]

_NOT_NOTED = ("duplicate", "pending", "skipped", "cancelled")


class Admission:
    """What a run has called so far, and what it may still call."""

    def __init__(self, tools: dict[str, HostTool], calls_max: int | None) -> None:
        self._tools = tools
        self._calls_max = calls_max
        self._breaker = Breaker()
        self._calls = 0
        self._failing: dict[str, int] = {}
        self._withdrawn: dict[str, str] = {}
        self._reply: dict[str, int] = {}
        self._signatures: dict[str, str] = {}
        self._choice = ToolChoice()
        self.ended: Literal["loop", "calls"] | None = None
        """`loop` or `calls`: the run ends after this reply."""

    def offered(self) -> tuple[Tool, ...]:
        """The tools that the model is shown."""
        return tuple(t.definition for n, t in self._tools.items() if n not in self._withdrawn)

    def start_reply(self, choice: ToolChoice) -> None:
        """The calls that follow belong to a new reply, written under this choice."""
        self._reply.clear()
        self._signatures.clear()
        self._choice = choice

    def admit(
        self, call: ToolCall, repaired: Sequence[Diagnostic] = (), size: CallSize | None = None
    ) -> Ready | Outcome:
        """A call that may run, or its outcome.

        Args:
            call: sealed, or as far as it got.
            repaired: what was set right in reading it.
            size: what such a call takes, if it was cut again and again.
        """
        if self.ended is not None:
            return Outcome(call, "skipped", feedback.skipped(call.name, _WHY[self.ended]))
        if self._choice.mode == "none":
            return Outcome(call, "skipped", feedback.skipped(call.name, "no calls were allowed"))
        value = decode(call.arguments + call.closing or "{}")
        signature = self._signatures[call.id] = _signature(call, value)
        tool = self._tools.get(call.name)
        changes = tool is not None and not tool.rules.is_repeatable
        times = self._breaker.count(signature, changes=changes)
        if times >= END_AT:
            self.ended = "loop"
        if times >= REFUSE_AT:
            earlier = self._breaker.earlier(signature)
            return Outcome(call, "duplicate", feedback.duplicate(call.name, times - 1, earlier))
        if tool is None:
            return Outcome(call, "unknown", feedback.unknown(call.name, self._names()))
        if call.name in self._withdrawn:
            why = self._withdrawn[call.name]
            return Outcome(call, "withdrawn", feedback.withdrawn(call.name, why))
        verdict = judge(call, tool.definition, tool.rules.policy, repaired)
        note = ""
        if is_sealed(call) and (isinstance(verdict, Allowed) or verdict.why == "malformed"):
            arguments = check(value, tool.checker)  # of what is no JSON object it says why
        elif isinstance(verdict, Allowed) and isinstance(value, dict):
            arguments = check(dict(verdict.arguments), tool.checker)
            note = feedback.partial_note(verdict.left_out, verdict.shortened, verdict.defaulted)
        else:
            return _refused(call, tool, verdict, repaired, size)
        if isinstance(arguments, Invalid):
            return Outcome(call, "invalid", feedback.invalid(tool.definition, arguments.details))
        return self._ready(call, tool, arguments, signature, note)

    def _ready(
        self,
        call: ToolCall,
        tool: HostTool,
        arguments: Arguments,
        signature: str,
        note: str,
    ) -> Ready | Outcome:
        shares = tool.rules.is_repeatable and not tool.rules.approval
        same_as = self._reply.get(signature) if shares else None
        if same_as is None:
            if self._calls_max is not None and self._calls >= self._calls_max:
                self.ended = "calls"
                return Outcome(call, "skipped", feedback.skipped(call.name, _WHY["calls"]))
            self._calls += 1
            self._reply.setdefault(signature, call.index)
        return Ready(call, tool, arguments, signature, note, same_as)

    def settle(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from the outcomes of all calls of a reply, in call order."""
        for outcome in outcomes:
            if outcome.status not in _NOT_NOTED:
                self._breaker.note(self._signature(outcome.call), outcome.text)
        failed = {o.call.name for o in outcomes if o.status in FAILURES}
        worked = {o.call.name for o in outcomes if o.status == "ok"}
        for name in worked:
            self._failing.pop(name, None)
        for name in sorted((failed - worked) & self._tools.keys()):
            self._failing[name] = self._failing.get(name, 0) + 1
            if self._failing[name] >= self._tools[name].rules.failures_max:
                self._withdrawn[name] = f"it failed in {self._failing[name]} replies in a row"

    def _signature(self, call: ToolCall) -> str:
        """As computed on admission, or anew in a run that was resumed."""
        known = self._signatures.get(call.id)
        return known or _signature(call, decode(call.arguments + call.closing or "{}"))

    def _names(self) -> list[str]:
        return [t.name for t in self.offered()]

    def dump(self) -> dict[str, JSON]:
        """The state as JSON."""
        return {
            "breaker": self._breaker.dump(),
            "calls": self._calls,
            "failing": dict(self._failing),
            "withdrawn": dict(self._withdrawn),
            "ended": self.ended,
        }

    def load(self, state: dict[str, JSON]) -> None:
        """Go on from what `dump` gave."""
        self._breaker = Breaker.load(cast("dict[str, JSON]", state["breaker"]))
        self._calls = cast("int", state["calls"])
        self._failing = dict(cast("dict[str, int]", state["failing"]))
        self._withdrawn = dict(cast("dict[str, str]", state["withdrawn"]))
        self.ended = cast("Literal['loop', 'calls'] | None", state["ended"])


_WHY = {
    "loop": "the run ends here, since the same call was made over and over",
    "calls": "the limit on calls of this run is reached",
}


def _signature(call: ToolCall, value: JSON | Invalid) -> str:
    """By what calls are compared; a cut call only equals one that is cut at the same place."""
    arguments = canonical(value) if isinstance(value, dict) else call.arguments
    return f"{call.name} {arguments}" + ("" if is_sealed(call) else f" {call.state}")


def _refused(
    call: ToolCall,
    tool: HostTool,
    verdict: Allowed | Refused,
    repaired: Sequence[Diagnostic],
    size: CallSize | None,
) -> Outcome:
    """The outcome of a call that is cut, damaged or repaired: three different things."""
    if isinstance(verdict, Refused) and verdict.why in ("malformed", "repaired"):
        problem = "; ".join(d.message for d in repaired) or "its text is damaged"
        return Outcome(call, "malformed", feedback.malformed(call.name, problem))
    text = feedback.incomplete(
        call.name,
        cut=unfinished(call),
        missing=missing_arguments(call, tool.definition),
        received=len(call.arguments),
        size=size,
    )
    fault = "" if size is None else f"a call of {call.name} takes {size}"
    return Outcome(call, "incomplete", text, fault=fault)
