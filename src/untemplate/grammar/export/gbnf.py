r"""Prints rules as GBNF, the notation of llama.cpp.

    root ::= content
    content ::= [\x00-;=-\uD7FF\uE000-\U0010FFFF] content | "<" content-1 | ""

What llama.cpp's parser insists on is kept here: names of letters, digits and dashes; a bounded
repetition stays under `MOST_REPEATS` and repeats one symbol, not a group (a group counts once for
each rule inside it); no left recursion, which the rules don't have. Characters are always listed as
what they are, never as what they are not: a negated set would let surrogates through.
"""

import re
from collections.abc import Mapping

from untemplate.grammar.export.lower import without_text
from untemplate.grammar.export.rules import (
    Characters,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
)

__all__ = ["MOST_REPEATS", "print_gbnf"]

MOST_REPEATS = 1999
"""llama.cpp refuses a repetition that makes 2,000 rules or more."""


def print_gbnf(rules: Rules) -> str:
    """The rules as GBNF text, `root` first."""
    printer = _Printer(without_text(rules))
    return printer.text()


class _Printer:
    """Prints each rule; repeated groups become rules of their own."""

    def __init__(self, rules: Mapping[str, Node]) -> None:
        self._rules = rules
        self._names: dict[str, str] = {}
        self._groups: dict[Node, str] = {}
        self._lines: dict[str, str] = {}

    def text(self) -> str:
        for rule, node in sorted(self._rules.items(), key=lambda item: item[0] != "root"):
            name = self._name(rule)
            self._lines[name] = ""  # keeps the order: groups come after the rule they are from
            self._lines[name] = self._alternatives(node)
        return "".join(f"{name} ::= {body}\n" for name, body in self._lines.items())

    def _name(self, rule: str) -> str:
        if rule not in self._names:
            stem = re.sub(r"[^a-zA-Z0-9]+", "-", rule).strip("-") or "rule"
            self._names[rule] = self._free(stem)
        return self._names[rule]

    def _free(self, stem: str) -> str:
        taken = {*self._names.values(), *self._groups.values()}
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f"{stem}-{count}"
        return name

    def _alternatives(self, node: Node) -> str:
        options = node.options if isinstance(node, Choice) else (node,)
        return " | ".join(self._one(option) for option in options)

    def _one(self, node: Node) -> str:
        items = node.items if isinstance(node, Sequence) else (node,)
        return " ".join(self._symbol(item) for item in items)

    def _symbol(self, node: Node) -> str:
        match node:
            case Literal(text):
                return '"' + "".join(_escaped(c, '"') for c in text) + '"'
            case Characters(ranges):
                return f"[{''.join(_range(*r) for r in ranges)}]"
            case Reference(rule):
                return self._name(rule)
            case Repeat(item, least, most):
                return self._repeated(item) + _times(least, most)
            case _:
                return f"({self._alternatives(node)})"

    def _repeated(self, node: Node) -> str:
        if isinstance(node, Literal | Characters | Reference):
            return self._symbol(node)
        if node not in self._groups:
            self._groups[node] = self._free("group")
            self._lines[self._groups[node]] = self._alternatives(node)
        return self._groups[node]


def _times(least: int, most: int | None) -> str:
    match least, most:
        case 0, 1:
            return "?"
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case _:
            return (
                f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
            )


def _range(first: int, last: int) -> str:
    if first == last:
        return _escaped(chr(first), "[]^-")
    between = "-" if last > first + 1 else ""
    return _escaped(chr(first), "[]^-") + between + _escaped(chr(last), "[]^-")


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"', "[": "\\[", "]": "\\]"}


def _escaped(character: str, special: str) -> str:
    """One character, as it is where it is plain to see and not among the `special` ones."""
    if character in special or character in "\n\r\t\\":
        return _NAMED.get(character, f"\\x{ord(character):02X}")
    point = ord(character)
    if character.isprintable() and not 0xD7A4 <= point <= 0xF8FF:
        return character
    if point > 0xFFFF:
        return f"\\U{point:08X}"
    return f"\\x{point:02X}" if point < 0x80 else f"\\u{point:04X}"
