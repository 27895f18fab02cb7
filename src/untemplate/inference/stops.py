r"""Finds the texts that end a turn, and what stands before them.

The turns of all kinds end alike: what their ends share is the stop. Where history writes no end,
the next turn's header takes its place: a model that closes nothing is stopped when it opens the
next role. A stop that may also lead from content into a call is made longer by what follows it; one
that also leads out of reasoning would stop a model that has only thought, so it is none.
"""

from dataclasses import dataclass
from itertools import pairwise

from untemplate.dialect import History, Hole
from untemplate.errors import UntemplateError
from untemplate.grammar.marks import marks
from untemplate.inference import words
from untemplate.inference.calls import CallShape
from untemplate.inference.examine import Examiner, Messages, Obstacle, result_of
from untemplate.inference.text import common_prefix, common_suffix, whole_suffix
from untemplate.inference.words import Probe, calls_of_strings

__all__ = ["Stops", "find_stops"]


@dataclass(frozen=True, slots=True)
class Stops:
    """Texts that end a turn."""

    texts: tuple[str, ...]
    next_header: str = ""
    """The header of the next turn, where a template always opens it."""

    def before(self, tail: str, source: str) -> str:
        """What of the end of a turn stands before the stop.

        Reasoning may end with the same text as a turn, so there the last stop counts.
        """
        tail = _without(tail, self.next_header)
        last = source == "reasoning"
        places = [at for s in self.texts if (at := tail.rfind(s) if last else tail.find(s)) >= 0]
        return tail[: max(places) if last else min(places)] if places else tail

    def splits(self, literal: str, header: str, source: str, target: str) -> bool:
        """Whether a literal ends one turn and opens the next, between content and calls."""
        header = (header or self.next_header).strip()
        if {source, target} != {"content", "call"} or not header:
            return False
        return any(
            found and after.lstrip().startswith(header)
            for stop in self.texts
            for _, found, after in (literal.partition(stop),)
        )


def find_stops(examiner: Examiner, history: History, shape: CallShape | None) -> Stops:
    """The stops of a template's turns."""
    tails = {f.has: f.literals[-1] for f in history.frames if f.parts}
    content = tails.get(("content",), "")
    header = _next_header(examiner, history, content)
    ends = [_without(t, header).rstrip() for t in tails.values()]
    shared = whole_suffix(ends[0], len(common_suffix(*ends))) if ends else ""
    eos = str(examiner.template.special_tokens.get("eos_token") or "")
    after_content = _after_content(examiner)
    stops = _last_marks(shared, eos)
    if not stops:
        calls = _without(tails.get(("calls",), ""), header)
        stops = _unlike_ends(_without(content, header), calls, eos, after_content)
        if not content.strip() and shape is not None:
            after = _after_calls(examiner, shape)
            rest = after[len(common_prefix(after, tails.get(("calls",), ""))) :]
            stops += [m for m in marks(rest)[:1] if _is_bracketed(m)]
    stops = [s for s in stops if s == eos or not _ends_reasoning(s, history)]
    stops = [_unless_it_leads_on(s, history, shape, after_content) for s in stops]
    return Stops(tuple(dict.fromkeys(s for s in (*stops, eos) if s)), header)


def _without(tail: str, header: str) -> str:
    """The end of a turn without the header of the next."""
    core = header.strip()
    return tail.rpartition(core)[0] if core and core in tail else tail


def _next_header(examiner: Examiner, history: History, content: str) -> str:
    """The header that a template opens after every turn, whether it is asked to or not."""
    setting = examiner.setting(history.before)
    if setting.opened != setting.closed or not content:
        return ""
    shared = whole_suffix(content, len(common_suffix(setting.prefix, content)))
    # The end of a user's turn is mostly that of any turn: a header begins as the text begins.
    bos = str(examiner.template.special_tokens.get("bos_token") or "")
    begin = marks(setting.closed.removeprefix(bos))[:1]
    if begin and begin[0] in shared:
        shared = shared[shared.index(begin[0]) :]
    return shared if marks(shared) else ""


def _last_marks(text: str, eos: str) -> list[str]:
    """The last mark of a text; where that is the end of all text, the one before it as well."""
    found = marks(text)
    if len(found) > 1 and found[-1] == eos and text.rstrip().endswith(eos):
        before = text[: text.rindex(eos)].rstrip()
        if before.endswith(found[-2]) and _is_bracketed(found[-2]):
            return [found[-2], eos]
    return [found[-1]] if found else []


def _unlike_ends(content: str, calls: str, eos: str, after_content: str) -> list[str]:
    """Stops where turns with content and turns with calls end in different ways."""
    followers = marks(after_content)
    stops = _last_marks(content, eos)
    if not stops and followers:
        lead = after_content[: after_content.index(followers[0])]
        stops = [followers[0] if _is_bracketed(followers[0]) else lead + followers[0]]
    last = marks(calls)[-1:]
    if last and (last[0] in stops or (content.strip() and _is_bracketed(last[0]))):
        stops += last
    return stops


def _is_bracketed(mark: str) -> bool:
    return len(mark) > 2 and (mark[0], mark[-1]) in {("<", ">"), ("[", "]")}


def _ends_reasoning(stop: str, history: History) -> bool:
    """Whether the same text leads from reasoning to another part of the turn."""
    return any(
        one.field == "reasoning" and literal.lstrip().startswith(stop)
        for frame in history.frames
        for one, literal in zip(frame.parts[:-1], frame.literals[1:-1], strict=True)
    )


def _unless_it_leads_on(
    stop: str, history: History, shape: CallShape | None, after_content: str
) -> str:
    """The stop, made longer where content goes on into a call with the same text."""
    if shape is None:
        return stop
    first = shape.block.pattern[0]
    begin = "" if isinstance(first, Hole) else first
    for frame in history.frames:
        fields = [p.field for p in frame.parts]
        for number, pair in enumerate(pairwise(fields)):
            entry = frame.literals[number + 1] + begin
            if pair != ("content", "calls") or not entry.lstrip().startswith(stop):
                continue
            after = entry.lstrip().removeprefix(stop).lstrip()
            if not history.header or not after.startswith(history.header):
                shared = common_prefix(entry, after_content)
                rest = marks(after_content[len(shared) :])
                return shared + rest[0] if rest else ""
    return stop


def _after_content(examiner: Examiner) -> str:
    """What stands between content and the next user message."""
    user = {"role": "user", "content": words.USER_3}
    whole = _render_on(examiner, Probe(content=words.CONTENT), (user,))
    return whole.rpartition(words.CONTENT)[2].partition(words.USER_3)[0]


def _after_calls(examiner: Examiner, shape: CallShape) -> str:
    """What stands between a call and its result."""
    call = calls_of_strings(1)[0]
    whole = _render_on(examiner, Probe(calls=(call,)), (result_of(call),))
    last = shape.block.arguments.write(dict(call.arguments)) or call.name
    after = whole.rpartition(last)[2].partition(words.RESULT)[0]
    closing = shape.block.pattern[-1]
    return after if isinstance(closing, Hole) else after.partition(closing)[2]


def _render_on(examiner: Examiner, probe: Probe, more: Messages) -> str:
    try:
        setting = examiner.setting("user")
        return examiner.render((*setting.before, examiner.message(probe), *more))
    except (UntemplateError, Obstacle):
        return ""
