"""The host's side of tool calls: run them for a model, safely and fast, until it answers."""

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
from untemplate.loop.local import LocalModel
from untemplate.loop.loop import Run, ToolLoop
from untemplate.loop.mcp import McpTools
from untemplate.loop.model import Chat, ChatMessage, Model, ModelItem, Reply, Request
from untemplate.loop.outcome import Detail, Outcome, Status
from untemplate.loop.remote import RemoteModel
from untemplate.loop.result import Reason, RunResult, StepRecord
from untemplate.loop.rules import Effect, Rules
from untemplate.loop.settings import Limits
from untemplate.loop.telemetry import Span, Tracer, open_telemetry
from untemplate.loop.tools import HostTool, ToolError, ToolLike, schema_tool, tool

__all__ = [
    "ApprovalRequest",
    "Approver",
    "ArgumentDelta",
    "CallReady",
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
