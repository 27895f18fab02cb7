r"""Reads what a model wrote, byte by byte, into events: the lenient machine.

    reader = Reader(grammar, nonce="…")
    reader.feed(b"Sure.<tool_ca")     # TextDelta("content", "Sure.")
    reader.feed(b"ll>\n{...")        # CallStart, ArgumentsDelta, ...
    message = reader.finish("length") # never raises; a cut call is marked

The machine is always in one place: free text, marks that may lead out of it, a call, the structure
between calls, or the end. It never goes back: what may still become a mark is not taken from the
data until it is decided, so a byte costs O(1) amortised however the text is cut, and nothing that
was told is taken back. Text that leaves the grammar ends nothing: it stays text, or is kept in the
span of a damaged call, with a diagnostic, and reading goes on.

Which tables it runs on is said in `plan`; calls are read by `call.CallFrame`; what was received is
kept in `record.Record`.
"""

import copy

from untemplate.grammar import Grammar
from untemplate.message import JSON, Diagnostic, End, FinishReason, Message, Span
from untemplate.reader.call import CallFrame
from untemplate.reader.events import (
    ArgumentEnd,
    ArgumentsDelta,
    CallEnd,
    CallStart,
    Diagnosed,
    Event,
    Part,
    PartKind,
    TextDelta,
    TextEnd,
    TextKind,
    TextStart,
)
from untemplate.reader.json_text import Note, pointer_token, whole_characters
from untemplate.reader.match import Match
from untemplate.reader.plan import AfterPlan, CallPlan, TextPlan, Way, plan_of
from untemplate.reader.record import CallRecord, Record, call_id

__all__ = ["Reader"]

_SPACE = b" \t\r\n"


