r"""JSON without a schema, as rules: what every notation of a JSON value is put together from.

    json-space    "" | " "{1,2} | "\n" " "{0,20}
    json-string   "\"" json-character* "\""
    json-value    json-object | json-array | json-string | json-number | "true" | "false" | "null"

`JSON_RULES` holds those that don't hang on options. A character is a Unicode character, raw or as
an escape; two `\u` escapes that are a surrogate pair are one character, a lone surrogate is none.
"""

from collections.abc import Mapping

from untemplate.grammar.export.rules import (
    EMPTY,
    Characters,
    Lexeme,
    Literal,
    Node,
    Reference,
    characters,
    choice,
    complement,
    optional,
    repeat,
    sequence,
)

__all__ = ["JSON_RULES", "SPACE", "separated", "space_rules"]

SPACE = Reference("json-space")
_HEX = Characters(((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)))
_DIGIT = Characters(((0x30, 0x39),))
_DIGITS = repeat(_DIGIT, 1, None)
_PLAIN = complement(Characters(((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C))))
_BEFORE_D = Characters(((0x30, 0x39), (0x41, 0x43), (0x45, 0x46), (0x61, 0x63), (0x65, 0x66)))
_D = characters("dD")
_LOW_HALF = sequence(_D, characters("cCdDeEfF"), repeat(_HEX, 2, 2))
_ESCAPE = choice(
    characters('"\\/bfnrt'),
    sequence(Literal("u"), _BEFORE_D, repeat(_HEX, 3, 3)),
    sequence(Literal("u"), _D, characters("01234567"), repeat(_HEX, 2, 2)),
    sequence(Literal("u"), _D, characters("89abAB"), repeat(_HEX, 2, 2), Literal("\\u"), _LOW_HALF),
)


def separated(first: Node, item: Node, least: int, most: int | None) -> Node:
    """`least` to `most` items: `first`, then each time a comma and `item`."""
    if most == 0:
        return EMPTY
    more = repeat(
        sequence(SPACE, Literal(","), SPACE, item),
        max(least - 1, 0),
        None if most is None else most - 1,
    )
    some = sequence(first, more)
    return some if least else optional(some)


def _members(open_: str, item: Node, close: str) -> Node:
    more = repeat(sequence(SPACE, Literal(","), SPACE, item), 0, None)
    return sequence(Literal(open_), SPACE, optional(sequence(item, more, SPACE)), Literal(close))


def space_rules(separators: tuple[str, ...], *, bounded: bool) -> dict[str, Node]:
    """Where JSON allows space: the template's own separators, and a bounded amount of blanks."""
    own = tuple(Literal(s) for s in separators)
    blanks = (
        repeat(Literal(" "), 1, 2),
        sequence(Literal("\n"), repeat(Literal(" "), 0, 20)),
    )
    return {"json-space": optional(Lexeme(choice(*(blanks if bounded else own))))}


JSON_RULES: Mapping[str, Node] = {
    "json-character": choice(_PLAIN, sequence(Literal("\\"), Reference("json-escape"))),
    "json-escape": _ESCAPE,
    "json-string": Lexeme(
        sequence(Literal('"'), repeat(Reference("json-character"), 0, None), Literal('"'))
    ),
    "json-integer": Lexeme(
        sequence(
            optional(Literal("-")),
            choice(Literal("0"), sequence(Characters(((0x31, 0x39),)), repeat(_DIGIT, 0, None))),
        )
    ),
    "json-number": Lexeme(
        sequence(
            Reference("json-integer"),
            optional(sequence(Literal("."), _DIGITS)),
            optional(sequence(characters("eE"), optional(characters("+-")), _DIGITS)),
        )
    ),
    "json-value": choice(
        Reference("json-object"),
        Reference("json-array"),
        Reference("json-string"),
        Reference("json-number"),
        Literal("true"),
        Literal("false"),
        Literal("null"),
    ),
    "json-array": _members("[", Reference("json-value"), "]"),
    "json-object": _members(
        "{",
        sequence(Reference("json-string"), SPACE, Literal(":"), SPACE, Reference("json-value")),
        "}",
    ),
}
"""Any JSON; `json-space` comes from `space_rules`."""
