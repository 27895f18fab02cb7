"""Proves a dialect against its template, on messages that it was not built from.

    prove(template, dialect, capabilities, seed=0, messages=200)
    -> Proof(checks=1600, passed=1600, calls_max=4, losses=(...), not_covered=(), ...)

Each message is written by the dialect and by the template, in four places of a conversation: after
the only user message, with a system message before it, after a later user message, after tool
results. Then the text is read, and what was read is rendered: the same text has to come out. Where
the reading is another message than the one that was drawn, two messages are written as one text;
that is a loss, listed with the text that shows it. A difference of no known kind fails.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from untemplate.dialect import Before, CallBlock, Dialect, Loss, Pairs, write_turn
from untemplate.errors import UntemplateError
from untemplate.inference import words
from untemplate.inference.examine import Examiner, Obstacle
from untemplate.inference.losses import UNKNOWN, name_losses
from untemplate.inference.reading import HistoryReader
from untemplate.inference.suite import TOOLS, draw
from untemplate.inference.text import common_prefix
from untemplate.inference.words import Call, Probe
from untemplate.message import JSON, Message, Tool, ToolCall
from untemplate.template.capabilities import Capabilities
from untemplate.template.rendering import CompiledTemplate

__all__ = ["Proof", "prove"]


@dataclass(frozen=True, slots=True)
class Proof:
    """What was checked, and how it went."""

    checks: int
    passed: int
    calls_max: int
    """Most calls of one message that were checked."""
    losses: tuple[Loss, ...]
    """What history does not tell, each with a text that shows it."""
    not_covered: tuple[str, ...]
    """What the template refuses or never writes, so that nothing can be proved about it."""
    first_difference: str = ""

    @property
    def proved(self) -> bool:
        """Every check passed."""
        return self.checks > 0 and self.passed == self.checks


class _Place(NamedTuple):
    before: Before
    system: bool

    def __str__(self) -> str:
        return f"after {self.before}{' with system' if self.system else ''}"


@dataclass(slots=True)
class _Tally:
    checks: int = 0
    passed: int = 0
    difference: str = ""
    losses: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, None] = field(default_factory=dict[str, None])


def prove(
    template: CompiledTemplate,
    dialect: Dialect,
    capabilities: Capabilities,
    *,
    seed: int = 0,
    messages: int = 200,
    asked: Examiner | None = None,
) -> Proof:
    """Check the dialect on so many messages, and on half of them in other places.

    The first place declares tools of every kind, the others a small one. `asked` is who inferred
    the dialect, and knows most places already.
    """
    main = dialect.place()
    if main is None:
        return Proof(0, 0, 0, (), ("the template renders no assistant turn",))
    tally = _Tally()
    blanks = not _has_bare_keys(dialect)
    if not blanks:
        tally.refused["keys with blanks: nothing tells where they begin"] = None
    shapes = [f.has for f in main.frames]
    suite = draw(seed, messages, shapes, main.calls_max, keys_with_blanks=blanks)
    if main.calls_max is not None:
        tally.losses.update(_limit(template, main.calls_max, capabilities))
    if not any("calls" in f.has for f in main.frames):
        tally.losses.update(_no_calls(template, capabilities))
    first, *others = _places(dialect, capabilities)
    large = Examiner(template, tools=TOOLS, capabilities=capabilities)
    _check_place(large, dialect, first, suite, tally)
    if asked is None or asked.capabilities != capabilities:
        asked = Examiner(template, capabilities=capabilities)
    for place in others:
        examiner = asked.another(system=True) if place.system else asked
        # Most of what may differ shows in the first place: the others get half of the messages.
        _check_place(examiner, dialect, place, suite[::2], tally)
    calls_max = max((len(m.tool_calls) for m in suite), default=0)
    return Proof(
        tally.checks,
        tally.passed,
        calls_max,
        (*dialect.losses, *(Loss(what, shown) for what, shown in tally.losses.items())),
        tuple(tally.refused),
        tally.difference,
    )


def _has_bare_keys(dialect: Dialect) -> bool:
    blocks = (*dialect.blocks.values(), *dialect.written.values())
    pairs = (b.arguments for b in blocks if isinstance(b, CallBlock))
    return any(isinstance(p, Pairs) and len(p.open) <= 1 for p in pairs)


def _limit(template: CompiledTemplate, most: int, capabilities: Capabilities) -> dict[str, str]:
    """What a template does with one call more than it writes."""
    if most >= len(words.NAMES):
        return {}
    examiner = Examiner(template, capabilities=capabilities)
    try:
        shown = examiner.turn(Probe(calls=words.calls_of_strings(most + 1)))
    except (UntemplateError, Obstacle) as error:
        shown = str(error)
    return {f"no more than {most} call{'s' * (most > 1)} in a turn": shown}


def _no_calls(template: CompiledTemplate, capabilities: Capabilities) -> dict[str, str]:
    """What a template writes of a call, where no turn of its history has one."""
    examiner = Examiner(template, capabilities=capabilities)
    try:
        shown = examiner.turn(Probe(content=words.CONTENT, calls=words.calls_of_strings(1)))
    except (UntemplateError, Obstacle) as error:
        shown = str(error)
    return {"calls are not written": shown}


def _places(dialect: Dialect, capabilities: Capabilities) -> Sequence[_Place]:
    places = [_Place("user", system=False)]
    if capabilities.system:
        places.append(_Place("user", system=True))
    places.append(_Place("later user", system=False))
    if dialect.polyfill is None and capabilities.tool_results:
        places.append(_Place("tool", system=False))
    return places


def _check_place(
    examiner: Examiner, dialect: Dialect, place: _Place, suite: Sequence[Message], tally: _Tally
) -> None:
    history = dialect.place(place.before)
    assert history is not None
    reader = HistoryReader.of(dialect, history, _tools())
    shapes = {f.has for f in history.frames}
    earlier = int(place.before == "tool")
    for message in suite:
        shape = _shape(message)
        try:
            wanted = examiner.turn(_probe(message), place.before)
        except (UntemplateError, Obstacle) as error:
            if shape in shapes:
                tally.checks += 1
                tally.difference = tally.difference or f"{place}: the template refuses: {error}"
            else:
                tally.refused.setdefault(f"{' and '.join(shape)} {place}: {error}")
            continue
        gap = next((g for g in history.gaps if g.what.startswith(" and ".join(shape) + ": ")), None)
        if gap is not None:
            tally.refused.setdefault(f"{place}: {gap.what}")
            tally.losses.setdefault(f"the template contradicts itself {place}: {gap.what}", wanted)
            continue
        tally.checks += 1
        found = _check_writing(dialect, message, wanted, place, earlier)
        if not found:
            reading = reader.read(wanted, earlier_calls=earlier)
            found = _check_again(examiner, message, reading, wanted, place)
            losses = list(name_losses(dialect, history, message, reading))
            found = found or next(
                (x.removeprefix(UNKNOWN) for x in losses if x.startswith(UNKNOWN)), ""
            )
            for loss in losses if not found else ():
                tally.losses.setdefault(loss, wanted)
        tally.passed += not found
        if found and not tally.difference:
            tally.difference = f"{place}: {found}"


def _shape(message: Message) -> tuple[str, ...]:
    parts = {
        "reasoning": message.reasoning_content,
        "content": message.content,
        "calls": message.tool_calls,
    }
    return tuple(name for name, part in parts.items() if part)


def _check_writing(
    dialect: Dialect, message: Message, wanted: str, place: _Place, earlier: int
) -> str:
    """The first difference, or nothing."""
    try:
        got = write_turn(dialect, message, before=place.before, earlier_calls=earlier)
    except UntemplateError as error:
        return str(error)
    return "" if got == wanted else f"written {_difference(got, wanted)}"


def _check_again(
    examiner: Examiner, message: Message, reading: Message, wanted: str, place: _Place
) -> str:
    """The first difference when what was read is rendered, or nothing."""
    probe = _probe(reading, message)
    if probe == _probe(message):
        return ""  # the same message is written as the same text
    try:
        again = examiner.turn(probe, place.before)
    except (UntemplateError, Obstacle) as error:
        return f"what was read is refused: {error}"
    return "" if again == wanted else f"read and written {_difference(again, wanted)}"


def _tools() -> tuple[Tool, ...]:
    out: list[Tool] = []
    for tool in TOOLS:
        function = tool["function"]
        assert isinstance(function, dict)
        name, parameters = function["name"], function["parameters"]
        assert isinstance(name, str)
        assert isinstance(parameters, dict)
        out.append(Tool(name, "d", parameters))
    return tuple(out)


def _probe(message: Message, given: Message | None = None) -> Probe:
    """The message as the examiner asks it; ids that are not written are those of `given`."""
    ids = [c.id if c.written_id is None else c.written_id for c in message.tool_calls]
    for number, call in enumerate(given.tool_calls[: len(ids)] if given else ()):
        if message.tool_calls[number].written_id is None:
            ids[number] = call.id
    return Probe(
        message.reasoning_content,
        message.content,
        tuple(Call(c.name, i, _arguments(c)) for c, i in zip(message.tool_calls, ids, strict=True)),
    )


def _arguments(call: ToolCall) -> dict[str, JSON]:
    value: dict[str, JSON] = json.loads((call.arguments + call.closing) or "{}")
    return value


def _difference(got: str, wanted: str) -> str:
    at = max(0, len(common_prefix(got, wanted)) - 25)
    return f"as {got[at : at + 70]!r}, the template has {wanted[at : at + 70]!r}"
