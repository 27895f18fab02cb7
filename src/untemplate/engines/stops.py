"""Stop strings in a stream of bytes, across any borders.

In: bytes as they are generated. Out: bytes that are surely not part of a stop string; the longest
end that may still become one is held back. The stop that is complete first wins, so that the
result does not depend on how the bytes were cut.

    scanner = StopScanner([b"</s>"])
    scanner.feed(b"hi</")        # b"hi"
    scanner.feed(b"s>more")      # b"", and scanner.stopped
"""

from collections.abc import Iterable

__all__ = ["StopScanner"]


class StopScanner:
    """Looks for the first of several stop strings. O(bytes x stops)."""

    def __init__(self, stops: Iterable[bytes], *, before: bytes = b"") -> None:
        """`before`: what a resumed turn had written; a stop may have begun in it."""
        self._stops = tuple(stop for stop in dict.fromkeys(stops) if stop)
        self._longest = max(map(len, self._stops), default=0)
        self._seen = before[max(len(before) - self._longest + 1, 0) :]
        """Bytes already given out, but in which a stop may have begun."""
        self._held = b""
        self.stopped = False

    def feed(self, data: bytes) -> bytes:
        """The bytes that can be given out now; after a stop there are none."""
        if self.stopped:
            return b""
        if not self._stops:
            return data
        text = self._seen + self._held + data
        given = len(self._seen)
        found: list[tuple[int, int]] = []
        for stop in self._stops:
            at = text.find(stop, max(given - len(stop) + 1, 0))
            if at >= 0:
                found.append((at + len(stop), at))
        if found:
            self.stopped = True
            self._held = b""
            return text[given : max(min(found)[1], given)]
        border = max(len(text) - self._suspicious(text), given)
        self._held = text[border:]
        self._seen = text[max(border - self._longest + 1, 0) : border]
        return text[given:border]

    def finish(self) -> bytes:
        """What was held back, now that nothing follows."""
        held, self._held = self._held, b""
        return held

    def _suspicious(self, text: bytes) -> int:
        """Length of the longest end of the text with which a stop begins."""
        for length in range(min(self._longest - 1, len(text)), 0, -1):
            end = text[len(text) - length :]
            if any(stop.startswith(end) for stop in self._stops):
                return length
        return 0
