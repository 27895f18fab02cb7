r"""Prints rules in the two notations that are spelt alike: GBNF of llama.cpp, EBNF of xgrammar.

    root ::= content | call
    content ::= [\x00-;=-\uD7FF\uE000-\U0010FFFF] content | "<" content-2 | ""

Both take characters one by one, so free text is said by rules (`lower`). What their parsers insist
on is kept here: names of letters, digits and dashes; a repetition repeats one symbol, not a group
(llama.cpp counts a group once for each rule inside it); no left recursion, which the rules don't
have. Characters are always listed as what they are, never as what they are not: a negated set would
let surrogates through.
"""

import re

from untemplate.grammar.export.lower import plain
from untemplate.grammar.export.rules import (
    Characters,
    Choice,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    free_name,
    prune,
    times,
)

__all__ = ["print_rules"]


def print_rules(rules: Rules) -> str:
    """The rules as text, `root` first."""
    return _Printer(prune(plain(rules))).text()


class _Printer:
    """Prints each rule; repeated groups become rules of their own."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._names: dict[str | Node, str] = {}
        self._taken: set[str] = set()
        self._lines: dict[str, str] = {}

    def text(self) -> str:
        for rule, node in self._rules.items():
            name = self._name(rule, rule)
            self._lines[name] = ""  # keeps the order: groups come after the rule they are from
            self._lines[name] = self._alternatives(node)
        return "".join(f"{name} ::= {body}\n" for name, body in self._lines.items())

    def _name(self, of: str | Node, stem: str) -> str:
        """The name of a rule or a group, given to it when it is first asked for."""
        if of not in self._names:
            stem = re.sub(r"[^a-zA-Z0-9]+", "-", stem).strip("-") or "rule"
            name = free_name(stem, self._taken)
            self._taken.add(name)
            self._names[of] = name
        return self._names[of]

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
                return self._name(rule, rule)
            case Repeat(item, least, most):
                return self._repeated(item) + times(least, most)
            case _:
                return f"({self._alternatives(node)})"

    def _repeated(self, node: Node) -> str:
        if isinstance(node, Literal | Characters | Reference):
            return self._symbol(node)
        name = self._name(node, "group")
        if name not in self._lines:
            self._lines[name] = self._alternatives(node)
        return name


def _range(first: int, last: int) -> str:
    if first == last:
        return _escaped(chr(first), "[]^-")
    between = "-" if last > first + 1 else ""
    return _escaped(chr(first), "[]^-") + between + _escaped(chr(last), "[]^-")


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"', "[": "\\[", "]": "\\]"}


def _escaped(character: str, special: str) -> str:
    """One character, as it is where it is plain to see and not among the `special` ones."""
    if character in special or character in "\n\r\t\\":
        return _NAMED.get(character, f"\\u{ord(character):04X}")
    point = ord(character)
    if character.isprintable() and not 0xD7A4 <= point <= 0xF8FF:
        return character
    return f"\\U{point:08X}" if point > 0xFFFF else f"\\u{point:04X}"
