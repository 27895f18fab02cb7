r"""`Dialect`: how a model family writes a turn, as data.

The shape of a turn is a small graph. Its nodes are *blocks*: text that is reasoning or content, or
a call. Its edges carry the literal that stands between two blocks; `END` is the target of the edges
that end the turn. Hermes with reasoning:

    prompt  <|im_start|>assistant\n      openings  ""→content  "<think>\n"→reasoning  ""→call
    reasoning  → content  "\n</think>\n\n"       content → call "\n"      call → call "\n"
    reasoning  → call     "\n</think>\n\n"       content → END  ""        call → END  ""
    stops  <|im_end|>

A section around all calls, a JSON array of calls, several kinds of content or of call headers (as
one family's channels) are more nodes and edges of the same graph, not fields of their own.

Three things are kept apart: `blocks` and `edges` say what the model *may write* (the grammar);
`history` says how the template *writes* an earlier turn, exactly; what is *tolerated* in reading
follows from the literals and belongs to `reader`. Each edge, prompt and block says how it is known.

A dialect is frozen, serialisable (`dumps`, `loads` in `serial`) and can be edited by hand.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from untemplate.dialect.pattern import Arguments, Pattern
from untemplate.message import JSON

__all__ = [
    "END",
    "Before",
    "BlockPattern",
    "CallBlock",
    "Dialect",
    "Edge",
    "Evidence",
    "Exchange",
    "Field",
    "Follows",
    "Frame",
    "FramePart",
    "History",
    "IdShape",
    "Loss",
    "Opening",
    "Polyfill",
    "Prompt",
    "TextBlock",
    "Trim",
]

Evidence = Literal["written", "read", "prompt", "given"]
"""How a part is known: proved by writing, proved by reading, only seen in prompts, written down."""

END = "$"
"""Target of the edges that end a turn."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A stretch of reasoning or content."""

    kind: Literal["reasoning", "content"]


@dataclass(frozen=True, slots=True)
class IdShape:
    """Ids that the model writes: so many of these characters."""

    characters: str = string.ascii_letters + string.digits + "_.:-"
    least: int = 1
    most: int = 64


@dataclass(frozen=True, slots=True)
class CallBlock:
    """One call."""

    pattern: Pattern
    arguments: Arguments
    index_base: int = 0
    """What `Hole.INDEX` is for the first call."""
    ids: IdShape = IdShape()
    """What `Hole.ID` may be."""
    id_pattern: Pattern = ()
    """The id that a model writes without a hole of its own, made of name and index:
    `functions.NAME:0`."""
    continued_by: Literal["", "id", "index"] = ""
    """What a later block has to repeat, beside the name, to go on with arguments that are not whole
    yet; then calls may be written in turns. "": every block is a call of its own."""


BlockPattern = TextBlock | CallBlock


@dataclass(frozen=True, slots=True)
class Edge:
    """What the model writes between two blocks."""

    source: str
    target: str
    """Name of a block, or END."""
    literal: str
    evidence: Evidence = "written"


@dataclass(frozen=True, slots=True)
class Opening:
    """One way in which the output may go on after a prompt: `literal`, then the block."""

    block: str
    literal: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the template writes last before the model's turn, and what may follow it."""

    text: str
    openings: tuple[Opening, ...]
    switches: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """Template variables under which this prompt is written (`enable_thinking`, say)."""
    evidence: Evidence = "prompt"
    before: "Before" = "user"
    """In which place of the conversation it is written."""


Before = Literal["user", "later user", "tool"]
"""What stands before a turn: the first user message, a later one, tool results."""

Follows = Literal["nothing", "user", "tool"]
"""What comes after a turn."""

Field = Literal["reasoning", "content", "calls"]
"""A part of a message."""

Trim = Literal[
    "",
    "strip",
    "lstrip",
    "rstrip",
    "strip newlines",
    "lstrip newlines",
    "rstrip newlines",
    "last newline",
]
"""Which white space at the edges of a text is not written; `last newline`: one at its end."""


