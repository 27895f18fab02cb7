"""Goes on with a paused run: each waiting call runs as approved, once, or is answered with a no.

Everything is checked before anything runs: each waiting call has the digest that was stored, every
digest has its decision, and no decision is about something else. Then the ledger is asked for each
approved call at the moment it is entered; one that was claimed before is not run again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from untemplate.errors import RequestError
from untemplate.loop import feedback
from untemplate.loop.approval import (
    ApprovalRequest,
    Decision,
    Decisions,
    Ledger,
    as_decision,
    digest,
)
from untemplate.loop.arguments import Arguments, Invalid, check, decode
from untemplate.loop.execution import Ready
from untemplate.loop.outcome import Outcome
from untemplate.loop.settings import Settings
from untemplate.loop.state import Paused, load_state
from untemplate.message import JSON

__all__ = ["Resumption", "resume"]


@dataclass(frozen=True, slots=True)
class Resumption:
    """A paused run with the decisions about it."""

    paused: Paused
    decisions: Mapping[str, Decision]
    ledger: Ledger

    async def ask(self, request: ApprovalRequest) -> Decision:
        """The stored decision; the first to ask for an approved call is the only one."""
        decision = self.decisions.get(request.digest, Decision(approved=False))
        if decision.approved and not self.ledger.claim(request.digest):
            return Decision(approved=False, reason="this very call was already run")
        return decision

    def entries(self, settings: Settings) -> Iterator[Ready | Outcome]:
        """The calls of the paused reply, in order: answered ones, and those to be run."""
        for outcome in self.paused.outcomes:
            yield outcome if outcome.status != "pending" else _entry(outcome, settings)


def resume(state: Mapping[str, JSON], decisions: Decisions, ledger: Ledger) -> Resumption:
    """Check a stored state and the decisions about it.

    Raises:
        RequestError: a call was changed, or lacks a decision, or a decision is about no call.
    """
    paused = load_state(state)
    shown = {r.digest: r for r in paused.pending}
    waiting: set[str] = set()
    for outcome in paused.outcomes:
        if outcome.status == "pending":
            call = outcome.call
            found = digest(call.id, call.name, _arguments(outcome))
            stored = shown.get(found)
            if stored is None or digest(stored.id, stored.name, stored.arguments) != found:
                raise RequestError(
                    "the call is not the one that was shown", place=f"call {call.id}"
                )
            waiting.add(found)
            if found not in decisions:
                raise RequestError("there is no decision for this call", place=f"call {call.id}")
    if unknown := sorted(set(decisions) - waiting):
        raise RequestError("a decision is about no waiting call", place=f"decision {unknown[0]}")
    return Resumption(paused, {d: as_decision(v) for d, v in decisions.items()}, ledger)


def _arguments(outcome: Outcome) -> Arguments:
    value = decode(outcome.call.arguments or "{}")
    return value if isinstance(value, dict) else {}


def _entry(outcome: Outcome, settings: Settings) -> Ready | Outcome:
    """A waiting call against the tools of this process, which may have changed."""
    call = outcome.call
    tool = settings.tools.get(call.name)
    if tool is None:
        return Outcome(call, "unknown", feedback.unknown(call.name, list(settings.tools)))
    arguments = check(_arguments(outcome), tool.checker)
    if isinstance(arguments, Invalid):
        return Outcome(call, "invalid", feedback.invalid(tool.definition, arguments.details))
    return Ready(call, tool, arguments, signature="")
