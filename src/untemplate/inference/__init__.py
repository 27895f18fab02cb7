"""Template to dialect, with its proof: see `analyse`."""

from untemplate.inference.analyse import Analysis, analyse
from untemplate.inference.prove import Proof, prove
from untemplate.inference.reading import HistoryReader
from untemplate.inference.stability import find_changes
from untemplate.inference.store import Cache

__all__ = [
    "Analysis",
    "Cache",
    "HistoryReader",
    "Proof",
    "analyse",
    "find_changes",
    "prove",
]
