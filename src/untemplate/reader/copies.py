"""Copies of what is being read: snapshots are made of them, so they have to be quick."""

from typing import Any, TypeVar

__all__ = ["copied"]

T = TypeVar("T")


def copied(of: T) -> T:
    """A copy that shares all fields; `copy.copy` goes ways that take four times as long."""
    kind: Any = type(of)
    other: T = object.__new__(kind)
    if hasattr(of, "__dict__"):
        vars(other).update(vars(of))
    for base in kind.__mro__[:-1]:
        for name in getattr(base, "__slots__", ()):
            setattr(other, name, getattr(of, name))
    return other
