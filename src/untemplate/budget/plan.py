"""Fits a conversation into a context, and says what had to go.

    plan = fit(messages, tools, context=8192, count=count, output=600)
    plan.messages, plan.shown      # what to render; the grammar takes plan.tools
    print(plan)                    # the table, and what was dropped

`count` gives the tokens of a whole prompt, made by the model's own template and tokenizer, so that
the overhead of roles and of the tool listing is in every number. Nothing is estimated.

If all does not fit, in this order: tools are described in fewer words (`compact`); the oldest
exchanges are dropped whole, down to the last few; tools that the conversation is not about are left
out (`ranking`); the rest of the history is dropped. What stays always: system messages, the last
exchange, pinned messages with their exchange, and tools that were asked for by name. A call is
never parted from its result. If that does not fit either, `FitError` holds the plan that failed.

A plan is a value. It never rewrites a message: cutting inside one would change what was said.
"""

import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from untemplate.budget.compact import LEVELS, Level, compact
from untemplate.budget.exchanges import Messages, exchanges, is_system
from untemplate.budget.ranking import Rank, rank
from untemplate.errors import RequestError, TemplateError
from untemplate.message import JSON, Tool

__all__ = ["Count", "Dropped", "FitError", "Plan", "Row", "fit"]

Count = Callable[[Messages, Sequence[Tool]], int]
"""Tokens of the prompt for these messages and tools."""

_RECENT_EXCHANGES = 2
"""Exchanges before the last that stay until tools have been left out as well."""
_TOOLS_LEAST = 8
"""As many tools stay until the rest of the history has been dropped as well."""


@dataclass(frozen=True, slots=True)
class Row:
    """One part of the context."""

    part: str
    tokens: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something that is not in the prompt, or is there in fewer words."""

    what: Literal["exchange", "tool", "description"]
    place: str
    """`messages[3:7]`, `search`."""
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What goes into the prompt, and where the tokens of the context go."""

    messages: tuple[Mapping[str, JSON], ...]
    kept: tuple[int, ...]
    """Indexes of these messages in the conversation."""
    tools: tuple[Tool, ...]
    """The tools that may be called, as they were given: for the grammar."""
    shown: tuple[Tool, ...]
    """The same, as the prompt describes them."""
    context: int
    prompt: int
    """Tokens of the prompt."""
    output: int
    """Tokens reserved for the reply."""
    results: int
    """Tokens reserved for results of its calls, and the reply to them."""
    rows: tuple[Row, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @property
    def free(self) -> int:
        """Tokens that nothing is planned for; negative in a plan that failed."""
        return self.context - self.prompt - self.output - self.results

    def __str__(self) -> str:
        rows = [
            *self.rows,
            Row("results", self.results, "reserved"),
            Row("output", self.output, "reserved"),
            Row("free" if self.free >= 0 else "missing", abs(self.free)),
            Row("context", self.context),
        ]
        width = max(len(r.part) for r in rows)
        lines = [f"{r.part:<{width}}  {r.tokens:>8,}  {r.note}".rstrip() for r in rows]
        if self.dropped:
            lines += ["", "dropped"]
        for why in dict.fromkeys(d.why for d in self.dropped):
            places = [d.place for d in self.dropped if d.why == why]
            lines.append(f"  {len(places)} {why}:")
            places = _joined(places)
            lines += textwrap.wrap(
                ", ".join(places), 100, initial_indent="    ", subsequent_indent="    "
            )
        return "\n".join(lines)


_RANGE = re.compile(r"messages\[(\d+)(?::(\d+))?\]")


def _joined(places: Sequence[str]) -> list[str]:
    """Neighbouring ranges of messages as one."""
    out: list[str] = []
    start, end = 0, -1
    for place in places:
        found = _RANGE.fullmatch(place)
        if found is None:
            out.append(place)
            continue
        first, last = int(found[1]), int(found[2] or int(found[1]) + 1)
        if first == end:
            out.pop()
        else:
            start = first
        end = last
        out.append(f"messages[{start}:{end}]")
    return out


class FitError(RequestError):
    """The conversation can't be fitted into the context; `plan` shows the last try."""

    def __init__(self, plan: Plan) -> None:
        largest = max(plan.rows, key=lambda r: r.tokens, default=Row("prompt", plan.prompt))
        super().__init__(
            f"needs {plan.prompt + plan.output + plan.results} tokens after everything that may be "
            f"dropped ({plan.prompt} of prompt, {plan.results} for results, {plan.output} for the "
            f"reply), but the context holds {plan.context}; the largest part is {largest.part} "
            f"with {largest.tokens}",
            place="messages",
        )
        self.plan = plan


@dataclass(frozen=True, slots=True)
class _Fitting:
    """One conversation being fitted; `state` fields say how much is dropped."""

    messages: Messages
    tools: tuple[Tool, ...]
    count: Count
    room: int
    """Tokens for the prompt."""
    droppable: tuple[tuple[int, ...], ...]
    """Exchanges that may go, the oldest first."""
    order: tuple[Tool, ...]
    """Tools, the most useful first."""
    tools_least: int
    """So many of them have to stay."""
    level: Level = "full"
    exchanges_dropped: int = 0
    tools_kept: int = 0
    measured: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])

    def kept(self) -> tuple[int, ...]:
        gone = {i for e in self.droppable[: self.exchanges_dropped] for i in e}
        return tuple(i for i in range(len(self.messages)) if i not in gone)

    def chosen(self) -> tuple[Tool, ...]:
        names = {t.name for t in self.order[: self.tools_kept]}
        return tuple(t for t in self.tools if t.name in names)

    def prompt_messages(self) -> Messages:
        return tuple(self.messages[i] for i in self.kept())

    def prompt_tools(self) -> tuple[Tool, ...]:
        return tuple(compact(t, self.level) for t in self.chosen())

    def prompt(self) -> int:
        key = (self.level, self.exchanges_dropped, self.tools_kept)
        found = self.measured.get(key)
        if found is None:
            found = self.count(self.prompt_messages(), self.prompt_tools())
            self.measured[key] = found
        return found

    def fits(self) -> bool:
        return self.prompt() <= self.room


