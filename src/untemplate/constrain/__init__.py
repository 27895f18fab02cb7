"""What a model may write next: masks over tokens, exact and nearly free. See `constraint`."""

from untemplate.constrain.compiled import (
    CacheStatistics,
    CompiledGrammar,
    compilations,
    compile_grammar,
)
from untemplate.constrain.constraint import Constraint
from untemplate.constrain.masks import MaskStatistics, apply_mask
from untemplate.constrain.table import Limits
from untemplate.constrain.trie import mask_words

__all__ = [
    "CacheStatistics",
    "CompiledGrammar",
    "Constraint",
    "Limits",
    "MaskStatistics",
    "apply_mask",
    "compilations",
    "compile_grammar",
    "mask_words",
]
