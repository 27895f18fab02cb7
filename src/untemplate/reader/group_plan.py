r"""The tables for reading `Pairs` and `Items`, made once for each call of a grammar.

A *form* is what may stand between a key and its value, with the types that are written so:

    Qwen3-Coder  ">\n"                     all types
    DSML         '" string="true">'        strings      '" string="false">'   the others
    Gemma        ':<|"|>'                  strings      ':'                   the others
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import assert_never

from untemplate.dialect import (
    KEY_IN_LITERAL,
    Absent,
    Empty,
    Encoding,
    Escaped,
    Items,
    JsonText,
    JsonType,
    Notation,
    Pairs,
    Python,
    Raw,
    Written,
)
from untemplate.grammar.marks import is_distinctive
from untemplate.reader.follow import KEY, MORE, NO, YES, Follow, stand_all, stands
from untemplate.reader.kinds import Kinds
from untemplate.reader.utf8 import Data

__all__ = [
    "MOST_KEY_BYTES",
    "Form",
    "GroupPlan",
    "WrittenPlan",
    "end_of_form",
    "fitting",
    "group_plan",
    "is_group",
    "is_raw",
    "merged",
]

Ends = tuple[tuple[bytes, ...], ...]
"""Sequences of marks that stand behind the arguments."""

MOST_KEY_BYTES = 1024
_WEAK = 3
"""A mark that is shorter may well be text; what follows it is looked at, too."""


@dataclass(frozen=True)
class WrittenPlan:
    """How values of one type stand in one form."""

    encoding: Encoding
    closer: str
    """What stands behind the value, without white space at its ends; the key as KEY_IN_LITERAL."""
    lead: bytes
    """White space of the template's own before the closer."""

    @cached_property
    def _closer(self) -> bytes | None:
        return None if KEY_IN_LITERAL in self.closer else self.closer.encode()

    def closer_of(self, key: str) -> bytes:
        """What stands behind the value of this key."""
        made = self._closer
        return self.closer.replace(KEY_IN_LITERAL, key).encode() if made is None else made


@dataclass(frozen=True, slots=True)
class Chosen:
    """What may read a value of these types."""

    groups: tuple[JsonType, ...]
    """Types in a notation of the family's own."""
    plain: JsonType
    """The type that is read if it is none of those."""
    may_be_raw: bool
    """Whether it may be a string that is written as it is."""
    is_raw: bool
    is_empty: bool
    """Whether nothing at all stands for it."""
    python: bool


