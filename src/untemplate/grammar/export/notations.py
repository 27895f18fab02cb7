r"""Values in the notations of a dialect -> rules: tagged parameters, raw text, lists of its own.

    <parameter=city>\nParis\n</parameter>\n    "<parameter=city>" TEXT "</parameter>\n"
    <parameter=days>\n3\n</parameter>\n        "<parameter=days>\n" json-integer "\n</parameter>\n"

The object and the lists of a notation are the same shapes as in JSON (`shapes`), with other text
around them. White space between a literal and raw text is soft, so it is left to the text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, assert_never

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
from untemplate.grammar import nodes
from untemplate.grammar.answer import ANSWER
from untemplate.grammar.export.book import RuleBook
from untemplate.grammar.export.cases import cases
from untemplate.grammar.export.json_values import JsonValues, place_of
from untemplate.grammar.export.listing import Frame, listed, positional
from untemplate.grammar.export.literals import Literals
from untemplate.grammar.export.notes import Effect
from untemplate.grammar.export.raw_text import raw_text
from untemplate.grammar.export.rules import (
    EMPTY,
    NEVER,
    Characters,
    Lexeme,
    Literal,
    Node,
    Reference,
    choice,
    complement,
    one_of,
    sequence,
)
from untemplate.grammar.export.shapes import ObjectShape, Other, array_shape, object_shape
from untemplate.grammar.export.spelling import Spelling, escaped_character
from untemplate.grammar.export.strings import other_than, string_text
from untemplate.grammar.marks import openings
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import NOTHING, Typed, any_of
from untemplate.grammar.schema_formula import Formula
from untemplate.grammar.schema_regex import Set, parse

__all__ = ["ValueWriter"]

E = TypeVar("E", Items, Pairs)


class ValueWriter:
    """Writes the values of one export; equal notations share their rules."""

    def __init__(self, book: RuleBook) -> None:
        self.book = book
        self._notations: dict[JsonText | Python, Literals] = {}

    def value(self, node: nodes.Value) -> Node:
        """The value that stands at one place of the turn."""
        is_answer = node.origin == ANSWER
        open_objects = is_answer or self.book.options.open_objects
        schemas = Schemas(node.schema, origin=node.origin, open_objects=open_objects)
        closer = node.until[0].decode() if node.until else ""
        if is_answer and node.until:
            self.book.notes.add(ANSWER, "#", "wider", "strings may hold markers of the dialect")
        if node.unlike:
            message = "an object may be written that reads as a call of a tool"
            self.book.notes.add(ANSWER, "#", "wider", message)
        typed = schemas.whole(is_arguments=not is_answer)
        return _Writer(self, schemas).typed(typed, node.encoding, _Setting({}, closer, "#"))

    def notation(self, style: JsonText | Python) -> Literals:
        """The rules of JSON in this style, or of Python."""
        if style not in self._notations:
            self._notations[style] = Literals(self.book, style)
        return self._notations[style]


@dataclass(frozen=True, slots=True)
class _Setting:
    """Where a value stands."""

    scope: Mapping[str, Items | Pairs]
    """What `Notation` may name here."""
    following: str
    """The literal that follows the value."""
    at: str
    """The pointer that notes name."""
    openings: tuple[str, ...] = ()
    """What would begin another pair if it stood inside of a raw string, where its closer may."""

    def step(self, step: str, openings: tuple[str, ...] = ()) -> "_Setting":
        return replace(self, at=f"{self.at}/{step}", openings=openings)


class _Writer:
    """Writes the values of one root schema."""

    def __init__(self, writer: ValueWriter, schemas: Schemas) -> None:
        self._writer = writer
        self._book = writer.book
        self._schemas = schemas
        self._literals: dict[JsonText | Python, JsonValues] = {}
        self._known: dict[tuple[Typed, int, str], Node] = {}

    def typed(self, typed: Typed, encoding: Encoding, setting: _Setting) -> Node:
        """A value of which each kind is as `typed` says."""
        match encoding:
            case JsonText() | Python():
                return self._literal_values(encoding).typed(typed, setting.at)
            case Pairs():
                return self._begun(typed, encoding, setting, self._object)
            case Items():
                return self._begun(typed, encoding, setting, self._array)
            case Notation(name):
                return self.typed(typed, setting.scope[name], setting)
            case Raw():
                mark = setting.following.strip() or setting.following
                return raw_text(typed.string, "", "", (mark,), self._wider(setting.at))
            case Escaped(escapes):
                return self._escaped(typed, escaped_character(escapes), setting)
            case Empty():
                return EMPTY
            case Absent():
                return NEVER
            case _:
                assert_never(encoding)

    def _literal_values(self, style: JsonText | Python) -> JsonValues:
        if style not in self._literals:
            notation = self._writer.notation(style)
            self._literals[style] = JsonValues(self._book, self._schemas, notation)
        return self._literals[style]

    def _begun(
        self,
        typed: Typed,
        encoding: E,
        setting: _Setting,
        write: Callable[[Typed, E, _Setting], Node],
    ) -> Node:
        """The rule of this value, begun before it is written: notations may nest in themselves."""
        known = (typed, id(encoding), setting.following)
        if known not in self._known:
            name = self._book.reserve(f"{self._schemas.origin}{setting.at[1:]}")
            self._known[known] = Reference(name)
            self._book.rules[name] = write(typed, encoding, setting)
        return self._known[known]

    def _array(self, typed: Typed, items: Items, setting: _Setting) -> Node:
        head, comma, tail, none = map(
            Literal, (items.head, items.separator, items.tail, items.none)
        )
        wider = self._wider(setting.at)
        setting = replace(setting, following=items.separator or items.tail)
        options: list[Node] = []
        for case in cases(typed.array, wider):
            shape = array_shape(case, wider)
            prefix = [
                self._written(goal, items.types, "", setting.step(f"prefixItems/{n}"))
                for n, goal in enumerate(shape.prefix)
            ]
            rest = self._written(shape.rest, items.types, "", setting.step("items"))
            frame = Frame(head, comma, tail, none)
            options.append(positional(prefix, rest, frame, least=shape.least, most=shape.most))
        return choice(*options)

    def _object(self, typed: Typed, pairs: Pairs, setting: _Setting) -> Node:
        head, comma, tail, none = map(
            Literal, (pairs.head, pairs.separator, pairs.tail, pairs.none)
        )
        at = setting.at
        setting = _Setting(pairs.notations or setting.scope, pairs.separator or pairs.tail, at)
        options: list[Node] = []
        for case in cases(typed.object, self._wider(at)):
            shape = object_shape(case, self._schemas, self._wider(at))
            if len(shape.members) > 1 and self._book.options.key_order == "any":
                self._note(at, "narrower", "keys stand in declared order")
            members: list[tuple[Node, bool]] = []
            for n, member in enumerate(shape.members):
                later = openings(pairs, (m.key for m in shape.members[n + 1 :]))
                inner = setting.step(f"properties/{member.key}", later)
                value = self._written(member.goal, pairs.types, member.key, inner)
                pair = sequence(Literal(pairs.open + member.key), value)
                members.append((pair, member.is_required))
            extra = choice(*(self._other(o, shape, pairs, setting) for o in shape.others))
            options.append(
                listed(
                    members,
                    Frame(head, comma, tail, none),
                    partial(self._book.shared, f"{self._schemas.origin}{at[1:]}-rest"),
                    extra=extra,
                    least=shape.least,
                    most=shape.most,
                )
            )
        return choice(*options)

    def _other(self, other: Other, shape: ObjectShape, pairs: Pairs, setting: _Setting) -> Node:
        """A pair whose key no schema names, if all such keys are alike."""
        if other.names is not True:
            return NEVER
        names = ["", *(m.key for m in shape.members)]
        key = Lexeme(other_than(names, _key_character))
        inner = setting.step("additionalProperties")
        value = self._written(other.goal, pairs.types, None, inner)
        return sequence(Literal(pairs.open), key, value)

    def _written(
        self, goal: Formula, types: Mapping[JsonType, Written], key: str | None, setting: _Setting
    ) -> Node:
        """A value after its key, in the form that belongs to its type; key None: any other."""
        typed = self._schemas.typed_goal(goal)
        setting = replace(setting, at=place_of(goal, setting.at))
        forms: list[tuple[Written, Typed]] = []
        for kind, written in types.items():
            if key is None and KEY_IN_LITERAL in written.before + written.after:
                continue
            part = _of_kind(typed, kind)
            # Types that are written alike are one value, so that a number is not split in two.
            same = next((n for n, (w, _) in enumerate(forms) if w == written), None)
            if same is None:
                forms.append((written, part))
            else:
                forms[same] = (written, any_of(forms[same][1], part))
        # A free raw string takes the text of every other type as well.
        free = [w for w, p in forms if isinstance(w.encoding, Raw) and p.string is True]
        return choice(
            *(
                self._form(form, part, key or "", setting)
                for written, part in forms
                if part != NOTHING and not any(_is_within(written, w) for w in free)
                for form in _guarded_too(written, part)
            )
        )

    def _form(self, written: Written, typed: Typed, key: str, setting: _Setting) -> Node:
        before, after = (t.replace(KEY_IN_LITERAL, key) for t in (written.before, written.after))
        setting = replace(setting, following=after or setting.following)
        if isinstance(written.encoding, Raw):
            lead = after[: len(after) - len(after.lstrip())]
            mark = setting.following.strip() or setting.following
            marks = (mark, *(lead + opening for opening in setting.openings))
            return raw_text(typed.string, before, after, marks, self._wider(setting.at))
        value = self.typed(typed, written.encoding, setting)
        return sequence(Literal(before), value, Literal(after))

    def _escaped(self, typed: Typed, spelling: Spelling, setting: _Setting) -> Node:
        """A string whose characters are replaced where they could be taken for what follows."""
        wider = self._wider(setting.at)
        options = (string_text(c, spelling, wider) for c in cases(typed.string, wider))
        return choice(*options)

    def _wider(self, at: str) -> Callable[[str], None]:
        return lambda message: self._note(at, "wider", message)

    def _note(self, at: str, effect: Effect, message: str) -> None:
        self._book.notes.add(self._schemas.origin, at, effect, message)


def _is_within(written: Written, free: Written) -> bool:
    """Whether what is written so is also text of the free form."""
    return written is not free and written.before.rstrip() == free.before.rstrip()


def _guarded_too(written: Written, typed: Typed) -> tuple[Written, ...]:
    """The form, and the one that the template writes instead for some characters."""
    has_other = written.guarded is not None and typed.string is not True
    return (written, written.guarded) if has_other and written.guarded else (written,)


# The same as in `constrain.pairs`.
_KEY = parse(nodes.KEY_CHARACTER)
"""What keys that no schema names are made of, so that they can be told from what follows them."""


def _key_character(members: Characters) -> Node:
    assert isinstance(_KEY, Set)
    return one_of(complement(complement(members), Characters(_KEY.ranges)))


def _of_kind(typed: Typed, kind: JsonType) -> Typed:
    """Only the values of this type."""
    match kind:
        case "null":
            return Typed(typed.null, False, False, False, False, False, False)
        case "boolean":
            return Typed(False, typed.false, typed.true, False, False, False, False)
        case "integer" | "number":
            return Typed(False, False, False, typed.number, False, False, False)
        case "string":
            return Typed(False, False, False, False, typed.string, False, False)
        case "array":
            return Typed(False, False, False, False, False, typed.array, False)
        case "object":
            return Typed(False, False, False, False, False, False, typed.object)