def fit(
    messages: Messages,
    tools: Sequence[Tool] = (),
    *,
    context: int,
    count: Count,
    output: int,
    results: int = 0,
    pinned: Collection[int] = (),
    required: Collection[str] = (),
    order: Rank = rank,
) -> Plan:
    """The conversation as it fits into a context; O(log) many counts.

    Args:
        messages: in the shape of OpenAI's API.
        tools: what the model may call.
        context: tokens that prompt and reply may have together.
        count: tokens of a prompt; see `Count`.
        output: tokens to be kept for the reply.
        results: tokens to be kept for the results of its calls.
        pinned: indexes of messages that have to stay, with their exchange.
        required: names of tools that have to stay.
        order: puts the tools in the order of their use.

    Raises:
        FitError: it does not fit, whatever is dropped; holds the plan of the last try.
        TemplateError: the template refuses the conversation.
    """
    tools = tuple(tools)
    groups = exchanges(messages)
    held = {*pinned, *(groups[-1] if groups else ())}
    ranked = order(tools, messages) if tools else ()
    needed = [t for t in ranked if t.name in required]
    fitting = _Fitting(
        messages=messages,
        tools=tools,
        count=count,
        room=context - output - results,
        droppable=tuple(g for g in groups if not held.intersection(g)),
        order=(*needed, *(t for t in ranked if t.name not in required)),
        tools_least=max(len(needed), min(1, len(tools))),
        tools_kept=len(tools),
    )
    fitted = _fitted(fitting)
    made = Plan(
        messages=tuple(fitted.prompt_messages()),
        kept=fitted.kept(),
        tools=fitted.chosen(),
        shown=fitted.prompt_tools(),
        context=context,
        prompt=fitted.prompt(),
        output=output,
        results=results,
        rows=_rows(fitted, groups),
        dropped=_dropped(fitted),
    )
    if made.free < 0:
        raise FitError(made)
    return made


