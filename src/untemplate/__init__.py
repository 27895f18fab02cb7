"""Any LLM chat template, turned inside out: one grammar that masks and reads tool calls.

    template = ChatTemplate.open("model.gguf")
    turn = template.turn(messages, tools=[Tool("ping")])
    for chunk in output:
        events = turn.feed(chunk)
    message = turn.finish("stop")

Engines, server, tool loop and command line are packages of their own. Importing this module loads
nothing; each name loads what it needs when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from untemplate.dialect import Dialect
    from untemplate.errors import (
        DialectError,
        EngineError,
        LimitError,
        RequestError,
        SchemaError,
        TemplateError,
        UntemplateError,
        VocabularyError,
    )
    from untemplate.grammar import Grammar, GrammarOptions
    from untemplate.message import (
        Block,
        CallDelta,
        Delta,
        Diagnostic,
        Message,
        Tool,
        ToolCall,
        ToolChoice,
        Usage,
    )
    from untemplate.reader import Reader, deltas
    from untemplate.turn import ChatTemplate, Turn
    from untemplate.vocabulary import Vocabulary

__all__ = [
    "Block",
    "CallDelta",
    "ChatTemplate",
    "Delta",
    "Diagnostic",
    "Dialect",
    "DialectError",
    "EngineError",
    "Grammar",
    "GrammarOptions",
    "LimitError",
    "Message",
    "Reader",
    "RequestError",
    "SchemaError",
    "TemplateError",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "Turn",
    "UntemplateError",
    "Usage",
    "Vocabulary",
    "VocabularyError",
    "deltas",
]

_MODULES = {
    "untemplate.dialect": "Dialect",
    "untemplate.errors": "DialectError EngineError LimitError RequestError SchemaError "
    "TemplateError UntemplateError VocabularyError",
    "untemplate.grammar": "Grammar GrammarOptions",
    "untemplate.message": "Block CallDelta Delta Diagnostic Message Tool ToolCall ToolChoice Usage",
    "untemplate.reader": "Reader deltas",
    "untemplate.turn": "ChatTemplate Turn",
    "untemplate.vocabulary": "Vocabulary",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'untemplate' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
