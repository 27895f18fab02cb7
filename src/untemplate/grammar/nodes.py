r"""The nodes of the one grammar tree, over bytes.

A grammar is a set of named rules. Most rules are one state of the turn: "in content, no call yet".
Each node means two things, and both are said here, once:

    node        strictly (masks, exports)               leniently (reading)
    ---------   -------------------------------------   ---------------------------------------
    Literal     these bytes; white space beside free    its marks in order, any white space or
                text may be left out                    none between them
    ByteSet     one of these bytes                      the same
    Sequence    all items in order                      the same
    Choice      one of the options                      the one whose marks are there
    Repeat      `least` to `most` items                 any number
    Reference   the rule                                the rule
    Tag         the item                                the item, reported as an event
    Text        UTF-8 without any trigger, an exit      everything up to a trigger that leads on
    Call        a known tool, arguments by its          any name, any arguments, soft space, the
                schema, the template's literals         keys of a JSON envelope in any order
    Value       a value of the schema, encoded          any value in the encoding
    End         one of the stops                        the same, or the end of the input

Nodes are frozen and compare by content. `Call` and `Value` are not expanded in the tree: the
automaton expands them per tool when it gets there (`expand.expand_call`), the reader never does.
"""

from dataclasses import dataclass
from typing import Literal as OneOf

from untemplate.dialect import CallBlock, Encoding
from untemplate.grammar.envelope import CallShape, Envelope
from untemplate.message import JSON, Tool

__all__ = [
    "KEY_CHARACTER",
    "ByteSet",
    "Call",
    "Choice",
    "End",
    "Exit",
    "Literal",
    "Node",
    "Reference",
    "Repeat",
    "Sequence",
    "Tag",
    "TagName",
    "Text",
    "Trigger",
    "Value",
]

KEY_CHARACTER = r"[^\s\x00-\x1f\x7f<>\"'=:,;&/\\{}\[\]()]"
"""One character of a key that no schema names, written pair by pair: none that may follow a key."""

TagName = OneOf["name", "id", "index", "arguments"]


@dataclass(frozen=True, slots=True)
class Literal:
    """Bytes of the template's own."""

    data: bytes


@dataclass(frozen=True, slots=True)
class ByteSet:
    """Any one of these bytes."""

    members: bytes


@dataclass(frozen=True, slots=True)
class Sequence:
    """All items, in order."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options."""

    options: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` items; `most` None: any number."""

    item: "Node"
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """The rule of this name."""

    rule: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A part that the reader reports."""

    name: TagName
    item: "Node"


@dataclass(frozen=True, slots=True)
class Exit:
    """A way out of free text: the literal, then the rule. White space at its start is soft."""

    literal: bytes
    target: str
    """Name of a rule."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Bytes at which text may end: mark number `mark` of what leads through exit number `exit`.

    A mark other than the first is a way in for a model that left the earlier ones out.
    """

    data: bytes
    exit: int
    mark: int


@dataclass(frozen=True, slots=True)
class Text:
    """Free text that ends where one of its exits begins."""

    kind: OneOf["reasoning", "content"]
    exits: tuple[Exit, ...]
    triggers: tuple[Trigger, ...]
    forbidden: tuple[bytes, ...]
    """What strict text never contains: each trigger, and what the tool choice forbids."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one of the tools."""

    block: CallBlock
    tools: tuple[Tool, ...]
    """The tools that the choice allows; the reader takes any name."""
    envelope: Envelope | None
    """Set when the call is a JSON object around name and arguments."""


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value that the schema accepts, in an encoding."""

    schema: JSON
    encoding: Encoding
    until: tuple[bytes, ...] = ()
    """What ends the value where the encoding itself doesn't say (`Raw`, `Escaped`); in JSON that
    is read as plain text: what its strings must not hold."""
    origin: str = ""
    """`tool NAME` or `response_schema`, for reports and errors."""
    unlike: tuple[CallShape, ...] = ()
    """What the value must not be, as a reader would take it for a call."""


@dataclass(frozen=True, slots=True)
class End:
    """The proper end of the turn: one of these texts, by token id where the vocabulary has it."""

    stops: tuple[bytes, ...]


Node = Literal | ByteSet | Sequence | Choice | Repeat | Reference | Tag | Text | Call | Value | End
