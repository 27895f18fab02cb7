r"""Prints rules as Lark in the dialect of llguidance, whose lexer reads by longest match.

    start: content_0
    content_0: (until ("\n" call_0) | TEXT end)
    until[lazy]: TEXT "<tool_call>"
    TEXT: /(?s:.*)/ & ~/(?s:.*)(<tool_call>|<\x{7C}im_end\x{7C}>)(?s:.*)/
    JSON_STRING: "\"" JSON_CHARACTER* "\""

Free text is one lexeme that holds none of the strings to avoid; together with the string that ends
it it is another one, lazy, so that it ends at the first. A `Lexeme`, and whatever rule it refers
to, becomes a terminal: one regular expression, read whole. All else are rules; options with a
common beginning are joined first, because a lexer never comes back to a shorter match.

llguidance keeps tokens that stand for themselves apart from text that spells them. `special` maps
their texts to ids: in literals they are written by id, and free text never holds them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from untemplate.grammar.export.factor import factored, joined
from untemplate.grammar.export.rules import (
    EMPTY,
    Characters,
    Choice,
    Lexeme,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Text,
    free_name,
    references,
    sequence,
    times,
)

__all__ = ["print_lark"]


def print_lark(rules: Rules, special: Mapping[str, int]) -> str:
    """The rules as Lark text, `start` first."""
    return _Printer(factored(rules), special).text()


class _Printer:
    """Prints rules and terminals."""

    def __init__(self, rules: Rules, special: Mapping[str, int]) -> None:
        self._rules = rules
        self._special = special
        self._by_id = re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))))
        self._terminals = _terminals(rules)
        self._names: dict[str | Node, str] = {"root": "start"}
        self._taken = {"start"}
        self._lines: dict[str, str] = {}

    def text(self) -> str:
        for rule, node in self._rules.items():
            name = self._rule(rule)
            self._lines[name] = ""  # keeps the order: what a rule needs comes after it
            lexical = rule in self._terminals
            self._lines[name] = self._alternatives(node, lexical=lexical)
        return "".join(f"{name}: {body}\n" for name, body in self._lines.items())

    def _rule(self, rule: str) -> str:
        return self._name(rule, rule, upper=rule in self._terminals)

    def _name(self, of: str | Node, stem: str, *, upper: bool = False) -> str:
        """The name of a rule or lexeme, given to it when it is first asked for."""
        if of not in self._names:
            stem = re.sub(r"[^a-zA-Z0-9]+", "_", stem).strip("_").lower()
            stem = stem if stem[:1].isalpha() else f"rule_{stem}"
            name = free_name(stem, self._taken, joint="_")
            self._taken.add(name)
            self._names[of] = name.upper() if upper else name
        return self._names[of]

    def _alternatives(self, node: Node, *, lexical: bool) -> str:
        options = node.options if isinstance(node, Choice) else (node,)
        return " | ".join(self._one(option, lexical=lexical) for option in options)

    def _one(self, node: Node, *, lexical: bool) -> str:
        items = node.items if isinstance(node, Sequence) else (node,)
        return " ".join(self._symbol(item, lexical=lexical) for item in items)

    def _symbol(self, node: Node, *, lexical: bool) -> str:
        match node:
            case Literal(text):
                return _string(text) if lexical else self._literal(text)
            case Characters(ranges):
                return f"/[{''.join(_range(*r) for r in ranges)}]/"
            case Reference(rule):
                return self._rule(rule)
            case Repeat(item, least, most):
                inner = self._symbol(item, lexical=lexical)
                group = f"({inner})" if isinstance(item, Repeat | Sequence) else inner
                return group + times(least, most)
            case Lexeme(item):
                if lexical:
                    return f"({self._alternatives(item, lexical=True)})"
                name = self._name(node, "lexeme", upper=True)
                self._lines.setdefault(name, self._alternatives(item, lexical=True))
                return name
            case Text():
                return f"({' | '.join(self._text(node))})"
            case Sequence() | Choice():
                return f"({self._alternatives(node, lexical=lexical)})"
            case _:
                assert_never(node)

    def _literal(self, text: str) -> str:
        """The text; tokens that stand for themselves by id."""
        if not self._special:
            return _string(text)
        out: list[str] = []
        at = 0
        for found in self._by_id.finditer(text):
            if found.start() > at:
                out.append(_string(text[at : found.start()]))
            out.append(f"<[{self._special[found.group()]}]>")
            at = found.end()
        if at < len(text) or not out:
            out.append(_string(text[at:]))
        return " ".join(out)

    def _text(self, text: Text) -> Iterator[str]:
        run = self._name(replace(text, exits=(), rest=EMPTY), "text", upper=True)
        avoid = "|".join(_regex(a) for a in text.avoid)
        count = times(text.least, text.most)
        whole = f"/(?s:.{count})/"
        self._lines[run] = f"{whole} & ~/(?s:.*)({avoid})(?s:.*)/" if avoid else whole
        for mark in text.avoid:
            ways = [
                sequence(Literal(e.closer.removeprefix(mark)), e.node)
                for e in text.exits
                if e.closer.startswith(mark)
            ]
            if ways:
                yield f"{self._until(run, mark)} {self._symbol(joined(ways), lexical=False)}"
        match text.rest:
            case Choice(()):
                return
            case Literal(""):
                yield run
            case Literal(closer) | Sequence((Literal(closer), *_)):
                # The text may hold the beginning of its closer, so both are one lexeme.
                behind = text.rest.items[1:] if isinstance(text.rest, Sequence) else ()
                rest = "".join(f" {self._symbol(n, lexical=False)}" for n in behind)
                yield self._until(run, closer) + rest
            case rest:
                yield f"{run} {self._symbol(rest, lexical=False)}"

    def _until(self, run: str, closer: str) -> str:
        """A text up to its closer, as one lexeme; or two, if the closer is a token."""
        if closer in self._special:
            return f"{run} <[{self._special[closer]}]>"
        name = self._name(Sequence((Reference(run), Literal(closer))), "until")
        self._lines[f"{name}[lazy]"] = f"{run} {_string(closer)}"
        return name


def _terminals(rules: Rules) -> frozenset[str]:
    """Names of the rules that are one lexeme, or a part of one."""
    out: set[str] = set()
    pending = [name for name, node in rules.items() if isinstance(node, Lexeme)]
    pending += [
        r for node in rules.values() for lexeme in _lexemes(node) for r in references(lexeme)
    ]
    while pending:
        name = pending.pop()
        if name not in out:
            out.add(name)
            pending.extend(references(rules[name]))
    return frozenset(out)


def _lexemes(node: Node) -> Iterator[Lexeme]:
    match node:
        case Lexeme():
            yield node
        case Sequence(items) | Choice(items):
            for item in items:
                yield from _lexemes(item)
        case Repeat():
            yield from _lexemes(node.item)
        case Text():
            yield from _lexemes(node.rest)
            for way in node.exits:
                yield from _lexemes(way.node)
        case _:
            return


def _string(text: str) -> str:
    """A string as Lark takes it, which is as JSON writes it."""
    return json.dumps(text, ensure_ascii=False)


def _regex(text: str) -> str:
    """The text as a regular expression that matches just it."""
    return "".join(_escaped(c) for c in text)


def _range(first: int, last: int) -> str:
    return _escaped(chr(first)) + ("" if first == last else "-" + _escaped(chr(last)))


def _escaped(character: str) -> str:
    if character.isalnum() or character in " _<>\"',;:=@%!`":
        return character
    return f"\\x{{{ord(character):X}}}"
