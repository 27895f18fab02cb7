"""A lock that is granted in order of arrival.

Python's own lock may give itself to the thread that just released it, again and again; a request
that evaluates token after token would then starve the others. Here who asks first is next, so
requests that run together alternate step by step.

    turnstile = Turnstile()
    with turnstile:
        ...
"""

import threading
from collections import deque

__all__ = ["Turnstile"]


class Turnstile:
    """A fair mutex, for `with`. Not reentrant."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        try:
            gate.acquire()  # opened by whoever leaves; the turnstile stays taken in between
        except BaseException:  # a Ctrl-C: step out of the queue, or pass on what was just given
            with self._guard:
                is_queued = gate in self._waiting
                if is_queued:
                    self._waiting.remove(gate)
            if not is_queued:
                self.__exit__()
            raise

    def __exit__(self, *_error: object) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    @property
    def waiting(self) -> int:
        """How many threads stand before it."""
        return len(self._waiting)
