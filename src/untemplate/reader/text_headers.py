r"""What leads to a text of the family, wherever it stands: a header that has more than one mark.

    reasoning -> content   "<|eom|><|start|>assistant to=user<|message|>"
    prompt    -> reasoning " to=self<|message|>"
    text_headers(...)      both behind "<|eom|><|start|>assistant"

A model may go on to such a text where its family only goes on to a call, or ends. The header is
known all the same; a name in its place is none of a tool.
"""

from collections.abc import Iterable

from untemplate.grammar import Grammar, nodes
from untemplate.grammar.marks import marks

__all__ = ["text_headers"]

Header = tuple[str, str]
"""A literal, and the rule of the text behind it."""


def text_headers(grammar: Grammar) -> tuple[Header, ...]:
    """Those that lead from one block to another, and those that openings show to be some."""
    texts = [n for n, node in grammar.rules.items() if isinstance(node, nodes.Text)]
    last = {_block(n): n for n in sorted(texts, key=_number)}
    openings = _to_text(grammar.start, last)
    between = [h for node in grammar.rules.values() for h in _to_text(node, last)]
    found = [h for h in between if len(marks(h[0])) > 1]
    for literal, rule in between:
        for opening, target in openings:
            if target == rule and opening.strip() and literal.endswith(opening):
                before = literal.removesuffix(opening)
                found += [(before + other, name) for other, name in openings if other.strip()]
    return tuple(dict.fromkeys(found))


def _to_text(node: nodes.Node, last: dict[str, str]) -> list[Header]:
    """Literals that lead from a node to text; which of the unrolled rules does not matter."""
    found: Iterable[Header]
    match node:
        case nodes.Text():
            found = ((e.literal.decode(), e.target) for e in node.exits)
        case nodes.Choice(options):
            found = (
                (data.decode(), rule)
                for o in options
                if isinstance(o, nodes.Sequence)
                for data, rule in _literal_and_rule(o)
            )
        case _:
            found = ()
    return [(literal, last[_block(rule)]) for literal, rule in found if _block(rule) in last]


def _literal_and_rule(node: nodes.Sequence) -> Iterable[tuple[bytes, str]]:
    match node.items:
        case (nodes.Literal(data), nodes.Reference(rule)):
            yield data, rule
        case _:
            return


def _block(rule: str) -> str:
    return rule.rsplit(":", 1)[0]


def _number(rule: str) -> int:
    return int(rule.rsplit(":", 1)[1])