@dataclass(frozen=True)
class Form:
    """One way to lead from a key to its value."""

    before: str
    """Without white space at its end; the key as KEY_IN_LITERAL."""
    skip: bytes
    """White space of the template's own before the value."""
    types: Mapping[JsonType, WrittenPlan]

    @cached_property
    def kinds(self) -> Kinds:
        return tuple(self.types)

    @cached_property
    def _chosen(self) -> dict[Kinds, Chosen]:
        return {}

    def chosen(self, kinds: Kinds) -> Chosen:
        """What may read a value that is one of these types."""
        found = self._chosen.get(kinds)
        if found is None:
            encodings: dict[JsonType, Encoding] = {k: self.types[k].encoding for k in kinds}
            groups: Kinds = tuple(k for k in kinds if is_group(encodings[k]))
            others: list[JsonType] = [k for k in kinds if k not in groups and k != "string"]
            raw = "string" in kinds and is_raw(encodings["string"])
            found = self._chosen[kinds] = Chosen(
                groups,
                others[0] if others else kinds[0],
                may_be_raw=raw,
                is_raw=raw and all(k == "string" for k in kinds),
                is_empty=all(isinstance(e, Empty) for e in encodings.values()),
                python=any(isinstance(e, Python) for e in encodings.values()),
            )
        return found

    @cached_property
    def _pieces(self) -> tuple[bytes, ...] | None:
        return None if KEY_IN_LITERAL in self.before else tuple(self.before.encode().split())

    def pieces_of(self, key: str) -> tuple[bytes, ...]:
        """What stands between this key and its value, without white space."""
        made = self._pieces
        if made is None:
            return tuple(self.before.replace(KEY_IN_LITERAL, key).encode().split())
        return made


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """Pairs or items: what stands around and between them."""

    is_object: bool
    head: bytes
    open: bytes
    """What stands before each key."""
    separator: bytes
    tail: bytes
    ends: Ends
    forms: tuple[Form, ...]
    """The longest first."""
    key_stops: tuple[bytes, ...]
    """What ends a key."""
    follow: Follow
    """What may stand behind a value's closer."""
    scope: Mapping[str, "Items | Pairs"]
    nested: dict[tuple[str, bytes], "GroupPlan"] = field(
        default_factory=dict[tuple[str, bytes], "GroupPlan"]
    )
    """Plans of the notations inside, made when they are met."""

    @property
    def opener(self) -> bytes:
        """What begins an argument and can't be taken for text; none: nothing does."""
        return self.open if is_distinctive(self.open.decode()) else b""

    def may_begin(self, mark: bytes) -> bool:
        """Whether the group itself begins with this."""
        first = self.head or self.open
        return first.startswith(mark) or mark.startswith(first or b"\0")

    def standing(self, key: str, data: Data, at: int) -> tuple[list[tuple[Form, int]], bool]:
        """The forms that lead from this key to a value there, with their ends; whether to wait."""
        found: list[tuple[Form, int]] = []
        waits = False
        for form in self.forms:
            verdict, end = stand_all(form.pieces_of(key), data, at)
            if verdict == MORE:
                waits = True
            elif verdict == YES and not waits:
                found.append((form, end))
        return found, waits

    def begins(self, closer: bytes, data: Data, at: int) -> int:
        """Whether it stands there, in front of this closer, and not the closer at once."""
        if closer and (verdict := stands(closer, data, at)) != NO:
            return MORE if verdict == MORE else NO
        before = self.forms[-1].before if self.forms else ""
        opening = self.head or (self.open if self.is_object else before.encode())
        return stands(opening, data, at) if opening else NO

    def empty_text(self, written: WrittenPlan) -> str:
        """The JSON text of a value that is written as nothing at all; empty if none is."""
        encoding = written.encoding
        if isinstance(encoding, Empty):
            return "null"
        group = self.scope.get(encoding.name) if isinstance(encoding, Notation) else encoding
        if not isinstance(group, (Items, Pairs)) or group.none.strip():
            return ""
        return "{}" if isinstance(group, Pairs) else "[]"

    def inner(self, encoding: Encoding, closer: bytes) -> "GroupPlan | None":
        """The plan of a value in a notation, in front of this closer; None if it is in none."""
        key = (encoding.name if isinstance(encoding, Notation) else str(id(encoding)), closer)
        found = self.nested.get(key)
        if found is None:
            group = self.scope.get(encoding.name) if isinstance(encoding, Notation) else encoding
            if not isinstance(group, (Items, Pairs)):
                return None
            ends = ((closer,),) if closer else self.ends_behind_a_value()
            found = self.nested[key] = group_plan(group, ends, self.scope)
        return found

    def ends_behind_a_value(self) -> Ends:
        """What may stand behind a value without a closer."""
        ends = ((self.tail,),) if self.tail else self.ends
        return (((self.separator,),) if self.separator else ()) + ends


def group_plan(
    group: Pairs | Items, ends: Ends, scope: Mapping[str, Items | Pairs] | None = None
) -> GroupPlan:
    """The tables of pairs or items that end where one of `ends` begins."""
    pairs = group if isinstance(group, Pairs) else None
    head, tail = group.head.strip().encode(), group.tail.strip().encode()
    separator = group.separator.strip().encode()
    open_ = pairs.open.strip().encode() if pairs else b""
    forms = _forms(group.types)
    stops = tuple(dict.fromkeys(_first_piece(f.before) for f in forms)) if pairs else ()
    return GroupPlan(
        is_object=pairs is not None,
        head=head,
        open=open_,
        separator=separator,
        tail=tail,
        ends=ends,
        forms=forms,
        key_stops=tuple(s for s in stops if s),
        follow=_follow(forms, open_, separator, ((tail,),) if tail else ends, pairs is not None),
        scope=(pairs.notations if pairs and pairs.notations else None) or scope or {},
    )


