r"""Learns how calls are written: the pattern of one, what stands between two, how many may be.

A turn with three calls is cut at its sentinels into what stands before the first, inside each,
between two, and after the last; turns with content or reasoning beside the calls give more contexts
of the same. A number that counts is an index, wherever it stands.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from untemplate.dialect import Arguments, CallBlock, Hole, JsonText, Pattern, Whole, fill
from untemplate.errors import TemplateError
from untemplate.grammar.marks import marks
from untemplate.inference import words
from untemplate.inference.arguments import learn_arguments, learn_whole
from untemplate.inference.examine import Examiner, Obstacle, positions
from untemplate.inference.text import (
    common_prefix,
    common_suffix,
    cut_loop,
    whole_prefix,
    whole_suffix,
)
from untemplate.inference.words import Call, Probe, calls_of_strings
from untemplate.message import JSON

__all__ = ["CallShape", "learn_calls", "write_run"]

_HOLES = {hole: chr(0xE010 + n) for n, hole in enumerate(Hole)}
_PARTS = re.compile("([" + "".join(_HOLES.values()) + "])")


@dataclass(frozen=True, slots=True)
class CallShape:
    """How calls are written."""

    block: CallBlock
    separator: str
    calls_max: int | None


def learn_calls(examiner: Examiner) -> CallShape | None:
    """The shape of calls, or None when the template writes none."""
    if not examiner.capabilities.calls:
        return None
    arguments = _learn_arguments(examiner)
    most = _count(examiner, arguments)
    examiner.change(calls_max=None if most > 2 else most)
    return _learn_pattern(examiner, arguments, most)


def _learn_arguments(examiner: Examiner) -> Arguments:
    def write(arguments: Mapping[str, JSON]) -> str:
        return examiner.turn(Probe(calls=(Call(words.NAMES[0], words.IDS[0], arguments),)))

    found = learn_arguments(write)
    if not isinstance(found, Whole) or isinstance(found.encoding, JsonText):
        return found
    if examiner.capabilities.arguments == "string":
        return found
    # An object was printed by Python: given as JSON text it may fare better.
    examiner.change(arguments="string")
    try:
        better = learn_whole(write)
    except (TemplateError, Obstacle):
        better = None
    if better is not None and isinstance(better.encoding, JsonText):
        return better
    examiner.change(arguments="object")
    return found


def _spans(text: str, calls: Sequence[Call], arguments: Arguments) -> list[tuple[int, int]] | None:
    """Where each call stands, from its first hole to its last; None when one is missing."""
    spans: list[tuple[int, int]] = []
    for call in calls:
        found = positions(text, (call.name, call.id, arguments.write(dict(call.arguments))))
        if not found:
            return None
        spans.append((found[0][0], max(end for _, end in found)))
    in_order = all(a[1] <= b[0] for a, b in pairwise(spans))
    return spans if in_order else None


def _count(examiner: Examiner, arguments: Arguments) -> int:
    """How many calls one message may hold: 1, 2, or 3 for any number."""
    for most in (3, 2, 1):
        calls = calls_of_strings(most)
        text = examiner.try_turn(Probe(calls=calls))
        spans = _spans(text, calls, arguments) if text is not None else None
        if text is not None and spans is not None:
            joints = {re.sub(r"\d+", "", text[a[1] : b[0]]) for a, b in pairwise(spans)}
            if len(joints) < 2:
                return most
    raise Obstacle("calls are given, but not found in the turn")


@dataclass(frozen=True, slots=True)
class _Context:
    """One turn with calls, cut at the calls."""

    before: str
    units: tuple[str, ...]
    joints: tuple[str, ...]
    after: str


def _context(text: str, probe: Probe, arguments: Arguments) -> _Context | None:
    spans = _spans(text, probe.calls, arguments)
    if not spans:
        return None
    stops = [s for s in (probe.reasoning, probe.content) if s]
    before, after = text[: spans[0][0]], text[spans[-1][1] :]
    for stop in stops:
        before, after = before.rpartition(stop)[2], after.partition(stop)[0]
    return _Context(
        before,
        tuple(_hide(text[a:b], c, arguments) for (a, b), c in zip(spans, probe.calls, strict=True)),
        tuple(text[a[1] : b[0]] for a, b in pairwise(spans)),
        after,
    )


def _hide(text: str, call: Call, arguments: Arguments) -> str:
    text = text.replace(arguments.write(dict(call.arguments)), _HOLES[Hole.ARGUMENTS])
    return text.replace(call.name, _HOLES[Hole.NAME]).replace(call.id, _HOLES[Hole.ID])


def _learn_pattern(examiner: Examiner, arguments: Arguments, most: int) -> CallShape:
    calls = calls_of_strings(most)
    contexts: list[_Context] = []
    for reasoning, content in (("", ""), ("", words.CONTENT), (words.REASONING, "")):
        if reasoning and not examiner.capabilities.reasoning:
            continue
        probe = Probe(reasoning, content, calls)
        text = examiner.try_turn(probe)
        found = _context(text, probe, arguments) if text is not None else None
        if found is not None:
            contexts.append(found)
    if not contexts:
        raise Obstacle("calls are given, but not found in the turn")
    units, base = _with_index(contexts[0].units)
    joints, joint_base = _with_index(contexts[0].joints)
    prompt = examiner.setting("user").prompt
    befores = [c.before.removeprefix(prompt) for c in contexts]
    if base is None and joint_base is not None and most > 2:
        base = joint_base - 1  # numbers 1, 2 stand between calls: 0 is before the first
        befores = [_first_index(b, base, joints[0]) for b in befores]
    if len(set(units)) > 1 or len(set(joints)) > 1:
        raise Obstacle("calls of one turn are written in different ways")
    afters = [c.after for c in contexts]
    if joints:
        loop = cut_loop(
            befores[0], joints[0], afters[0], more_before=befores[1:], more_after=afters[1:]
        )
        opening, separator, closing = loop.open, loop.separator, loop.close
    else:
        (opening, closing), separator = _single(examiner, befores, afters), ""
    pattern = opening + units[0] + closing
    stripped = pattern.strip()
    at = pattern.index(stripped)
    separator = pattern[at + len(stripped) :] + separator + pattern[:at]
    block = CallBlock(_pattern(stripped), arguments, base or 0)
    return CallShape(block, separator, None if most > 2 else most)


def _single(examiner: Examiner, befores: Sequence[str], afters: Sequence[str]) -> tuple[str, str]:
    """Where only one call is written: what stands around it, less what a turn without calls has.

    A lone marker at the end that is not the end of other turns is left out too: it ends the turn.
    """
    plain = examiner.try_turn(Probe(content=words.CONTENT)) or ""
    header, _, tail = plain.partition(words.CONTENT)
    opening = common_suffix(*befores)
    shared = common_prefix(header, opening)
    opening = opening[len(whole_prefix(opening, len(shared))) :]
    closing = common_prefix(*afters)
    ending = whole_suffix(closing, len(common_suffix(closing, tail)))
    if ending.strip():
        closing = closing[: len(closing) - len(ending)]
    elif len(marks(closing)) == 1 and not set(closing) & set("}])"):
        closing = ""
    return opening, closing


def _with_index(texts: Sequence[str]) -> tuple[Sequence[str], int | None]:
    """The texts with a hole where a number counts from one to the next, and the first number."""
    pieces = [re.split(r"(\d+)", t) for t in texts]
    if len(set(texts)) < 2 or len({len(p) for p in pieces}) > 1:
        return texts, None
    columns = zip(*pieces, strict=True)
    counted = [
        int(column[0])
        for column in columns
        if all(c.isdigit() and int(c) == int(column[0]) + n for n, c in enumerate(column))
    ]
    if not counted:
        return texts, None
    index = _HOLES[Hole.INDEX]
    return [
        "".join(index if p == str(counted[0] + n) else p for p in parts)
        for n, parts in enumerate(pieces)
    ], counted[0]


def _first_index(before: str, number: int, joint: str) -> str:
    """The text before the first call with a hole where its number stands."""
    index = _HOLES[Hole.INDEX]
    options = [
        before[: found.start()] + index + before[found.end() :]
        for found in re.finditer(r"\d+", before)
        if found[0] == str(number)
    ]
    return max(options, key=lambda b: len(common_suffix(b, joint)), default=before)


def _pattern(text: str) -> Pattern:
    holes = {character: hole for hole, character in _HOLES.items()}
    return tuple(holes.get(part, part) for part in _PARTS.split(text) if part)


def write_run(shape: CallShape, calls: Sequence[Call], first: int = 0) -> str:
    """The calls as they should be written."""
    return shape.separator.join(
        fill(
            shape.block.pattern,
            {
                Hole.NAME: c.name,
                Hole.ID: c.id,
                Hole.INDEX: str(shape.block.index_base + first + n),
                Hole.ARGUMENTS: shape.block.arguments.write(dict(c.arguments)),
            },
        )
        for n, c in enumerate(calls)
    )
