r"""What has to be known where a value ends: whether it is as it must be, and what its frame asks.

Branches of a schema run side by side over one value. Most values only have to satisfy one formula;
then the end is allowed when it holds. Where a frame's own verdict hangs on the value (an `anyOf` of
objects, say), the frame asks further formulas; their truth is the *result* of the value, and the
frame, called the judge, says what follows costs after each result, or that it leads nowhere.

    Verdicts((must, a, b), judge).exit(truth)   -> Exit((True, False), 17), or None
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from untemplate.constrain.state import Result, State
from untemplate.grammar.schema_formula import All, Formula, evaluate, leaves

__all__ = ["Exit", "Verdicts", "top_parts"]


class Exit(NamedTuple):
    """A value may end here."""

    result: Result
    cost: int
    """Bytes of what follows up to the end of the judge's own value; 0 without a judge."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What is asked of a value of one kind."""

    formulas: tuple[Formula, ...]
    """The first has to hold; the truth of the others is the result."""
    judge: State | None = None

    @property
    def must(self) -> Formula:
        return self.formulas[0]

    @property
    def is_single(self) -> bool:
        """Whether nothing is asked but that one formula holds."""
        return len(self.formulas) == 1

    def leaves(self) -> tuple[Any, ...]:
        """Every leaf, once."""
        return tuple(dict.fromkeys(self._leaves()))

    def _leaves(self) -> Iterator[Any]:
        for formula in self.formulas:
            yield from leaves(formula)

    def exit(self, truth: Callable[[Any], bool]) -> Exit | None:
        """Whether the value may end, given which leaves hold, and what follows."""
        if not evaluate(self.formulas[0], truth):
            return None
        if self.is_single:
            return Exit(None, 0)
        result = tuple(evaluate(f, truth) for f in self.formulas[1:])
        cost = self._cost_after(result)
        return None if cost is None else Exit(result, cost)

    def takes(self, result: tuple[bool, ...]) -> bool:
        """Whether the judge goes on after a result."""
        return self._cost_after(result) is not None

    def least(self) -> int | None:
        """A lower bound of what follows, so that searches for the cheapest end stop early.

        None: whatever the value is, it leads nowhere.
        """
        result = tuple(f for f in self.formulas[1:] if isinstance(f, bool))
        if self.is_single or len(result) < len(self.formulas) - 1:
            return 0
        return self._cost_after(result)

    def _cost_after(self, result: tuple[bool, ...]) -> int | None:
        if self.judge is None:
            return 0
        state = self.judge.resume(result)
        return None if state is None else state.cost()


def top_parts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a formula that all have to hold."""
    return formula.parts if isinstance(formula, All) else () if formula is True else (formula,)
