r"""Values of a schema as JSON -> rules.

    {"type": "object", "properties": {"to": {"type": "string"}, "days": {"type": "integer"}},
     "required": ["to"]}

    tool-pay   "{" space "\"to\"" colon json-string (comma "\"days\"" colon json-integer)? space "}"

A *goal* is what a value has to be: a formula over subschemas. Each goal becomes one rule, named
when it is begun, so that recursion ends. Keys stand in declared order. What rules can't say is left
out and noted: an export is wider than the grammar, never narrower, but for the order of keys.
"""

from collections.abc import Callable, Sequence
from functools import partial

from untemplate.grammar.export.apart import apart_in
from untemplate.grammar.export.book import RuleBook
from untemplate.grammar.export.cases import Case, cases
from untemplate.grammar.export.listing import listed, positional
from untemplate.grammar.export.literals import Literals
from untemplate.grammar.export.notes import Effect
from untemplate.grammar.export.numbers import number_text
from untemplate.grammar.export.rules import (
    MOST_REPEATS,
    Node,
    Reference,
    choice,
    sequence,
)
from untemplate.grammar.export.shapes import Member, Other, array_shape, object_shape
from untemplate.grammar.export.strings import constant, string_text
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import ANYTHING, Place, Strings, Typed
from untemplate.grammar.schema_formula import Formula, Not, conj, leaves

__all__ = ["JsonValues", "place_of"]


class JsonValues:
    """Writes values of one root schema in one style of JSON."""

    def __init__(self, book: RuleBook, schemas: Schemas, notation: Literals) -> None:
        self._book = book
        self._schemas = schemas
        self._notation = notation
        self._apart = apart_in(schemas)
        self._known: dict[Typed, Node] = {}

    def value(self, goal: Formula, at: str) -> Node:
        """A value that satisfies the goal; `at` is the pointer that notes name."""
        return self.typed(self._schemas.typed_goal(goal), at)

    def typed(self, typed: Typed, at: str) -> Node:
        """A value of which each kind is as `typed` says."""
        if typed not in self._known:
            if typed == ANYTHING:
                self._known[typed] = self._notation.value
            else:
                name = self._book.reserve(f"{self._schemas.origin}{at[1:]}")
                self._known[typed] = Reference(name)
                self._book.rules[name] = self._kinds(typed, at)
        return self._known[typed]

    def _kinds(self, typed: Typed, at: str) -> Node:
        wider = self._wider(at)
        return choice(
            *(self._object(c, at) for c in cases(typed.object, wider, self._apart)),
            *(self._array(c, at) for c in cases(typed.array, wider, self._apart)),
            *(self._string(c, at) for c in cases(typed.string, wider, self._apart)),
            *(
                number_text(c, self._notation, wider)
                for c in cases(typed.number, wider, self._apart)
            ),
            *(
                self._notation.word(word)
                for word, formula in ((True, typed.true), (False, typed.false), (None, typed.null))
                if formula is not False
            ),
        )

    def _string(self, case: Case, at: str) -> Node:
        if not case:
            return self._notation.string
        return self._notation.quoted(partial(string_text, case, wider=self._wider(at)))

    def _array(self, case: Case, at: str) -> Node:
        if not case:
            return self._notation.array
        shape = array_shape(case, self._wider(at))
        least, most = shape.least, shape.most
        if max(least, most or 0) > MOST_REPEATS:
            self._wider(at)(f"more than {MOST_REPEATS} items are not counted")
            least, most = min(least, MOST_REPEATS), None
        rest = self.value(shape.rest, place_of(shape.rest, f"{at}/items"))
        prefix = [
            self.value(g, place_of(g, f"{at}/prefixItems/{n}")) for n, g in enumerate(shape.prefix)
        ]
        return self._notation.enclosed(
            "[", positional(prefix, rest, self._notation.members, least=least, most=most), "]"
        )

    def _object(self, case: Case, at: str) -> Node:
        if not case:
            return self._notation.object
        shape = object_shape(case, self._schemas, self._wider(at))
        if len(shape.members) > 1 and self._book.options.key_order == "any":
            self._note(at, "narrower", "keys stand in declared order")
        members = [(self._pair(m, at), m.is_required) for m in shape.members]
        extra = choice(*(self._other(o, shape.members, at) for o in shape.others))
        stem = f"{self._schemas.origin}{at[1:]}-rest"
        node = listed(
            members,
            self._notation.members,
            lambda node: self._book.shared(stem, node),
            extra=extra,
            least=shape.least,
            most=shape.most,
        )
        return self._notation.enclosed("{", node, "}")

    def _pair(self, member: Member, at: str) -> Node:
        key = self._notation.quoted(partial(constant, member.key))
        value = self.value(member.goal, place_of(member.goal, f"{at}/properties/{member.key}"))
        return sequence(key, self._notation.colon, value)

    def _other(self, other: Other, members: Sequence[Member], at: str) -> Node:
        """A pair whose key is none of the members'."""
        not_named = Not(Strings(tuple(m.key for m in members))) if members else True
        wider = self._wider(at)
        keys = choice(
            *(
                self._notation.quoted(partial(string_text, case, wider=wider))
                for case in cases(conj(other.names, not_named), wider)
            )
        )
        key = self._book.shared(f"{self._schemas.origin}{at[1:]}-key", keys)
        value = self.value(other.goal, place_of(other.goal, f"{at}/additionalProperties"))
        return sequence(key, self._notation.colon, value)

    def _wider(self, at: str) -> Callable[[str], None]:
        return lambda message: self._note(at, "wider", message)

    def _note(self, at: str, effect: Effect, message: str) -> None:
        self._book.notes.add(self._schemas.origin, at, effect, message)


def place_of(goal: Formula, otherwise: str) -> str:
    """Where notes on a goal point to: its first subschema."""
    return next((p.pointer for p in leaves(goal) if isinstance(p, Place)), otherwise)
