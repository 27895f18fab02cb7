r"""What leads from one place of a turn to another: marks in order, and words between them.

content:0   "\n" + '<tool_call>\n{...'     -> Way((b"<tool_call>",), "call:0", lead="\n")
"\n" + '<tool_call>\n<function=' NAME '>\n'
-> Way((b"<tool_call>", b"<function=", NAME, b">"))
"""

from dataclasses import dataclass
from typing import Literal

from untemplate.dialect import CallBlock, Encoding, Hole
from untemplate.grammar.envelope import Envelope
from untemplate.reader.group_plan import GroupPlan
from untemplate.reader.pieces import PiecePlan

__all__ = [
    "ARGUMENTS",
    "ENDED",
    "END_RULE",
    "FENCE",
    "Arguments",
    "CallPlan",
    "Element",
    "Step",
    "Way",
    "Word",
]

FENCE = b"```"
ENDED = "stop"
"""Target of the ways through a stop; `end` is in front of one."""
END_RULE = "end"
"""The rule in front of a stop."""


@dataclass(frozen=True, slots=True)
class Word:
    """A hole between marks: a name, an id, a number."""

    hole: Hole
    ends: tuple[bytes, ...]
    """What stands behind it."""


Element = bytes | Word


class Arguments:
    """Stands for the arguments among the steps of a call."""


ARGUMENTS = Arguments()

Step = bytes | Word | Arguments


@dataclass(frozen=True, slots=True)
class CallPlan:
    """A call: an envelope between marks, or words and arguments with marks between them."""

    rule: str
    block: CallBlock
    envelope: Envelope | None
    steps: tuple[Step, ...]
    """Everything behind the first literal, or the envelope and what is behind it."""
    encoding: Encoding | None
    """Of all arguments as one value."""
    group: GroupPlan | None
    """For arguments that are written pair by pair."""
    closing: tuple[bytes, ...]
    """Marks behind the arguments or the envelope."""
    after: str
    """The rule that follows."""
    piece: PiecePlan | None = None
    """For calls that may be written in pieces."""


@dataclass(frozen=True, slots=True)
class Way:
    """What leads to a rule, and the white space that its literal has at its ends."""

    elements: tuple[Element, ...]
    target: str
    lead: bytes = b""
    trail: bytes = b""
    """Taken off, once, from the text that follows."""
    call: CallPlan | None = None
    step: int = 0
    """The step of the call at which reading goes on."""
    is_bare: bool = False
    """No mark shows that it is a call before its name does."""
    is_own: bool = True
    """The family writes it so; others are read for models that slipped."""
    json: Literal["", "instead", "wrapped"] = ""
    """JSON behind the family's marks: instead of its own form, or its own in a list or a fence."""
    is_strict: bool = False
    """Only a declared name with arguments, by the family's own keys, is a call: else it is an
    answer by a schema, which is JSON as well."""
    is_again: bool = False
    """What begins another text where the family only goes on to calls, or ends."""
    needs_lead: bool = False
    """Its mark is a common word: without the white space before it, it is text."""
    variants: tuple[CallPlan, ...] = ()
    """Other calls that begin like this one, up to its step at least."""
