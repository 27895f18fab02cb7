r"""Members one after another with something between them: keys of an object, items of an array.

    listed([(a, False), (b, True)], frame, share)      start a comma b end | start b end
    positional((), item, frame, least=2, most=4)       start item (comma item){1,3} end

No comma stands before the first or after the last, so an optional member takes its comma with it.
Where the number of members counts, there is one rule for each member and each number before it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from untemplate.grammar.export.rules import (
    EMPTY,
    NEVER,
    Node,
    choice,
    optional,
    repeat,
    sequence,
)

__all__ = ["Frame", "listed", "positional"]

Share = Callable[[Node], Node]
"""Makes a node that is used more than once a rule."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around members: `start` and `end` only if there is one, else `empty`."""

    start: Node
    comma: Node
    end: Node
    empty: Node = EMPTY


def positional(
    prefix: Sequence[Node], rest: Node, frame: Frame, *, least: int = 0, most: int | None = None
) -> Node:
    """`least` to `most` items, the first ones as `prefix` says, all others `rest`."""
    if most == 0:
        return NEVER if least else frame.empty
    items = tuple(prefix) or (rest,)
    items = items if most is None else items[:most]
    count = len(items)
    high = None if most is None else most - count
    more = sequence(frame.comma, rest)
    node = sequence(repeat(more, max(least - count, 0), high), frame.end)
    for n in range(count - 1, 0, -1):
        more = sequence(frame.comma, items[n], node)
        node = choice(more, frame.end) if n >= least else more
    some = sequence(frame.start, items[0], node)
    return some if least else choice(some, frame.empty)


def listed(
    members: Sequence[tuple[Node, bool]],
    frame: Frame,
    share: Share,
    *,
    extra: Node = NEVER,
    least: int = 0,
    most: int | None = None,
) -> Node:
    """Members (node, whether required) in order, then extra ones; `least` to `most` in all."""
    if least <= sum(is_required for _, is_required in members):
        least = 0
    if extra == NEVER and most is not None and most >= len(members):
        most = None
    listing = _Listing(members, frame, share, extra)
    if least == 0 and most is None:
        return listing.uncounted()
    return listing.counted(0, 0, least, most)


class _Listing:
    """The members of one list, from each one on."""

    def __init__(
        self, members: Sequence[tuple[Node, bool]], frame: Frame, share: Share, extra: Node
    ) -> None:
        self._members = members
        self._frame = frame
        self._share = share
        self._extra = extra
        self._memo: dict[tuple[int, int], Node] = {}

    def uncounted(self) -> Node:
        frame = self._frame
        first = positional((), self._extra, frame)
        following = sequence(repeat(sequence(frame.comma, self._extra), 0, None), frame.end)
        for node, is_required in reversed(self._members):
            if is_required:
                first = sequence(frame.start, node, following)
                following = sequence(frame.comma, node, following)
            else:
                following = self._share(following)
                first = choice(sequence(frame.start, node, following), first)
                following = sequence(optional(sequence(frame.comma, node)), following)
        return first

    def counted(self, at: int, written: int, least: int, most: int | None) -> Node:
        """From member `at` on, when so many stand before it."""
        if most is not None and written > most:
            return NEVER
        # Beyond `least` the number matters only to `most`, but for whether it is zero.
        known = (at, written if most is not None else min(written, max(least, 1)))
        if known not in self._memo:
            self._memo[known] = self._share(self._counted(at, written, least, most))
        return self._memo[known]

    def _counted(self, at: int, written: int, least: int, most: int | None) -> Node:
        frame = self._frame
        if at == len(self._members):
            low, high = max(least - written, 0), None if most is None else most - written
            if not written:
                return positional((), self._extra, frame, least=low, most=high)
            return sequence(repeat(sequence(frame.comma, self._extra), low, high), frame.end)
        node, is_required = self._members[at]
        before = frame.comma if written else frame.start
        with_it = sequence(before, node, self.counted(at + 1, written + 1, least, most))
        if is_required:
            return with_it
        return choice(with_it, self.counted(at + 1, written, least, most))
