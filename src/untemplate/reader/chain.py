"""Lists that only grow and that snapshots share: a pair (all before, last), or None when empty.

    chain = None; chain = (chain, "a"); chain = (chain, "b")
    listed(chain) -> ["a", "b"]          listed(chain, since=(None, "a")) -> by identity of the link

Adding is O(1) and never changes what somebody else holds, so a snapshot of a long text is one
reference. Chains must not be compared, hashed or copied deeply: they are as deep as they are long.

`Pieces` is for text that comes in many small pieces: they are gathered in a list, which makes no
object for Python's garbage collector to look at, and go into a chain a few thousand at a time.
"""

from collections.abc import Callable
from typing import Generic, TypeVar, Union

__all__ = ["Chain", "Pieces", "joined", "listed"]

T = TypeVar("T")
S = TypeVar("S", str, bytes)

Chain = Union[tuple["Chain[T]", T], None]  # noqa: UP007  the name in quotes can't be or-ed


def listed(chain: "Chain[T]", since: object = None) -> list[T]:
    """The items behind the link `since`, in order."""
    items: list[T] = []
    while chain is not None and chain is not since:
        chain, item = chain
        items.append(item)
    items.reverse()
    return items


def joined(chain: "Chain[str]", since: object = None) -> str:
    """The text of the pieces behind the link `since`."""
    return "".join(listed(chain, since))


class Pieces(Generic[S]):
    """A text that only grows."""

    __slots__ = ("_chain", "_join", "_new", "add")

    def __init__(self, join: Callable[[list[S]], S]) -> None:
        self._join: Callable[[list[S]], S] = join
        """`"".join` or `b"".join`."""
        self._chain: Chain[S] = None
        self._new: list[S] = []
        self.add: Callable[[S], None] = self._new.append
        """Puts a piece at the end."""

    def __bool__(self) -> bool:
        return self._chain is not None or bool(self._new)

    def chain(self) -> "Chain[S]":
        """All of it as a chain, which stays as it is. O(what was added since the last time)."""
        if self._new:
            self._chain = (self._chain, self._join(self._new))
            self._new.clear()
        return self._chain

    def clone(self) -> "Pieces[S]":
        """An independent copy; as cheap as `chain`."""
        other: Pieces[S] = Pieces(self._join)
        other._chain = self.chain()
        return other

    def whole(self, since: object = None) -> S:
        """The text, or what of it stands behind a link of `chain`."""
        return self._join(listed(self.chain(), since))
