r"""Values in the notation of a dialect, as steps: literals, raw strings, values in JSON or Python.

    written(types, "to", goal)  ->  ways to write the value of the key `to`, from behind the key on:
                                    Literal(">"), Raw(...), Literal("</parameter>\n")

Which way belongs to which type of value is what `Written` says. Where a schema allows a free raw
string, the other types need no way of their own: their text is a raw string as well. A raw string
never holds the mark of its closer, nor what would begin another pair: a reader takes that for the
sign of a closer that was forgotten. White space beside a free raw string is left to the string.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from untemplate.constrain.characters import StringMachine
from untemplate.constrain.items import ItemsPlan
from untemplate.constrain.pairs import PairsPlan
from untemplate.constrain.positions import Raw, Step, ValueStart
from untemplate.constrain.text import Avoid
from untemplate.constrain.values import Goal, Values
from untemplate.constrain.verdicts import Verdicts
from untemplate.dialect import (
    KEY_IN_LITERAL,
    Absent,
    Empty,
    Encoding,
    Items,
    JsonText,
    JsonType,
    Notation,
    Pairs,
    Python,
    Written,
)
from untemplate.dialect import Raw as RawText
from untemplate.errors import LimitError
from untemplate.grammar import GrammarOptions, nodes
from untemplate.grammar.answer import ANSWER
from untemplate.grammar.envelope import CallShape
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import Numbers, Strings, Typed
from untemplate.grammar.schema_formula import Formula, substitute
from untemplate.grammar.schema_relax import relax

__all__ = ["NotationWriter", "raw_machine"]

_PARTS: Mapping[JsonType, tuple[int, ...]] = {
    "string": (4,),
    "integer": (3,),
    "number": (3,),
    "boolean": (1, 2),
    "null": (0,),
    "array": (5,),
    "object": (6,),
}
"""Which parts of `Typed` say whether values of a type are allowed."""

Scope = Mapping[str, Items | Pairs]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands."""

    scope: Scope
    """What `Notation` may name here."""
    following: str
    """The literal that follows the value."""
    openings: tuple[str, ...] = ()
    """What would begin another pair if it stood inside of a raw string, where its closer may."""


