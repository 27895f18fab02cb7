r"""Joins options that begin alike, so that the first character that differs decides.

    "get\"" a | "get_all\"" b | "put\"" c   becomes   "get" ("\"" a | "_all\"" b) | "put\"" c

An engine that keeps a set of stacks then keeps one of them where names of tools or keys share a
beginning; a lexer that reads by longest match needs it, for it never comes back to a shorter one.
"""

from collections.abc import Sequence as Items
from dataclasses import replace

from untemplate.grammar.export.rules import (
    EMPTY,
    Choice,
    Exit,
    Literal,
    Node,
    Repeat,
    Rules,
    Sequence,
    Text,
    choice,
    repeat,
    sequence,
)

__all__ = ["factored", "joined"]


def factored(rules: Rules) -> dict[str, Node]:
    """The same rules with the common beginnings of options joined."""
    return {name: _factored(node) for name, node in rules.items()}


def _factored(node: Node) -> Node:
    match node:
        case Choice(options):
            return joined([_factored(o) for o in options])
        case Sequence(items):
            return sequence(*map(_factored, items))
        case Repeat(item, least, most):
            return repeat(_factored(item), least, most)
        case Text(_, exits, rest):
            ways = tuple(Exit(e.closer, _factored(e.node)) for e in exits)
            return replace(node, exits=ways, rest=_factored(rest))
        case _:
            return node


def joined(options: Items[Node]) -> Node:
    """One choice of the options; those with the same first character become one option."""
    groups: dict[str, list[tuple[str, Node]]] = {}
    out: dict[str | Node, Node] = {}
    for option in options:
        head, rest = _split(option)
        if head:
            groups.setdefault(head[0], []).append((head, rest))
            out[head[0]] = option
        else:
            out[option] = option
    for first, members in groups.items():
        if len(members) > 1:
            common = _common([head for head, _ in members])
            rests = [sequence(Literal(h[len(common) :]), rest) for h, rest in members]
            out[first] = sequence(Literal(common), joined(rests))
    return choice(*out.values())


def _split(node: Node) -> tuple[str, Node]:
    """The literal that the node begins with, and what follows it."""
    match node:
        case Literal(text):
            return text, EMPTY
        case Sequence((Literal(text), *rest)):
            return text, sequence(*rest)
        case _:
            return "", node


def _common(texts: Items[str]) -> str:
    low, high = min(texts), max(texts)
    size = next((i for i, c in enumerate(low) if high[i] != c), len(low))
    return low[:size]
