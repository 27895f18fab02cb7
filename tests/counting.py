"""Counts steps, where time would depend on the machine: calls of functions, Python's and C's.

    steps(lambda: reader.feed(data))        # of one run

    count = Steps()                         # of several stretches
    with count: ...
    count.taken()                           # since the last time it was asked

The profiler of the standard library asks its timer where a call begins and where it ends. Here the
timer counts how often it was asked. Python's collector of garbage rests meanwhile: what it calls
(finalizers, callbacks of weak references and of test tools) belongs to what ran before.
"""

import cProfile
import gc
from itertools import count

__all__ = ["Steps", "steps"]


class Steps:
    """The steps of the stretches that run under it."""

    def __init__(self):
        self._asked = count()
        self._profile = cProfile.Profile(self._asked.__next__, 1.0, subcalls=False)
        self._before = 0
        self._collects = False

    def __enter__(self):
        self._collects = gc.isenabled()
        gc.disable()
        self._profile.enable()

    def __exit__(self, *_):
        self._profile.disable()
        if self._collects:
            gc.enable()

    def taken(self):
        """Steps since the last time."""
        asked = next(self._asked)
        found, self._before = (asked - self._before) // 2, asked
        return found


def steps(run):
    """Steps while it runs."""
    counted = Steps()
    with counted:
        run()
    return counted.taken()
