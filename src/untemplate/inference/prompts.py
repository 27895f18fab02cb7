"""Collects the generation prompts: each text, and the variables that bring it.

Variables are those that the template's source reads; each is tried with a few values, and what
changes nothing is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from untemplate.dialect import Before
from untemplate.errors import UntemplateError
from untemplate.inference import words
from untemplate.inference.examine import Examiner, Obstacle
from untemplate.inference.words import Probe
from untemplate.message import JSON

__all__ = ["Opened", "collect_prompts"]

_VALUES: tuple[JSON, ...] = (True, False)


@dataclass(frozen=True, slots=True)
class Opened:
    """One generation prompt as it was seen."""

    text: str
    before: Before
    switches: Mapping[str, JSON]
    answer: str | None
    """A turn with content only, written under the same switches."""


def collect_prompts(examiner: Examiner, places: tuple[Before, ...]) -> list[Opened]:
    """The prompts of each place: without switches first, then those that differ."""
    out: list[Opened] = []
    known = examiner.capabilities
    # What history needs is not what a caller sets: the usual prompt is without any switch.
    examiner = examiner.another(history_switches={})
    names = [
        n
        for n in examiner.template.names.variables
        if n not in known.variables and n != known.tools_text
    ]
    first = places[0]
    usual = _opened(examiner, first, {})
    if usual is None:
        return []
    out.append(usual)
    for switches in ({n: v} for n in names for v in _VALUES):
        found = _opened(examiner, first, switches)
        if found is not None and found.text not in {o.text for o in out}:
            out.append(found)
    elsewhere = [
        found
        for before in places[1:]
        for known in out
        if (found := _opened(examiner, before, known.switches))
    ]
    return out + elsewhere


def _opened(examiner: Examiner, before: Before, switches: Mapping[str, JSON]) -> Opened | None:
    try:
        text = examiner.setting(before, switches).prompt
    except (UntemplateError, Obstacle):
        return None
    answer = examiner.try_turn(Probe(content=words.CONTENT), before, switches)
    return Opened(text, before, switches, answer)
