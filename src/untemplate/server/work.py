"""One chat request, in a thread: from its messages to the end of its answer.

    request ─► fitted? ─► turn, or the point of a cut one ─► limits ─► engine ─► news

What comes out are deltas as they are generated, between `Begun` and `Ended`. Everything that the
token limit has to do with a request is decided here: what is left out of a conversation that is too
long, how long a reply may get when the client does not say, whether a call can fit at all, what is
done at the limit, and what the answer says of it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import assert_never

from untemplate.budget import Plan
from untemplate.budget.window import Window, reply_tokens, too_small, windows, windows_of_cut
from untemplate.dialect import TextBlock
from untemplate.engines.events import Finished, Generated, Prompted
from untemplate.engines.sampling import Sampling
from untemplate.errors import RequestError, UntemplateError
from untemplate.grammar import GrammarOptions
from untemplate.message import Delta, Message, Usage
from untemplate.reader import deltas
from untemplate.server.points import Points
from untemplate.server.served import Served
from untemplate.turn import Turn
from untemplate.turn.notes import resume_handle
from untemplate.wire.openai.request import ChatRequest
from untemplate.wire.openai.response import AnswerNotes

__all__ = ["Begun", "Ended", "News", "work"]

_SMALL_TOKENS = 4096
"""Below so many `max_tokens` it is looked whether a call can fit: some ms for each new tool."""
_REASONING_SHARE = 4
"""A turn that is closed in time may reason for one in so many of its tokens, at least."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The prompt is in; `before` is what a message to be continued had already said."""

    before: list[Delta]


@dataclass(frozen=True, slots=True)
class Ended:
    """The answer is whole; always the last news."""

    message: Message
    usage: Usage
    notes: AnswerNotes


News = Begun | Delta | Ended


@dataclass(frozen=True, slots=True)
class _Limits:
    """How long a reply may get, in the engine's words, and what is wrong with that."""

    max_tokens: int | None
    reasoning_tokens: int | None
    warnings: tuple[str, ...] = ()


def work(
    served: Served,
    points: Points,
    request: ChatRequest,
    nonce: str,
    should_stop: Callable[[], bool],
) -> Iterator[News]:
    """The news of one answer."""
    request, plan = _fitted(served, request)
    turn = _turn(served, request, plan, nonce)
    resumed = _resumed(points, request, turn)
    turn = resumed or turn
    limits = _limits(served, request, turn)
    events = served.engine.generate(
        turn,
        max_tokens=limits.max_tokens,
        sampling=_sampling(request),
        stop=request.stop,
        close_at_limit=request.limits.on_limit == "close",
        extend_tokens=_extension(served, request),
        reasoning_tokens=limits.reasoning_tokens,
        should_stop=should_stop,
    )
    notes = AnswerNotes(
        warnings=limits.warnings,
        dropped=() if plan is None else tuple(f"{d.place}: {d.why}" for d in plan.dropped),
        resumed="from text" if request.continue_final_message else "",
    )
    for event in events:
        match event:
            case Prompted(_, _, is_exact):
                if resumed is not None:
                    notes = replace(notes, resumed="exact" if is_exact else "evaluated again")
                yield Begun(deltas(turn.before))
            case Generated():
                yield from deltas(event.events)
            case Finished(message, reason):
                if reason == "length" and message.end == "cut":
                    notes = replace(
                        notes,
                        resume=points.put(turn.resume_point()),
                        may_call=turn.may_call,
                        sizes=_sizes(served, request, turn, message),
                    )
                yield Ended(_trusted(message, request), event.usage, notes)
            case _:
                assert_never(event)


def _sizes(
    served: Served, request: ChatRequest, turn: Turn, message: Message
) -> dict[str, tuple[int, int]]:
    """How many tokens calls of the tools take whose calls were cut: at least, and usually."""
    vocabulary = served.vocabulary
    if vocabulary is None:
        return {}
    found = _measured(
        request, lambda: windows_of_cut(message, turn.grammar, vocabulary, request.messages)
    )
    return {w.tool: (w.least, w.typical) for w in found}


def _measured(
    request: ChatRequest, measure: Callable[[], tuple[Window, ...]]
) -> tuple[Window, ...]:
    """The windows; none if a tool can't be measured, unless they were asked for."""
    try:
        return measure()
    except UntemplateError:  # if that matters, the engine refuses the turn and says why
        if request.limits.check_max_tokens:
            raise
        return ()


def _fitted(served: Served, request: ChatRequest) -> tuple[ChatRequest, Plan | None]:
    """The request as it fits into the context, and how it was made to."""
    if not request.limits.fit:
        return request, None
    if served.vocabulary is None or served.context_tokens is None:
        raise RequestError("this engine can't count tokens", place="truncation")
    # A message that is continued stays; what is fitted is what it answers.
    kept = request.messages[-1:] if request.continue_final_message else []
    plan = served.template.plan(
        request.messages[: len(request.messages) - len(kept)],
        request.tools,
        served.vocabulary,
        context=served.context_tokens,
        output=request.max_tokens,
        tool_choice=request.choice,
        now=datetime.now().astimezone(),
        variables=request.variables,
    )
    messages = [*map(dict, plan.messages), *kept]
    return replace(request, messages=messages, tools=plan.tools), plan


