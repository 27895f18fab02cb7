r"""The tables that a reader runs on, made once for each grammar.

A `Way` is what leads out of a block: the marks to see, in order, and the rule that they lead to.
For a call the ways go on into the call's own literals, up to its first hole or its JSON envelope:

    content:0   "\n" + '<tool_call>\n' -> Way(marks=("<tool_call>",), target="call:0", lead="\n")

The leniency of reading is made here: white space between marks is free, a way may be entered at a
later mark (`Trigger.mark`), literals are only compared by their marks.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from untemplate.dialect import CallBlock, Hole
from untemplate.grammar import Grammar, nodes
from untemplate.grammar.envelope import Envelope
from untemplate.grammar.marks import marks

__all__ = ["AfterPlan", "CallPlan", "Plan", "Step", "TextPlan", "Way", "plan_of"]


@dataclass(frozen=True, slots=True)
class Way:
    """Marks that lead to a rule, and the white space that the literal has at its ends."""

    marks: tuple[bytes, ...]
    target: str
    lead: bytes = b""
    trail: bytes = b""
    """Taken off, once, from the text that follows."""


@dataclass(frozen=True, slots=True)
class TextPlan:
    """Free text, and the ways out of it."""

    kind: str
    ways: tuple[Way, ...]
    trigger: re.Pattern[bytes] | None
    """Finds the next mark at which a way may begin."""
    begins: Mapping[bytes, tuple[tuple[int, int], ...]]
    """Mark to (way, number of the mark in it)."""
    partial: re.Pattern[bytes] | None
    """Matches the end of data that may still become a mark."""
    longest_mark: int
    lead_size: int
    """Most white space that a way takes off before its marks."""


@dataclass(frozen=True, slots=True)
class Step:
    """One hole of a call, and the marks after it."""

    hole: Hole
    marks: tuple[bytes, ...]
    tight: bool
    """No white space stands between the hole and the first mark."""


@dataclass(frozen=True, slots=True)
class CallPlan:
    """A call after its opening marks: an envelope, or holes with marks between them."""

    block: CallBlock
    envelope: Envelope | None
    steps: tuple[Step, ...]
    after: str
    """The rule that follows."""
    closing: tuple[bytes, ...]
    """Marks after the last hole or the envelope."""


@dataclass(frozen=True, slots=True)
class AfterPlan:
    """Structure between calls."""

    ways: tuple[Way, ...]


Plan = TextPlan | CallPlan | AfterPlan


@dataclass(frozen=True, slots=True)
class Plans:
    """All of a grammar's plans by rule, and how it starts."""

    rules: Mapping[str, Plan]
    openings: tuple[Way, ...]
    """Ways that have marks."""
    default: str
    """The rule that is entered when no opening is there."""
    stops: tuple[bytes, ...]
    content: str
    """A content rule to fall back to."""


@lru_cache(maxsize=256)
def plan_of(grammar: Grammar) -> Plans:
    """The tables of an unrestricted grammar; cached by its key."""
    rules: dict[str, Plan] = {}
    for name, node in grammar.rules.items():
        match node:
            case nodes.Text():
                rules[name] = _text(grammar, node)
            case nodes.Sequence((nodes.Call() as call, nodes.Reference(after))):
                rules[name] = _call(call, after)
            case nodes.Choice(options):
                rules[name] = AfterPlan(tuple(_way(grammar, *_lead(o)) for o in options))
            case _:
                pass
    assert isinstance(grammar.start, nodes.Choice)
    openings = [_lead(o) for o in grammar.start.options]
    ways = [_way(grammar, literal, target) for literal, target in openings]
    texts = [t for n, t in openings if not n and isinstance(rules[t], TextPlan)]
    content = [n for n, p in rules.items() if isinstance(p, TextPlan) and p.kind == "content"]
    return Plans(
        rules,
        tuple(w for w in ways if w.marks),
        texts[0] if texts else "",
        tuple(s.encode() for s in grammar.dialect.stops),
        (sorted(content, key=lambda n: -int(n.rsplit(":")[1])) or [""])[0],
    )


def _lead(node: nodes.Node) -> tuple[bytes, str]:
    match node:
        case nodes.Sequence((nodes.Literal(data), nodes.Reference(rule))):
            return data, rule
        case nodes.Reference(rule):
            return b"", rule
        case _:
            raise AssertionError(node)


def _way(grammar: Grammar, literal: bytes, target: str) -> Way:
    text = literal.decode()
    own = marks(text)
    lead = text[: len(text) - len(text.lstrip())] if own else text
    trail = text[len(text.rstrip()) :] if own else ""
    node = grammar.rules[target]
    if isinstance(node, nodes.Sequence) and isinstance(node.items[0], nodes.Call):
        call = node.items[0]
        first = call.block.pattern[0]
        opening = (
            call.envelope.before if call.envelope else "" if isinstance(first, Hole) else first
        )
        whole = text + opening
        lead = whole[: len(whole) - len(whole.lstrip())]
        return Way(_encoded(marks(whole)), target, lead.encode())
    return Way(_encoded(own), target, lead.encode(), trail.encode())


def _text(grammar: Grammar, node: nodes.Text) -> TextPlan:
    ways: list[Way] = []
    begins: dict[bytes, list[tuple[int, int]]] = {}
    for number, exit_ in enumerate(node.exits):
        way = _way(grammar, exit_.literal, exit_.target)
        if exit_.target == "end":
            for stop in grammar.dialect.stops:
                whole = exit_.literal.decode() + stop
                found = _encoded(marks(whole))
                lead = whole[: len(whole) - len(whole.lstrip())].encode()
                begins.setdefault(found[0], []).append((len(ways), 0))
                ways.append(Way(found, "end", lead))
            continue
        for trigger in node.triggers:
            if trigger.exit == number and trigger.mark < len(way.marks):
                begins.setdefault(trigger.data, []).append((len(ways), trigger.mark))
        ways.append(way)
    found_marks = sorted(begins, key=len, reverse=True)
    return TextPlan(
        node.kind,
        tuple(ways),
        re.compile(b"|".join(map(re.escape, found_marks))) if found_marks else None,
        {m: tuple(dict.fromkeys(w)) for m, w in begins.items()},
        _partial(found_marks),
        max(map(len, found_marks), default=0),
        max((len(w.lead) for w in ways), default=0),
    )


def _partial(found_marks: Sequence[bytes]) -> re.Pattern[bytes] | None:
    """An expression for every proper beginning of a mark, at the end of the data."""
    prefixes = {m[:n] for m in found_marks for n in range(1, len(m))}
    if not prefixes:
        return None
    return re.compile(
        b"(?:" + b"|".join(map(re.escape, sorted(prefixes, key=len, reverse=True))) + rb")\Z"
    )


def _call(call: nodes.Call, after: str) -> CallPlan:
    block = call.block
    if call.envelope:
        closing = _encoded(marks(call.envelope.after))
        return CallPlan(block, call.envelope, (), after, closing)
    steps: list[Step] = []
    for at, part in enumerate(block.pattern):
        if isinstance(part, Hole):
            following = block.pattern[at + 1] if at + 1 < len(block.pattern) else ""
            text = "" if isinstance(following, Hole) else following
            tight = bool(text) and not text[0].isspace()
            steps.append(Step(part, _encoded(marks(text)), tight))
    return CallPlan(block, None, tuple(steps), after, steps[-1].marks if steps else ())


def _encoded(found: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(m.encode() for m in found)
