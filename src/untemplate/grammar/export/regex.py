r"""Prints rules as one regular expression, where the language is regular.

    root        [^<] root | "<" root-text | ""          (?:[^<]|<+[^<a])*<*
    root-text   [^<a] root | "<" root-text | ""

Rules that hold themselves only at their end, as those of free text do, and of one call after
another, are equations `X = a X | b Y | c`. They are solved one by one, the last first: what
`X = a X | b` gives is `a* b` (Arden's lemma). A rule that holds itself elsewhere, as a list in a
list does, has no expression.

What is written is understood alike by Python, Rust, ECMAScript and PCRE: groups that capture
nothing, classes of characters, repetitions. It is about the whole output; no anchors are written.
"""

from collections.abc import Sequence
from typing import assert_never

from untemplate.errors import LimitError, SchemaError
from untemplate.grammar.export.lower import plain
from untemplate.grammar.export.rules import (
    Characters,
    Choice,
    Lexeme,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Text,
    prune,
    references,
    times,
)
from untemplate.grammar.export.rules import Sequence as Items

__all__ = ["print_regex"]

_MOST = 4_000_000
"""Characters of an expression."""
_NEVER = r"[^\s\S]"
_HARMLESS = frozenset(" _<>\"',:;=@!%`#")
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

Ways = dict[str | None, list[str]]
"""The ways on from a rule: what is written before each rule that follows; None: before nothing."""


def print_regex(rules: Rules, origin: str) -> str:
    """The language of the rules as a regular expression.

    Raises:
        SchemaError: it is not regular; names the origin.
        LimitError: the expression would be too long.
    """
    return _Solver(prune(plain(rules)), origin).closed("root")


class _Solver:
    """Solves the rules as equations, each when it is asked for."""

    def __init__(self, rules: Rules, origin: str) -> None:
        self._rules = rules
        self._origin = origin
        self._below = {name: _reached(rules, name) for name in rules}
        self._closed: dict[str, str] = {}

    def closed(self, rule: str) -> str:
        """The expression of a rule, whatever it refers to. O(length) of what is written."""
        if rule not in self._closed:
            around = [n for n in self._rules if n in self._below[rule] and rule in self._below[n]]
            ways = {n: self._ways(self._rules[n], frozenset(around)) for n in {*around, rule}}
            order = [rule, *(n for n in around if n != rule)]
            for name in reversed(order):
                _eliminate(name, ways)
            self._closed[rule] = _union(ways[rule].get(None, []))
        return self._closed[rule]

    def _ways(self, node: Node, around: frozenset[str]) -> Ways:
        """The ways through a node, to the rules around or to its end."""
        match node:
            case Reference(rule) if rule in around:
                return {rule: [""]}
            case Choice(options):
                found: Ways = {}
                for option in options:
                    _add(found, "", self._ways(option, around))
                return found
            case Items(items) if around.intersection(references(node)):
                before = "".join(self._text(item, around) for item in items[:-1])
                found = {}
                _add(found, before, self._ways(items[-1], around))
                return found
            case _:
                return {None: [self._text(node, around)]}

    def _text(self, node: Node, around: frozenset[str]) -> str:
        """The expression of a node in which no rule around stands."""
        match node:
            case Literal(text):
                return "".join(map(_escaped, text))
            case Characters(ranges):
                return f"[{''.join(_range(*r) for r in ranges)}]"
            case Reference(rule) if rule not in around:
                return self._checked(self.closed(rule))
            case Reference():
                message = "the language is not regular: something stands inside of itself"
                raise SchemaError(message, place=self._origin)
            case Repeat(item, least, most):
                return f"(?:{self._text(item, around)}){times(least, most)}"
            case Items(items):
                return self._checked("".join(self._text(item, around) for item in items))
            case Choice(options):
                return self._checked(_union([self._text(option, around) for option in options]))
            case Lexeme() | Text():
                raise AssertionError("plain rules have none")
            case _:
                assert_never(node)

    def _checked(self, text: str) -> str:
        if len(text) > _MOST:
            raise LimitError(f"an expression of more than {_MOST} characters", place=self._origin)
        return text


def _reached(rules: Rules, name: str) -> frozenset[str]:
    """Every rule that a rule leads to."""
    found: set[str] = set()
    pending = [name]
    while pending:
        for rule in references(rules[pending.pop()]):
            if rule not in found:
                found.add(rule)
                pending.append(rule)
    return frozenset(found)


def _eliminate(name: str, equations: dict[str, Ways]) -> None:
    """Solves one equation, and puts it into the others."""
    ways = equations[name]
    again = ways.pop(name, None)
    if again:
        repeated = f"(?:{_union(again)})*"
        ways = equations[name] = {to: [repeated + _union(texts)] for to, texts in ways.items()}
    for other, others in equations.items():
        if other != name and (before := others.pop(name, None)):
            _add(others, _union(before), ways)


def _add(ways: Ways, before: str, more: Ways) -> None:
    for to, texts in more.items():
        joined = [before + text for text in texts] if len(texts) == 1 else [before + _union(texts)]
        ways[to] = [*ways.get(to, []), *(joined if before else texts)]


def _union(texts: Sequence[str]) -> str:
    """One of the texts."""
    options = list(dict.fromkeys(t for t in texts if t != _NEVER))
    if not options:
        return _NEVER
    if len(options) == 1:
        return options[0]
    if "" in options:
        return f"(?:{'|'.join(o for o in options if o)})?"
    return f"(?:{'|'.join(options)})"


def _range(first: int, last: int) -> str:
    return _escaped(chr(first)) + ("" if first == last else "-" + _escaped(chr(last)))


def _escaped(character: str) -> str:
    if character.isalnum() or character in _HARMLESS or not character.isascii():
        return character
    return _NAMED.get(character, f"\\x{ord(character):02x}")
