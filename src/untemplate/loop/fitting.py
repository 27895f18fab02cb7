"""Conversations that are too long for a model of this process, cut down by the budget's plan.

    fitting = Fitting(template, engine)
    plan = fitting.plan(request, turn, now, variables)     # None: the turn fits as it is
    fitting.shown(plan.shown)(plan.messages, tools=plan.tools, ...)   # the turn that does

Nothing is dropped in silence: what the plan says goes with the reply. The history of the run stays
whole; it is cut down anew for each request, so what was dropped once may be seen again.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol, runtime_checkable

from untemplate.budget import Plan
from untemplate.errors import RequestError
from untemplate.loop.local_turn import LoopTurn
from untemplate.loop.model import Request
from untemplate.message import JSON, Tool, ToolChoice
from untemplate.turn import Turn
from untemplate.vocabulary import Vocabulary

__all__ = ["Fitting"]

_REPLY_TOKENS = 256
"""Room that is wanted for a reply of which nobody said how long it may get."""


@runtime_checkable
class _Plans(Protocol):
    """What is asked of a template here."""

    def turn(
        self,
        messages: Sequence[Mapping[str, JSON]],
        *,
        tools: Sequence[Tool] = (),
        shown: Sequence[Tool] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: JSON = None,
        nonce: str = "",
        now: datetime | None = None,
        variables: Mapping[str, JSON] | None = None,
    ) -> Turn: ...

    def plan(
        self,
        messages: Sequence[Mapping[str, JSON]],
        tools: Sequence[Tool],
        vocabulary: Vocabulary,
        *,
        context: int,
        output: int | None = None,
        tool_choice: ToolChoice | None = None,
        now: datetime | None = None,
        variables: Mapping[str, JSON] | None = None,
    ) -> Plan: ...


class Fitting:
    """A template and the room that its prompts and replies have."""

    def __init__(self, template: object, engine: object) -> None:
        """Look for what is needed.

        Raises:
            RequestError: the engine can't count tokens, or the template makes no plans.
        """
        vocabulary = getattr(engine, "vocabulary", None)
        context = getattr(engine, "context_tokens", None)
        if not isinstance(vocabulary, Vocabulary) or not isinstance(context, int):
            raise RequestError("this engine can't count tokens", place="fit")
        if not isinstance(template, _Plans):
            raise RequestError("this template makes no plans", place="fit")
        self._template = template
        self._vocabulary = vocabulary
        self._context_tokens = context

    def shown(self, tools: Sequence[Tool]) -> Callable[..., Turn]:
        """Makes turns that show these tools, whatever may be called."""
        return partial(self._template.turn, shown=tools)

    def plan(
        self,
        request: Request,
        turn: LoopTurn,
        now: datetime | None,
        variables: Mapping[str, JSON],
    ) -> Plan | None:
        """How the conversation fits; None if the turn does as it is.

        Raises:
            FitError: it does not, whatever is dropped; holds the table.
        """
        output = _REPLY_TOKENS if request.max_tokens is None else request.max_tokens
        if len(turn.prompt_tokens(self._vocabulary)) + output <= self._context_tokens:
            return None
        return self._template.plan(
            request.messages,
            request.tools,
            self._vocabulary,
            context=self._context_tokens,
            output=request.max_tokens,
            tool_choice=request.choice,
            now=now,
            variables=variables,
        )
