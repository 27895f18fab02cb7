"""An array or object of JSON that has not ended: what a frame for JSON has on its stack."""

from untemplate.reader.keys import Keys

__all__ = ["Open"]


class Open:
    """An array or object that has not ended."""

    __slots__ = ("close", "is_object", "items", "key", "keys")

    def __init__(self, close: str) -> None:
        self.close = close
        """The bracket that the model has to write."""
        self.is_object = close == "}"
        self.key = ""
        self.keys = Keys()
        self.items = 0

    def clone(self) -> "Open":
        other = Open(self.close)
        other.key, other.items, other.keys = self.key, self.items, self.keys.clone()
        return other
