r"""Which renderings show which part of a dialect.

    for shown in find_evidence(template, analysis):
        shown.before, shown.has     # "user", ("content", "calls")
        shown.text                  # what the template writes for such a message
        shown.parts                 # ("content → call", "call → call", "call → end")

Each frame of the history is rendered once more, so what is shown is the template's own writing and
not what was made of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from untemplate.dialect import Before, Dialect, Field, Frame
from untemplate.inference import words
from untemplate.inference.analyse import Analysis
from untemplate.inference.examine import Examiner
from untemplate.inference.words import Probe
from untemplate.template.rendering import CompiledTemplate

__all__ = ["Shown", "find_evidence"]

_MOST_CALLS = 2
"""Enough to show what stands between two."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One rendering, and the parts of the dialect that it shows."""

    before: Before
    has: tuple[Field, ...]
    text: str
    parts: tuple[str, ...]


def find_evidence(template: CompiledTemplate, analysis: Analysis) -> Iterator[Shown]:
    """The rendering of each frame; none for a frame that the template refuses by now."""
    examiner = Examiner(template, capabilities=analysis.capabilities)
    for history in analysis.dialect.history:
        for frame in history.frames:
            probe = _probe(analysis.dialect, frame)
            text = examiner.try_turn(probe, history.before)
            if text is not None:
                parts = tuple(dict.fromkeys(_parts(frame, len(probe.calls))))
                yield Shown(history.before, frame.has, text, parts)


def _probe(dialect: Dialect, frame: Frame) -> Probe:
    most = _MOST_CALLS if dialect.calls_max is None else min(_MOST_CALLS, dialect.calls_max)
    return Probe(
        words.REASONING if "reasoning" in frame.has else "",
        words.CONTENT if "content" in frame.has else "",
        words.calls_of_strings(frame.calls or most) if "calls" in frame.has else (),
    )


def _parts(frame: Frame, calls: int) -> Iterator[str]:
    names = [part.block for part in frame.parts]
    yield from (f"start → {name}" for name in names[:1])
    yield from (f"{one} → {other}" for one, other in pairwise(names))
    if calls > 1:
        yield from (f"{p.block} → {p.block}" for p in frame.parts if p.field == "calls")
    yield from (f"{name} → end" for name in names[-1:])