def _fitted(fitting: _Fitting) -> _Fitting:
    """The first of the tries that fits, else the last."""
    for level in LEVELS if fitting.tools else LEVELS[:1]:
        fitting = replace(fitting, level=level)
        if fitting.fits():
            return fitting
    every = len(fitting.droppable)
    few_tools = max(fitting.tools_least, min(_TOOLS_LEAST, len(fitting.tools)))
    for exchanges_most, tools_least in (
        (max(0, every - _RECENT_EXCHANGES), len(fitting.tools)),
        (max(0, every - _RECENT_EXCHANGES), few_tools),
        (every, few_tools),
        (every, fitting.tools_least),
    ):
        fitting = replace(fitting, exchanges_dropped=exchanges_most, tools_kept=tools_least)
        if fitting.fits():
            fitting = _most_tools(fitting, len(fitting.tools))
            return _most_history(fitting)
    return fitting


def _most_tools(fitting: _Fitting, most: int) -> _Fitting:
    """With as many tools as fit; they fit as they are."""
    least = fitting.tools_kept
    while least < most:
        middle = (least + most + 1) // 2
        if replace(fitting, tools_kept=middle).fits():
            least = middle
        else:
            most = middle - 1
    return replace(fitting, tools_kept=least)


def _most_history(fitting: _Fitting) -> _Fitting:
    """With as many exchanges as fit; they fit as they are."""
    least, most = 0, fitting.exchanges_dropped
    while least < most:
        middle = (least + most) // 2
        if replace(fitting, exchanges_dropped=middle).fits():
            most = middle
        else:
            least = middle + 1
    return replace(fitting, exchanges_dropped=most)


def _rows(fitting: _Fitting, groups: Sequence[tuple[int, ...]]) -> tuple[Row, ...]:
    """What each part adds to the prompt: the differences of whole prompts, so they add up."""
    last = set(groups[-1]) if groups else set[int]()
    messages, kept = fitting.messages, fitting.kept()
    system = [messages[i] for i in kept if is_system(messages[i])]
    core = [messages[i] for i in kept if is_system(messages[i]) or i in last]
    bare: Messages = [{"role": "user", "content": ""}]
    total = fitting.prompt()
    without_tools = _counted(fitting, fitting.prompt_messages(), total)
    with_core = _counted(fitting, core, without_tools)
    with_system = _counted(fitting, [*system, *bare], with_core)
    frame = _counted(fitting, bare, with_system)
    dropped, droppable = fitting.exchanges_dropped, len(fitting.droppable)
    pinned = len(groups) - droppable - min(1, len(groups))
    history = droppable + pinned
    rows = [
        Row("template", frame, "what stands around any message"),
        Row("system", with_system - frame),
        Row(
            "tools",
            total - without_tools,
            f"{fitting.tools_kept} of {len(fitting.tools)}" + _level_note(fitting.level),
        ),
        Row("history", without_tools - with_core, f"{history - dropped} of {history} exchanges"),
        Row("last exchange", with_core - with_system),
    ]
    return tuple(rows)


def _counted(fitting: _Fitting, messages: Messages, otherwise: int) -> int:
    """Tokens of a prompt without tools; a part that can't be told apart counts to another one."""
    try:
        return min(fitting.count(messages, ()), otherwise)
    except (TemplateError, RequestError):
        return otherwise


def _level_note(level: Level) -> str:
    return {
        "full": "",
        "schema": "; without what the grammar enforces",
        "words": "; one sentence each",
        "names": "; one sentence each, parameters by name and type",
    }[level]


def _dropped(fitting: _Fitting) -> tuple[Dropped, ...]:
    out: list[Dropped] = []
    for group in fitting.droppable[: fitting.exchanges_dropped]:
        place = f"messages[{group[0]}]"
        if len(group) > 1:
            place = f"messages[{group[0]}:{group[-1] + 1}]"
        out.append(Dropped("exchange", place, "exchanges, the oldest"))
    chosen = fitting.chosen()
    for tool in fitting.order:
        if tool not in chosen:
            why = "tools, those of least use for the last exchanges last"
            out.append(Dropped("tool", tool.name, why))
    for tool in chosen:
        if compact(tool, fitting.level) != tool:
            why = "descriptions in part" + _level_note(fitting.level).replace(";", ":", 1)
            out.append(Dropped("description", tool.name, why))
    return tuple(out)
