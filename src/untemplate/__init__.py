"""Any LLM chat template, turned inside out: one grammar that masks and reads tool calls.

    template = ChatTemplate.open("model.gguf")
    turn = template.turn(messages, tools=[Tool("ping")])
    for chunk in output:
        events = turn.feed(chunk)
    message = turn.finish("stop")

Engines, server, tool loop and command line are packages of their own; importing this module loads
none of them.
"""

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
