r"""JSON without a schema, as rules: what every JSON value is put together from.

    json-space    ("\n" " "{0,20} | " "{1,2})?
    json-string   "\"" json-character* "\""
    json-value    json-object | json-array | json-string | json-number | "true" | "false" | "null"

Strings may spell a character raw or by an escape (`spelling`). Numbers have at most `MOST_DIGITS`
digits before and after the point, as in the mask. Templates that write JSON in different styles
have one `JsonNotation` for each style.
"""

from untemplate.dialect import JsonText
from untemplate.grammar.export.book import RuleBook
from untemplate.grammar.export.digits import MOST_DIGITS
from untemplate.grammar.export.listing import Frame, positional
from untemplate.grammar.export.rules import (
    ANY,
    EMPTY,
    NEVER,
    Characters,
    Lexeme,
    Literal,
    Node,
    Reference,
    characters,
    choice,
    one_of,
    optional,
    repeat,
    sequence,
)
from untemplate.grammar.export.spelling import json_character

__all__ = ["JsonNotation", "quoted"]

_DIGIT = Characters(((0x30, 0x39),))
_INTEGER = sequence(
    optional(Literal("-")),
    choice(Literal("0"), sequence(Characters(((0x31, 0x39),)), repeat(_DIGIT, 0, MOST_DIGITS - 1))),
)
_NUMBER = sequence(
    _INTEGER,
    optional(sequence(Literal("."), repeat(_DIGIT, 1, MOST_DIGITS))),
    optional(sequence(characters("eE"), optional(characters("+-")), repeat(_DIGIT, 1, 3))),
)


class JsonNotation:
    """The rules of JSON in one style of white space."""

    def __init__(self, book: RuleBook, style: JsonText) -> None:
        self._book = book
        exact = book.options.whitespace == "exact"
        comma, colon = (style.item_separator, style.key_separator) if exact else (",", ":")
        self.space: Node = EMPTY
        if not exact:
            newline = sequence(Literal("\n"), repeat(Literal(" "), 0, most_blanks(style)))
            blanks = book.shared("json-blanks", Lexeme(choice(repeat(Literal(" "), 1, 2), newline)))
            self.space = book.shared("json-space", optional(blanks))
        self.colon = sequence(self.space, Literal(colon), self.space)
        self.members = Frame(EMPTY, sequence(self.space, Literal(comma), self.space), self.space)
        self._named: dict[str | Characters, str] = {}

    def enclosed(self, open_: str, inner: Node, close: str) -> Node:
        """The inner between brackets."""
        return sequence(Literal(open_), self.space, inner, Literal(close))

    def character(self, members: Characters) -> Node:
        """One of some characters, in every spelling; a single one has a rule."""
        if not members.ranges:
            return NEVER
        if members == ANY:
            return self._rule("json-character", json_character(ANY))
        single = one_of(members)
        if not isinstance(single, Literal):
            first, last = members.ranges[0][0], members.ranges[-1][1]
            return self._rule(f"chars-{first:X}-{last:X}", json_character(members), members)
        text = single.text
        name = text if text.isascii() and text.isalnum() else f"{ord(text):04X}"
        return self._rule(f"char-{name}", json_character(members))

    @property
    def string(self) -> Node:
        return self._rule("json-string", quoted(repeat(self.character(ANY), 0, None)))

    @property
    def integer(self) -> Node:
        return self._rule("json-integer", Lexeme(_INTEGER))

    @property
    def number(self) -> Node:
        return self._rule("json-number", Lexeme(_NUMBER))

    @property
    def array(self) -> Node:
        name = self._begun("json-array")
        if name is not None:
            items = positional((), self.value, self.members)
            self._book.rules[name] = self.enclosed("[", items, "]")
        return Reference(self._named["json-array"])

    @property
    def object(self) -> Node:
        name = self._begun("json-object")
        if name is not None:
            pair = sequence(self.string, self.colon, self.value)
            self._book.rules[name] = self.enclosed("{", positional((), pair, self.members), "}")
        return Reference(self._named["json-object"])

    @property
    def value(self) -> Node:
        """Any JSON."""
        name = self._begun("json-value")
        if name is not None:
            words = (Literal("true"), Literal("false"), Literal("null"))
            self._book.rules[name] = choice(
                self.object, self.array, self.string, self.number, *words
            )
        return Reference(self._named["json-value"])

    def _rule(self, stem: str, node: Node, key: Characters | None = None) -> Node:
        """A rule that refers to no rule still to be written; known by its stem or a key."""
        name = self._begun(stem, key)
        if name is not None:
            self._book.rules[name] = node
        return Reference(self._named[key or stem])

    def _begun(self, stem: str, key: Characters | None = None) -> str | None:
        """The name of a new rule, known from now on; None if it is known already."""
        if (key or stem) in self._named:
            return None
        self._named[key or stem] = self._book.reserve(stem)
        return self._named[key or stem]


def quoted(inner: Node) -> Node:
    """The characters of a string between quotes."""
    return Lexeme(sequence(Literal('"'), inner, Literal('"')))


def most_blanks(style: JsonText) -> int:
    """How many blanks may follow a newline: what the template itself writes, twelve levels deep."""
    return max(20, style.margin + 12 * (style.indent or 0))
