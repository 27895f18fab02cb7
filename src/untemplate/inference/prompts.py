"""Collects the generation prompts: each text, and the variables that bring it.

Variables are those that the template's source reads; each is tried with a few values, and what
changes nothing is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from untemplate.dialect import Before
from untemplate.errors import UntemplateError
from untemplate.inference.examine import Examiner, Obstacle
from untemplate.inference.form import free_variables
from untemplate.message import JSON

__all__ = ["Opened", "collect_prompts", "switches_of"]

_TAG = re.compile(r"\{[%{](.*?)[%}]\}", re.DOTALL)
_STRING = re.compile(r"""['"](\w{2,16})['"]""")
_MOST_STRINGS = 8


@dataclass(frozen=True, slots=True)
class Opened:
    """One generation prompt as it was seen."""

    text: str
    before: Before
    switches: Mapping[str, JSON]


def collect_prompts(examiner: Examiner, places: tuple[Before, ...]) -> list[Opened]:
    """The prompts of each place: without switches first, then those that differ."""
    out: list[Opened] = []
    # What history needs is not what a caller sets: the usual prompt is without any switch.
    examiner = examiner.another(history_switches={})
    names = free_variables(examiner)
    first = places[0]
    usual = _opened(examiner, first, {})
    if usual is None:
        return []
    out.append(usual)
    # Most of these variables are no switches: where all together change nothing, none does alone.
    idle = [on for on in (True, False) if len(names) > 1 and _all_idle(examiner, usual, names, on)]
    for switches in switches_of(examiner.template.source, names):
        if any(value is on for value in switches.values() for on in idle):
            continue
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


def _all_idle(examiner: Examiner, usual: Opened, names: Sequence[str], value: JSON) -> bool:
    found = _opened(examiner, usual.before, dict.fromkeys(names, value))
    return found is not None and found.text == usual.text


def switches_of(source: str, names: Sequence[str]) -> Iterator[Mapping[str, JSON]]:
    """Settings of one variable: true, false, and strings that the source compares it to."""
    tags = _TAG.findall(source)
    for name in names:
        mentioned = [t for t in tags if re.search(rf"\b{re.escape(name)}\b", t)]
        strings = dict.fromkeys(s for t in mentioned for s in _STRING.findall(t))
        for setting in (True, False, *list(strings)[:_MOST_STRINGS]):
            yield {name: setting}


def _opened(examiner: Examiner, before: Before, switches: Mapping[str, JSON]) -> Opened | None:
    try:
        return Opened(examiner.prompt(before, switches), before, switches)
    except (UntemplateError, Obstacle):
        return None
