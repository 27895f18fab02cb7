"""Template to dialect, with its proof: see `analyse`."""

from untemplate.inference.analyse import Analysis, analyse
from untemplate.inference.prove import Proof, prove

__all__ = ["Analysis", "Proof", "analyse", "prove"]
