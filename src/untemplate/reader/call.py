"""Reads one call behind its opening marks: the rest of its header, arguments, closing marks.

A call without a name yet is *tentative*: what it tells is deferred, and if it turns out not to be a
call it is text again (`outcome` is `text`). From its name on it is a call whatever comes: `done`
when its arguments and its end were seen, `bad` when they can't be read.
"""

import re
from collections.abc import Mapping
from itertools import takewhile

from untemplate.dialect import Hole, Python, fill
from untemplate.grammar.marks import is_distinctive
from untemplate.message import JSON, Tool
from untemplate.reader.call_steps import later_marks, size_of_word
from untemplate.reader.copies import copied
from untemplate.reader.envelope import EnvelopeFrame
from untemplate.reader.events import PartKind
from untemplate.reader.follow import MORE, NO, YES, stands
from untemplate.reader.frame import Frame
from untemplate.reader.group import GroupFrame
from untemplate.reader.json_text import JsonFrame
from untemplate.reader.match import MOST_WORD_BYTES, NEVER_IN_NAME, Found
from untemplate.reader.pieces import PieceFrame, PiecePlan
from untemplate.reader.quoted import QuotedFrame
from untemplate.reader.record import CallRecord
from untemplate.reader.sink import Note
from untemplate.reader.tape import Tape
from untemplate.reader.utf8 import Data, past_space
from untemplate.reader.ways import ARGUMENTS, CallPlan, Word
from untemplate.reader.wrapped import opens_wrapper

__all__ = ["CallFrame"]


