"""The state machine of a turn: which place the reading is in, and how it gets to the next.

    start ─► text ─► match ─► call ─► after ─► match ─► …        end: in front of a stop
               ▲       │        │       │                         ended: behind one
               └───────┴────────┘◄──────┘                         damaged: in a call that is bad

A `Match` follows marks; if they lead nowhere, text goes on behind the first of them. A call is
tentative until its name is known; until then it may become text again. Frames do the reading, this
module only says where to go on.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from untemplate.message import DiagnosticCode, End, Tool, ToolChoice
from untemplate.reader.call import CallFrame
from untemplate.reader.call_begins import Asked, begin_call
from untemplate.reader.call_ends import end_cut, end_damaged, end_open, end_whole, pause
from untemplate.reader.copies import copied
from untemplate.reader.damage import Damage, damage_in
from untemplate.reader.events import Event
from untemplate.reader.follow import MORE, YES
from untemplate.reader.match import Found, Match
from untemplate.reader.open_calls import OpenCalls
from untemplate.reader.plain import Plain, Skim
from untemplate.reader.plan import AfterPlan, Plans, TextPlan
from untemplate.reader.sink import SPELT_MARKER, Note
from untemplate.reader.strays import find_stray, note_stray
from untemplate.reader.tape import Tape
from untemplate.reader.text import TextFrame
from untemplate.reader.utf8 import Data, past_space
from untemplate.reader.ways import END_RULE, ENDED, Way

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Machine", "Why"]

Why = Literal["", "cut", "end"]
"""Whether bytes follow, and if not, whether the turn was cut or the model ended it."""

_Place = Literal["start", "text", "match", "call", "after", "end", "ended", "damaged"]


class Machine:
    """Where the reading of one turn is."""

    __slots__ = (
        "_asked",
        "_call",
        "_damage",
        "_is_in_section",
        "_match",
        "_open",
        "_origin",
        "_plans",
        "_rule",
        "_text",
        "_tools",
        "_unclosed",
        "_waits",
        "at",
        "place",
        "tape",
    )

    def __init__(
        self, plans: Plans, tools: Mapping[str, Tool], choice: ToolChoice, tape: Tape
    ) -> None:
        self._plans = plans
        self._tools = tools
        self._asked = Asked(tools, choice, plans.calls_max)
        self.tape = tape
        self.at = 0
        """Absolute position up to which was read; what was not told may be read again."""
        self.place: _Place = "start"
        self._origin: _Place = "start"
        """The place in which the match, or the tentative call, began."""
        self._rule = ""
        """In `after`: its rule."""
        self._is_in_section = False
        """In `after`: whether a section around the calls is open."""
        self._text: TextFrame | None = None
        self._match: Match | None = None
        self._call: CallFrame | None = None
        self._open = OpenCalls()
        """Calls that were put aside."""
        self._damage: Damage | None = None
        self._unclosed = ""
        """The rule of reasoning that a call has interrupted: text goes on with it."""
        self._waits = False
        """Only while running: more bytes decide where to go."""

    def clone(self) -> "Machine":
        """An independent copy; O(depth)."""
        other = copied(self)
        other.tape = self.tape.clone()
        other._text = self._text.clone() if self._text else None  # noqa: SLF001
        other._match = self._match.clone() if self._match else None  # noqa: SLF001
        other._call = self._call.clone(other.tape.record.call) if self._call else None  # noqa: SLF001
        other._open = self._open.clone()  # noqa: SLF001
        other._damage = self._damage.clone() if self._damage else None  # noqa: SLF001
        return other

    # ------------------------------------------------------------------------------------- state

    @property
    def plain(self) -> Plain | None:
        """Tests for pieces of data that go on with the open string or text, and do no more."""
        if self.at != self.tape.told:
            return None
        if self.place == "call" and self._call is not None:
            frame = self._call.open_arguments
            return frame.plain if frame is not None else None
        if self.place == "text" and self._text is not None:
            return self._text.plain
        return None

    @property
    def skim(self) -> Skim | None:
        """Reads structure of the open arguments that is plain."""
        if self.at != self.tape.told or self.place != "call" or self._call is None:
            return None
        frame = self._call.open_arguments
        return frame.skim if frame is not None else None

    def open_call(self, index: int) -> CallFrame | None:
        """The call of this index, if it has not ended."""
        call = self._call
        if call is not None and call.record is not None and call.record.index == index:
            return call
        return self._open.frame(index)

    # --------------------------------------------------------------------------------------- run

    def run(self, data: Data) -> int:
        """Read on; gives how many bytes at the beginning of the data are not needed any more."""
        self._run(data, "")
        tape = self.tape
        settled = min(self.at, tape.deferred_from if tape.is_deferring else tape.told)
        used, tape.base = settled - tape.base, settled
        return used

    def _run(self, data: Data, why: Why) -> None:
        """Read on, as far as can be decided."""
        tape = self.tape
        at = self.at - tape.base
        self._waits = False
        call = self._call
        frame = call.open_arguments if call is not None and self.place == "call" else None
        if frame is not None:  # where most of a stream is: no need to go through everything
            at = frame.read(data, at, tape, final=why == "end")
        if frame is None or frame.is_done or frame.bad is not None:
            while True:
                before, place = at, (self.place, self._rule)
                at = self._advance(data, at, why)
                if self._waits or (at == before and place == (self.place, self._rule)):
                    break
        self.at = tape.base + at

    def tell_plain(self, data: bytes, told: "Callable[[str], str] | None") -> Event:
        """Tells a piece of data that `plain` has passed. O(len(data))."""
        tape = self.tape
        start = tape.told
        self.at = tape.base = tape.told = end = start + len(data)
        text = data.decode()
        if self.place == "call":
            return tape.plain_arguments(told(text) if told else text, (start, end))
        frame = self._text
        assert frame is not None
        if frame.watches_lines:
            frame.note_line(data)
        return tape.plain_text(frame.kind, text, (start, end))

    def tell_skimmed(self, size: int, text: str) -> Event:
        """Tells so many bytes that were skimmed, as this text of the arguments."""
        tape = self.tape
        start = tape.told
        self.at = tape.base = tape.told = end = start + size
        return tape.plain_arguments(text, (start, end))

    def _advance(self, data: Data, at: int, why: Why) -> int:
        final = bool(why)
        match self.place:
            case "start":
                return self._read_start(data, at, final=final)
            case "text":
                assert self._text is not None
                at, self._match = self._text.read(data, at, self.tape, final=final)
                if self._match:
                    self.place, self._origin = "match", "text"
                return at
            case "match":
                return self._read_match(data, at, final=final)
            case "call":
                return self._read_call(data, at, why)
            case "after":
                return self._read_after(data, at)
            case "end" | "ended":
                return self._read_end(data, at)
            case "damaged":
                return self._read_damaged(data, at, final=final)

    def _read_start(self, data: Data, at: int, *, final: bool) -> int:
        """At the start of the turn: one of the openings, or the text that needs none."""
        if at == len(data) and not final:
            return at
        openings = self._plans.openings
        if not openings:
            self._enter_default()
            return at
        self._follow([(w, 0) for w in openings], "start", at)
        return at

    def _follow(self, ways: list[tuple[Way, int]], origin: _Place, at: int) -> None:
        self._match = Match(ways, self.tape.base + at, 0)
        self._origin, self.place = origin, "match"

    def _enter_text(self, rule: str, skip: bytes = b"", late: DiagnosticCode | None = None) -> None:
        plan = self._plans.rules[rule]
        assert isinstance(plan, TextPlan)
        self._text = TextFrame(plan, skip, late)
        self.place = "text"

    def _enter_default(self) -> None:
        """The text that needs no opening."""
        if self._plans.default:
            self._enter_text(self._plans.default, self._plans.default_skip)
        else:
            self._enter_text(self._plans.content)

    # ------------------------------------------------------------------------------------- marks

    def _read_match(self, data: Data, at: int, *, final: bool) -> int:
        match = self._match
        assert match is not None
        at, is_decided = match.read(data, at, self.tape, final=final)
        if not is_decided:
            return at
        self._match = None
        if match.found is None:
            return self._no_way(match, data, final=final)
        return self._go(match.found, match, data)

    def _go(self, found: Found, match: Match, data: Data) -> int:
        """Through the marks to where they lead."""
        tape, way, end = self.tape, found.way, found.end - self.tape.base
        if way.call is not None:
            self._call = CallFrame(found, match.start, match.first_mark, self._tools)
            self._call.begin(data, tape)
            self._call.name_words(data, tape)
            self.place = "call"
            return end
        is_end = way.target in (END_RULE, ENDED)
        if way.is_again or (self._origin == "end" and way.target == END_RULE):
            message = "what begins a text, or ends the calls, has no place here"
            tape.note("stray_marker", message, match.start - tape.base, end)
        self._leave(data, way, match.start - tape.base, is_end=is_end)
        if is_end and way.elements[0] == b",":
            tape.note("trailing_comma", "a comma before an end was left out", end, end)
        elif found.skipped or not way.is_own:
            tape.note("missing_marker", "markers are missing", end, end)
        if found.is_spelt:
            tape.note("spelt_marker", SPELT_MARKER, end, end)
        if match.is_unknown_header:
            message = "a header that the format does not have"
            tape.note("unknown_header", message, match.start - tape.base, end)
        tape.part("marker", end)
        if is_end:
            self.place = "ended" if way.target == ENDED else "end"
        else:
            self._enter_text(way.target, way.trail)
        return end

    def _leave(self, data: Data, way: Way, start: int, *, is_end: bool = False) -> None:
        """Ends what stood before the mark at `start`."""
        if self._origin == "text":
            assert self._text is not None
            self._text.leave(data, way, start, self.tape, is_end=is_end)
        else:
            self.tape.part("space", past_space(data, start))

    def _no_way(self, match: Match, data: Data, *, final: bool) -> int:
        """The marks led nowhere."""
        start = match.start - self.tape.base
        way, text = match.cut_opening, self._text if self._origin == "text" else None
        if final and way and (not text or text.begins_line(data, start, self.tape)):
            return self._cut_before_name(way, data, start)
        if self._origin == "text":
            self.place = "text"
            note_stray(match, data, start, self.tape)
            return start + match.first_mark
        return self._no_way_on(data, start, final=final)

    def _no_way_on(self, data: Data, at: int, *, final: bool) -> int:
        """Where structure was expected stands something else: stray marks, or text."""
        if self._origin == "start":
            if self._plans.default:
                self._enter_default()
            else:
                self._enter_text(self._plans.content, late="missing_marker")
            return at
        first = self.tape.past_space(data, at)
        waits = first == len(data)
        if self._origin in ("after", "end"):
            is_over = self._origin == "end"
            stray, verdict = find_stray(
                data, first, self._plans, self.tape, is_over=is_over, final=final
            )
            if verdict == YES:
                self.tape.part("space", first)
                self.tape.note("stray_marker", "a marker has no place here", first, stray)
                self.tape.part("marker", stray)
                self.place = self._origin
                return stray
            waits = waits or verdict == MORE
        if waits and not final:
            self.place, self._waits = self._origin, True
            return at
        self._enter_text_late()
        return at

    def _enter_text_late(self) -> None:
        """Text behind a call or behind the end of the turn."""
        plan = self._plans.rules.get(self._rule)
        if self._origin == "after" and isinstance(plan, AfterPlan) and plan.text:
            self._enter_text(plan.text)
            return
        late: DiagnosticCode = "text_after_call" if self._origin == "after" else "text_after_end"
        rule, self._unclosed = self._unclosed or self._plans.content, ""
        self._enter_text(rule, late=late)

    def _read_after(self, data: Data, at: int) -> int:
        """Behind a call: another call, the end of the section, or text."""
        if self.tape.past_space(data, at) == len(data):
            return at
        plan = self._plans.rules[self._rule]
        assert isinstance(plan, AfterPlan)
        self._follow([*plan.ways, *((w, 0) for w in self._plans.stops)], "after", at)
        return at

    def _read_end(self, data: Data, at: int) -> int:
        """In front of a stop or behind one; what closes the calls may stand there once more."""
        if self.tape.past_space(data, at) == len(data):
            return at
        plan = self._plans.rules.get(self._rule) if self.place == "end" else None
        again = plan.ways if isinstance(plan, AfterPlan) else ()
        ends = [(w, n) for w, n in again if w.target == END_RULE and not n]
        self._follow([*((w, 0) for w in self._plans.stops), *ends], self.place, at)
        return at

    # ------------------------------------------------------------------------------------- calls

    def _read_call(self, data: Data, at: int, why: Why) -> int:
        call = self._call
        assert call is not None
        at = call.read(data, at, self.tape, final=why == "end")
        if call.wants_commit:
            at = self._commit(call, data, at)
            return at if call.record is None else self._read_call(data, at, why)
        if call.outcome == "text" or (call.outcome == "done" and call.record is None):
            return self._abort(call, data, final=bool(why))
        if call.outcome == "done":
            self._end_block(call, at)
        elif call.outcome == "bad":
            assert call.bad is not None
            self._damage = damage_in(self._plans, call.plan, call.bad, self.tape.base + at)
            self.place = "damaged"
        return at

    def _commit(self, call: CallFrame, data: Data, at: int) -> int:
        """It is a call, and is told from here on; under `none` it is text all the same."""
        tape = self.tape
        if self._asked.choice.mode == "none":
            tape.abort()
            start, end = call.start - tape.base, call.found.end - tape.base
            tape.note("call_not_allowed", "a call under tool_choice none is text", start, end)
            self._call = None
            self._back_to_text()
            return at
        text = self._text
        is_reasoning = text is not None and text.kind == "reasoning" and text.is_begun
        if self._origin == "text" and text and is_reasoning and call.found.skipped:
            self._unclosed = text.plan.rule
        told = tape.suspend()
        self._leave(data, call.found.way, call.start - tape.base)
        begin_call(call, told, self._open, self._asked, tape)
        return at

    def _back_to_text(self) -> None:
        if self._origin == "text":
            self.place = "text"
        elif self._origin == "start":
            self._enter_default()
        else:
            self._enter_text_late()

    def _abort(self, call: CallFrame, data: Data, *, final: bool) -> int:
        """It was no call: its first mark is text, and reading goes on behind that."""
        tape = self.tape
        tape.abort()
        self._call = None
        start = call.start - tape.base
        way = call.found.way
        if way.elements and not way.is_bare and call.bad is not None:
            tape.note("not_a_call", call.bad.message, start, call.found.end - tape.base)
        if self._origin == "text":
            self.place = "text"
            return start + call.first_mark
        if way.is_bare or not way.elements:
            return self._no_way_on(data, start, final=final)
        self._back_to_text()
        mark = way.elements[call.found.skipped]
        assert isinstance(mark, bytes)
        return past_space(data, start) + len(mark)

    def _end_block(self, call: CallFrame, at: int) -> None:
        """The marks behind the arguments were read: the call has ended, or a piece of it."""
        if call.is_whole:
            end_whole(call, self._tools, self.tape, at)
        else:
            pause(call, self.tape, at)
            self._open.put(call)
        self._go_behind(call)

    def _go_behind(self, call: CallFrame) -> None:
        self._call = None
        self.place, self._rule = "after", call.plan.after
        plan = self._plans.rules[self._rule]
        assert isinstance(plan, AfterPlan)
        if self._origin != "after":
            self._is_in_section = call.found.way.is_own and not call.found.skipped
        self._is_in_section = self._is_in_section and plan.needs_mark

    def _read_damaged(self, data: Data, at: int, *, final: bool) -> int:
        damage, call = self._damage, self._call
        assert damage is not None
        assert call is not None
        at = damage.read(data, at, self.tape, final=final)
        if damage.is_done:
            self._end_damaged(damage, call, at)
        return at

    def _end_damaged(self, damage: Damage, call: CallFrame, at: int) -> None:
        end_damaged(call, damage, self._tools, self.tape, at)
        self._damage = None
        self._go_behind(call)

    # --------------------------------------------------------------------------------------- end

    def finish(self, data: Data, why: Why) -> End:
        """Ends what is open. How the turn stands comes from the place, not from the reason."""
        self._run(data, why)
        while self.place == "call" and self._call is not None and self._call.record is None:
            at = self._finish_tentative(self._call, data, why)
            self.at = self.tape.base + at
            self._run(data, why)
        at = self.at - self.tape.base
        end: End = "complete"
        if self.place == "call" and self._call is not None:
            end_cut(self._call, self._tools, self.tape, data, at)
            self._go_behind(self._call)
            end = "cut"
        elif self.place == "damaged" and self._damage is not None and self._call is not None:
            self.tape.lost(len(data))
            self._end_damaged(self._damage, self._call, len(data))
            end = "cut" if why == "cut" else "complete"
        elif self.place == "text" and self._text is not None:
            end = self._text.finish(data, self.tape, is_cut=why == "cut")
        elif why == "cut" and self.place not in ("end", "ended"):
            end = "cut"
        elif self.place == "after" and self._is_in_section:
            size = len(data)
            self.tape.note("missing_close", "the section of calls is not closed", size, size)
        self.tape.part("space", len(data))
        cuts = end_open(self._open, self._tools, self.tape, data, is_cut=why == "cut")
        return "cut" if cuts else end

    def _finish_tentative(self, call: CallFrame, data: Data, why: Why) -> int:
        """The data ends before it is known whether this is a call."""
        tape, way = self.tape, call.found.way
        if (why == "cut" or call.name) and not way.is_bare:
            tape.abort()
            self._call = None
            return self._cut_before_name(way, data, call.start - tape.base)
        call.outcome, call.bad = (
            "text",
            call.bad or Note("not_a_call", "no call follows the marker"),
        )
        return self._abort(call, data, final=True)

    def _cut_before_name(self, way: Way, data: Data, start: int) -> int:
        """The data ends behind marks of a call: they are no text, and there is no call to give."""
        assert way.call is not None
        self._leave(data, way, start)
        self.tape.note("cut_call", "a call is cut before its name", start, len(data))
        self.tape.lost(len(data))
        self.place, self._rule, self._is_in_section = "after", way.call.after, False
        return len(data)
