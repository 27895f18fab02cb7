r"""The grammar of a turn -> rules over characters.

    start        -> "" call:0                root          call:0
    call:0       -> Call(tools) after:call   call:0        "<tool_call>\n{\"name\": \"" call:0-rest
                                             call:0-rest   ("pay\", ..." | ...) after:call:1
    after:call:1 -> "\n" call:1 | "" end     after:call:1  "\n" call:1 | end
    end          -> End("<|im_end|>")        end           ""

The end of the turn is not written: engines end a grammar by their own end token. White space
between a literal and free text is soft, so it is left out where free text could hold it as well.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from untemplate.dialect import Hole
from untemplate.grammar import nodes
from untemplate.grammar.build import Grammar
from untemplate.grammar.expand import expand_call
from untemplate.grammar.export import rules
from untemplate.grammar.export.book import RuleBook
from untemplate.grammar.export.notations import ValueWriter
from untemplate.grammar.export.notes import Notes

__all__ = ["turn_rules"]


def turn_rules(grammar: Grammar, notes: Notes) -> dict[str, rules.Node]:
    """The rules of the turn.

    Args:
        grammar: the grammar of the turn.
        notes: takes what the rules say differently.
    """
    book = RuleBook(grammar.options, notes)
    return rules.prune(_Turn(grammar, book).written())


class _Turn:
    """Translates each rule of the grammar."""

    def __init__(self, grammar: Grammar, book: RuleBook) -> None:
        self._grammar = grammar
        self._book = book
        self._values = ValueWriter(book)
        self._calls: list[tuple[nodes.Call, rules.Node]] = []

    def written(self) -> dict[str, rules.Node]:
        out: dict[str, rules.Node] = {"root": self._node(self._grammar.start)}
        for name, node in self._grammar.rules.items():
            match node:
                case nodes.Sequence((nodes.Call() as call, after)):
                    lead, rest = rules.Literal(_lead(call)), f"{name}-rest"
                    out[rest] = rules.sequence(self._tools(call), self._node(after))
                    out[name] = rules.sequence(lead, rules.Reference(rest))
                case _:
                    out[name] = self._node(node)
        return {**out, **self._book.rules}

    def _node(self, node: nodes.Node) -> rules.Node:
        match node:
            case nodes.Literal(data):
                return rules.Literal(data.decode())
            case nodes.ByteSet(members):
                return rules.characters(members.decode())
            case nodes.Sequence(items):
                return rules.sequence(*self._items(items))
            case nodes.Choice(options):
                return rules.choice(*map(self._node, options))
            case nodes.Repeat(item, least, most):
                return rules.repeat(self._node(item), least, most)
            case nodes.Reference(rule):
                return rules.Reference(rule)
            case nodes.Tag(_, item):
                return self._node(item)
            case nodes.Text():
                return self._text(node)
            case nodes.Call():
                return rules.sequence(rules.Literal(_lead(node)), self._tools(node))
            case nodes.Value():
                return self._values.value(node)
            case nodes.End():
                return rules.EMPTY
            case _:
                assert_never(node)

    def _items(self, items: tuple[nodes.Node, ...]) -> Iterator[rules.Node]:
        for item, following in zip(items, (*items[1:], None), strict=True):
            if isinstance(item, nodes.Literal) and self._is_text(following):
                yield self._node(nodes.Literal(item.data.rstrip()))
            else:
                yield self._node(item)

    def _is_text(self, node: nodes.Node | None) -> bool:
        if isinstance(node, nodes.Reference):
            node = self._grammar.rules[node.rule]
        return isinstance(node, nodes.Text)

    def _tools(self, call: nodes.Call) -> rules.Node:
        """The call of one of the tools, without the literal that it begins with; written once."""
        for known, node in self._calls:
            if known == call:
                return node
        block = call.block
        if not isinstance(block.pattern[0], Hole):
            block = replace(block, pattern=block.pattern[1:])
        short = replace(call, block=block)
        options = [self._node(expand_call(short, tool)) for tool in call.tools]
        node = self._book.shared("call", rules.choice(*options))
        self._calls.append((call, node))
        return node

    def _text(self, text: nodes.Text) -> rules.Node:
        avoid = tuple(f.decode() for f in text.forbidden if f)
        exits: list[rules.Exit] = []
        rest: list[rules.Node] = []
        for way in text.exits:
            literal = way.literal.lstrip().decode()
            target: rules.Node = rules.Reference(way.target)
            if self._is_text(nodes.Reference(way.target)):
                literal = literal.rstrip()
            if not literal.startswith(avoid):
                match self._grammar.rules[way.target]:
                    case nodes.Sequence((nodes.Call() as call, _)):
                        literal += _lead(call)
                        target = rules.Reference(f"{way.target}-rest")
                    case _:
                        pass
            if _is_found(literal, avoid):
                exits.append(rules.Exit(literal, target))
            else:
                rest.append(rules.sequence(rules.Literal(literal), target))
        return rules.Text(avoid, tuple(exits), rules.choice(*rest))


def _is_found(literal: str, avoid: tuple[str, ...]) -> bool:
    """Whether a search for the strings finds the beginning of the literal, whatever is before it.

    It might find one that begins in the text before and ends inside that beginning.
    """
    marks = [a for a in avoid if literal.startswith(a)]
    mark = min(marks, key=len, default="")
    return bool(mark) and not any(
        mark.startswith(tail) and tail != mark
        for string in avoid
        for tail in (string[n:] for n in range(1, len(string)))
    )


def _lead(call: nodes.Call) -> str:
    first = call.block.pattern[0]
    return "" if isinstance(first, Hole) else first