class Reader:
    """One turn that is being read."""

    def __init__(self, grammar: Grammar, *, nonce: str = "") -> None:
        self.grammar = grammar
        self._nonce = nonce
        self._plans = plan_of(grammar.unrestricted())
        self._text_rules = {n for n, p in self._plans.rules.items() if isinstance(p, TextPlan)}
        self._tools = {t.name: t for t in grammar.tools}
        self._events: list[Event] = []
        self._left = b""
        self._base = 0
        """Absolute position of the first byte of the data being read."""
        self._told = 0
        """Absolute position up to which spans have been told."""
        self._rule = ""
        self._place = "start"
        self._kind: TextKind = "content"
        self._is_begun = False
        """Whether the text has more than white space."""
        self._blank: list[bytes] = []
        self._skip = b""
        self._match: Match | None = None
        self._call: CallFrame | None = None
        self._call_raw: list[bytes] = []
        self._pending: list[tuple[PartKind, int]] = []
        self._record = Record()
        self._is_finished = False

    # ------------------------------------------------------------------------------------- verbs

    def feed(self, data: bytes) -> list[Event]:
        """Read on; the events of what is settled now. O(len(data)) amortised."""
        if data and not self._is_finished:
            self._record.raw.append(data)
            self._run(self._left + data if self._left else data, final=False)
        events, self._events = self._events, []
        return events

    def finish(self, reason: FinishReason = "stop") -> Message:
        """The whole turn; what is open is closed as cut, what was held back is text."""
        if not self._is_finished:
            self._run(self._left, final=True)
            self._close(reason)
            self._is_finished = True
        return self._record.message(self._end, reason)

    def finish_events(self) -> list[Event]:
        """Events of `finish`: what was held back, and the ends of what was open."""
        events, self._events = self._events, []
        return events

    def snapshot(self) -> "Reader":
        """The state as a value."""
        return copy.deepcopy(self)

    def restore(self, snapshot: "Reader") -> None:
        """Go back to a snapshot of this reader."""
        self.__dict__.update(copy.deepcopy(snapshot).__dict__)

    # ----------------------------------------------------------------------------------- machine

    def _run(self, data: bytes, *, final: bool) -> None:
        at = 0
        while True:
            before, place = at, (self._place, self._rule)
            match self._place:
                case "start":
                    at = self._read_start(data, at, final=final)
                case "text":
                    at = self._read_text(data, at, final=final)
                case "match":
                    at = self._read_match(data, at, final=final)
                case "call":
                    at = self._read_call(data, at, final=final)
                case "after":
                    at = self._read_after(data, at)
                case _:
                    at = self._read_damaged(data, at, final=final)
            if at == before and place == (self._place, self._rule):
                break
        self._left = data[at:]
        self._base += at

    def _span(self, end: int) -> Span:
        """The span from what was told last up to position `end` of the data."""
        start, self._told = self._told, self._base + end
        return start, self._told

    def _tell_until(self, kind: PartKind, end: int) -> None:
        if self._base + end > self._told:
            self._events.append(Part(kind, self._span(end)))

    def _diagnose(self, code: str, message: str, span: Span) -> None:
        diagnostic = Diagnostic(code, span, message)
        self._record.diagnostics.append(diagnostic)
        self._events.append(Diagnosed(diagnostic))

    # ------------------------------------------------------------------------------------- start

    def _read_start(self, data: bytes, at: int, *, final: bool) -> int:
        """At the start of the turn: one of the openings, or the text that needs none."""
        if at == len(data) and not final:
            return at
        openings = self._plans.openings
        if self._plans.default:
            self._enter_text(self._plans.default, b"")
        if not openings:
            return at
        self._match = Match([(w, 0) for w in openings], self._base + at)
        self._place = "match"
        return at

    def _enter_text(self, rule: str, skip: bytes) -> None:
        plan = self._plans.rules[rule]
        assert isinstance(plan, TextPlan)
        self._rule, self._place = rule, "text"
        self._kind = "reasoning" if plan.kind == "reasoning" else "content"
        self._is_begun, self._skip = False, skip

    # -------------------------------------------------------------------------------------- text

    def _read_text(self, data: bytes, at: int, *, final: bool) -> int:
        plan = self._plans.rules[self._rule]
        assert isinstance(plan, TextPlan)
        size = len(data)
        if self._skip:
            while self._skip and at < size and data[at] == self._skip[0]:
                at += 1
                self._skip = self._skip[1:]
            if at < size:
                self._skip = b""
            self._tell_until("space", at)
        found = plan.trigger.search(data, at) if plan.trigger else None
        if found:
            start = found.start()
            lead = start
            while lead > at and start - lead < plan.lead_size and data[lead - 1] in _SPACE:
                lead -= 1
            self._say(data[at:lead], lead)
            ways = [(plan.ways[w], i) for w, i in plan.begins[found.group()]]
            self._match = Match(ways, self._base + lead, [data[lead:start]] if lead < start else [])
            self._place = "match"
            return start
        end = size
        if not final:
            if plan.partial:
                partial = plan.partial.search(data, max(at, size - plan.longest_mark))
                end = partial.start() if partial else size
            if end == size:
                end = whole_characters(data, at, end)
            keep = 0
            while keep < plan.lead_size and end - keep > at and data[end - keep - 1] in _SPACE:
                keep += 1
            end -= keep
        self._say(data[at:end], end)
        return end

    def _say(self, text: bytes, end: int) -> None:
        """More text. White space at its beginning waits until it is clear that it is text."""
        if not text:
            return
        if not self._is_begun:
            if not text.strip(_SPACE):
                self._blank.append(text)
                return
            self._begin_text()
            text = b"".join((*self._blank, text))
            self._blank.clear()
        decoded = text.decode("utf-8", "replace")
        span = self._span(end)
        if "\ufffd" in decoded and b"\xef\xbf\xbd" not in text:
            self._diagnose("invalid_utf8", "bytes that are not UTF-8 became U+FFFD", span)
        self._record.blocks[-1][1].append(decoded)
        self._events.append(TextDelta(self._kind, decoded, span))

    def _begin_text(self) -> None:
        self._is_begun = True
        blocks = self._record.blocks
        if not blocks or blocks[-1][0] != self._kind:
            blocks.append((self._kind, [], None))
        self._events.append(TextStart(self._kind))

    def _end_text(self) -> None:
        if self._is_begun:
            self._events.append(TextEnd(self._kind))
        self._is_begun = False

    def _say_blank(self, end: int) -> None:
        """What waited at the beginning of a text was text."""
        if self._blank:
            self._begin_text()
            waiting = b"".join(self._blank)
            self._blank.clear()
            self._say(waiting, end)

    # ------------------------------------------------------------------------------------- marks

    def _read_match(self, data: bytes, at: int, *, final: bool) -> int:
        match = self._match
        assert match is not None
        at, verdict = match.read(data, at, self._text_rules, final=final)  # type: ignore[arg-type]
        if verdict == "more":
            return at
        self._match = None
        if verdict == "none" or match.found is None:
            self._no_way(match, at)
            return at
        self._go(match.found, match, at)
        return at

    def _no_way(self, match: Match, at: int) -> None:
        """The marks led nowhere: they are text, or, between calls, what follows is."""
        if self._place == "match" and self._rule in self._text_rules:
            self._place = "text"
            raw = b"".join(match.raw)
            if raw:
                self._say(raw, at)
            return
        rule = self._plans.content or self._plans.default
        if not self._rule.startswith("after:") and not rule:
            rule = next(iter(sorted(self._text_rules)), "")
        if self._rule.startswith("after:"):
            self._diagnose(
                "text_after_call", "what follows the call is text", (self._told, self._told)
            )
        self._enter_text(rule, b"")
        raw = b"".join(match.raw)
        if raw:
            self._say(raw, at)

    def _go(self, way: Way, match: Match, at: int) -> None:
        """Through the marks into the rule that they lead to."""
        plan = self._plans.rules.get(way.target)
        raw = b"".join(match.raw)
        if isinstance(plan, CallPlan):
            if self.grammar.choice.mode == "none":
                span = (self._base + at - len(raw), self._base + at)
                self._diagnose("call_not_allowed", "a call under tool_choice none is text", span)
                self._no_way(match, at)
                return
            self._begin_call(plan, way, match)
            return
        if self._rule in self._text_rules:
            self._leave_text(way, raw, at, is_end=plan is None)
        self._tell_until("marker", at)
        if isinstance(plan, TextPlan):
            self._enter_text(way.target, way.trail)
        else:
            self._rule, self._place = "end", "end"

    def _leave_text(self, way: Way, raw: bytes, at: int, *, is_end: bool) -> None:
        """Ends a text in front of a mark: its white space beyond the mark's own is text."""
        space = raw[: len(raw) - len(raw.lstrip(_SPACE))]
        own = len(_common_suffix(space, way.lead))
        extra = space[: len(space) - own]
        start = at - len(raw)
        if extra:
            self._say(extra, start + len(extra))
        if self._blank and (self._kind == "reasoning" or is_end):
            self._say_blank(start + len(extra))
        elif self._blank:
            self._blank.clear()
            self._tell_until("space", start + len(extra))
        self._end_text()

    # ------------------------------------------------------------------------------------- calls

    def _begin_call(self, plan: CallPlan, way: Way, match: Match) -> None:
        is_bare = not way.marks
        self._call = CallFrame(plan, self._tools, self, is_bare=is_bare)
        self._call_raw = list(match.raw)
        self._call_way = way
        self._call_start = match.start
        self._pending = []
        self._place = "call"

    def _read_call(self, data: bytes, at: int, *, final: bool) -> int:
        call = self._call
        assert call is not None
        start = at
        self._tentative_end = at
        at = call.read(data, at, final=final)
        if not call.is_told and call.outcome != "text":
            self._call_raw.append(data[start:at])
            return at
        if call.outcome == "text":
            self._call_raw.append(data[start:at])
            self._call = None
            raw = b"".join(self._call_raw)
            self._diagnose(
                "not_a_call",
                call.bad.message if call.bad else "no call follows its marker",
                (self._base + at - len(raw), self._base + at),
            )
            self._no_way(Match([], self._call_start, [raw]), at)
            return at
        if call.outcome == "done":
            self._end_call(call)
            self._place, self._rule = "after", call.after
        elif call.outcome == "bad":
            assert call.bad is not None
            self._diagnose(call.bad.code, call.bad.message, (self._base + at, self._base + at))
            self._place = "damaged"
        return at

    def tell_start(self, name: str) -> None:
        """A call has a name: what stood before it is decided to be its marker."""
        lead = self._call_start - self._base
        if self._rule in self._text_rules:
            raw = b"".join(self._call_raw)
            space = raw[: len(raw) - len(raw.lstrip(_SPACE))]
            own = len(_common_suffix(space, self._call_way.lead))
            if self._is_begun and len(space) > own:
                self._say(space[: len(space) - own], lead + len(space) - own)
            self._blank.clear()
            self._end_text()
        index = len(self._record.calls)
        record = CallRecord(index, call_id(self._nonce, index), name, self._told)
        self._record.calls.append(record)
        self._record.blocks.append(("call", [], index))
        self._tell_until("marker", self._tentative_end)
        self._events.append(CallStart(index, record.id, name))
        for kind, end in self._pending:
            self._tell_until(kind, end - self._base)
        if self._tools and name not in self._tools:
            span = (self._told, self._told)
            self._diagnose("unknown_tool", f"no tool is named {name!r}", span)
        choice = self.grammar.choice
        beyond = (choice.name is not None and name != choice.name) or (
            not choice.parallel and index > 0
        )
        if beyond:
            span = (self._told, self._told)
            self._diagnose("unrequested", f"the call of {name!r} is beyond tool_choice", span)

    def tell_part(self, kind: PartKind, end: int) -> None:
        """Bytes of a call that belong to no field."""
        if self._call is not None and self._call.is_told:
            self._tell_until(kind, end)

    def tell_id(self, written: str) -> None:
        """The id that the model wrote."""
        if self._call is not None and self._call.is_told:
            self._record.calls[-1].written_id = written

    def tell_arguments(self, text: str, end: int) -> None:
        """More of the arguments."""
        record = self._record.calls[-1]
        record.pieces.append(text)
        self._events.append(ArgumentsDelta(record.index, text, self._span(end)))

    def tell_argument(self, name: str, value: JSON) -> None:
        """One argument is complete."""
        record = self._record.calls[-1]
        record.states["/" + pointer_token(name)] = "complete"
        self._events.append(ArgumentEnd(record.index, name, value))

    def tell_note(self, note: Note, end: int) -> None:
        """A slip in the arguments that was set right."""
        self._diagnose(note.code, note.message, (self._base + end, self._base + end))

    def _end_call(self, call: CallFrame) -> None:
        record = self._record.calls[-1]
        record.closing, record.state, record.end = "", "complete", self._told
        if not record.pieces:
            record.pieces.append("{}")
            self._events.append(ArgumentsDelta(record.index, "{}", (self._told, self._told)))
        if call.missing_close:
            self._diagnose(
                "missing_close", "the call's closing marker is missing", (self._told, self._told)
            )
        self._events.append(CallEnd(record.index, "complete"))
        self._name_missing(record)
        self._call = None
        self._call_raw = []

    def _name_missing(self, record: CallRecord) -> None:
        tool = self._tools.get(record.name)
        required = tool.parameters.get("required") if tool else None
        for key in required if isinstance(required, list) else []:
            pointer = "/" + pointer_token(str(key))
            if not any(p == pointer or p.startswith(pointer + "/") for p in record.states):
                record.states[pointer] = "missing"

    def _read_after(self, data: bytes, at: int) -> int:
        """Behind a call: another call, the end of the section, or text."""
        if at == len(data):
            return at
        plan = self._plans.rules[self._rule]
        assert isinstance(plan, AfterPlan)
        ways = [(w, 0) for w in plan.ways if w.marks]
        ways += [(Way((s,), "end"), 0) for s in self._plans.stops]
        self._match = Match(ways, self._base + at)
        self._place = "match"
        return at

    def _read_damaged(self, data: bytes, at: int, *, final: bool) -> int:
        """In a call that can't be read, or behind the end: up to where the grammar goes on."""
        if self._place == "end":
            if data[at:].strip(_SPACE) and self._plans.content:
                self._enter_text(self._plans.content, b"")
                self._diagnose(
                    "text_after_end", "the turn goes on behind its end", (self._told, self._told)
                )
            return at
        plan = self._plans.rules.get(self._plans.content)
        found = (
            plan.trigger.search(data, at) if isinstance(plan, TextPlan) and plan.trigger else None
        )
        closing = self._call_closing()
        close = data.find(closing, at) if closing else -1
        if close >= 0 and (not found or close <= found.start()):
            end = close + len(closing)
        elif found:
            end = found.start()
        else:
            longest = max(len(closing), plan.longest_mark if isinstance(plan, TextPlan) else 0)
            end = len(data) if final else max(at, len(data) - longest)
            self._tell_until("lost", end)
            return end
        self._tell_until("lost", end)
        self._end_damaged()
        return end

    def _call_closing(self) -> bytes:
        assert self._call is not None
        marks = self._call.closing_marks
        return marks[0] if marks else b""

    def _end_damaged(self) -> None:
        assert self._call is not None
        record = self._record.calls[-1]
        values = self._call.values
        record.closing = values.closing if values is not None and values.has_begun else "{}"
        record.state, record.end = "malformed", self._told
        self._events.append(CallEnd(record.index, "malformed"))
        self._name_missing(record)
        after = self._call.after
        self._call = None
        self._place, self._rule = "after", after

    # --------------------------------------------------------------------------------------- end

    def _close(self, reason: FinishReason) -> None:
        """Ends what is open; the end of the turn comes from the machine's own place."""
        self._end: End = "complete"
        size = len(self._left)
        if self._match is not None:
            raw = b"".join(self._match.raw)
            self._match = None
            self._place = "text"
            if self._rule in self._text_rules:
                self._say(raw + self._left, size)
        elif self._place == "call" and self._call is not None:
            self._close_call(self._call, size)
            self._end = "cut"
        elif self._place == "damaged":
            self._tell_until("lost", size)
            self._end_damaged()
        if self._place == "text":
            self._say_blank(size)
            self._end_text()
        self._tell_until("space", size)
        if reason in ("length", "cancelled") and self._place != "end":
            self._end = "cut"
        self._base += size
        self._left = b""
        choice = self.grammar.choice
        if choice.mode == "required" and not self._record.calls and reason == "stop":
            self._diagnose("missing_call", "a call was required", (self._told, self._told))

    def _close_call(self, call: CallFrame, size: int) -> None:
        if not call.is_told:
            raw = b"".join(self._call_raw) + self._left
            self._call = None
            if self._rule in self._text_rules:
                self._say(raw, size)
            self._place = "text" if self._rule in self._text_rules else "after"
            return
        record = self._record.calls[-1]
        values = call.values
        if values is not None:
            values.end()
            record.closing = values.closing if values.has_begun else "{}"
            if values.is_done:
                record.closing = ""
            pointer = values.open_pointer
            top = pointer.split("/")[1] if "/" in pointer else ""
            if top and record.states.get("/" + top) != "complete":
                state = "undecided" if getattr(values, "is_undecided", False) else "cut"
                record.states[pointer] = "undecided" if state == "undecided" else "cut"
        self._tell_until("lost" if self._left else "structure", size)
        record.end = self._told
        record.state = "complete" if values is not None and values.is_done else "cut"
        if record.state == "cut":
            self._diagnose(
                "cut_call", f"the call of {record.name!r} is cut", (self._told, self._told)
            )
        self._events.append(CallEnd(record.index, record.state))
        self._name_missing(record)
        self._place = "end"


def _common_suffix(a: bytes, b: bytes) -> bytes:
    size = 0
    while size < min(len(a), len(b)) and a[-1 - size] == b[-1 - size]:
        size += 1
    return a[len(a) - size :]
