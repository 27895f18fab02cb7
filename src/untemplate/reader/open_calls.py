"""Calls that were put aside before their arguments were whole, until a block goes on with them.

A copy costs O(calls that are open): both copies then share the frames, and whoever goes on with one
takes a copy of it. Everything else is O(1) for each call.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from untemplate.reader.call import CallFrame

__all__ = ["OpenCalls"]


class OpenCalls:
    """The calls by their index, and by what the model names them with."""

    __slots__ = ("_frames", "_indexes", "_shared")

    def __init__(self) -> None:
        self._frames: dict[int, CallFrame] = {}
        self._shared: set[int] = set()
        """Indexes of frames that a copy holds as well."""
        self._indexes: dict[str, dict[str, int]] = {}
        """Id or index that the model wrote, then name, to the index of the call."""

    def clone(self) -> "OpenCalls":
        other = OpenCalls()
        if self._frames:
            self._shared.update(self._frames)
            other._frames, other._shared = dict(self._frames), set(self._shared)
            other._indexes = {key: dict(names) for key, names in self._indexes.items()}
        return other

    def __contains__(self, key: str) -> bool:
        return key in self._indexes

    def frame(self, index: int) -> "CallFrame | None":
        """The call of this index, to look at."""
        return self._frames.get(index)

    def put(self, call: "CallFrame") -> None:
        """Puts a call aside."""
        assert call.record is not None
        index = call.record.index
        self._frames[index] = call
        self._indexes.setdefault(call.key, {})[call.name] = index

    def take(self, key: str, name: str) -> "CallFrame | None":
        """The open call of this key and name, to go on with."""
        names = self._indexes.get(key, {})
        if name not in names:
            return None
        index = names.pop(name)
        if not names:
            del self._indexes[key]
        return self._taken(index)

    def take_all(self) -> "Iterator[CallFrame]":
        """All of them, in the order of their indexes. O(calls · log calls)."""
        self._indexes.clear()
        for index in sorted(self._frames):
            yield self._taken(index)

    def _taken(self, index: int) -> "CallFrame":
        frame = self._frames.pop(index)
        if index not in self._shared:
            return frame
        self._shared.discard(index)
        assert frame.record is not None
        return frame.clone(frame.record.clone())
