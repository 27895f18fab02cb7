r"""Ways that no dialect has, and that models take all the same.

<|section|><|call|>functions.f:0<|args|>{...}     the way of the family
<|section|>functions.f:0<|args|>{...}             a mark in its middle is missing
<|section|><|call|>f:0<|args|>{...}               a plain word before the name is missing
<|section|><|call|>functions.f{...}               what stands behind the name is missing
{"name": "f", "arguments": {...}}                 everything is missing, and it is JSON
<|section|>[{"name": "f", "arguments": {...}}]    it is JSON behind the family's first marks
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import dropwhile, takewhile
from typing import Literal

from untemplate.dialect import Hole
from untemplate.grammar.envelope import Envelope
from untemplate.grammar.marks import is_distinctive
from untemplate.reader.ways import ARGUMENTS, END_RULE, FENCE, CallPlan, Element, Way, Word

__all__ = ["bare_plan", "entries", "foreign", "slips", "without_comma", "without_special"]

Elements = tuple[Element, ...]

_PLAIN_WORD = re.compile(rb"\w+[:.]")

_GENERIC = Envelope(
    before="", after="", arguments=("arguments",), name=("name",), id=None, fixed=()
)


def bare_plan(call: CallPlan, closing: tuple[bytes, ...] = ()) -> CallPlan:
    """The same call as JSON without any marker."""
    return replace(
        call,
        envelope=call.envelope or _GENERIC,
        steps=(ARGUMENTS, *closing),
        encoding=None,
        group=None,
        closing=closing,
        piece=None,
    )


def without_special(elements: Elements) -> Elements:
    """What is left of a way when marks that look like special tokens are gone."""
    return tuple(e for e in elements if isinstance(e, Word) or not _is_special(e))


def _is_special(mark: bytes) -> bool:
    return is_distinctive(mark.decode()) and (mark[:1] + mark[-1:]) in (b"<>", b"[]")


def slips(way: Way) -> Iterator[Way]:
    """The ways to the same call on which something is missing."""
    call = way.call
    if call is None or way.is_bare:
        return
    yield from (replace(way, elements=e, is_own=False) for e in _without_a_mark(way.elements))
    worded = tuple(_without_a_word(way.elements))
    yield from (replace(way, elements=e, is_own=False) for e in worded)
    for elements in (way.elements, *worded):
        name = next((n for n, e in enumerate(elements) if _is_name(e)), len(elements))
        ends = _ends_without_header(call) if name + 1 < len(elements) else ()
        if ends:
            step = way.step - (len(elements) - name - 1)
            shorter = (*elements[:name], Word(Hole.NAME, ends))
            yield replace(way, elements=shorter, step=step, is_own=False)


def without_comma(way: Way) -> Iterator[Way]:
    """The same call where the comma between two is missing: its name shows it."""
    comma, following = way.elements[:1], way.elements[1:2]
    if way.call is not None and comma == (b",",) and any(map(_is_name, following)):
        yield replace(way, elements=way.elements[1:], is_bare=True, is_own=False)


def foreign(way: Way) -> Iterator[Way]:
    """JSON behind the family's first marks: in place of its own form, as a list, in a fence."""
    call = way.call
    if call is None or way.is_bare or not way.is_own:
        return
    size = _first_word(way.elements)
    first = way.elements[: size - (size < len(way.elements))]
    if not first or not _is_certain(first[0]):
        return
    forms = [] if call.envelope else [((), ())]
    for more, closing in (*forms, ((b"[",), (b"]",)), ((FENCE + b"json",), (FENCE,))):
        plan = bare_plan(call, (*closing, *call.closing))
        kind: Literal["instead", "wrapped"] = "wrapped" if call.envelope else "instead"
        yield Way((*first, *more), plan.rule, way.lead, call=plan, is_own=False, json=kind)


def _without_a_mark(elements: Elements) -> Iterator[Elements]:
    """One of the marks in the middle, behind which the way can be known again."""
    for number in range(1, _first_word(elements)):
        left = (*elements[:number], *elements[number + 1 :])
        following = left[number : number + 1]
        is_list = elements[number] == b"["  # without it one call stands alone
        shows = not following or isinstance(following[0], Word) or _leads(following[0])
        if shows and (is_list or (following and _is_certain(elements[number]))):
            yield left


def _without_a_word(elements: Elements) -> Iterator[Elements]:
    """The plain word in front of the name, with or without its last character."""
    first = _first_word(elements)
    word = elements[first - 1] if 1 < first < len(elements) else b""
    if isinstance(word, bytes) and _PLAIN_WORD.fullmatch(word):
        for rest in ((), (word[-1:],)):
            yield (*elements[: first - 1], *rest, *elements[first:])


def entries(way: Way) -> Iterator[int]:
    """Numbers of the marks at which a way may be entered, the first left out or not."""
    yield 0
    leads_on = way.target == END_RULE if way.call is None else not way.is_bare
    if not leads_on:
        return
    for number in range(1, _first_word(way.elements)):
        if _is_certain(way.elements[number]):
            yield number


def _is_name(element: Element) -> bool:
    return isinstance(element, Word) and element.hole is Hole.NAME


def _leads(mark: bytes) -> bool:
    """Whether a mark in front of a word can be known again."""
    return _is_certain(mark) or bool(_PLAIN_WORD.fullmatch(mark))


def _first_word(elements: Elements) -> int:
    """The number of the first word, or how many elements there are."""
    return next((n for n, e in enumerate(elements) if isinstance(e, Word)), len(elements))


def _is_certain(element: Element) -> bool:
    return isinstance(element, bytes) and is_distinctive(element.decode("utf-8", "replace"))


def _ends_without_header(call: CallPlan) -> tuple[bytes, ...]:
    """What stands behind a name where the header breaks off: more of it, arguments, the end."""
    group, steps = call.group, call.steps
    opener = b"{" if group is None else group.head or group.open
    behind = dropwhile(lambda s: not (isinstance(s, Word) and s.hole is Hole.NAME), steps)
    header = takewhile(lambda s: s is not ARGUMENTS, behind)
    own, *later = (s for s in header if isinstance(s, bytes))
    closers = (c for c in call.closing if _is_certain(c))
    return tuple(dict.fromkeys(e for e in (*later, opener, *closers) if e and e != own))