def _first_piece(literal: str) -> bytes:
    """The literal up to its first white space or key."""
    pieces = literal.split(KEY_IN_LITERAL, maxsplit=1)[0].split()
    return pieces[0].encode() if pieces else b""


def _forms(types: Mapping[JsonType, Written]) -> tuple[Form, ...]:
    grouped: dict[str, dict[JsonType, WrittenPlan]] = {}
    for kind, outer in types.items():
        written: Written | None = outer
        while written is not None:
            if not isinstance(written.encoding, Absent):
                after = written.after.lstrip()
                lead = written.after[: len(written.after) - len(after)].encode()
                plan = WrittenPlan(written.encoding, after.rstrip(), lead)
                grouped.setdefault(written.before, {})[kind] = plan
            written = written.guarded
    forms = [
        Form(before.rstrip(), before[len(before.rstrip()) :].encode(), by_type)
        for before, by_type in grouped.items()
    ]
    return tuple(sorted(forms, key=lambda f: -len(f.before)))


def _follow(
    forms: Sequence[Form], open_: bytes, separator: bytes, ends: Ends, is_object: bool
) -> Follow:
    lead = (separator,) if separator else ()
    sequences: list[tuple[bytes, ...]] = list(ends)
    if is_object and len(open_) >= _WEAK:
        sequences.append((*lead, open_))
    elif is_object:
        before = {_first_piece(f.before) for f in forms}
        opened = (open_,) if open_ else ()
        sequences += [(*lead, *opened, KEY, b) for b in before if b]
    elif separator:
        sequences.append(lead)
    else:
        sequences += [(b,) for f in forms if (b := _first_piece(f.before))]
    return Follow(tuple(dict.fromkeys(sequences)))


def is_raw(encoding: Encoding) -> bool:
    """Whether the encoding writes a string as it is, but for characters that it replaces."""
    match encoding:
        case Raw() | Escaped():
            return True
        case JsonText() | Python() | Empty() | Absent() | Items() | Pairs() | Notation():
            return False
        case _:
            assert_never(encoding)


def is_group(encoding: Encoding) -> bool:
    """Whether the encoding is a notation of the family's own."""
    return isinstance(encoding, (Items, Pairs, Notation))


def merged(forms: Sequence[Form]) -> Form:
    """A form that may be any of these."""
    types: dict[JsonType, WrittenPlan] = {}
    for other in reversed(forms):
        types.update(other.types)
    return Form(forms[0].before, forms[0].skip, types)


def end_of_form(forms: Sequence[Form], data: Data, at: int) -> tuple[int, int]:
    """Where a form ends that is none of these: behind the last character that all of them share."""
    lasts = {f.before[-1:] for f in forms}
    last = lasts.pop() if len(lasts) == 1 else ""
    if not last or last.isalnum():
        return NO, at
    end = data.find(last.encode(), at)
    line = data.find(b"\n", at, end if end >= 0 else len(data))
    if end < 0 and line < 0 and len(data) - at <= MOST_KEY_BYTES:
        return MORE, at
    if end < 0 or line >= 0 or end - at > MOST_KEY_BYTES:
        return NO, at
    return YES, end + len(last.encode())


def fitting(form: Form, kinds: Kinds, declared: Kinds) -> tuple[Form, Kinds]:
    """How a value is written, and its types, by its form and by what is declared.

    Where strings have quotes, the text tells its type, whatever is declared. Where the form speaks
    of another type, but the tool needs a string, it is one. No value stays none.
    """
    string = form.types.get("string")
    if string is not None and not is_raw(string.encoding):
        return form, kinds
    both: Kinds = tuple(k for k in declared if k in kinds)
    other = next(iter(form.types.values()))
    of_another_type = not both and "null" not in form.types
    if of_another_type and declared == ("string",) and other.closer:
        return replace(form, types={"string": replace(other, encoding=Raw())}), ("string",)
    return form, both or kinds
