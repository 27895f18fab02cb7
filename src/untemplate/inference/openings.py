r"""What may follow a generation prompt, and the reasoning that only prompts show.

A prompt is the header of its place and a rest. The rest may open a block (`<think>\n`: reasoning
goes on), open and close one (`<think>\n\n</think>\n\n`: reasoning is off), or be empty.

Reasoning that no frame shows is found by comparing prompts: an off-prompt is an on-prompt with the
reasoning closed, so what it has more is the closing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from untemplate.dialect import END, Edge, History, Opening, Prompt
from untemplate.grammar.marks import marks
from untemplate.inference.prompts import Opened
from untemplate.inference.text import common_suffix, is_torn, whole_suffix

__all__ = ["Reasoning", "openings_of", "unseen_reasoning", "write_prompts"]


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What opens and what closes reasoning."""

    opening: str
    closing: str
    seen: bool = True
    """History shows it; else only prompts do."""

    def skip(self, literal: str) -> str:
        """The literal without empty reasoning, or the end of reasoning, at its beginning."""
        for part in (self.opening + self.closing, self.closing):
            core = "".join(part.split())
            if core and marks(self.closing) and "".join(literal.split()).startswith(core):
                return _skip(literal, len(core))
        return literal

    def is_expected_of(self, opening: Opening) -> bool:
        """Whether history opens reasoning before content, which has to bring it along."""
        core = self.opening.strip()
        return (
            not self.seen and opening.block == "content" and opening.literal.strip() == core != ""
        )


def _skip(literal: str, count: int) -> str:
    """The literal without its first characters that are no white space, and space after them."""
    for at, character in enumerate(literal):
        count -= not character.isspace()
        if not count:
            return literal[at + 1 :].lstrip()
    return ""


def openings_of(history: History) -> list[Opening]:
    """What follows the header in the frames of a place."""
    found = [Opening(f.parts[0].block, f.literals[0]) for f in history.frames if f.parts]
    return list(dict.fromkeys(found))


def _history_of(histories: Sequence[History], opened: Opened) -> History:
    """The place of a prompt; places that are like the first are not listed."""
    return next((h for h in histories if h.before == opened.before), histories[0])


def _rest(opened: Opened, histories: Sequence[History]) -> str:
    """A prompt less the header of its place."""
    return opened.text.removeprefix(_history_of(histories, opened).header)


def unseen_reasoning(
    histories: Sequence[History], opened: Sequence[Opened], closers: Sequence[str]
) -> Reasoning | None:
    """Reasoning that no frame shows, if the prompts of the first place show it.

    `closers` are texts that the template cuts content at: what stands before them is not content.
    """
    first = [o for o in opened if o.before == histories[0].before]
    rests = list(dict.fromkeys(_rest(o, histories) for o in first))
    for short, long in permutations((r for r in rests if r.strip()), 2):
        core = short.rstrip()
        if long.startswith(core) and marks(long[len(core) :]):
            return Reasoning(short, long[len(core) :].lstrip(" "), seen=False)
    starts = [f.literals[0] for f in histories[0].frames]
    for rest in rests if "" in rests else ():
        found = marks(rest)
        if len(found) == 1 and all(x.startswith(rest) for x in starts):
            # History always closes what the other prompt leaves open.
            return Reasoning("", rest, seen=False)
        if len(found) == 2:
            return _halved(rest, found)
    if closers:
        alone = [r for r in rests if len(marks(r)) == 1 and marks(r)[0] not in closers]
        if alone:
            return Reasoning(alone[0], closers[0], seen=False)
    return None


def _halved(rest: str, found: Sequence[str]) -> Reasoning:
    """Empty reasoning of two markers, cut in the middle of the space between them."""
    at = rest.index(found[1], len(found[0]))
    first = len(rest[:at].rstrip())
    cut = first + (at - first + 1) // 2
    return Reasoning(rest[:cut], rest[cut:], seen=False)


# ------------------------------------------------------------------------------------ prompts


def write_prompts(
    edges: Sequence[Edge],
    histories: Sequence[History],
    opened: Sequence[Opened],
    reasoning: Reasoning | None,
) -> tuple[Prompt, ...]:
    """The prompts; those of later places only where they are not those of the first."""
    out: dict[str, Prompt] = {}
    for seen in opened:
        if seen.text not in out:
            out[seen.text] = _prompt(edges, seen, histories, reasoning)
    return tuple(out.values())


