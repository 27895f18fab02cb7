"""Small real things to test programs with, instead of models."""

from untemplate.testing.engine import ScriptedEngine

__all__ = ["ScriptedEngine"]