@dataclass(frozen=True, slots=True)
class FramePart:
    """One part of a message inside a frame."""

    field: Field
    block: str
    """Name of the block as which it is written. One family writes content beside calls as
    reasoning."""
    trim: Trim = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """How history writes a turn that has these fields: its parts, and the literals around them.

    A field that is in `has` but in no part is dropped. `literals` has one element more than
    `parts`; a run of calls is one part.
    """

    has: tuple[Field, ...]
    parts: tuple[FramePart, ...]
    literals: tuple[str, ...]
    calls: int | None = None
    """Only for so many calls; None: for any number that has no frame of its own."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that history does not tell, and the rendering that shows it."""

    what: str
    shown_by: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A worked example: what a user might say, and the turn that answers it."""

    user: str
    assistant: str


@dataclass(frozen=True, slots=True)
class History:
    """How the template writes an assistant turn in one kind of place of the conversation."""

    before: Before
    follows: Follows
    header: str
    """What every frame begins with, before anything that the model writes."""
    frames: tuple[Frame, ...]
    openings: tuple[Opening, ...] = ()
    """What may follow the header, for reading a turn as history writes it."""
    edges: tuple[Edge, ...] = ()
    """What only history writes between two blocks: one turn as two, say."""
    after: str = ""
    """What the template writes behind the stop of every turn: the header of the next."""
    calls_max: int | None = None
    """Most calls in one turn of history; a model may write more."""
    gaps: tuple[Loss, ...] = ()
    """Turns that the template writes in a way that contradicts how it writes the others."""
    blank: tuple[Field, ...] = ()
    """Fields that count as absent when they hold nothing but white space."""
    counts_earlier_calls: bool = False
    """The number of a call counts through the whole conversation, not the turn."""


@dataclass(frozen=True, slots=True)
class Polyfill:
    """Words for a template without tools: how they are described and how results are given back.

    Words in braces are replaced where they are named below; other braces stay as they are.
    """

    system: str
    """Goes into the system turn; `{tools}` is the list of tools."""
    tool: str
    """One line of that list: `{name}`, `{signature}`, `{description}`, `{schema}`."""
    result: str
    """A tool result, as a user turn: `{name}`, `{result}`."""
    examples: tuple[Exchange, ...] = ()
    """Written as turns before the conversation: small models copy what they see."""
    native: str = ""
    """Goes into the system turn of a model that has a form of its own for calls, but whose template
    shows no tools: `{tools}` are their schemas, `{call}` is a call in that form."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a model family writes a turn."""

    blocks: Mapping[str, BlockPattern]
    edges: tuple[Edge, ...]
    prompts: tuple[Prompt, ...]
    stops: tuple[str, ...]
    """Texts that end the turn; the first is what the template writes."""
    calls_max: int | None = None
    """Most calls that a model may write in one turn; None: any number."""
    history: tuple[History, ...] = ()
    """A place that is not listed is written as the one that is most like it: see `place`."""
    written: Mapping[str, CallBlock] = field(default_factory=dict[str, CallBlock])
    """Calls that history writes in another way than the model, by the name of their block."""
    losses: tuple[Loss, ...] = ()
    polyfill: Polyfill | None = None
    origin: Literal["inferred", "given"] = "inferred"
    note: str = ""
    """Why a dialect had to be written down, or what its proof does not cover."""

    def edges_from(self, block: str) -> tuple[Edge, ...]:
        return tuple(e for e in self.edges if e.source == block)

    def literal(self, source: str, target: str) -> str:
        """What stands between two blocks, in the way that is usual; "" where nothing leads over."""
        found = (e.literal for e in self.edges if (e.source, e.target) == (source, target))
        return next(found, "")

    def place(self, before: Before = "user", follows: Follows = "nothing") -> History | None:
        """How history writes a turn there; None when the dialect has no history at all."""
        befores: tuple[Before, ...] = ("later user", "user", "tool")
        wanted = befores[befores.index(before) :] if before != "tool" else ("tool", *befores)
        for nearest in dict.fromkeys((follows, "nothing")):
            for kind in wanted:
                for history in self.history:
                    if (history.before, history.follows) == (kind, nearest):
                        return history
        return self.history[0] if self.history else None