def _turn(served: Served, request: ChatRequest, plan: Plan | None, nonce: str) -> Turn:
    return served.template.turn(
        request.messages,
        tools=request.tools,
        shown=None if plan is None else plan.shown,
        tool_choice=request.choice,
        response_schema=request.response_schema,
        response_strict=request.response_strict,
        continue_final_message=request.continue_final_message,
        options=GrammarOptions(**asdict(request.writing)),
        nonce=nonce,
        now=datetime.now().astimezone(),
        variables=request.variables,
    )


def _resumed(points: Points, request: ChatRequest, turn: Turn) -> Turn | None:
    """The turn that was cut, if it is known and this is the same conversation."""
    if not request.continue_final_message:
        return None
    point = points.get(resume_handle(request.messages[-1]))
    if point is None or point.grammar != turn.grammar:
        return None
    # The prompts agree up to what was written; a template that writes the time may differ there.
    fresh = turn.prompt.removesuffix(turn.resume_point().continued.decode())
    known = point.prompt.removesuffix(point.continued.decode())
    return Turn.resumed(point) if fresh == known else None


def _limits(served: Served, request: ChatRequest, turn: Turn) -> _Limits:
    asked, asked_reasoning = request.max_tokens, request.limits.reasoning_tokens
    vocabulary, choice = served.vocabulary, request.choice
    if vocabulary is None or not request.tools or choice.mode == "none":
        return _Limits(asked, asked_reasoning)
    closes = request.limits.on_limit == "close"
    if asked is not None and closes:
        _check_close(turn, served, asked)
    is_small = asked is not None and asked < _SMALL_TOKENS
    needs_call = choice.mode == "required"
    if not (is_small or closes or request.limits.check_max_tokens or needs_call):
        return _Limits(asked, asked_reasoning)
    found = _measured(request, lambda: windows(turn.grammar, vocabulary, request.messages))
    warnings = () if asked is None else _warnings(request, found, asked)
    typical = max((w.typical for w in found), default=0)
    if asked is None and served.context_tokens is not None:
        room = served.context_tokens - len(turn.prompt_tokens(vocabulary)) - len(turn.tokens)
        asked = max(reply_tokens(found, choice, room), 1) if room > 0 else None
        if asked is not None and _may_reason(turn):
            # The size of the calls says nothing of that of the thoughts.
            asked, typical = room, asked
    if asked is not None and asked_reasoning is None and (closes or needs_call):
        asked_reasoning = max(asked - typical, asked // _REASONING_SHARE)
    return _Limits(asked, asked_reasoning, warnings)


def _may_reason(turn: Turn) -> bool:
    blocks = [turn.dialect.blocks.get(o.block) for o in turn.grammar.prompt.openings]
    return any(isinstance(b, TextBlock) and b.kind == "reasoning" for b in blocks)


def _check_close(turn: Turn, served: Served, max_tokens: int) -> None:
    """A turn that is to end properly needs room for its end."""
    constraint = turn.constraint(served.vocabulary) if served.vocabulary else None
    needed = 0 if constraint is None else constraint.min_tokens()
    if max_tokens < needed:
        raise RequestError(
            f"a turn that ends properly needs at least {needed} tokens here, not {max_tokens}",
            place="max_tokens",
        )


def _warnings(request: ChatRequest, found: Sequence[Window], max_tokens: int) -> tuple[str, ...]:
    small = too_small(found, max_tokens)
    texts = tuple(f"no call of {w.tool} fits: it needs at least {w.least} tokens" for w in small)
    if texts and request.limits.check_max_tokens:
        raise RequestError(f"{max_tokens} are too few: {'; '.join(texts)}", place="max_tokens")
    return tuple(f"max_tokens {max_tokens}: {text}" for text in texts)


def _extension(served: Served, request: ChatRequest) -> int:
    """How far a call may go on beyond `max_tokens`."""
    if request.limits.on_limit != "resume" or request.max_tokens is None:
        return 0
    return request.limits.resume_tokens or served.context_tokens or request.max_tokens


def _trusted(message: Message, request: ChatRequest) -> Message:
    """Calls that the mask closed count as calls only for a client that says so."""
    if message.end == "forced" and message.tool_calls and request.limits.trust_forced:
        return replace(message, finish_reason="tool_calls")
    return message


def _sampling(request: ChatRequest) -> Sampling:
    """The engine's defaults, but for what the request says."""
    asked = {f.name: getattr(request.sampling, f.name) for f in fields(request.sampling)}
    return Sampling(**{name: value for name, value in asked.items() if value is not None})