class CallFrame:
    """The state of one call that is being read."""

    __slots__ = (
        "_is_resumed",
        "_is_wrapped",
        "_step",
        "_tools",
        "_words",
        "arguments",
        "bad",
        "envelope",
        "first_mark",
        "found",
        "key",
        "name",
        "outcome",
        "plan",
        "record",
        "start",
        "was_closed",
    )

    def __init__(
        self, found: Found, start: int, first_mark: int, tools: Mapping[str, Tool]
    ) -> None:
        plan = found.way.call
        assert plan is not None
        self.plan: CallPlan = plan
        self.found = found
        self.start = start
        """Where its first mark begins."""
        self.first_mark = first_mark
        """Length of the first mark: text goes on behind it if this is no call."""
        self._tools = tools
        python = isinstance(plan.encoding, Python)
        self.envelope = (
            EnvelopeFrame(
                plan.envelope,
                tools,
                python=python,
                pauses=found.way.is_bare,
                is_strict=found.way.is_strict,
            )
            if plan.envelope
            else None
        )
        self._words: tuple[tuple[Hole, str], ...] = ()
        """Words of the header, as they were written."""
        self._is_resumed = False
        """Whether the arguments of a piece before are to go on, as soon as the header was read."""
        self._is_wrapped = False
        """Whether the arguments stand in an object of their own."""
        self._step = found.way.step
        """Number of the next step of the plan."""
        self.arguments: Frame | None = None
        self.name = ""
        self.key = ""
        """What the model names the call with, where it may be written in pieces."""
        self.record: CallRecord | None = None
        """Set when the call is known to be one."""
        self.outcome = ""
        self.bad: Note | None = None
        self.was_closed = True
        """Whether all of its closing marks were there."""

    def go_on_with(self, call: "CallFrame") -> None:
        """Takes over the arguments of a call that was put aside, of which the block is a piece."""
        self.arguments = call.arguments
        self._is_resumed = self.arguments is not None

    def clone(self, record: CallRecord | None) -> "CallFrame":
        """A copy that goes on with this record."""
        other = copied(self)
        other.envelope = self.envelope.clone() if self.envelope else None
        if other.envelope and self.arguments is not None:
            other.arguments = other.envelope.arguments
        else:
            other.arguments = self.arguments.clone() if self.arguments else None
        other.record = record if self.record is not None else None
        return other

    # ------------------------------------------------------------------------------------ state

    @property
    def wants_commit(self) -> bool:
        """Whether it is clear that this is a call, and nobody was told so far."""
        if self.record is not None or self.outcome in ("text", "done") or not self.name:
            return False
        way, known = self.found.way, self.name in self._tools
        if not way.is_bare:
            return not self.waits_for_key
        begun = self.envelope.shows_call if self.envelope else self.arguments is not None
        return (known and begun) or (way.is_own and not way.is_strict and (known or begun))

    @property
    def waits_for_key(self) -> bool:
        """Whether the header has yet to say which call this is a piece of, if of one."""
        if self._piece is None or self.key or self.outcome:
            return False
        return ARGUMENTS in self.plan.steps[self._step + 1 :]

    @property
    def _piece(self) -> PiecePlan | None:
        """How its pieces stand, if it may be written in pieces."""
        return None if self.found.way.is_bare else self.plan.piece

    @property
    def is_whole(self) -> bool:
        """Whether nothing of its arguments can come in another piece."""
        if not self.key:
            return True
        return isinstance(self.arguments, PieceFrame) and self.arguments.is_whole

    @property
    def open_arguments(self) -> Frame | None:
        """The arguments, while all that is read belongs to them and is told at once."""
        frame = self.arguments
        if self.record is None or self.outcome or frame is None or frame.is_done or frame.bad:
            return None
        return frame

    # ------------------------------------------------------------------------------------- read

    def begin(self, data: Data, tape: Tape) -> None:
        """Tells what stood on the way here; deferred, as all that follows."""
        tape.defer()
        tape.told = self.found.marker_end
        if tape.told == self.start:  # no mark: white space on the way belongs to what was before
            tape.told = tape.base + past_space(data, tape.told - tape.base)
        for word in self.found.words:
            start, end = word.start - tape.base, word.end - tape.base
            tape.part("structure", start)
            size = size_of_word(word.hole, bytes(data[start:end]), self._tools)
            tape.part(_PARTS[word.hole], start + size)
        tape.part("structure", self.found.end - tape.base)

    def name_words(self, data: Data, tape: Tape) -> None:
        """Takes name and id from the words on the way here."""
        for word in self.found.words:
            start, end = word.start - tape.base, word.end - tape.base
            size = size_of_word(word.hole, bytes(data[start:end]), self._tools)
            if size < end - start:
                message = "a header that the format does not have stands behind the name"
                tape.note("unknown_header", message, start + size, end)
            self._take_word(word.hole, data, start, start + size, tape)

    def _take_word(self, hole: Hole, data: Data, start: int, end: int, tape: Tape) -> None:
        text = bytes(data[start:end]).decode("utf-8", "replace").strip()
        self._words = (*self._words, (hole, text))
        if self._piece and hole == self.plan.block.continued_by:
            self.key = text
        if hole is Hole.ID:
            tape.written_id(text)
        elif hole is Hole.NAME and not self.name:
            # Where a call is written without any mark, its arguments show that it is one.
            is_slip = self.found.way.is_bare and not self.found.way.is_own
            if not self._is_name(text) or (is_slip and text not in self._tools):
                self._give_up(Note("not_a_call", f"{text!r} is no name of a tool"))
            else:
                self.name = text
        pattern = self.plan.block.id_pattern
        words = dict(self._words)
        if pattern and all(p in words for p in pattern if isinstance(p, Hole)):
            written = fill(pattern, words)
            tape.written_id(written)
            if self._piece and self.plan.block.continued_by == "id":
                self.key = written

    def _is_name(self, text: str) -> bool:
        if text in self._tools or _NAME.fullmatch(text):
            return True
        # Where two markers lead to a name, whatever stands there is meant for one.
        found = self.found
        leads = takewhile(lambda e: isinstance(e, bytes), found.way.elements[found.skipped :])
        return len(list(leads)) > 1 and bool(_SPACED_NAME.fullmatch(text))

    def read(self, data: Data, at: int, tape: Tape, *, final: bool) -> int:
        """Read on, until it is known to be a call or over; gives the position."""
        while not self.outcome and not self.wants_commit:
            before = at, self._place()
            at = self._advance(data, at, tape, final=final)
            if before == (at, self._place()):
                break
        return at

    def _place(self) -> tuple[int, bool, bool]:
        """How far it is; arguments may begin and end without a byte being read."""
        in_arguments = self.envelope is not None and self.envelope.is_in_arguments
        return self._step, self.arguments is None, in_arguments

    def _advance(self, data: Data, at: int, tape: Tape, *, final: bool) -> int:
        steps = self.plan.steps
        if self._step == len(steps):
            self.outcome = "done"
            return at
        step = steps[self._step]
        if isinstance(step, Word):
            return self._read_word(step, data, at, tape)
        if isinstance(step, bytes):
            if self.is_closing:
                return self._read_closing(data, at, tape, final=final)
            return self._read_mark(step, data, at, tape)
        if self._is_wrapped and self.arguments is not None and self.arguments.is_done:
            return self._end_wrapper(data, at, tape, final=final)
        if self.envelope is not None:
            return self._read_envelope(self.envelope, data, at, tape, final=final)
        return self._read_arguments(data, at, tape, final=final)

    def _give_up(self, note: Note) -> None:
        self.bad = note
        is_known = self.record is not None or (bool(self.name) and self.waits_for_key)
        self.outcome = "bad" if is_known else "text"

    # -------------------------------------------------------------------------------- envelope

    def _read_envelope(
        self, envelope: EnvelopeFrame, data: Data, at: int, tape: Tape, *, final: bool
    ) -> int:
        if envelope.lacks_end and self.plan.closing:
            verdict = stands(self.plan.closing[0], data, tape.past_space(data, at))
            if verdict == YES:
                tape.note("missing_close", "an object around the call is not closed", at, at)
                self._end_arguments()
                return at
            if verdict == MORE and not final:
                return at
        at = envelope.step(data, at, tape, final=final)
        self.arguments = envelope.arguments
        self.name = envelope.name or ""
        is_bare = self.found.way.is_bare and self.record is None
        if envelope.bad is not None:
            self._give_up(envelope.bad)
        elif self.record is None and envelope.name is not None and not self._is_name(self.name):
            self._give_up(Note("not_a_call", f"{self.name!r} is no name of a tool"))
        elif is_bare and not envelope.is_plausible:
            self._give_up(Note("not_a_call", "an object with other keys is no call"))
        elif is_bare and envelope.shows_call and self.name and not self.wants_commit:
            self._give_up(Note("not_a_call", f"no tool is named {self.name!r}"))
        elif envelope.is_done and envelope.name is None:
            self._give_up(Note("not_a_call", "an object without a name is no call"))
        elif envelope.is_done:
            if envelope.arguments is None and is_bare and not self.wants_commit:
                self._give_up(Note("not_a_call", "an object without arguments is no call"))
            elif not envelope.has_arguments:
                tape.note("no_arguments", "the call has no arguments; read as none", at, at)
            self._end_arguments()
        return at

    # -------------------------------------------------------------------------- words and marks

    def _read_word(self, word: Word, data: Data, at: int, tape: Tape) -> int:
        """A name, id or number in the rest of the header: up to what can't be in it."""
        start = tape.past_space(data, at)
        ended = (_NO_DIGIT if word.hole is Hole.INDEX else _NO_WORD).search(data, start)
        ends = [ended.start() if ended else -1, *(data.find(e, start) for e in word.ends)]
        end = min((e for e in ends if e >= 0), default=-1)
        if (end if end >= 0 else len(data)) - start > MOST_WORD_BYTES:
            self._give_up(Note("bad_call", f"no {word.hole} ends where one was expected"))
            return at
        if end < 0:
            return at
        tape.part("structure", start)
        self._take_word(word.hole, data, start, end, tape)
        tape.part(_PARTS[word.hole], end)
        self._step += 1
        return end

    def _read_mark(self, mark: bytes, data: Data, at: int, tape: Tape) -> int:
        """A mark of the header; one that is missing is passed over if a later thing is there."""
        first = tape.past_space(data, at)
        rest = bytes(data[first : first + len(mark)])
        if rest == mark:
            self._step += 1
            tape.note_spelt(mark, first)
            tape.part("structure", first + len(mark))
            return first + len(mark)
        if mark.startswith(rest):
            return at
        verdict = self._turn_to_variant(data, first)
        if verdict != NO:
            return at if verdict == MORE else self._read_mark(self._mark(), data, at, tape)
        waits = False
        for step, later in later_marks(self.plan, self._step):
            verdict = stands(later, data, first)
            if verdict == YES and not waits:
                message = f"{mark.decode(errors='replace')!r} is missing"
                tape.note("missing_marker", message, first, first)
                self._step = step
                return at
            waits = waits or verdict == MORE
        return at if waits else self._skip_header(mark, data, at, first, tape)

    def _mark(self) -> bytes:
        mark = self.plan.steps[self._step]
        assert isinstance(mark, bytes)
        return mark

    def _turn_to_variant(self, data: Data, at: int) -> int:
        """Goes on as another call that begins alike, if its next mark stands there."""
        best, read = NO, self.plan.steps[: self._step]
        for other in self.found.way.variants:
            mark = other.steps[self._step] if self._step < len(other.steps) else None
            if other.steps[: self._step] == read and isinstance(mark, bytes):
                verdict = stands(mark, data, at)
                if verdict == YES:
                    self.plan = other
                    self.key = self.key if other.piece else ""
                    return YES
                best = max(best, verdict)
        return best

    def _skip_header(self, mark: bytes, data: Data, at: int, first: int, tape: Tape) -> int:
        """Something else stands in the header: up to a later mark of it, if one is near."""
        line = data.find(b"\n", first)
        end = min(len(data) if line < 0 else line, first + MOST_WORD_BYTES)
        for number in range(self._step + 1, len(self.plan.steps)):
            later = self.plan.steps[number]
            if not isinstance(later, bytes):
                break
            if is_distinctive(later.decode("utf-8", "replace")):
                found = data.find(later, first, end)
                if found >= 0:
                    message = "the header of the call is not as the format says"
                    tape.part("structure", found)
                    tape.note("unknown_header", message, first, found)
                    self._step = number
                    return found
                if line < 0 and len(data) - first < MOST_WORD_BYTES:
                    return at
        message = f"{mark.decode(errors='replace')!r} was expected"
        self._give_up(Note("bad_call", message))
        return at

    @property
    def is_closing(self) -> bool:
        """Whether the arguments are over and the closing marks are read."""
        return ARGUMENTS in self.plan.steps[: self._step]

    def _read_closing(self, data: Data, at: int, tape: Tape, *, final: bool) -> int:
        """The marks behind the arguments; one that is missing does not matter."""
        first = tape.past_space(data, at)
        waits = first == len(data)
        for number, step in enumerate(self.plan.steps[self._step :]):
            if not isinstance(step, bytes):
                break
            rest = bytes(data[first : first + len(step)])
            if rest == step:
                self.was_closed = self.was_closed and number == 0
                tape.note_spelt(step, first)
                tape.part("marker", first + len(step))
                self._step += number + 1
                return first + len(step)
            waits = waits or step.startswith(rest)
        if waits and not final:
            return at
        self.was_closed = False
        self.outcome = "done"
        return at

    # ------------------------------------------------------------------------------- arguments

    def _end_arguments(self) -> None:
        self._step += 1

    def _read_arguments(self, data: Data, at: int, tape: Tape, *, final: bool) -> int:
        if self.arguments is None:
            first = tape.past_space(data, at)
            if first == len(data):
                return at
            first = self._unwrapped(data, first, tape)
            if first < len(data):
                self.arguments = self._begin_arguments(data, first, tape)
            if self.arguments is None:
                return at
            if not isinstance(self.arguments, GroupFrame):
                tape.part("space", first)  # of no notation, so not of the arguments
                at = first
            if self.wants_commit:  # it is a call whatever its arguments turn out to be
                return at
        if isinstance(self.arguments, PieceFrame):
            return self._read_piece(self.arguments, data, at, tape, final=final)
        at = self.arguments.read(data, at, tape, final=final)
        if self.arguments.bad is not None:
            self._give_up(self.arguments.bad)
        elif self.arguments.is_done and not self._is_wrapped:
            self._end_arguments()
        return at

    def _read_piece(
        self, piece: PieceFrame, data: Data, at: int, tape: Tape, *, final: bool
    ) -> int:
        if self._is_resumed:
            self._is_resumed = False
            piece.go_on()
        at = piece.read(data, at, tape, final=final)
        if piece.bad is not None:
            self._give_up(piece.bad)
        elif piece.is_done:
            tape.part("held", at)
            self._end_arguments()
        return at

    def _end_wrapper(self, data: Data, at: int, tape: Tape, *, final: bool) -> int:
        """The bracket behind arguments that stood in an object."""
        first = tape.past_space(data, at)
        if first == len(data) and not final:
            return at
        self._end_arguments()
        if bytes(data[first : first + 1]) != b"}":
            return at
        tape.part("structure", first + 1)
        return first + 1

    def _unwrapped(self, data: Data, at: int, tape: Tape) -> int:
        """Where the arguments begin, if they stand in an object; the data's end: not known yet."""
        tool = self._tools.get(self.name)
        if tool is None or self.plan.group is not None or self.key:
            return at
        verdict, inner = opens_wrapper(tool.parameters, data, at)
        if verdict == YES:
            tape.note("wrapped_arguments", "the arguments stand in an object", at, inner)
            self._is_wrapped = True
            return inner
        return len(data) if verdict == MORE else at

    def _begin_arguments(self, data: Data, at: int, tape: Tape) -> Frame | None:
        """What reads the arguments at `at`; None while that is not known, or if there are none."""
        plan, byte = self.plan, data[at]
        tool = self._tools.get(self.name)
        if plan.group is not None and byte == 0x7B and not plan.group.may_begin(b"{"):
            message = "arguments as a JSON object were read as such"
            tape.note("unknown_form", message, at, at + 1)
            return JsonFrame(members=True)
        if plan.group is not None:
            schema: JSON = tool.parameters if tool else None
            return GroupFrame(plan.group, schema, schema, is_arguments=True)
        if byte in b'{"':
            python = isinstance(plan.encoding, Python)
            whole = JsonFrame(members=True, python=python) if byte == 0x7B else QuotedFrame()
            return PieceFrame(whole, self._piece) if self._piece and self.key else whole
        if plan.closing and bytes(data[at:]).startswith(plan.closing[0]):
            if not self.key:
                tape.note("no_arguments", "the call has no arguments; read as none", at, at)
            self._end_arguments()
        elif not (plan.closing and plan.closing[0].startswith(bytes(data[at:]))):
            message = f"{chr(byte)!r} does not begin an object of arguments"
            self._give_up(Note("bad_arguments", message))
        return None


_PARTS: dict[Hole, PartKind] = {Hole.NAME: "name", Hole.ID: "id", Hole.INDEX: "index"}
_NAME = re.compile(r"[^\s<>{}()\[\]\"'`,;=]{1,256}")
_SPACED_NAME = re.compile(r"[^\r\n<>{}()\[\]\"'`,;=]{1,256}")
_NO_WORD = re.compile(b"[%s]" % re.escape(NEVER_IN_NAME))
_NO_DIGIT = re.compile(rb"[^0-9]")
