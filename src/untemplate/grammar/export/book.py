"""The rules of an export while they are written: by name, and notes on what they leave out."""

from untemplate.grammar.build import GrammarOptions
from untemplate.grammar.export.notes import Notes
from untemplate.grammar.export.rules import NEVER, Literal, Node, Reference, free_name

__all__ = ["RuleBook"]


class RuleBook:
    """Rules by name. No two things get the same name."""

    def __init__(self, options: GrammarOptions, notes: Notes) -> None:
        self.options = options
        self.notes = notes
        self.rules: dict[str, Node] = {}

    def reserve(self, stem: str) -> str:
        """A name that no rule has yet."""
        name = free_name(stem, self.rules)
        self.rules[name] = NEVER
        return name

    def shared(self, stem: str, node: Node) -> Node:
        """The node as a rule of its own, unless a reference would not be shorter."""
        if isinstance(node, Literal | Reference) or node == NEVER:
            return node
        name = self.reserve(stem)
        self.rules[name] = node
        return Reference(name)
