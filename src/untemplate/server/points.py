"""Where cut answers stand, for a while: the client gets a handle, and may go on exactly there.

    points = Points(most=256, age_s=600)
    handle = points.put(turn.resume_point())
    points.get(handle)          # the point; None once it is forgotten

A handle can't be guessed, and tells nothing. Points are small: token ids and text; the cache itself
stays with the engine, which keeps or loses it by its own rules.
"""

import secrets
import threading
import time
from collections import OrderedDict

from untemplate.turn import ResumePoint

__all__ = ["Points"]


class Points:
    """Resume points by handle, the oldest forgotten first. Safe for threads."""

    def __init__(self, *, most: int, age_s: float) -> None:
        self._most = most
        self._age_s = age_s
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, ResumePoint]] = OrderedDict()

    def put(self, point: ResumePoint) -> str:
        """Keeps a point; the handle under which it can be had."""
        handle = f"resume_{secrets.token_urlsafe(18)}"
        with self._lock:
            self._forget()
            self._kept[handle] = time.monotonic(), point
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return handle

    def get(self, handle: str) -> ResumePoint | None:
        """The point, as often as it is asked for, while it is kept."""
        with self._lock:
            self._forget()
            found = self._kept.get(handle)
        return None if found is None else found[1]

    def _forget(self) -> None:
        oldest = time.monotonic() - self._age_s
        while self._kept and next(iter(self._kept.values()))[0] < oldest:
            self._kept.popitem(last=False)
