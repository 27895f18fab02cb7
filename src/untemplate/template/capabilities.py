"""How a chat template wants to be asked: found by probing in `untemplate.inference`, never by name.

Templates differ in what they read: arguments as an object or as JSON text, reasoning in a field of
this or that name, ids of nine letters, no system role. `Capabilities` holds these facts for one
template; `history.prepare` turns an OpenAI conversation into one that the template takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from untemplate.message import JSON

__all__ = ["Capabilities", "IdForm", "ReasoningPlace"]


@dataclass(frozen=True, slots=True)
class ReasoningPlace:
    """Where a template looks for the reasoning of an earlier turn."""

    kind: Literal["field", "part"]
    """A field of the message, or the type of a content part."""
    name: str


@dataclass(frozen=True, slots=True)
class IdForm:
    """Ids that a template insists on."""

    length: int = 0
    """So many letters and digits; 0: any id is taken."""
    pattern: str = ""
    """Made of the call instead: `functions.{name}:{index}`."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a template takes and shows."""

    tools: bool = True
    """Declared tools are shown to the model."""
    calls: bool = True
    """Earlier calls are written."""
    tool_results: bool = True
    """Messages of role `tool` are written."""
    calls_max: int | None = None
    """Most calls that one message may hold."""
    arguments: Literal["object", "string"] = "object"
    """How a call's arguments are passed."""
    bare_quote: str = ""
    """The quote that the template puts around strings of arguments without escaping them."""
    reasoning: ReasoningPlace | None = None
    history_switches: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """Variables under which the reasoning of earlier turns is written."""
    no_content: Literal["empty", "null"] = "empty"
    """What stands as content beside calls when there is none."""
    content: Literal["string", "parts"] = "string"
    """`parts`: content has to be a list of typed parts."""
    refused: tuple[tuple[str, ...], ...] = ()
    """Which of reasoning, content and calls may not stand together in one message."""
    system: bool = True
    developer: bool = True
    ids: IdForm = IdForm()
    whole_schemas: bool = False
    """Parameters of a tool have to name their properties, even if there are none."""
    tools_text: str = ""
    """Name of a variable that wants the tools as JSON text."""
    variables: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """Variables without which the template refuses to render, with a value that it takes."""