def _prompt(
    edges: Sequence[Edge],
    opened: Opened,
    histories: Sequence[History],
    reasoning: Reasoning | None,
) -> Prompt:
    history = _history_of(histories, opened)
    direct = _direct(history, reasoning)
    found: list[Opening] = []
    if opened.text.startswith(history.header):
        rest = opened.text.removeprefix(history.header)
        found = (
            _inside(edges, rest, direct)
            or [
                Opening(o.block, o.literal[len(rest) :])
                for o in direct
                if o.literal.startswith(rest)
            ]
            or _spaced_otherwise(rest, direct)
        )
    if not found:
        found = _past(edges, opened.text)
    if not found:
        found = [Opening(o.block, o.literal.lstrip()) for o in direct]
    if any(o == Opening("content") for o in found) and not any(o.block == "call" for o in found):
        entry = [e.literal for e in edges if (e.source, e.target) == ("content", "call")]
        found += [Opening("call", literal.lstrip()) for literal in entry[:1]]
    return Prompt(
        opened.text, tuple(dict.fromkeys(found)), dict(opened.switches), before=opened.before
    )


def _spaced_otherwise(rest: str, direct: Sequence[Opening]) -> list[Opening]:
    """What is left of openings that begin with a prompt but for its white space."""
    core = "".join(rest.split())
    return [
        Opening(o.block, _skip(o.literal, len(core)))
        for o in direct
        if core and "".join(o.literal.split()).startswith(core)
    ]


def _direct(history: History, reasoning: Reasoning | None) -> list[Opening]:
    """What may follow the bare header; empty reasoning may as well be left out."""
    raw = openings_of(history)
    if reasoning is None:
        return raw
    out: list[Opening] = []
    preopened = any(o.block == "reasoning" and not o.literal.strip() for o in raw)
    if not reasoning.seen:
        preopened = not reasoning.opening and any(
            reasoning.skip(o.literal) != o.literal for o in raw
        )
        if preopened or reasoning.opening:
            out.append(Opening("reasoning", reasoning.opening))
    for opening in raw:
        bare = reasoning.skip(opening.literal)
        if reasoning.is_expected_of(opening):
            continue
        if opening.block == "reasoning" or bare == opening.literal:
            out.append(opening)
        elif not preopened:
            out.append(Opening(opening.block, bare))
    return out


def _past(edges: Sequence[Edge], text: str) -> list[Opening]:
    """Openings of a prompt that leaves reasoning out and opens what comes after it."""
    out: list[Opening] = []
    for edge in edges:
        if edge.source == "reasoning" and edge.target != END:
            rest = _rest_behind(edge.literal, text)
            if rest is None:  # the prompt may end with more space than the literal has there
                rest = _rest_behind(edge.literal, text.rstrip())
                rest = rest.lstrip() if rest is not None else None
            if rest is not None:
                out.append(Opening(edge.target, rest))
    return out


def _rest_behind(literal: str, text: str) -> str | None:
    """What of the literal is left where the text ends within it, behind a marker."""
    ends = [n for n in range(1, len(literal) + 1) if not is_torn(literal, n)]
    shared = {n: whole_suffix(text, len(common_suffix(literal[:n], text))) for n in ends}
    best = max(ends, key=lambda n: len(shared[n]), default=0)
    return literal[best:] if best and marks(shared[best]) else None


def _inside(edges: Sequence[Edge], rest: str, direct: Sequence[Opening]) -> list[Opening]:
    """Openings of a prompt that goes on into reasoning: past its opening, maybe past its closing.

    A prompt that writes into content does so on the model's behalf, which is rare: it only counts
    where nothing else fits.
    """
    if not rest.strip():
        return []
    for kind in ("reasoning", "content"):
        for opening in direct:
            core = opening.literal.rstrip()
            if opening.block != kind or not rest.startswith(core):
                continue
            if opening.literal.startswith(rest):
                continue
            closed = _after(edges, kind, rest[len(core) :])
            if closed or kind == "reasoning":
                return closed or [Opening(kind)]
    return []


def _after(edges: Sequence[Edge], block: str, inner: str) -> list[Opening]:
    """Where one stands when `inner` ends inside or after what closes the block."""
    out: list[Opening] = []
    text = inner.rstrip()
    for edge in edges:
        if edge.source != block or edge.target == END:
            continue
        core = edge.literal.lstrip()
        for length in range(len(core), 0, -1):
            piece = core[:length].rstrip()
            if piece and not is_torn(core, length) and text.endswith(piece):
                rest = core[length:]
                out.append(Opening(edge.target, rest if rest.strip() else ""))
                break
    return out
