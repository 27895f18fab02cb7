r"""The tables that a reader runs on, made once for each grammar.

Each rule of the grammar becomes a plan: the ways (`ways`) that lead out of it, and at which marks
they begin. The leniency of reading is made here: white space between marks is free, a way may be
entered at a later mark, literals are only compared by their marks, and beside each way there are
those that models slip into (`slips`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from untemplate.dialect import CallBlock, Dialect, Hole, Pairs, Whole
from untemplate.grammar import Grammar, nodes
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.reader.call_steps import behind_name, closing_marks, commit_step, encoded, header
from untemplate.reader.events import TextKind
from untemplate.reader.follow import KEY
from untemplate.reader.group_plan import Ends, group_plan
from untemplate.reader.marks import MarkSet
from untemplate.reader.pieces import PiecePlan, piece_plan
from untemplate.reader.slips import (
    bare_plan,
    entries,
    foreign,
    slips,
    without_comma,
    without_special,
)
from untemplate.reader.strays import strays_of
from untemplate.reader.text_headers import text_headers
from untemplate.reader.ways import (
    ARGUMENTS,
    END_RULE,
    ENDED,
    FENCE,
    Arguments,
    CallPlan,
    Step,
    Way,
    Word,
)

__all__ = ["AfterPlan", "Answers", "Plans", "TextPlan", "plan_of"]

_WEAK = 3


@dataclass(frozen=True, slots=True)
class TextPlan:
    """Free text, and the ways out of it."""

    rule: str
    kind: TextKind
    ways: tuple[Way, ...]
    begins: Mapping[bytes, tuple[tuple[int, int], ...]]
    """Mark to (way, number of the mark in it)."""
    strays: Mapping[bytes, bytes]
    """Marks of the family that begin no way, with the white space behind them."""
    marks: MarkSet
    """All of both."""
    leads: bytes
    """White space that ways take off before their marks, and at most how much."""
    lead_size: int
    line_starts: frozenset[bytes]
    """Marks that count only at the start of a line."""
    firsts: frozenset[bytes]
    """Marks that count only at the beginning of the text."""
    later: MarkSet
    """All but those."""
    end: Way | None
    """The way to the end of the turn that needs no mark."""


@dataclass(frozen=True, slots=True)
class AfterPlan:
    """Structure between calls."""

    ways: tuple[tuple[Way, int], ...]
    """Each with the number of the mark at which it is entered."""
    text: str = ""
    """The rule of text that may follow without any mark."""
    needs_mark: bool = False
    """Whether the turn can't end here without one: a section around the calls is open."""


Plan = TextPlan | CallPlan | AfterPlan


@dataclass(frozen=True, slots=True)
class Plans:
    """All of a grammar's plans by rule, and how it starts."""

    rules: Mapping[str, Plan]
    openings: tuple[Way, ...]
    """Ways that have marks, or that are calls without any."""
    default: str
    """The rule that is entered when no opening is there; empty if there has to be one."""
    default_skip: bytes
    """White space that leads into it; taken off, once."""
    stops: tuple[Way, ...]
    content: str
    """A rule of content to fall back to."""
    strays: tuple[bytes, ...]
    """Marks of the family that may be met where they have no place."""
    late_strays: tuple[bytes, ...]
    """Those that lead nowhere even in text, behind the end."""
    calls_max: int | None
    """Most calls that the family writes in one turn."""

    @property
    def stop_marks(self) -> tuple[bytes, ...]:
        return tuple(m for w in self.stops for m in w.elements if isinstance(m, bytes))


Answers = Literal["", "alone", "beside calls"]
"""Whether content is an answer by a schema, and whether calls may stand in its place."""


def plan_of(grammar: Grammar, calls_max: int | None = None, *, answers: Answers = "") -> Plans:
    """The tables of a grammar without limits on calls; `calls_max`: the limit it has."""
    return _Planner(grammar, calls_max, answers).plans()


