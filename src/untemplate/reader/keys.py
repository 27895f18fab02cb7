"""The keys of an object so far: grows, and can be copied in O(log n) while both copies grow on.

The keys stand in layers of dictionaries. A copy freezes the layers it shares; a new key goes into a
layer of one's own, and small layers are merged, each key O(log n) times.
"""

__all__ = ["Keys", "unquoted"]


class Keys:
    """A set of strings."""

    __slots__ = ("_is_shared", "_layers")

    def __init__(self) -> None:
        self._layers: list[set[str]] = []
        self._is_shared = False
        """Whether the last layer belongs to a copy as well."""

    def __contains__(self, key: str) -> bool:
        return any(key in layer for layer in self._layers)

    def add(self, key: str) -> bool:
        """Put the key in; False when it was there."""
        if key in self:
            return False
        if not self._layers or self._is_shared:
            self._layers.append({key})
            self._is_shared = False
            while len(self._layers) > 1 and 2 * len(self._layers[-1]) > len(self._layers[-2]):
                last = self._layers.pop()
                self._layers[-1] = self._layers[-1] | last
        else:
            self._layers[-1].add(key)
        return True

    def clone(self) -> "Keys":
        other = Keys()
        other._layers = list(self._layers)
        self._is_shared = other._is_shared = True
        return other


def unquoted(key: str) -> str:
    """The key without quotes that some models put around it."""
    if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'":
        return key[1:-1]
    return key
