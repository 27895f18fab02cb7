r"""The grammar of a turn in the notations of other engines.

    export = to_gbnf(grammar)
    export.text        # 'root ::= content-0 | call-0\ncontent-0 ::= ...'
    export.notes       # what the notation can't say: JSON pointer, and whether wider or narrower

An export is the same language as the mask's wherever its notation can say it. Where it can't, it is
wider, never narrower, and says so; what it may narrow is the order of keys, and in Lark answers
beside calls that are bare JSON.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from untemplate.grammar import nodes
from untemplate.grammar.answer import ANSWER
from untemplate.grammar.build import Grammar
from untemplate.grammar.export.lark import print_lark
from untemplate.grammar.export.notation import print_rules
from untemplate.grammar.export.notes import Note, Notes
from untemplate.grammar.export.regex import print_regex
from untemplate.grammar.export.turn import turn_rules
from untemplate.grammar.schema_check import in_depth

__all__ = ["Export", "Note", "to_ebnf", "to_gbnf", "to_lark", "to_regex", "to_structural_tag"]


@dataclass(frozen=True, slots=True)
class Export:
    """A grammar as text, and where it differs from the mask's."""

    text: str
    notes: tuple[Note, ...]


def to_gbnf(grammar: Grammar) -> Export:
    """The grammar for llama.cpp; its own end token ends the text."""
    notes = Notes()
    with in_depth(grammar.origin):
        text = print_rules(turn_rules(grammar, notes))
    return Export(text, notes.all())


def to_ebnf(grammar: Grammar) -> Export:
    """The grammar for xgrammar; its stop tokens end the text."""
    return to_gbnf(grammar)


def to_regex(grammar: Grammar) -> Export:
    """The grammar as one regular expression, about the whole output, where it is regular.

    Raises:
        SchemaError: it is not: some value may hold others like itself.
        LimitError: the expression would be too long.
    """
    notes = Notes()
    with in_depth(grammar.origin):
        text = print_regex(turn_rules(grammar, notes), grammar.origin)
    return Export(text, notes.all())


def to_structural_tag(grammar: Grammar) -> Export:
    """The grammar as a structural tag, for servers that take those: vLLM, SGLang, TensorRT-LLM."""
    ebnf = to_ebnf(grammar)
    tag = {"type": "structural_tag", "format": {"type": "grammar", "grammar": ebnf.text}}
    return Export(json.dumps(tag), ebnf.notes)


def to_lark(grammar: Grammar, special: Mapping[str, int] | None = None) -> Export:
    """The grammar for llguidance.

    Args:
        grammar: the grammar of a turn.
        special: text -> id of each token that stands for itself (`Vocabulary.special`); llguidance
            tells such a token from text that spells it.
    """
    notes = Notes()
    with in_depth(grammar.origin):
        text = print_lark(turn_rules(grammar, notes), special or {})
    if _is_answer_beside_bare_calls(grammar):
        # Its lexer goes for the call's longer literal at the brace, and does not come back.
        message = "an answer that is an object is refused beside calls that are bare JSON"
        notes.add(ANSWER, "#", "narrower", message)
    return Export(text, notes.all())


def _is_answer_beside_bare_calls(grammar: Grammar) -> bool:
    options = (o for r in grammar.rules.values() if isinstance(r, nodes.Choice) for o in r.options)
    first = (o.items[0] for o in options if isinstance(o, nodes.Sequence))
    return any(isinstance(item, nodes.Value) and bool(item.unlike) for item in first)
