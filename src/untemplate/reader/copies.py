"""Copies of what is being read: snapshots are made of them, so they have to be quick."""

from typing import TypeVar

__all__ = ["copied"]

T = TypeVar("T")


def copied(of: T) -> T:
    """A copy that shares all fields; `copy.copy` goes ways that take four times as long."""
    kind = type(of)
    other = object.__new__(kind)
    for name in getattr(kind, "__slots__", None) or vars(of):
        setattr(other, name, getattr(of, name))
    return other
