r"""Reads arguments or values that are written pair by pair or item by item, as JSON.

    <parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n
    -> {"city": "Paris", "days": 3}
    city:<|"|>Paris<|"|>,opts:{a:[1,true]}     city="Paris", days=3     <item>1</item><item>2</item>

A pair is its opening, a key, a form that leads to the value (and may tell its type), the value, a
closer. What reads the value is chosen when its form and its first bytes are known: a `TextValue`, a
`JsonFrame`, or a group of its own. The types that a value may have come from the form and from the
tool's schema. The first value of a key stands; a second one is kept out.
"""

import json
from collections.abc import Callable, Mapping

from untemplate.dialect import Empty, Escaped, JsonType
from untemplate.message import JSON, pointer_token
from untemplate.reader.chain import Chain, joined
from untemplate.reader.follow import MORE, NO, YES, Follow, stands
from untemplate.reader.frame import Frame
from untemplate.reader.group_plan import (
    MOST_KEY_BYTES,
    Form,
    GroupPlan,
    WrittenPlan,
    end_of_form,
    fitting,
    merged,
)
from untemplate.reader.json_text import JsonFrame
from untemplate.reader.keys import Keys, unquoted
from untemplate.reader.kinds import (
    ALL_KINDS,
    Kinds,
    accepted_by,
    declared_keys,
    items_of,
    property_of,
    types_of,
)
from untemplate.reader.plain import Plain, Skim
from untemplate.reader.sink import Muted, Note, Sink
from untemplate.reader.text_value import TextPlan, TextValue
from untemplate.reader.utf8 import Data, past_space
from untemplate.reader.wrapped import is_wrapper, opens_arguments

__all__ = ["GroupFrame"]

MOST_DEPTH = 64
"""Deepest nesting of notations; `JsonFrame` has a limit of its own."""

_HEAD, _OPEN, _KEY, _BEFORE, _CHOOSE, _VALUE, _AFTER = range(7)


