"""What a model may write next: masks over tokens, exact and nearly free. See `constraint`."""

from untemplate.constrain.apply import apply_mask
from untemplate.constrain.cache import CacheStatistics, compilations, compile_grammar
from untemplate.constrain.compiled import CompiledGrammar
from untemplate.constrain.constraint import Constraint
from untemplate.constrain.fragments import SharedMasks, shared_masks
from untemplate.constrain.masks import MaskStatistics
from untemplate.constrain.table import Limits
from untemplate.constrain.trie import mask_words

__all__ = [
    "CacheStatistics",
    "CompiledGrammar",
    "Constraint",
    "Limits",
    "MaskStatistics",
    "SharedMasks",
    "apply_mask",
    "compilations",
    "compile_grammar",
    "mask_words",
    "shared_masks",
]
