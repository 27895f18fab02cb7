"""Tools out of a Python file of the user: its public functions, plain or made tools by `@tool`.

    def weather(city: str) -> str:            a tool; may write, as nothing else is said
        "The weather in a city."

    @tool(effect="destructive")               asked about before it runs
    def remove(path: str) -> None: ...

    def _read(path): ...                      not a tool
    from json import loads                    not a tool: it is not defined here

The file is run like a script: with its folder first in the search path. What goes wrong in it is
one line that names the file and the line.
"""

import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

from untemplate.errors import RequestError, UntemplateError
from untemplate.loop import HostTool, tool

__all__ = ["load_functions"]

_NAME = "untemplate_tool_file"


def load_functions(path: Path) -> list[HostTool]:
    """The tools that a file defines, in its order.

    Raises:
        RequestError: the file can't be run, a function can't be told to a model, or there is none.
    """
    made: dict[str, HostTool] = {}
    for name, value in vars(_run(path)).items():
        if name.startswith("_"):
            continue
        found = _tool(value, path)
        if found is None or any(found.function is t.function for t in made.values()):
            continue
        if found.name in made:
            raise RequestError(f"two tools are named {found.name!r}", place=_place(found, path))
        made[found.name] = found
    if not made:
        raise RequestError(
            "defines no tool: write a function whose name has no leading underscore",
            place=str(path),
        )
    return list(made.values())


def _tool(value: object, path: Path) -> HostTool | None:
    """A value of the file as a tool; None if it is none."""
    if isinstance(value, HostTool):
        return value
    if not inspect.isfunction(value) or value.__module__ != _NAME:
        return None
    try:
        return tool(value)
    except UntemplateError as error:
        raise RequestError(str(error), place=f"{path}:{value.__code__.co_firstlineno}") from None


def _place(found: HostTool, path: Path) -> str:
    code = getattr(found.function, "__code__", None)
    return f"{path}:{code.co_firstlineno}" if code else str(path)


def _run(path: Path) -> ModuleType:
    """The file as a module. It is known by name, since annotations are looked up there."""
    spec = importlib.util.spec_from_file_location(_NAME, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise RequestError(_told(error), place=_where(error, path)) from error
    return module


def _told(error: BaseException) -> str:
    if isinstance(error, UntemplateError):
        return str(error)
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _where(error: BaseException, path: Path) -> str:
    """File and line of what was wrong: the last line of the user's own file that ran."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if f.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)