class GroupFrame:
    """The state of such a group. `head` is told before it: its key, in the arguments' JSON."""

    __slots__ = (
        "_after",
        "_blanks",
        "_child",
        "_count",
        "_depth",
        "_form",
        "_head",
        "_is_arguments",
        "_is_muted",
        "_is_unwrapped",
        "_key",
        "_keys",
        "_kinds",
        "_muted_text",
        "_plan",
        "_root",
        "_schema",
        "_state",
        "_told",
        "bad",
        "cursor",
        "has_begun",
        "is_ambiguous",
        "is_done",
    )

    def __init__(
        self,
        plan: GroupPlan,
        schema: JSON,
        root: JSON,
        *,
        head: str = "",
        depth: int = 0,
        is_arguments: bool = False,
    ) -> None:
        self._plan = plan
        self._schema = schema
        self._root = root
        """The schema in which references are looked up."""
        self._head = head
        self._depth = depth
        self._is_arguments = is_arguments
        """Whether the members are arguments, to be told when complete."""
        self._state = _HEAD
        self._key = ""
        self._keys = Keys()
        self._count = 0
        self._form: Form | None = None
        self._blanks = 0
        """White space that was seen where a value is to begin."""
        self._kinds: Kinds = ()
        self._told = 0
        """Members that were told; a repeated key is not."""
        self._child: Frame | None = None
        self._after = b""
        """The closer of the value, where what reads the value does not read it."""
        self._is_unwrapped = False
        """Whether the first pair was an object around all arguments."""
        self._is_muted = False
        """Whether the value is kept out, because its key occurs again."""
        self._muted_text: Chain[str] = None
        self.cursor: object = None
        self.has_begun = False
        self.is_ambiguous = False
        self.is_done = False
        self.bad: Note | None = None

    def clone(self) -> "GroupFrame":
        other = GroupFrame(self._plan, self._schema, self._root)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other._keys = self._keys.clone()
        other._child = self._child.clone() if self._child else None
        return other

    # ------------------------------------------------------------------------------------ state

    @property
    def is_undecided(self) -> bool:
        return self._child is not None and self._child.is_undecided

    @property
    def closing(self) -> str:
        if not self.has_begun or self.is_done:
            return ""
        inner = self._child.closing if self._child and not self._is_muted else ""
        return inner + ("" if self._is_unwrapped else "}" if self._plan.is_object else "]")

    @property
    def pointer(self) -> str:
        if self._is_muted or self._state in (_HEAD, _OPEN, _KEY, _AFTER):
            return ""
        if self._is_unwrapped:
            return self._child.pointer if self._child else ""
        token = self._key if self._plan.is_object else str(self._count - 1)
        return "/" + pointer_token(token) + (self._child.pointer if self._child else "")

    @property
    def plain(self) -> Plain | None:
        return self._child.plain if self._child and not self._is_muted else None

    @property
    def skim(self) -> Skim | None:
        return self._child.skim if self._child and not self._is_muted else None

    def settle(self, data: Data, at: int, sink: Sink) -> None:
        """The data ends while a closer is undecided: tell the reading as it stands."""
        if self._child and not self._is_muted:
            self._child.settle(data, at, sink)

    # ------------------------------------------------------------------------------------- read

    def read(self, data: Data, at: int, sink: Sink, *, final: bool = False) -> int:
        """Read on; gives the position of the first byte that was not used."""
        while not self.is_done and self.bad is None:
            before, state = at, self._state
            if state == _HEAD:
                at = self._read_head(data, at)
            elif state == _OPEN:
                at = self._read_open(data, at, sink, final=final)
            elif state == _KEY:
                at = self._read_key(data, at)
            elif state == _BEFORE:
                at = self._read_before(data, at, sink)
            elif state == _CHOOSE:
                at = self._choose(data, at, sink)
            elif state == _VALUE:
                at = self._read_value(data, at, sink, final=final)
                if self._child is not None:  # it has read as far as it can
                    break
            else:
                at = self._read_after(data, at)
            if at == before and state == self._state:
                break
        return at

    def _begin(self, at: int, sink: Sink) -> None:
        if not self.has_begun:
            self.has_begun = True
            if self._head:
                sink.text(self._head, at)
            self.cursor = sink.cursor()
            sink.text("{" if self._plan.is_object else "[", at)

    def _begin_pair(self, at: int, sink: Sink) -> None:
        # The first of the arguments may turn out to be an object around all of them.
        if self._count or not self._is_arguments:
            self._begin(at, sink)

    def _end(self, at: int, sink: Sink) -> int:
        self._begin(at, sink)
        if not self._is_unwrapped:
            sink.text("}" if self._plan.is_object else "]", at)
        self.is_done = True
        return at

    def _fail(self, at: int, message: str) -> int:
        self.bad = Note("bad_arguments", message)
        return at

    def _read_head(self, data: Data, at: int) -> int:
        head = self._plan.head
        start, at = at, past_space(data, at)
        verdict = stands(head, data, at)
        if verdict == MORE:
            return start
        self._state = _OPEN
        return at + len(head) if verdict == YES else start

    def _read_open(self, data: Data, at: int, sink: Sink, *, final: bool) -> int:
        """Between pairs: another pair, or the end of the group."""
        plan = self._plan
        start, at = at, past_space(data, at)
        is_separated = False
        if self._count and plan.separator:
            verdict = stands(plan.separator, data, at)
            if verdict == MORE and not final:
                return start
            if verdict == YES:
                is_separated = True
                at = past_space(data, at + len(plan.separator))
        if at == len(data):
            # The model ended its turn behind a whole argument, and left the closer out.
            is_over = final and self._count and not self._depth and not is_separated
            return self._end(at, sink) if is_over else start
        waits = False
        for mark in (plan.tail,) if plan.tail else (e[0] for e in plan.ends if e):
            verdict = stands(mark, data, at)
            if verdict == YES:
                return self._end(at + len(plan.tail), sink)
            waits = waits or verdict == MORE
        if plan.is_object and plan.open:
            verdict = stands(plan.open, data, at)
            if verdict == YES and not waits:
                self._begin_pair(at, sink)
                self._state = _KEY
                return at + len(plan.open)
            waits = waits or verdict == MORE
        elif not waits:
            self._begin_pair(at, sink)
            self._state = _KEY if plan.is_object else _BEFORE
            self._key = ""
            return at
        if waits:
            return start
        return self._fail(at, "neither an argument nor the end of the call stands there")

    def _read_key(self, data: Data, at: int) -> int:
        found = min((p for s in self._plan.key_stops if (p := data.find(s, at)) >= 0), default=-1)
        written = bytes(data[at : found if found >= 0 else len(data)])
        if len(written) > MOST_KEY_BYTES or any(e[0] in written for e in self._plan.ends if e):
            return self._fail(at, "a key does not end")
        if found < 0:
            return at
        self._key = unquoted(written.decode("utf-8", "replace").strip())
        self._is_muted = self._key in self._keys or self._is_unwrapped
        self._state = _BEFORE
        return found

    def _read_before(self, data: Data, at: int, sink: Sink) -> int:
        """The literal between key and value; where types differ in it, it tells the type."""
        standing, waits = self._plan.standing(self._key, data, at)
        if standing:
            form, end = standing[0]
            is_none = all(isinstance(w.encoding, Empty) for w in form.types.values())
            if is_none and len(standing) > 1:
                # No value at all, or the empty string: what is declared tells.
                declared = types_of(self._schema_of_value(self._count), self._root)
                fits = (s for s in standing if not set(s[0].kinds).isdisjoint(declared))
                form, end = next(fits, standing[0])
            return self._enter(form, form.kinds, end, sink)
        if waits:
            return at
        return self._read_other_form(data, at, sink)

    def _read_other_form(self, data: Data, at: int, sink: Sink) -> int:
        """A form that the dialect does not have: up to the last character that all share."""
        verdict, end = end_of_form(self._plan.forms, data, at)
        if verdict == MORE:
            return at
        if verdict == NO:
            return self._fail(at, "a key is followed by no value")
        sink.note("unknown_form", "what leads to the value is not as the format says", at, end)
        form = merged(self._plan.forms)
        kinds: Kinds = tuple(k for k in ALL_KINDS if k in form.types)
        return self._enter(form, kinds, end, sink)

    def _enter(self, form: Form, kinds: Kinds, at: int, sink: Sink) -> int:
        """A value begins behind its form."""
        plan = self._plan
        self._count += 1
        declared = types_of(self._schema_of_value(), self._root)
        self._form, self._kinds = fitting(form, kinds, declared)
        if self._is_muted:
            sink.lost(at)
        elif plan.is_object:
            self._keys.add(self._key)
            if self._is_arguments:
                sink.begin_argument(self._key)
        self._state = _CHOOSE
        return at

    # ------------------------------------------------------------------------------------ values

    def _choose(self, data: Data, at: int, sink: Sink) -> int:
        """What reads the value: known from its form, mostly, or from its first bytes."""
        kinds = self._kinds
        if not self.has_begun and not self._is_muted:
            may_wrap = self._is_arguments and is_wrapper(self._schema, self._key)
            verdict = opens_arguments(self._schema, data, past_space(data, at)) if may_wrap else NO
            if verdict == MORE:
                return at
            if verdict == YES:
                return self._unwrap(data, at, sink)
            self._begin(at, sink)
        assert self._form is not None
        chosen = self._form.chosen(kinds)
        if chosen.is_raw:
            return self._start(self._text_value("string"), "string", at)
        if chosen.is_empty and not any(map(self._closer, kinds)):
            return self._tell_null(at, sink)
        first = past_space(data, at + self._blanks)
        if first == len(data):
            self._blanks = first - at
            return at
        self._blanks = 0
        for kind in chosen.groups:
            verdict = self._inner(kind).begins(self._closer(kind), data, first)
            if verdict == MORE:
                return at
            if verdict == YES:
                return self._start_group(kind, first)
        plain, closer = chosen.plain, self._closer(chosen.plain)
        if not closer or (not chosen.may_be_raw and data[first] in b"{[\"'"):
            follow = None if closer else self._plan.follow
            frame = JsonFrame(python=chosen.python, head=self._next_head(), follow=follow)
            return self._start(frame, plain, first)
        if chosen.may_be_raw:
            plain = "string"
        return self._start(self._text_value(plain), plain, at)

    def _unwrap(self, data: Data, at: int, sink: Sink) -> int:
        message = f"the arguments stand in an object that is called {self._key!r}"
        sink.note("wrapped_arguments", message, at, at)
        self.has_begun = self._is_unwrapped = True
        kind = self._kinds[0]
        return self._start(JsonFrame(members=True, python=True), kind, past_space(data, at))

    @property
    def _types(self) -> Mapping[JsonType, WrittenPlan]:
        assert self._form is not None
        return self._form.types

    def _closer(self, kind: JsonType) -> bytes:
        return self._types[kind].closer_of(self._key)

    def _next_head(self) -> str:
        if self._is_muted:
            return ""
        comma = ", " if self._told else ""
        if not self._plan.is_object:
            return comma
        return f"{comma}{json.dumps(self._key, ensure_ascii=False)}: "

    def _start(self, child: Frame, kind: JsonType, at: int) -> int:
        self._child, self._after = child, self._closer(kind)
        if isinstance(child, TextValue):
            self._after = b""  # it reads its closer itself
        self._state = _VALUE
        return at

    def _text_value(self, kind: JsonType) -> TextValue:
        written = self._types[kind]
        encoding = written.encoding
        escapes = dict(encoding.escapes) if isinstance(encoding, Escaped) else {}
        plan = TextPlan(
            self._closer(kind),
            written.lead,
            self._plan.follow if "string" in self._kinds else Follow(()),
            {w.encode(): plain.encode() for plain, w in escapes.items()},
            next((e for k in self._kinds if (e := self._plan.empty_text(self._types[k]))), ""),
            self._plan.opener,
            self._openings(),
            self._accepts(),
        )
        return TextValue(
            plan, self._kinds, skip=self._form.skip if self._form else b"", head=self._next_head()
        )

    def _accepts(self) -> Callable[[str], bool]:
        """Whether the schema accepts a JSON text; where strings have quotes the text tells."""
        assert self._form is not None
        if not self._form.chosen(self._kinds).may_be_raw:
            return bool
        return accepted_by(self._schema_of_value(), self._root)

    def _openings(self) -> tuple[bytes, ...]:
        """What stands behind the opener of an argument that is still to come."""
        if not self._plan.opener:
            return ()
        keys = (k for k in declared_keys(self._schema, self._root) if k not in self._keys)
        return tuple(key.encode() + stop for key in keys for stop in self._plan.key_stops)

    def _inner(self, kind: JsonType) -> GroupPlan:
        plan = self._plan.inner(self._types[kind].encoding, self._closer(kind))
        assert plan is not None
        return plan

    def _start_group(self, kind: JsonType, at: int) -> int:
        if self._depth >= MOST_DEPTH:
            self.bad = Note("too_deep", f"nested more than {MOST_DEPTH} deep")
            return at
        schema = self._schema_of_value()
        head, depth = self._next_head(), self._depth + 1
        child = GroupFrame(self._inner(kind), schema, self._root, head=head, depth=depth)
        return self._start(child, kind, at)

    def _schema_of_value(self, index: int | None = None) -> JSON:
        """What is declared of the value that is read, or of the item with this index."""
        if self._plan.is_object:
            return property_of(self._schema, self._key, self._root)
        return items_of(self._schema, self._count - 1 if index is None else index, self._root)

    def _tell_null(self, at: int, sink: Sink) -> int:
        self._state = _OPEN
        if self._is_muted:
            self._keep_out("null", at, sink)
            return at
        sink.text(self._next_head(), at)
        cursor = sink.cursor()
        sink.text("null", at)
        self._told += 1
        if self._is_arguments:
            sink.argument(self._key, cursor)
        return at

    def _keep_out(self, value: str, at: int, sink: Sink) -> None:
        """The value of a repeated key has ended."""
        sink.lost(at)
        sink.note("duplicate_key", f"the first value of the key stands; kept out: {value}", at, at)
        self._is_muted, self._muted_text = False, None

    def _read_value(self, data: Data, at: int, sink: Sink, *, final: bool) -> int:
        child = self._child
        assert child is not None
        if self._is_muted:
            muted = Muted(sink, self._muted_text)
            at = child.read(data, at, muted, final=final)
            self._muted_text = muted.pieces
        else:
            at = child.read(data, at, sink, final=final)
        if child.bad is not None:
            self.bad = child.bad
        elif child.is_done:
            self._end_value(child, at, sink)
        return at

    def _end_value(self, child: Frame, at: int, sink: Sink) -> None:
        self._child = None
        self._state = _AFTER if self._after else _OPEN
        if self._is_muted:
            self._keep_out(joined(self._muted_text), at, sink)
            return
        self._told += 1
        self.is_ambiguous = self.is_ambiguous or child.is_ambiguous
        if self._is_arguments and not self._is_unwrapped:
            sink.argument(self._key, child.cursor, ambiguous=child.is_ambiguous)

    def _read_after(self, data: Data, at: int) -> int:
        start, at = at, past_space(data, at)
        verdict = stands(self._after, data, at)
        if verdict == MORE:
            return start
        if verdict == NO:
            return self._fail(at, "a value is not followed by its closer")
        self._state = _OPEN
        return at + len(self._after)
