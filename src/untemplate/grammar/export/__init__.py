r"""The grammar of a turn in the notations of other engines.

    export = to_gbnf(grammar)
    export.text        # 'root ::= content-0 | call-0\ncontent-0 ::= ...'
    export.notes       # what the notation can't say: JSON pointer, and whether wider or narrower

An export is the same language as the mask's wherever its notation can say it. Where it can't, it is
wider, never narrower, and says so; the order of keys is the one thing that it may narrow.
"""

from dataclasses import dataclass

from untemplate.grammar.build import Grammar
from untemplate.grammar.export.gbnf import MOST_REPEATS, print_gbnf
from untemplate.grammar.export.turn import turn_rules
from untemplate.grammar.export.values import Note, ValueWriter

__all__ = ["Export", "Note", "to_gbnf"]


@dataclass(frozen=True, slots=True)
class Export:
    """A grammar as text, and where it differs from the mask's."""

    text: str
    notes: tuple[Note, ...]


def to_gbnf(grammar: Grammar) -> Export:
    """The grammar for llama.cpp; its own end token ends the text."""
    values = ValueWriter(grammar.options, most_repeats=MOST_REPEATS)
    text = print_gbnf(turn_rules(grammar, values))
    return Export(text, tuple(values.notes))
