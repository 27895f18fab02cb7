"""The one grammar: nodes over bytes, built from a dialect and tools. See `nodes` and `build`."""

from untemplate.grammar.build import Grammar, GrammarOptions, build_grammar

__all__ = ["Grammar", "GrammarOptions", "build_grammar"]
