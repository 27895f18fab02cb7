"""Proves a dialect against its template, on messages that it was not built from.

    prove(template, dialect, capabilities, seed=0, messages=200)
    -> Proof(checks=800, passed=800, calls_max=4, losses=(...), not_covered=(), first_difference="")

Each message is written by the dialect and by the template, in four places of a conversation: after
the only user message, with a system message before it, after a later user message, after tool
results. Then the text is read back and written again. What history doesn't tell is listed as a
loss, with the rendering that shows it.
"""

import json
from dataclasses import dataclass
from typing import NamedTuple

from untemplate.dialect import (
    Before,
    Dialect,
    Loss,
    write_turn,
)
from untemplate.errors import UntemplateError
from untemplate.inference.examine import Examiner, Obstacle
from untemplate.inference.suite import TOOLS, draw
from untemplate.inference.text import common_prefix
from untemplate.inference.words import Call, Probe
from untemplate.message import JSON, Message, ToolCall
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
    """What history does not tell, each with a rendering that shows it."""
    not_covered: tuple[str, ...]
    """What the template refuses or never writes, so that nothing can be proved about it."""
    first_difference: str = ""

    @property
    def proved(self) -> bool:
        return self.checks > 0 and self.passed == self.checks


class _Place(NamedTuple):
    before: Before
    system: bool


def prove(
    template: CompiledTemplate,
    dialect: Dialect,
    capabilities: Capabilities,
    *,
    seed: int = 0,
    messages: int = 200,
) -> Proof:
    """Check the dialect on so many messages in each place of a conversation."""
    places = [_Place("user", system=False)]
    if capabilities.system:
        places.append(_Place("user", system=True))
    places.append(_Place("later user", system=False))
    if dialect.polyfill is None and capabilities.tool_results:
        places.append(_Place("tool", system=False))
    main = dialect.place()
    if main is None:
        return Proof(0, 0, 0, (), ("the template renders no assistant turn",))
    shapes = [f.has for f in main.frames]
    suite = draw(seed, messages, shapes, dialect.calls_max)
    checks = passed = 0
    difference = ""
    not_covered: list[str] = []
    for place in places:
        examiner = Examiner(template, tools=TOOLS, capabilities=capabilities, system=place.system)
        for message in suite:
            found = _check(examiner, dialect, place, message)
            checks += 1
            passed += not found
            difference = difference or found
    return Proof(
        checks,
        passed,
        max((len(m.tool_calls) for m in suite), default=0),
        dialect.losses,
        tuple(not_covered),
        difference,
    )


def _check(
    examiner: Examiner,
    dialect: Dialect,
    place: _Place,
    message: Message,
) -> str:
    """The first difference, or nothing."""
    where = f"after {place.before}{' with system' if place.system else ''}"
    try:
        wanted = examiner.turn(probe_of(message), place.before)
    except (UntemplateError, Obstacle) as error:
        return f"{where}: the template refuses: {error}"
    try:
        got = write_turn(
            dialect, message, before=place.before, earlier_calls=int(place.before == "tool")
        )
    except UntemplateError as error:
        return f"{where}: {error}"
    if got != wanted:
        return f"{where}: {_difference(got, wanted)}"
    return ""


def probe_of(message: Message) -> Probe:
    """The message as the examiner asks it."""
    return Probe(
        message.reasoning_content,
        message.content,
        tuple(Call(c.name, c.id, _arguments(c)) for c in message.tool_calls),
    )


def _arguments(call: ToolCall) -> dict[str, JSON]:
    value: dict[str, JSON] = json.loads(call.arguments)
    return value


def _difference(got: str, wanted: str) -> str:
    at = max(0, len(common_prefix(got, wanted)) - 25)
    return f"the dialect writes {got[at : at + 70]!r}, the template {wanted[at : at + 70]!r}"