class _Planner:
    """Makes the tables of one grammar."""

    def __init__(self, grammar: Grammar, calls_max: int | None, answers: Answers) -> None:
        self._grammar = grammar
        self._calls_max = calls_max
        self._answers: Answers = answers
        self._dialect: Dialect = grammar.dialect
        self._calls: dict[str, CallPlan] = {}
        self._strays = strays_of(self._dialect)
        self._headers = text_headers(grammar)
        texts = [n for n in grammar.rules.values() if isinstance(n, nodes.Text)]
        exits = [e for n in texts for e in n.exits if e.target == END_RULE]
        self._text_ends = {marks(e.literal.decode()) for e in exits}
        """What ends a turn of text: behind calls it shows no section either."""
        self._stops = tuple(
            Way(encoded(marks(s)), ENDED, _lead(s), needs_lead=_is_common(s))
            for s in self._dialect.stops
            if marks(s)
        )

    def plans(self) -> Plans:
        grammar = self._grammar
        for name, node in grammar.rules.items():
            match node:
                case nodes.Sequence((nodes.Call() as call, nodes.Reference(after))):
                    self._calls[name] = self._call(name, call, after)
                case _:
                    pass
        rules: dict[str, Plan] = dict(self._calls)
        for name, node in grammar.rules.items():
            match node:
                case nodes.Text():
                    rules[name] = self._text(name, node)
                case nodes.Choice(options):
                    rules[name] = self._after([_literal_and_rule(o) for o in options])
                case _:
                    pass
        assert isinstance(grammar.start, nodes.Choice)
        openings = [_literal_and_rule(o) for o in grammar.start.options]
        texts = [
            (n, t) for n, t in openings if not n.strip() and isinstance(rules.get(t), TextPlan)
        ]
        ways = [w for n, t in openings if (w := self._way(n, t)).elements or w.call]
        ways = [w for w in ways if w.elements or self._answers != "alone"]
        ways += [s for w in ways for s in (*slips(w), *foreign(w))]
        content = self._fallback(rules, ways)
        rules.setdefault(content.rule, content)
        skip, default = min(texts, key=lambda text: len(text[0]), default=("", ""))
        return Plans(
            rules=rules,
            openings=tuple(ways),
            default=default,
            default_skip=skip.encode(),
            stops=self._stops,
            content=content.rule,
            strays=_longest_first(self._strays),
            late_strays=_longest_first(content.strays),
            calls_max=self._calls_max,
        )

    def _fallback(self, rules: Mapping[str, Plan], openings: Sequence[Way]) -> TextPlan:
        """Content to go on with when the grammar has no place for what stands there."""
        found = [p for p in rules.values() if isinstance(p, TextPlan) and p.kind == "content"]
        if found:
            return max(found, key=lambda p: int(p.rule.rsplit(":", 1)[1]))
        begins: dict[bytes, list[tuple[int, int]]] = {}
        ways = [w for w in openings if w.call and w.elements and isinstance(w.elements[0], bytes)]
        for number, way in enumerate(ways):
            begins.setdefault(_mark(way, 0), []).append((number, 0))
        return self._text_plan("content:", "content", ways, begins)

    # --------------------------------------------------------------------------------------- ways

    def _way(self, literal: str, target: str, *, in_section: bool = False) -> Way:
        call = self._calls.get(target)
        if call is None:
            found = encoded(marks(literal))
            trail = literal[len(literal.rstrip()) :] if found else ""
            return Way(found, target, _lead(literal), trail.encode())
        steps: tuple[Step, ...] = ()
        step = 0
        if call.envelope:
            whole = literal + call.envelope.before
        else:
            first = call.block.pattern[0]
            whole = literal + ("" if isinstance(first, Hole) else first)
            step = commit_step(call.steps)
            steps = call.steps[:step]
        elements = (*encoded(marks(whole)), *(s for s in steps if not isinstance(s, Arguments)))
        has_mark = any(isinstance(e, bytes) for e in elements[:1]) or in_section
        lead = _lead(whole) if marks(whole) else literal.encode() if not literal.strip() else b""
        variants = () if call.envelope else self._variants(call, steps)
        return Way(
            elements,
            target,
            lead,
            call=call,
            step=step,
            is_bare=not has_mark,
            variants=variants,
            is_strict=bool(self._answers) and not elements and not in_section,
        )

    def _variants(self, call: CallPlan, begun: tuple[Step, ...]) -> tuple[CallPlan, ...]:
        """Other calls that differ only behind the steps with which this one has begun."""
        size, first = len(begun), call.block.pattern[0]
        alike = (
            c
            for c in self._calls.values()
            if not c.envelope and c.block.pattern[0] == first and c.steps[:size] == begun
        )
        return tuple(c for c in alike if c.steps != call.steps)

    def _again(self, ways: Iterable[Way]) -> list[Way]:
        """Headers of texts to which these do not lead, but which begin like one of them."""
        firsts = {w.elements[0] for w in ways if w.is_own and w.elements}
        known = {w.elements for w in ways}
        found = (self._way(literal, rule) for literal, rule in self._headers)
        return [
            replace(w, is_again=True)
            for w in found
            if w.elements[0] in firsts and w.elements not in known
        ]

    def _after(self, options: Sequence[tuple[str, str]]) -> AfterPlan:
        ends = [marks(n) for n, t in options if t == END_RULE]
        in_section = any(ends)
        ways = [self._way(n, t, in_section=in_section) for n, t in options]
        known = {w.elements for w in ways if w.call}
        if self._calls:
            call = next(reversed(self._calls.values()))
            for elements, closing in (((), ()), ((b",",), (b"]", FENCE)), ((b";",), ())):
                if elements not in known:
                    plan = bare_plan(call, closing)
                    way = Way(elements, plan.rule, call=plan, is_bare=True, is_own=False)
                    ways.append(way)
        for way in [w for w in ways if w.target == END_RULE and w.elements]:
            left = without_special(way.elements)
            if left and left != way.elements:
                ways.append(replace(way, elements=left, is_own=False))
            if left == (b"]",):  # a list in a fence
                ways.append(replace(way, elements=(*left, FENCE), is_own=False))
            if _mark(way, 0).startswith(b"]"):
                ways.append(replace(way, elements=(b",", *way.elements)))
        ways += [w for way in ways for w in without_comma(way)]
        text = [w.target for w in ways if not w.elements and not w.call and w.target != END_RULE]
        ways = [w for w in ways if w.elements or w.call]
        ways += self._again(ways)
        ways += [s for w in ways for s in (*slips(w), *foreign(w))]
        entered = tuple((w, n) for w in ways for n in entries(w))
        needs_mark = in_section and all(e and e not in self._text_ends for e in ends)
        return AfterPlan(entered, "".join(text[:1]), needs_mark=needs_mark)

    # --------------------------------------------------------------------------------------- text

    def _text(self, rule: str, node: nodes.Text) -> TextPlan:
        ways: list[Way] = []
        begins: dict[bytes, list[tuple[int, int]]] = {}
        for number, exit_ in enumerate(node.exits):
            way = self._way(exit_.literal.decode(), exit_.target)
            if exit_.target == END_RULE:
                for mark, element in enumerate(way.elements):
                    if mark == 0 or is_distinctive(_mark(way, mark).decode()):
                        assert isinstance(element, bytes)
                        begins.setdefault(element, []).append((len(ways), mark))
            for trigger in node.triggers:
                # The first literal of an envelope goes on into JSON, the way's mark ends before.
                for first in way.elements[trigger.mark : trigger.mark + 1]:
                    if isinstance(first, Word) or trigger.exit != number:
                        continue
                    if trigger.data.startswith(first):
                        begins.setdefault(first, []).append((len(ways), trigger.mark))
            ways.append(way)
        for way in (*self._again(ways), *(s for w in tuple(ways) for s in slips(w))):
            for mark in entries(way):
                begins.setdefault(_mark(way, mark), []).append((len(ways), mark))
            ways.append(way)
        return self._text_plan(rule, node.kind, ways, begins)

    def _text_plan(
        self,
        rule: str,
        kind: TextKind,
        ways: list[Way],
        begins: dict[bytes, list[tuple[int, int]]],
    ) -> TextPlan:
        before = max((w.lead for w in ways if _is_plain_end(w)), key=len, default=b"")
        for stop in self._stops:
            begins.setdefault(_mark(stop, 0), []).append((len(ways), 0))
            ways.append(stop if stop.needs_lead else replace(stop, lead=before + stop.lead))
        line_starts: set[bytes] = set()
        if kind == "content":
            for mark, way in self._bare_ways(ways):
                if way.is_bare and not way.is_own:
                    line_starts.add(mark)
                begins.setdefault(mark, []).append((len(ways), 0))
                ways.append(way)
        for mark in [m for m in begins if m.startswith(FENCE) and m != FENCE]:
            begins[mark] += begins.get(FENCE, [])
        strays = {m: space for m, space in self._strays.items() if m not in begins}
        firsts: set[bytes] = set()
        if kind == "content" and self._answers:
            # What follows is JSON, whose strings may hold anything but the family's own marks.
            line_starts.clear()
            firsts.update(strays)
            firsts.update(m for m, at in begins.items() if all(_is_slip(ways[w]) for w, _ in at))
        all_marks = MarkSet((*begins, *strays))
        leads = bytes(sorted({b for w in ways for b in w.lead}))
        return TextPlan(
            rule=rule,
            kind=kind,
            ways=tuple(ways),
            begins={m: tuple(dict.fromkeys(w)) for m, w in begins.items()},
            strays=strays,
            marks=all_marks,
            leads=leads,
            lead_size=max((len(w.lead) for w in ways), default=0),
            line_starts=frozenset(line_starts),
            firsts=frozenset(firsts),
            later=MarkSet(set(all_marks.marks) - firsts) if firsts else all_marks,
            end=max(filter(_is_plain_end, ways), key=lambda w: len(w.lead), default=None),
        )

    def _bare_ways(self, ways: Sequence[Way]) -> Iterator[tuple[bytes, Way]]:
        """Calls without markers: the family's own, and JSON that a model wrote in their place."""
        own = [w for w in ways if w.call and w.call.envelope and not w.elements]
        if self._answers == "alone":
            own = []
        for way in own:
            yield b"{", way
        calls = [w.call for w in ways if w.call] or list(self._calls.values())
        if not calls:
            return
        call = calls[0]
        for mark, elements, closing in (
            (b"{", (), ()),
            (b"[", (b"[",), (b"]",)),
            (FENCE, (FENCE + b"json",), (FENCE,)),
            (FENCE, (FENCE,), (FENCE,)),
            (FENCE, (FENCE + b"json", b"["), (b"]", FENCE)),
        ):
            # An answer by a schema is told from a call that is bare JSON only by the family's form.
            if (mark == b"{" and own) or (self._answers and mark != FENCE):
                continue
            plan = bare_plan(call, closing)
            yield mark, Way(elements, plan.rule, call=plan, is_bare=True, is_own=False)
        for way in ways:
            for other in foreign(way):
                yield _mark(other, 0), other
        # Some servers drop special tokens: what is left of a way may still tell a call.
        for way in [w for w in ways if w.call and not w.is_bare]:
            left = without_special(way.elements)
            names = any(isinstance(e, Word) and e.hole is Hole.NAME for e in left)
            is_known = any(way.elements[n:] == left for n in entries(way))
            if names and not is_known and isinstance(left[0], bytes):
                yield left[0], replace(way, elements=left, is_bare=True, is_own=False)

    # -------------------------------------------------------------------------------------- calls

    def _call(self, rule: str, call: nodes.Call, after: str) -> CallPlan:
        block = call.block
        steps: tuple[Step, ...]
        if call.envelope:
            closing = encoded(marks(call.envelope.after))
            encoding = block.arguments.encoding if isinstance(block.arguments, Whole) else None
            steps = (ARGUMENTS, *closing)
            return CallPlan(rule, block, call.envelope, steps, encoding, None, closing, after)
        arguments, encoding, group = block.arguments, None, None
        pairs = arguments if isinstance(arguments, Pairs) else arguments.encoding
        opening = pairs.open.strip() if isinstance(pairs, Pairs) else ""
        closing = tuple(closing_marks(block.pattern, opening))
        if isinstance(pairs, Pairs):
            group = group_plan(pairs, self._ends(block, closing))
        else:
            encoding = pairs
        steps = (*header(block.pattern, group, closing), *closing)
        piece = self._piece(block, closing) if block.continued_by else None
        return CallPlan(rule, block, None, steps, encoding, group, closing, after, piece)

    def _piece(self, block: CallBlock, closing: tuple[bytes, ...]) -> PiecePlan:
        at = block.pattern.index(Hole.ARGUMENTS)
        before, after = block.pattern[at - 1], block.pattern[at + 1]
        literal = "" if isinstance(before, Hole) else before
        return piece_plan(literal, str(after), closing, self._behind(block))

    def _ends(self, block: CallBlock, closing: tuple[bytes, ...]) -> Ends:
        """What may stand behind the arguments: a closing mark, or what follows the call."""
        behind = self._behind(block)
        arguments = block.arguments
        pairs = arguments if isinstance(arguments, Pairs) else arguments.encoding
        opened = pairs.open.strip().encode() if isinstance(pairs, Pairs) else b""
        ends: list[tuple[bytes, ...]] = []
        for number, mark in enumerate(closing):
            rest = closing[number + 1 : number + 2]
            if len(mark) >= _WEAK and not opened.startswith(mark):
                ends.append((mark,))
            elif rest:
                ends.append((mark, *rest))
            else:
                ends += [(mark, m) for m in behind]
                ends += [(mark, KEY, m) for m in behind_name(block.pattern)]
        certain = (m for m in behind if is_distinctive(m.decode()) and not opened.startswith(m))
        ends += [(m,) for m in (certain if closing else behind)]
        ends += [(_mark(w, 0),) for w in self._stops]
        return tuple(dict.fromkeys(ends))

    def _behind(self, block: CallBlock) -> tuple[bytes, ...]:
        """First marks of what may follow a call of this block.

        And later ones that can't be taken for text, for what stands before them may be missing.
        """
        blocks = self._dialect.blocks
        found: list[str] = []
        for edge in self._dialect.edges:
            if blocks.get(edge.source) != block:
                continue
            target = blocks.get(edge.target)
            first = target.pattern[0] if isinstance(target, CallBlock) else ""
            first, *later = marks(edge.literal + ("" if isinstance(first, Hole) else first)) or (
                "",
            )
            found += [m for m in (first, *filter(is_distinctive, later)) if m]
        stops = [_mark(w, 0) for w in self._stops]
        return tuple(dict.fromkeys((*encoded(found), *stops)))


def _longest_first(found: Iterable[bytes]) -> tuple[bytes, ...]:
    return tuple(sorted(found, key=len, reverse=True))


def _is_slip(way: Way) -> bool:
    return way.is_bare or not way.is_own


def _literal_and_rule(node: nodes.Node) -> tuple[str, str]:
    match node:
        case nodes.Sequence((nodes.Literal(data), nodes.Reference(rule))):
            return data.decode(), rule
        case nodes.Reference(rule):
            return "", rule
        case _:
            raise AssertionError(node)


def _is_plain_end(way: Way) -> bool:
    """Whether the way leads to the end with nothing but white space."""
    return not way.elements and way.target == END_RULE


def _lead(literal: str) -> bytes:
    return literal[: len(literal) - len(literal.lstrip())].encode()


def _mark(way: Way, number: int) -> bytes:
    mark = way.elements[number]
    assert isinstance(mark, bytes)
    return mark


def _is_common(stop: str) -> bool:
    r"""Whether the stop is one plain word behind white space, as `\n\nUser:` is."""
    found = marks(stop)
    return len(found) == 1 and not is_distinctive(found[0]) and stop[0].isspace()
