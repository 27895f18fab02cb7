"""What walks ask of many states at once, as arrays beside the table.

    columns.update()                    # all states that the table has by now
    columns.is_loop[states]             # for each of them, whether it is a loop
    columns.entries(states, byte)       # for each what a byte does

Few walks are wide enough for that, and they come to few of the states. So the arrays grow when they
are asked, and only states that are asked for have a row of 256 entries.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from untemplate.constrain.table import Table

__all__ = ["Columns"]


class Columns:
    """The arrays of one table."""

    def __init__(self, table: "Table") -> None:
        self._table = table
        self._size = 0
        """States that are in the arrays."""
        self.is_loop: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.has_texts: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._at: NDArray[np.int64] = np.full(64, -1, np.int64)
        """Where the entries of a state begin in `_flat`; -1: they are not there."""
        self._flat: NDArray[np.int32] = np.zeros(4 * 256, np.int32)
        self._used = 0

    def update(self) -> None:
        """Takes in the states that are new. O(their number), all in all."""
        table, known, size = self._table, self._size, len(self._table.states)
        if size > len(self._at):
            self._at = np.concatenate((self._at, np.full(size, -1, np.int64)))
            self.is_loop = np.concatenate((self.is_loop, np.zeros(size, np.bool_)))
            self.has_texts = np.concatenate((self.has_texts, np.zeros(size, np.bool_)))
        if known < size:
            self.is_loop[known:size] = [leaving is not None for leaving in table.leaving[known:]]
            self.has_texts[known:size] = table.has_texts[known:]
            self._size = size

    def entries(self, states: NDArray[np.int64], byte: NDArray[np.int64]) -> NDArray[np.int64]:
        """The entry of each state for the byte at the same index."""
        self.update()
        missing = states[self._at[states] < 0]
        if len(missing):
            for number in np.unique(missing).tolist():
                self._flatten(number)
        found: NDArray[np.int64] = self._flat[self._at[states] + byte].astype(np.int64)
        return found

    def _flatten(self, number: int) -> None:
        row, at = self._table.row(number), self._used
        if at == len(self._flat):
            self._flat = np.concatenate((self._flat, np.zeros_like(self._flat)))
        self._flat[at : at + 256][list(row)] = list(row.values())
        self._at[number] = at
        self._used += 256
