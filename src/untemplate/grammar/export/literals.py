r"""JSON, and Python's spelling of it, as rules: what every value of a schema is put together from.

    json-space    ("\n" " "{0,20} | " "{1,2})?
    json-string   "\"" json-character* "\""
    json-value    json-object | json-array | json-string | json-number | "true" | "false" | "null"

Strings may spell a character raw or by an escape (`spelling`). Numbers have at most `MOST_DIGITS`
digits before and after the point, as in the mask. A template that writes JSON in several styles
has one `Literals` for each. Python differs in its words, and in the quotes of its strings.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from untemplate.dialect import JsonText, Python
from untemplate.grammar.export.book import RuleBook
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
    optional,
    repeat,
    sequence,
)
from untemplate.grammar.export.spelling import Spelling, json_character, python_character
from untemplate.grammar.schema_atoms import MOST_DIGITS

__all__ = ["Literals"]

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


@dataclass(frozen=True, slots=True)
class _Letters:
    """What JSON and Python spell differently."""

    name: str
    true: str
    false: str
    null: str
    quotes: tuple[tuple[str, Spelling], ...]
    """The quote that a string may have, and how characters are spelt inside."""


_JSON = _Letters("json", "true", "false", "null", (('"', json_character),))
_PYTHON = _Letters(
    "python",
    "True",
    "False",
    "None",
    (("'", python_character("'")), ('"', python_character('"'))),
)


class Literals:
    """The rules of JSON, or of Python, in one style of white space."""

    def __init__(self, book: RuleBook, style: JsonText | Python) -> None:
        self._book = book
        self._letters = _JSON if isinstance(style, JsonText) else _PYTHON
        style = style if isinstance(style, JsonText) else JsonText()
        exact = book.options.whitespace == "exact"
        comma, colon = (style.item_separator, style.key_separator) if exact else (",", ":")
        self.space: Node = EMPTY
        if not exact:
            newline = sequence(Literal("\n"), repeat(Literal(" "), 0, most_blanks(style)))
            blanks = Lexeme(choice(repeat(Literal(" "), 1, 2), newline))
            name = self._letters.name
            self.space = book.shared(
                f"{name}-space", optional(book.shared(f"{name}-blanks", blanks))
            )
        self.colon = sequence(self.space, Literal(colon), self.space)
        self.members = Frame(EMPTY, sequence(self.space, Literal(comma), self.space), self.space)
        self._names: dict[Hashable, str] = {}

    def enclosed(self, open_: str, inner: Node, close: str) -> Node:
        """The inner between brackets."""
        return sequence(Literal(open_), self.space, inner, Literal(close))

    def quoted(self, write: Callable[[Spelling], Node]) -> Node:
        """A string whose characters `write` gives, when it is told how they are spelt."""
        return Lexeme(
            choice(
                *(
                    sequence(Literal(q), write(self._named_characters(q, spelling)), Literal(q))
                    for q, spelling in self._letters.quotes
                )
            )
        )

    def _named_characters(self, quote: str, spelling: Spelling) -> Spelling:
        """The spelling, with a rule for each set of characters."""

        def character(members: Characters) -> Node:
            if not members.ranges:
                return NEVER
            return self._rule(_character_name(members), lambda: spelling(members), (quote, members))

        return character

    @property
    def string(self) -> Node:
        return self._rule(
            "string", lambda: self.quoted(lambda character: repeat(character(ANY), 0, None))
        )

    @property
    def integer(self) -> Node:
        return self._rule("integer", lambda: Lexeme(_INTEGER))

    @property
    def number(self) -> Node:
        return self._rule("number", lambda: Lexeme(_NUMBER))

    @property
    def array(self) -> Node:
        return self._rule(
            "array", lambda: self.enclosed("[", positional((), self.value, self.members), "]")
        )

    @property
    def object(self) -> Node:
        def write() -> Node:
            pair = sequence(self.string, self.colon, self.value)
            return self.enclosed("{", positional((), pair, self.members), "}")

        return self._rule("object", write)

    @property
    def value(self) -> Node:
        """Any value."""
        return self._rule(
            "value",
            lambda: choice(
                self.object,
                self.array,
                self.string,
                self.number,
                *map(self.word, (True, False, None)),
            ),
        )

    def word(self, value: bool | None) -> Node:
        """True, false or null."""
        letters = self._letters
        return Literal({True: letters.true, False: letters.false, None: letters.null}[value])

    def _rule(self, stem: str, write: Callable[[], Node], key: Hashable = None) -> Node:
        """The rule of this name, or of this key; its name is known while it is written."""
        known = key or stem
        if known not in self._names:
            name = self._names[known] = self._book.reserve(f"{self._letters.name}-{stem}")
            self._book.rules[name] = write()
        return Reference(self._names[known])


def _character_name(members: Characters) -> str:
    if members == ANY:
        return "character"
    first, last = members.ranges[0][0], members.ranges[-1][1]
    text = chr(first)
    if first == last:
        return text if text.isascii() and text.isalnum() else f"{first:04X}"
    return f"{first:04X}-{last:04X}"


def most_blanks(style: JsonText) -> int:
    """How many blanks may follow a newline: what the template itself writes, twelve levels deep."""
    return max(20, style.margin + 12 * (style.indent or 0))
