r"""A constraint: what the model may write next, in one turn.

    constraint = compile_grammar(grammar, vocabulary).constraint()
    row = np.zeros(constraint.words, np.int32)
    while not constraint.is_finished:
        constraint.fill(row)                    # bit n: token n is allowed
        constraint.advance(choose(row))

A constraint is a place and the places before it, so rollback and fork cost nothing.
It belongs to one thread; the compiled grammar behind it is shared, and learns from all.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from untemplate.constrain.compiled import CompiledGrammar
    from untemplate.constrain.place import Place

__all__ = ["Constraint"]


class Constraint:
    """One turn being written."""

    __slots__ = ("_at", "_compiled", "_past")

    def __init__(self, compiled: "CompiledGrammar", at: "Place") -> None:
        self._compiled = compiled
        self._at = at
        self._past: list[Place] = []

    @property
    def words(self) -> int:
        """Length of a mask in int32 words."""
        return self._compiled.words

    @property
    def is_finished(self) -> bool:
        """Whether the end of the turn was written."""
        return self._at.is_finished

    def fill(self, row: "NDArray[np.int32]", remaining: int | None = None) -> None:
        """Writes the mask of the next token into `row`.

        Args:
            row: int32 words, as many as `words`: a row of a batch's array, or anything whose
                memory numpy can write to (a torch tensor of the CPU).
            remaining: tokens that may still be written, the end token among them. With at least
                `min_tokens()` of them the turn ends properly within them, whatever is chosen.
        """
        self._fill_at(row, self._at, remaining)

    def _fill_at(self, row: "NDArray[np.int32]", at: "Place", remaining: int | None) -> None:
        mask = at.row
        if mask is None or (remaining is not None and remaining <= at.far):
            mask = self._compiled.mask(at, remaining)
        try:
            row[...] = mask
        except TypeError:
            # A tensor or a buffer: numpy writes into its memory.
            np.asarray(row)[...] = mask

    def fill_tree(
        self,
        rows: "NDArray[np.int32]",
        tokens: "Sequence[int]",
        parents: "Sequence[int]",
        remaining: int | None = None,
    ) -> list[bool]:
        """Writes the masks behind draft tokens, for an engine that checks many drafts at once.

            rows = np.zeros((3, constraint.words), np.int32)
            constraint.fill_tree(rows, [12, 40], [-1, 0])   # two tokens, one after the other

        O(tokens): the step to a node is made once, and nothing has to be taken back.

        Args:
            rows: one row more than there are tokens: the first is the mask of here and now, the
                others say what may follow each token. Behind one that is not allowed nothing may.
            tokens: the drafts, each after its parent.
            parents: for each the index of the token before it; -1 where it would be the next one.
            remaining: as in `fill`, counted from here.

        Returns:
            Which of the tokens are allowed.
        """
        if len(rows) != len(tokens) + 1 or len(parents) != len(tokens):
            raise ValueError("needs a parent for each token, and one row more")
        places: list[Place | None] = []
        depths: list[int] = []
        self._fill_at(rows[0], self._at, remaining)
        for number, (token_id, parent) in enumerate(zip(tokens, parents, strict=True)):
            if not -1 <= parent < number:
                raise ValueError(f"token {number} needs a parent before it, not {parent}")
            before = self._at if parent < 0 else places[parent]
            depth = 1 if parent < 0 else depths[parent] + 1
            place = None if before is None else self._compiled.step(before, token_id)
            places.append(place)
            depths.append(depth)
            left = None if remaining is None else remaining - depth
            if place is None:
                np.asarray(rows[number + 1])[...] = 0
            else:
                self._fill_at(rows[number + 1], place, left)
        return [place is not None for place in places]

    def allows(self, token_id: int) -> bool:
        """Whether the mask allows a token."""
        return self._compiled.step(self._at, token_id) is not None

    def advance(self, token_id: int) -> bool:
        """Takes a token that was written; False, and nothing changes, if it is not allowed."""
        before = self._at
        at = before.steps.get(token_id)
        if at is None:
            at = self._compiled.step(before, token_id)
            if at is None:
                return False
        self._past.append(before)
        self._at = at
        return True

    def feed(self, data: bytes) -> bool:
        """Takes text that the turn begins with; False, and nothing changes, if it is not allowed.

        Markers that are one token of the vocabulary are taken as that token.
        """
        at = self._compiled.step_bytes(self._at, data)
        if at is None:
            return False
        self._past.append(self._at)
        self._at = at
        return True

    def rollback(self, count: int) -> None:
        """Takes back the last `count` tokens (a `feed` counts as one)."""
        if count < 0 or count > len(self._past):
            raise ValueError(f"{len(self._past)} tokens can be taken back, not {count}")
        if count:
            self._at = self._past[-count]
            del self._past[-count:]

    def fork(self) -> "Constraint":
        """An independent constraint at the same place."""
        copy = Constraint(self._compiled, self._at)
        copy._past = self._past.copy()
        return copy

    def forced(self) -> list[int]:
        """Tokens that must follow, as the vocabulary itself would write them; often none."""
        found = self._at.forced
        return list(self._compiled.forced(self._at) if found is None else found)

    def min_tokens(self) -> int:
        """Tokens to the nearest proper end, the end token among them."""
        return self._compiled.min_tokens(self._at)
