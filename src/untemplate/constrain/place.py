r"""Places of a turn: a configuration, and all that was found out about it.

    at = places.at(Configuration(state, ctx))   # the same object for the same configuration
    at.row                              # its mask, or None until it is asked for
    at.steps[token_id]                  # the place after a token, or None when it is not allowed

Between the tokens of a text that must follow a place stands for the bytes written so far; they are
read when something else is asked than the next of these tokens, which is hardly ever.

What a turn asks at a place that was met before is one lookup in an object at hand: a mask is one
copy, a step is one small dictionary. Places are read without a lock and written under one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untemplate.constrain.memory import Memory

__all__ = ["Configuration", "Forced", "Place", "Places"]

Row = NDArray[np.int32]
Forced = tuple[int, ...]
UNKNOWN = 1 << 60


class Configuration(NamedTuple):
    """Where a turn stands."""

    number: int
    """The state."""
    ctx: int
    """The stack and the count."""
    memory: Memory | None = None
    """What must not be written again."""


class Place:
    """One configuration."""

    __slots__ = (
        "configuration",
        "far",
        "forced",
        "inside",
        "is_finished",
        "may_repeat",
        "near",
        "row",
        "steps",
    )

    def __init__(
        self,
        configuration: Configuration | None,
        *,
        is_finished: bool,
        inside: tuple[Configuration, bytes] | None = None,
    ) -> None:
        self.configuration = configuration
        """None until it is asked for, of a place `inside` of a text."""
        self.inside = inside
        """So many bytes behind a configuration, in a text that must follow."""
        self.is_finished = is_finished
        self.row: Row | None = None
        """The mask, not to be changed."""
        self.far = UNKNOWN
        """With more tokens left than this the mask need not be narrowed."""
        self.near: dict[int, Row] = {}
        """The mask for so many tokens left."""
        self.steps: dict[int, Place | None] = {}
        self.forced: Forced | None = None
        self.may_repeat = False
        """Set where the mask has nothing but what was written before."""

    def forget(self) -> None:
        """Back to what a place is when it is new."""
        self.row = None
        self.far = UNKNOWN
        self.near = {}
        self.steps = {}
        self.forced = None
        self.may_repeat = False

    def let_repeat(self) -> None:
        """Takes what repeats something, as the mask does; what was refused is asked again."""
        if not self.may_repeat:
            self.may_repeat = True
            self.steps = {token: place for token, place in self.steps.items() if place is not None}


class Places:
    """The places of one compiled grammar; owned by who owns the table."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[Configuration, Place] = {}
        self._refused = 0
        self._inside = 0

    def __len__(self) -> int:
        return len(self._found) + self._inside

    def at(self, configuration: Configuration, *, is_finished: bool) -> Place:
        """The place of a configuration."""
        found = self._found.get(configuration)
        if found is None:
            if len(self) >= self._most:
                self.forget()
            found = self._found[configuration] = Place(configuration, is_finished=is_finished)
        return found

    def inside(self, at: Configuration, data: bytes) -> Place:
        """A new place behind some of the bytes that must follow a configuration."""
        if len(self) >= self._most:
            self.forget()
        self._inside += 1
        return Place(None, is_finished=False, inside=(at, data))

    def refuse(self, place: Place, token_id: int) -> None:
        """Notes that a token is not allowed."""
        self._refused += 1
        if self._refused >= self._most:
            self.forget()
        place.steps[token_id] = None

    def forget(self) -> None:
        """Drops all; a turn that stands at one of them goes on from it as from a new one."""
        for place in self._found.values():
            place.forget()
        self._found = {}
        self._refused = self._inside = 0
