"""Lists that only grow and that snapshots share: a pair (all before, last), or None when empty.

    chain = None; chain = (chain, "a"); chain = (chain, "b")
    listed(chain) -> ["a", "b"]          listed(chain, since=(None, "a")) -> by identity of the link

Adding is O(1) and never changes what somebody else holds, so a snapshot of a long text is one
reference. Chains must not be compared, hashed or copied deeply: they are as deep as they are long.
"""

from typing import TypeVar, Union

__all__ = ["Chain", "joined", "listed"]

T = TypeVar("T")

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