class NotationWriter:
    """Writes the values of one schema."""

    def __init__(self, schemas: Schemas, options: GrammarOptions) -> None:
        self.schemas = schemas
        self._options = options
        self._values: dict[JsonText | Python, Values] = {}
        self._plans: dict[object, PairsPlan | ItemsPlan] = {}

    def values(self, style: JsonText | Python | None = None) -> Values:
        """The machines of values in JSON or Python."""
        style = style or JsonText()
        if style not in self._values:
            self._values[style] = Values(self.schemas, style, self._options)
        return self._values[style]

    def root(
        self, encoding: Encoding, following: str, unlike: Sequence[CallShape] = ()
    ) -> tuple[Step, ...]:
        """The value of the whole schema, but for what would be read as a call."""
        is_arguments = self.schemas.origin != ANSWER
        typed = self.schemas.whole(is_arguments=is_arguments, apart=unlike)
        return self._value(typed, encoding, Place({}, following))

    def written(
        self, types: Mapping[JsonType, Written], key: str | None, goal: Formula, place: Place
    ) -> Iterator[tuple[Step, ...]]:
        """The ways to write a value; `key` is what it belongs to, None where that is open."""
        typed = self.schemas.typed_goal(goal)
        forms: list[tuple[Written, set[int]]] = []
        for kind, written in types.items():
            parts = {n for n in _PARTS[kind] if typed.parts[n] is not False}
            if not parts or isinstance(written.encoding, Absent):
                continue
            if key is None and KEY_IN_LITERAL in written.before + written.after:
                continue
            same = next((n for w, n in forms if w == written), None)
            if same is None:
                forms.append((written, parts))
            else:
                same |= parts
        free = [w for w, _ in forms if isinstance(w.encoding, RawText) and typed.string is True]
        for written, parts in forms:
            if any(w is not written and w.before.rstrip() == written.before.rstrip() for w in free):
                continue
            only = Typed(*(p if n in parts else False for n, p in enumerate(typed.parts)))
            yield tuple(self._form(written, key or "", only, place))
            if not isinstance(typed.string, bool):
                # Beside some texts: what begins like one of them is not left to the text alone.
                for word in self._words(written.encoding, only):
                    yield tuple(self._form(written, key or "", only, place, word))
            if written.guarded is not None and typed.string is not True:
                yield tuple(self._form(written.guarded, key or "", only, place))

    def _words(self, encoding: Encoding, typed: Typed) -> Iterator[bytes]:
        """The scalars of a few that a value may be, as they are written."""
        if isinstance(encoding, JsonText | Python):
            allowed = zip(self.values(encoding).letters.words, typed.parts, strict=False)
            yield from (word for word, part in allowed if part is True)
            if isinstance(typed.number, Numbers):
                yield from (f"{n:f}".encode() for n in typed.number.members)

    def _form(
        self, written: Written, key: str, typed: Typed, place: Place, word: bytes | None = None
    ) -> Iterator[Step]:
        """The steps of one way; `word`: the text of the value, where it is known."""
        before = written.before.replace(KEY_IN_LITERAL, key)
        after = written.after.replace(KEY_IN_LITERAL, key)
        lead = after[: len(after) - len(after.lstrip())]
        openings = tuple(lead + opening for opening in place.openings)
        place = Place(place.scope, after or place.following, openings)
        if isinstance(written.encoding, RawText) and typed.string is True:
            # The text itself may hold the space of the literals, or not.
            before, after = before.rstrip(), after.lstrip() or after
        yield nodes.Literal(before.encode())
        if word is None:
            yield from self._value(typed, written.encoding, place)
        else:
            yield nodes.Literal(word)
        yield nodes.Literal(after.encode())

    def _value(self, typed: Typed, encoding: Encoding, place: Place) -> tuple[Step, ...]:
        match encoding:
            case JsonText() | Python():
                values = self.values(encoding)
                goal = Goal((), only=typed)
                first = values.kinds(goal).first_bytes
                return (ValueStart(values.begin(goal, space=False), first, self.schemas.origin),)
            case Pairs() | Items():
                return (self._plan(typed, encoding, place).start(),)
            case Notation(name):
                return self._value(typed, place.scope[name], place)
            case RawText():
                mark = place.following.strip() or place.following
                marks = tuple(m.encode() for m in (mark, *place.openings))
                formula = relax(typed.string, self.values().is_known)
                return (Raw(raw_machine(formula, marks), Avoid(marks)),)
            case Empty():
                return ()
            case _:
                kind = type(encoding).__name__
                raise LimitError(
                    f"values as {kind} are not constrained yet", place=self.schemas.origin
                )

    def _plan(self, typed: Typed, encoding: Pairs | Items, place: Place) -> PairsPlan | ItemsPlan:
        key = (typed, id(encoding), place.following)
        if key not in self._plans:
            if isinstance(encoding, Pairs):
                formula = relax(typed.object, self.values().is_known)
                scope = encoding.notations or place.scope
                self._plans[key] = PairsPlan(self, encoding, formula, scope)
            else:
                formula = relax(typed.array, self.values().is_known)
                self._plans[key] = ItemsPlan(self, encoding, formula, place.scope)
        return self._plans[key]


def raw_machine(formula: Formula, marks: tuple[bytes, ...] = ()) -> StringMachine:
    """The raw strings that satisfy a formula; members that hold one of the marks are left out."""

    def keep(atom: object) -> Formula:
        if not isinstance(atom, Strings):
            return atom
        members = tuple(m for m in atom.members if not any(k and k in m.encode() for k in marks))
        return Strings(members) if members else False

    return StringMachine(Verdicts((substitute(formula, keep),)), _utf8_size)


def _utf8_size(low: int, high: int) -> int:  # noqa: ARG001  the first of a span is the shortest
    return 1 + (low > 0x7F) + (low > 0x7FF) + (low > 0xFFFF)
