"""What an export says differently from the grammar: kept while it is written, told with it."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Effect", "Note", "Notes"]

Effect = Literal["wider", "narrower"]


@dataclass(frozen=True, slots=True)
class Note:
    """A part of a schema that the export says differently from the grammar."""

    origin: str
    """`tool pay`, or `response_schema`."""
    pointer: str
    """JSON pointer of the subschema."""
    effect: Effect
    message: str


class Notes:
    """The notes of one export, each once, in the order of their discovery."""

    def __init__(self) -> None:
        self._notes: dict[Note, None] = {}

    def add(self, origin: str, pointer: str, effect: Effect, message: str) -> None:
        self._notes[Note(origin, pointer, effect, message)] = None

    def all(self) -> tuple[Note, ...]:
        return tuple(self._notes)
