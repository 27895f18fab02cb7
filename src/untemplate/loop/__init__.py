"""The host's side of tool calls: run them for a model, safely and fast, until it answers.

    loop = ToolLoop(RemoteModel("http://127.0.0.1:8080/v1"), [search, send_mail])
    result = await loop.complete([{"role": "user", "content": "..."}])

`loop` is the face, `driver` a run, `batch` the calls of one reply, `execution` one call; tools are
made in `tools`, what may happen to them stands in `rules`. `LocalModel` loads the engines' side of
the library, so it is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING

from untemplate.budget.policy import Effect
from untemplate.loop.approval import (
    ApprovalRequest,
    Approver,
    Decision,
    FolderLedger,
    Ledger,
    MemoryLedger,
)
from untemplate.loop.context import ToolContext
from untemplate.loop.events import (
    ArgumentDelta,
    CallReady,
    CallStarted,
    Done,
    LoopEvent,
    Reasoning,
    Restarted,
    StepFinished,
    StepStarted,
    Text,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from untemplate.loop.loop import Run, ToolLoop
from untemplate.loop.mcp import McpTools
from untemplate.loop.model import CallSize, Chat, ChatMessage, Model, ModelItem, Reply, Request
from untemplate.loop.outcome import Detail, Outcome, Status
from untemplate.loop.remote import RemoteModel
from untemplate.loop.result import Reason, RunResult, StepRecord
from untemplate.loop.rules import Rules
from untemplate.loop.settings import Limits
from untemplate.loop.telemetry import Span, Tracer, open_telemetry
from untemplate.loop.tools import HostTool, ToolError, ToolLike, schema_tool, tool

if TYPE_CHECKING:
    from untemplate.loop.local import LocalModel

__all__ = [
    "ApprovalRequest",
    "Approver",
    "ArgumentDelta",
    "CallReady",
    "CallSize",
    "CallStarted",
    "Chat",
    "ChatMessage",
    "Decision",
    "Detail",
    "Done",
    "Effect",
    "FolderLedger",
    "HostTool",
    "Ledger",
    "Limits",
    "LocalModel",
    "LoopEvent",
    "McpTools",
    "MemoryLedger",
    "Model",
    "ModelItem",
    "Outcome",
    "Reason",
    "Reasoning",
    "RemoteModel",
    "Reply",
    "Request",
    "Restarted",
    "Rules",
    "Run",
    "RunResult",
    "Span",
    "Status",
    "StepFinished",
    "StepRecord",
    "StepStarted",
    "Text",
    "ToolContext",
    "ToolError",
    "ToolFinished",
    "ToolLike",
    "ToolLoop",
    "ToolProgress",
    "ToolStarted",
    "Tracer",
    "open_telemetry",
    "schema_tool",
    "tool",
]


def __getattr__(name: str) -> object:
    if name != "LocalModel":
        raise AttributeError(f"module 'untemplate.loop' has no attribute {name!r}")
    from untemplate.loop.local import LocalModel  # noqa: PLC0415 - see above

    globals()[name] = LocalModel
    return LocalModel
