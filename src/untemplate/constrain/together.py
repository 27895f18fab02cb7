r"""Arguments that stand before the name of their tool: those of all tools, followed as one value.

    {"arguments": {"to": "x"}, "name": "     what may follow is the name of each tool whose schema
                                             the arguments satisfy

One value is held against the schemas of all tools side by side, as against the branches of an
`anyOf`; which of them it satisfies is its result, and tells which names may follow.
"""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from untemplate.constrain.state import Edges, Enter, Result, State
from untemplate.constrain.values import Begin, Goal, Values
from untemplate.errors import LimitError
from untemplate.grammar import GrammarOptions
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import Place
from untemplate.grammar.schema_check import draft_of
from untemplate.grammar.schema_formula import conj, disj
from untemplate.grammar.validation import moved
from untemplate.message import JSON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from untemplate.constrain.positions import AtValue, Position

__all__ = ["enter_together"]

_OBJECT = "object"
_FIXED = ('"$id"', '"$anchor"', '"$dynamicRef"', '"$recursiveRef"')
"""Words of schemas that can't be put beside others."""


def enter_together(
    positions: "Sequence[AtValue]",
    parameters: list[JSON],
    options: GrammarOptions,
    following: "Callable[[tuple[Position, ...]], State]",
    after: "Callable[[AtValue], tuple[Position, ...]]",
) -> tuple[bytes, Enter]:
    """The first bytes of arguments of several tools, and what they do.

    Args:
        positions: where the arguments of each may begin.
        parameters: the schemas of the tools, in the same order.
        options: those of the grammar.
        following: the state of a set of positions.
        after: what follows arguments.
    """
    names = " and ".join(position.value.origin for position in positions)
    begins = [p.value.state for p in positions]
    styles = {b.kinds.values.style for b in begins if isinstance(b, Begin)}
    text = json.dumps(parameters)
    drafts = {draft_of(schema) for schema in parameters}
    if len(styles) > 1 or len(drafts) > 1 or any(word in text for word in _FIXED):
        raise LimitError(f"the arguments of {names} begin before their names")
    places = [Place(f"#/$defs/{n}") for n in range(len(positions))]
    named: dict[str, JSON] = {str(n): moved(p, str(n)) for n, p in enumerate(parameters)}
    root: dict[str, JSON] = {"$defs": {**named, _OBJECT: {"type": "object"}}}
    first = parameters[0]
    if isinstance(first, dict) and "$schema" in first:
        root["$schema"] = first["$schema"]
    schemas = Schemas(root, origin=names, open_objects=options.open_objects)
    values = Values(schemas, styles.pop(), options)
    ways = tuple(after(position) for position in positions)
    judge = _Named(ways, following)
    goal = Goal((conj(disj(*places), Place(f"#/$defs/{_OBJECT}")), *places), judge)
    return values.kinds(goal).first_bytes, Enter(judge, values.begin(goal, space=False))


@dataclass(slots=True, unsafe_hash=True)
class _Named(State):
    """Behind the arguments: the ways on from those of each tool."""

    ways: "tuple[tuple[Position, ...], ...]"
    following: "Callable[[tuple[Position, ...]], State]" = field(compare=False)

    def resume(self, result: Result) -> State | None:
        assert isinstance(result, tuple)
        ways = [way for way, is_so in zip(self.ways, result, strict=True) if is_so]
        return self._behind(ways) if ways else None

    def _behind(self, ways: "Sequence[tuple[Position, ...]]") -> State:
        return self.following(tuple(dict.fromkeys(p for way in ways for p in way)))

    def cost(self) -> int | None:
        return self._behind(self.ways).cost()

    def edges(self, out: Edges) -> None:
        """None: where a value has ended, the result says how it goes on."""

    def after(self) -> int:
        # What the names cost hangs on the result: the states inside count on to the end.
        return 0
