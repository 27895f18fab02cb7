r"""What a state of the automaton is, and what a byte may do to one.

The automaton is a pushdown over bytes. A *configuration* is a state, a count, and a stack of
frames; a frame is a state too, the one that a value inside goes back to. A byte does one of:

    Go      to another state                       `{"na` + `m`
    Count   the same, and one character less       `"abc` + `d` where maxLength is 80
    Set     to another state with a new count      the first character of such a string
    Push    to the start of an inner value         `[` of an array with items
    Enter   the same, but the byte belongs to it   `1` in `[1`
    Pop     to the frame; the byte was the last    `"` that ends a string
    Leave   the same, the byte is the frame's      `,` after a number
    Unfold  frames that a state has kept itself    `x` in `{"nx`, which is not `{"name": ` of a call

A state knows its edges, and what its shortest way out costs in bytes; a state without a way out
is dead, and no edge leads there. That is why no mask is ever empty.

Special tokens are no bytes: `symbols` says which of them a state takes, by their id.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALL_BYTES",
    "Action",
    "Back",
    "Count",
    "Edges",
    "Enter",
    "Go",
    "Leave",
    "Pop",
    "Push",
    "Result",
    "Selector",
    "Set",
    "Spell",
    "State",
    "Text",
    "Unfold",
    "spelt",
]

ALL_BYTES = bytes(range(256))

Result = tuple[bool, ...] | int | None
"""What an inner value tells its frame: answers to questions, the number of a key, or nothing."""

Selector = int | bytes | NDArray[np.int64]
"""One byte, or several."""


class State:
    """One state. Subclasses are dataclasses: equal content, one state.

    Nothing changes them, but they are not `frozen`: a new tool makes hundreds of them,
    and freezing makes that three times as slow.
    """

    __slots__ = ()

    @property
    def slope(self) -> int:
        """1 if each character that is left of the count has to be written."""
        return 0

    @property
    def leaving(self) -> bytes | None:
        """Set when every character but these bytes leads back here, or counts and leads back."""
        return None

    @property
    def is_shared(self) -> bool:
        """Whether all until the state is left is the same in every grammar; see `fragments`."""
        return False

    @property
    def shadow(self) -> "State | None":
        """A state that is shared and from which most bytes lead to the same as from here."""
        return None

    @property
    def shadow_count(self) -> int | None:
        """Set when every character that both allow leads to the same from the shadow, counted so.

        0 where the shadow does not count.
        """
        return None

    @property
    def has_texts(self) -> bool:
        """Whether `texts` and `inside` say all that may follow, so that no edges are needed."""
        return False

    def texts(self) -> "tuple[Text, ...]":
        """All that may follow, where that is one of some texts; none begins with another.

        With a shadow: texts whose last byte does otherwise than it does from there.
        """
        return ()

    def inside(self, data: bytes) -> "tuple[int, State]":
        """How many of the bytes lead on inside of the texts, and to which state."""
        raise NotImplementedError

    @property
    def rise(self) -> int:
        """How much farther from the end than here it is inside of the texts, at most."""
        return 0

    @property
    def origin(self) -> str:
        """The tool whose schema this is about, where a state knows it; for errors."""
        return ""

    @property
    def remembers(self) -> bool:
        """Whether what is written here must not be written again; see `memory`."""
        return False

    def supports(self) -> frozenset[frozenset[int]] | None:
        """As a judge: what has to be true of a result, by number; the more is true the better.

        None: it is not so, or not known.
        """
        return None

    @property
    def as_value(self) -> "State":
        """Where the value that is being written is; see `beside`."""
        return self

    def cost(self) -> int | None:
        """Fewest bytes until the state is left by Pop or Leave; None: there is no way out."""
        raise NotImplementedError

    def edges(self, out: "Edges") -> None:
        """Tells `out` what each byte does."""
        raise NotImplementedError

    def symbols(self) -> Mapping[int, "Action"]:
        """What special tokens do, by id."""
        return {}

    def on_symbol(self) -> "Action | None":
        """What any other special token does: nothing, or leave, so that the frame sees it."""
        return None

    def at_zero(self) -> "State | None":
        """The state in place of this one when its count is used up."""
        return self

    def resume(self, result: Result) -> "State | None":
        """As a frame: the state after an inner value with this result."""
        raise NotImplementedError

    def after(self) -> int:
        """As a frame: the cost of what follows the inner value."""
        state = self.resume(None)
        cost = None if state is None else state.cost()
        assert cost is not None
        return cost


class Edges(Protocol):
    """Takes the edges of one state. Edges to dead states are dropped."""

    def go(self, on: Selector, state: State | None) -> None: ...
    def do(self, on: Selector, action: "Action") -> None: ...
    def like(self, state: State) -> None:
        """All edges of another state; those told before are gone."""
        ...


@dataclass(slots=True, unsafe_hash=True)
class Go:
    state: State


@dataclass(slots=True, unsafe_hash=True)
class Count:
    state: State


@dataclass(slots=True, unsafe_hash=True)
class Set:
    state: State
    count: int


@dataclass(slots=True, unsafe_hash=True)
class Push:
    frame: State
    state: State


@dataclass(slots=True, unsafe_hash=True)
class Enter:
    frame: State
    state: State


@dataclass(slots=True, unsafe_hash=True)
class Pop:
    result: Result = None


@dataclass(slots=True, unsafe_hash=True)
class Leave:
    result: Result = None


@dataclass(slots=True, unsafe_hash=True)
class Unfold:
    frames: tuple[State, ...]
    state: State
    count: int


Action = Go | Count | Set | Push | Enter | Pop | Leave | Unfold

Text = tuple[bytes, Action | None]
"""Bytes, and what the last of them does; None: it is not allowed."""


@dataclass(slots=True, unsafe_hash=True)
class Back(State):
    """A frame that goes on in a state whatever the inner value was (white space, say)."""

    state: State

    @property
    def origin(self) -> str:
        return self.state.origin

    def cost(self) -> int | None:
        return self.state.cost()

    def edges(self, out: Edges) -> None:
        self.state.edges(out)

    def resume(self, result: Result) -> State | None:  # noqa: ARG002  one signature for all frames
        return self.state


@dataclass(slots=True)
class Spell(State):
    """These bytes, not empty, then the action; its byte is the last of them."""

    data: bytes
    then: Action
    extra: int = 0
    """Bytes that a judge says to follow."""

    def __hash__(self) -> int:
        # What follows is a deep tree of states; equality looks at it, a hash need not.
        return hash((self.data, self.extra))

    def cost(self) -> int | None:
        rest = cost_of(self.then)
        return None if rest is None else len(self.data) + rest + self.extra

    @property
    def has_texts(self) -> bool:
        return True

    def texts(self) -> tuple[Text, ...]:
        return ((self.data, self.then),)

    def inside(self, data: bytes) -> tuple[int, State]:
        size = min(len(self.data) - 1, len(data))
        while not self.data.startswith(data[:size]):
            size -= 1
        return size, self._from_byte(size) if size else self

    def _from_byte(self, number: int) -> "Spell":
        return Spell(self.data[number:], self.then, self.extra)

    def edges(self, out: Edges) -> None:
        if len(self.data) > 1:
            out.go(self.data[0], self._from_byte(1))
        else:
            out.do(self.data[0], self.then)


def spelt(rest: bytes, state: State) -> Action:
    """To a state once the rest of a separator is written."""
    return Go(Spell(rest, Go(state)) if rest else state)


def cost_of(action: Action) -> int | None:
    """Bytes until the way out, after the byte of the action."""
    match action:
        case Go(state) | Count(state):
            return state.cost()
        case Set(state, count):
            cost = state.cost()
            return None if cost is None else cost + state.slope * count
        case Push(frame, state) | Enter(frame, state):
            inner = state.cost()
            return None if inner is None else inner + frame.after()
        case Pop() | Leave():
            return 0
        case Unfold(frames, state, count):
            cost = state.cost()
            rest = sum(frame.after() for frame in frames)
            return None if cost is None else cost + state.slope * count + rest
