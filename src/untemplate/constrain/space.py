r"""White space where JSON allows it: up to 2 blanks, or one newline and up to `most` blanks.

A state that may be followed by space pushes itself without that permission, and the space leaves to
it; so the few states of white space are shared by all places.
"""

from dataclasses import dataclass

from untemplate.constrain.state import ALL_BYTES, Action, Back, Edges, Leave, Push, State

__all__ = ["MOST_BLANKS", "Space", "allow_space"]

MOST_BLANKS = 20


@dataclass(slots=True, unsafe_hash=True)
class Space(State):
    """Inside white space, with so many blanks still allowed."""

    blanks: int

    @property
    def is_shared(self) -> bool:
        return True

    def cost(self) -> int | None:
        return 0

    def on_symbol(self) -> Action | None:
        return Leave()

    def edges(self, out: Edges) -> None:
        out.do(ALL_BYTES, Leave())
        if self.blanks:
            out.go(0x20, Space(self.blanks - 1))
        else:
            out.go(0x20, None)


def allow_space(out: Edges, without: State, most: int = MOST_BLANKS) -> None:
    """White space here, then the state `without`, which allows none; or at once as from there."""
    out.like(without)
    frame = Back(without)
    out.do(0x20, Push(frame, Space(1)))
    out.do(0x0A, Push(frame, Space(most)))
