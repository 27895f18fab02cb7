"""Small real things to test programs with, instead of models.

`ScriptedEngine` writes bytes through a turn; `ScriptedModel` is it inside a tool loop, and
`FunctionModel` answers a loop with a function of yours.
"""

from untemplate.testing.engine import ScriptedEngine
from untemplate.testing.function_model import FunctionModel, stream, written
from untemplate.testing.scripted_model import Cut, ScriptedModel

__all__ = ["Cut", "FunctionModel", "ScriptedEngine", "ScriptedModel", "stream", "written"]
