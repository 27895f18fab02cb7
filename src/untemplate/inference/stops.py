r"""Finds the texts that end a turn, and what stands before them.

The turns of all kinds end alike: what their ends share is the stop. Where history writes no end,
the next turn's header takes its place: a model that closes nothing is stopped when it opens the
next role.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from untemplate.dialect import History
from untemplate.errors import UntemplateError
from untemplate.grammar.marks import marks
from untemplate.inference import words
from untemplate.inference.examine import Examiner, Obstacle
from untemplate.inference.text import common_suffix, whole_suffix
from untemplate.inference.words import Probe

__all__ = ["Stops", "find_stops"]


@dataclass(frozen=True, slots=True)
class Stops:
    """Texts that end a turn."""

    texts: tuple[str, ...]
    next_header: str = ""
    """The header of the next turn, where a template always opens it."""

    def before(self, tail: str) -> str:
        """What of the end of a turn stands before the stop."""
        if self.next_header and tail.rstrip().endswith(self.next_header.strip()):
            tail = tail[: tail.rindex(self.next_header.strip())]
        places = [at for s in self.texts if (at := tail.rfind(s.strip())) >= 0]
        kept = tail[: max(places)] if places else tail
        return kept if kept.strip() else ""

    def splits(self, literal: str, header: str, source: str, target: str) -> bool:
        """Whether a literal ends one turn and opens the next, between content and calls."""
        between = {source, target} == {"content", "call"}
        header = header or self.next_header
        return (
            between and bool(header) and any(s + header in _squash(literal, s) for s in self.texts)
        )


def _squash(literal: str, stop: str) -> str:
    """The literal without white space after the stop."""
    before, found, after = literal.partition(stop)
    return before + found + after.lstrip() if found else literal


def find_stops(examiner: Examiner, history: History) -> Stops:
    """The stops of a template's turns."""
    tails = {f.has: f.literals[-1] for f in history.frames if f.parts}
    content = tails.get(("content",), "")
    calls = tails.get(("calls",))
    setting = examiner.setting(history.before)
    next_header = ""
    if setting.opened == setting.closed and content:
        shared = common_suffix(setting.prefix, content)
        first = marks(content)[:1]
        if shared.strip() == content.strip() and first:
            shared = shared[shared.index(first[0]) + len(first[0]) :]
        next_header = shared if marks(shared) else ""
    stops: list[str] = []
    ends = [_without(t, next_header).rstrip() for t in tails.values()]
    shared = whole_suffix(ends[0], len(common_suffix(*ends))) if ends else ""
    last = _last_mark(shared)
    followers = _followers(examiner)
    if last:
        stops.append(last)
    else:
        content_end = content.rstrip()
        if content_end and _last_mark(content_end):
            stops.append(_last_mark(content_end))
        else:
            stops.extend(f for f in followers if f)
        if calls is not None:
            end = _last_mark(calls.rstrip())
            if end in stops or not end:
                pass
            elif content_end and _is_bracketed(end):
                stops.append(end)
    eos = str(examiner.template.special_tokens.get("eos_token") or "")
    if eos and eos not in stops:
        stops.append(eos)
    return Stops(tuple(dict.fromkeys(stops)), next_header)


def _without(tail: str, header: str) -> str:
    """The end of a turn without the header of the next."""
    return tail.rpartition(header)[0] if header and header in tail else tail


def _last_mark(text: str) -> str:
    found = marks(text)
    return found[-1] if found else ""


def _is_bracketed(mark: str) -> bool:
    return len(mark) > 2 and (mark[0], mark[-1]) in {("<", ">"), ("[", "]")}


def _followers(examiner: Examiner) -> Sequence[str]:
    """The first mark after a turn with content, when a user turn follows."""
    try:
        setting = examiner.setting("user")
        message = examiner.message(Probe(content=words.CONTENT))
        whole = examiner.render(
            (*setting.before, message, {"role": "user", "content": words.USER_3})
        )
    except (UntemplateError, Obstacle):
        return ()
    between = whole.rpartition(words.CONTENT)[2].partition(words.USER_3)[0]
    found = marks(between)
    if not found:
        return ()
    lead = between[: between.index(found[0])]
    return (lead + found[0] if not _is_bracketed(found[0]) else found[0],)
