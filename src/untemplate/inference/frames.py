"""Learns how a place of the conversation writes turns: one frame for each set of parts.

For each combination of reasoning, content and calls the turn is cut at its sentinels. What all
turns of a place begin with is its header. Then comes what the text of a part loses at its edges,
and whether white space alone counts as nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from untemplate.dialect import TRIMS, Before, Field, Frame, FramePart, History, Loss, Trim
from untemplate.grammar.marks import marks
from untemplate.inference import words
from untemplate.inference.calls import CallShape, write_run
from untemplate.inference.examine import Examiner, Obstacle
from untemplate.inference.text import common_prefix, whole_prefix
from untemplate.inference.words import Probe, calls_of_strings

__all__ = ["is_delimited", "learn_history", "refused_shapes"]

_BLOCKS: Mapping[Field, str] = {"reasoning": "reasoning", "content": "content", "calls": "call"}
_EDGES = ("\n \n", " \n\n")
"""White space before and behind a text, in which each kind of trimming leaves something else."""


@dataclass(frozen=True, slots=True)
class _Place:
    examiner: Examiner
    shape: CallShape | None
    before: Before
    counts_earlier: bool
    most: int = 3
    """Most calls in a probe."""

    def probe(self, has: Sequence[Field], edges: tuple[str, str] = ("", "")) -> Probe:
        before, behind = edges
        most = min(self.most, self.shape.calls_max or self.most) if self.shape else 0
        return Probe(
            before + words.REASONING + behind if "reasoning" in has else "",
            before + words.CONTENT + behind if "content" in has else "",
            calls_of_strings(most) if "calls" in has else (),
        )

    def run(self, probe: Probe) -> str:
        if not probe.calls or self.shape is None:
            return ""
        return write_run(self.shape, probe.calls, 1 if self.counts_earlier else 0)


def learn_history(
    examiner: Examiner, shape: CallShape | None, before: Before, prompts: Sequence[str]
) -> History | None:
    """How turns are written there; None when the template renders none.

    `prompts` are the generation prompts of the place, the usual one first: what it and all turns
    begin with is the header, up to where another prompt ends.
    """
    place = _Place(examiner, shape, before, counts_earlier=False)
    if before == "tool" and shape is not None:
        place = replace(place, counts_earlier=_counts_earlier(place))
    turns: dict[tuple[Field, ...], tuple[Probe, str]] = {}
    fields: tuple[Field, ...] = ("reasoning", "content", "calls")
    for flags in product((False, True), repeat=3):
        has: tuple[Field, ...] = tuple(f for f, on in zip(fields, flags, strict=True) if on)
        if "calls" in has and shape is None:
            continue
        if "reasoning" in has and examiner.capabilities.reasoning is None:
            continue
        probe = place.probe(has)
        text = examiner.try_turn(probe, before)
        if text is not None:
            turns[has] = probe, text
    if not turns:
        return None
    header = _header([t for h, (_, t) in turns.items() if h or t], prompts)
    if header and turns.get((), (None, "x"))[1] == "":
        del turns[()]  # a message with nothing in it leaves no trace, not even a header
    frames: list[Frame] = []
    gaps: list[Loss] = []
    for has, (probe, text) in turns.items():
        try:
            frames.append(_with_trims(place, _frame(place, has, probe, text, header), header))
        except Obstacle as obstacle:
            gaps.append(Loss(f"{' and '.join(has)}: {obstacle}", text))
    frames += _for_one_call(place, frames, header)
    history = History(
        before,
        "nothing",
        header,
        tuple(frames),
        counts_earlier_calls=place.counts_earlier,
        calls_max=shape.calls_max if shape else None,
        gaps=tuple(gaps),
    )
    return replace(history, blank=_blank(place, history))


def is_delimited(history: History) -> bool:
    """Whether a mark tells reasoning from what stands beside it, where it stands beside anything.

    A mark is all that a turn without reasoning does not begin with.
    """
    plain = {marks(f.literals[0]) for f in history.frames if f.parts and "reasoning" not in f.has}
    beside = [f for f in history.frames if len(f.parts) > 1 and "reasoning" in f.has]
    return not beside or any(
        marks(f.literals[0]) not in plain or any(map(marks, f.literals[1:-1])) for f in beside
    )


def refused_shapes(history: History, refusals: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """The sets of parts that the template refuses in one message, but not one by one."""
    taken = {f.has for f in history.frames}
    shapes = (tuple(r.removesuffix(f" after {history.before}").split("+")) for r in refusals)
    return tuple(s for s in shapes if len(s) > 1 and s not in taken and {(p,) for p in s} <= taken)


def _for_one_call(place: _Place, frames: Sequence[Frame], header: str) -> list[Frame]:
    """Frames for a single call, where it is not written like several."""
    shape = place.shape
    if shape is None or shape.calls_max == 1:
        return []
    single = replace(place, most=1)
    out: list[Frame] = []
    for frame in frames:
        if "calls" not in frame.has:
            continue
        probe = single.probe(frame.has)
        text = place.examiner.try_turn(probe, place.before)
        if text is None or text == header + _write(single, frame, probe):
            if not out:
                break  # one frame is like the others
            continue
        try:
            found = _frame(single, frame.has, probe, text, header)
        except Obstacle:
            continue
        out.append(replace(_with_trims(single, found, header), calls=1))
    return out


def _counts_earlier(place: _Place) -> bool:
    """Whether the call before this turn is counted: the turn is then written with one more."""
    probe = place.probe(("calls",))
    text = place.examiner.try_turn(probe, place.before)
    if text is None or place.run(probe) in text:
        return False
    return replace(place, counts_earlier=True).run(probe) in text


def _header(turns: Sequence[str], prompts: Sequence[str]) -> str:
    if not prompts:
        return ""
    header = common_prefix(*turns, prompts[0])
    for prompt in prompts[1:]:
        if header.startswith(prompt):
            header = prompt
    return whole_prefix(turns[0], len(header))


def _frame(place: _Place, has: tuple[Field, ...], probe: Probe, text: str, header: str) -> Frame:
    """The turn cut at its parts."""
    texts: dict[Field, str] = {
        "reasoning": probe.reasoning,
        "content": probe.content,
        "calls": place.run(probe),
    }
    found: list[tuple[int, int, Field]] = []
    for name in has:
        wanted = texts[name]
        if text.count(wanted) > 1:
            raise Obstacle(f"{name} is written twice in one turn")
        at = text.find(wanted)
        if at >= 0:
            found.append((at, at + len(wanted), name))
        elif name == "calls" and probe.calls[0].name in text:
            raise Obstacle("calls are not written as they were learnt")
    found.sort()
    cuts = [len(header), *(x for a, b, _ in found for x in (a, b)), len(text)]
    literals = tuple(text[a:b] for a, b in zip(cuts[::2], cuts[1::2], strict=True))
    return Frame(has, tuple(FramePart(n, _BLOCKS[n]) for _, _, n in found), literals)


def _with_trims(place: _Place, frame: Frame, header: str) -> Frame:
    """What white space at the edges of texts is lost."""
    texts = [p for p in frame.parts if p.field != "calls"]
    if not texts:
        return frame
    probe = place.probe(frame.has, _EDGES)
    wanted = place.examiner.try_turn(probe, place.before)
    options = list(product(TRIMS, repeat=len(texts)))
    for option in sorted(options, key=lambda o: len(set(o))):
        trims = iter(option)
        parts = tuple(
            p if p.field == "calls" else replace(p, trim=next(trims)) for p in frame.parts
        )
        trimmed = replace(frame, parts=parts)
        if header + _write(place, trimmed, probe) == wanted:
            return trimmed
    return frame


def _write(place: _Place, frame: Frame, probe: Probe) -> str:
    texts: dict[Field, str] = {
        "reasoning": probe.reasoning,
        "content": probe.content,
        "calls": place.run(probe),
    }
    out = frame.literals[0]
    for part, literal in zip(frame.parts, frame.literals[1:], strict=True):
        trim: Trim = part.trim
        out += TRIMS[trim](texts[part.field]) + literal
    return out


def _blank(place: _Place, history: History) -> tuple[Field, ...]:
    """Fields whose white space alone is written as if they were absent."""
    frames = {f.has: f for f in history.frames}
    out: list[Field] = []
    for name in ("content", "reasoning"):
        wanted: Field = name
        one, none = frames.get((wanted,)), frames.get(())
        if one is None or none is None:
            continue
        probe = Probe("\n", "") if name == "reasoning" else Probe("", "\n")
        text = place.examiner.try_turn(probe, place.before)
        absent = history.header + _write(place, none, probe)
        present = history.header + _write(place, one, probe)
        if text == absent and text != present:
            out.append(wanted)
    return tuple(out)
