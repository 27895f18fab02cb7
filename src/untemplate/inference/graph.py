r"""From frames and prompts to what the model may write: edges, openings, stops.

Frames show literals between neighbouring parts; they become edges. History hides some that the
model needs: content beside calls is dropped, reasoning is not repeated. Those edges follow from
what is known: text that leads from the header into a call also leads there from content; what
closes reasoning before content closes it before a call. What prompts tell is in `openings`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from untemplate.dialect import (
    END,
    BlockPattern,
    Dialect,
    Edge,
    Evidence,
    Frame,
    History,
    TextBlock,
)
from untemplate.grammar.marks import marks
from untemplate.inference.calls import CallShape
from untemplate.inference.openings import Reasoning, openings_of, unseen_reasoning, write_prompts
from untemplate.inference.prompts import Opened
from untemplate.inference.stops import Stops
from untemplate.inference.text import common_suffix, whole_suffix

__all__ = ["build_dialect"]


def build_dialect(
    shape: CallShape | None,
    histories: Sequence[History],
    opened: Sequence[Opened],
    stops: Stops,
    closers: Sequence[str] = (),
) -> Dialect:
    """The dialect that frames and prompts show."""
    histories = [_with_content_as_reasoning(h) for h in histories]
    graph = _Graph()
    blocks: dict[str, BlockPattern] = {"content": TextBlock("content")}
    if shape is not None:
        blocks["call"] = shape.block
        if shape.calls_max != 1:
            graph.add("call", "call", shape.separator)
    for history in histories:
        for frame in history.frames:
            graph.add_frame(frame, history.header, stops)
    reasoning = _seen_reasoning(graph, histories) or unseen_reasoning(histories, opened, closers)
    if reasoning is not None:
        blocks["reasoning"] = TextBlock("reasoning")
    _complete(graph, blocks, histories[0], reasoning)
    histories = [
        replace(
            h,
            openings=tuple(openings_of(h)),
            edges=tuple(_only_in_history(h, stops)),
            after=stops.next_header,
        )
        for h in histories
    ]
    edges = graph.finish()
    return Dialect(
        blocks=blocks,
        edges=edges,
        prompts=write_prompts(edges, histories, opened, reasoning),
        stops=stops.texts,
        # No format has two calls and not three: there the template falls short, not the model.
        calls_max=1 if shape is not None and shape.calls_max == 1 else None,
        history=tuple(histories),
    )


def _with_content_as_reasoning(history: History) -> History:
    """Content that stands where reasoning stands, and only beside calls, reads as reasoning."""
    starts = {f.has: f.literals[0] for f in history.frames if f.parts}
    thinking = {o.literal for o in openings_of(history) if o.block == "reasoning"}
    usual = starts.get(("content",))
    frames = tuple(
        replace(f, parts=(replace(f.parts[0], block="reasoning"), *f.parts[1:]))
        if f.parts
        and f.parts[0].field == "content"
        and f.literals[0] in thinking
        and f.literals[0] != usual
        else f
        for f in history.frames
    )
    return replace(history, frames=frames)


class _Graph:
    """Edges, each with how it is known first."""

    def __init__(self) -> None:
        self._edges: dict[tuple[str, str, str], Evidence] = {}

    def add(self, source: str, target: str, literal: str, evidence: Evidence = "written") -> None:
        self._edges.setdefault((source, target, literal), evidence)

    def add_frame(self, frame: Frame, header: str, stops: Stops) -> None:
        """The edges of one frame, but for the one from the header."""
        for number, part in enumerate(frame.parts):
            literal = frame.literals[number + 1]
            if number + 1 == len(frame.parts):
                self.add(part.block, END, stops.before(literal, part.block))
                continue
            target = frame.parts[number + 1].block
            if part.trim == "last newline":
                # It is written unless the text ends with it: the text may keep its own.
                literal = literal.removeprefix("\n")
            if not stops.splits(literal, header, part.block, target):
                self.add(part.block, target, literal)

    def literals(self, source: str, target: str = "") -> list[str]:
        """What stands on the edges from the source, in the order they were added."""
        return [x for s, t, x in self._edges if s == source and target in ("", t)]

    def first(self, source: str, target: str) -> str | None:
        return next(iter(self.literals(source, target)), None)

    def finish(self) -> tuple[Edge, ...]:
        """Each edge once; none to the end that others say with empty content in between."""
        ends = {x.strip() for x in self.literals("content", END)}
        over_content = {
            (a.strip() + e).strip() for a in self.literals("reasoning", "content") for e in ends
        }
        out: dict[tuple[str, str, str], Edge] = {}
        for (source, target, literal), evidence in self._edges.items():
            if source == "reasoning" and target == END and literal.strip() in over_content:
                continue
            shape = (source, target, " ".join(marks(literal)))
            out.setdefault(shape, Edge(source, target, literal, evidence))
        return tuple(out.values())


def _only_in_history(history: History, stops: Stops) -> Iterator[Edge]:
    """What history writes between blocks and a model does not."""
    for frame in history.frames:
        for number, (part, following) in enumerate(pairwise(frame.parts)):
            literal = frame.literals[number + 1]
            if stops.splits(literal, history.header, part.block, following.block):
                yield Edge(part.block, following.block, literal)


def _seen_reasoning(graph: _Graph, histories: Sequence[History]) -> Reasoning | None:
    """What opens reasoning in history, and the markers that close it whatever follows."""
    starts = [o for h in histories for o in openings_of(h)]
    openings = [o.literal for o in starts if o.block == "reasoning"]
    exits = graph.literals("reasoning")
    if not openings or not exits:
        return None
    if not graph.literals("reasoning", "content"):
        # All exits lead to calls: what leads to calls anyway does not close reasoning.
        into_call = next((o.literal for o in starts if o.block == "call"), "")
        exits = [_closing_part(x, into_call) for x in exits]
    found = [marks(x) for x in exits]
    shared = 0
    while all(len(m) > shared and m[shared] == found[0][shared] for m in found):
        shared += 1
    end = 0
    for mark in found[0][:shared]:
        end = exits[0].index(mark, end) + len(mark)
    return Reasoning(openings[0], exits[0][:end])


def _closing_part(literal: str, into_call: str) -> str:
    """What of a literal between reasoning and a call closes the reasoning."""
    shared = whole_suffix(literal, len(common_suffix(literal, into_call)))
    if shared != literal:
        return literal[: len(literal) - len(shared)]
    first = marks(literal)[:1]  # empty reasoning is written too: one marker has to be enough
    return literal[: literal.index(first[0]) + len(first[0])] if first else literal


def _complete(
    graph: _Graph,
    blocks: Mapping[str, BlockPattern],
    history: History,
    reasoning: Reasoning | None,
) -> None:
    """Add the edges that history hides but the model needs."""
    entries: dict[str, str] = {}
    for opening in openings_of(history):
        bare = reasoning.skip(opening.literal) if reasoning else opening.literal
        if reasoning and reasoning.is_expected_of(opening):
            bare = ""
        entries.setdefault(opening.block, bare)
    entry, content = entries.get("call"), entries.get("content", "")
    has_calls = "call" in blocks and entry is not None
    if reasoning is not None and (reasoning.closing or reasoning.opening):
        evidence: Evidence = "given" if reasoning.seen else "prompt"
        if graph.first("reasoning", "content") is None:
            graph.add("reasoning", "content", reasoning.closing + content, evidence)
        if has_calls and graph.first("reasoning", "call") is None:
            graph.add("reasoning", "call", reasoning.closing + str(entry), evidence)
    if graph.first("content", END) is None:
        graph.add("content", END, "", "given")
    if has_calls and graph.first("content", "call") is None:
        closing = (graph.first("content", END) or "") if content else ""
        next_message = graph.first("reasoning", "call") or ""
        if history.header and history.header in next_message:
            # Each block is a message of its own: content ends as reasoning does.
            graph.add("content", "call", next_message, "given")
        else:
            graph.add("content", "call", closing + str(entry), "given")
    if "call" in blocks and graph.first("call", END) is None:
        graph.add("call", END, "", "given")
