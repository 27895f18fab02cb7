"""The states that nearly every schema leads to: white space, free keys and plain values.

They and their edges are found once; the table of a grammar begins as a copy of theirs, which costs
some microseconds where finding them anew would cost a millisecond.
"""

from dataclasses import replace
from functools import lru_cache

from untemplate.constrain.keys import free_keys
from untemplate.constrain.letters import JSON
from untemplate.constrain.numbers import Free
from untemplate.constrain.space import MOST_BLANKS, Space
from untemplate.constrain.strings import Chars, Lane, QuotedString
from untemplate.constrain.table import Limits, Table
from untemplate.constrain.values import plain_kinds
from untemplate.constrain.verdicts import Verdicts
from untemplate.grammar.schema_atoms import NOTHING, Whole

__all__ = ["common_table"]

_PLAIN = (
    replace(NOTHING, string=True),
    replace(NOTHING, number=True),
    replace(NOTHING, number=Whole()),
    replace(NOTHING, false=True, true=True),
)
"""The types of most values."""


@lru_cache(maxsize=1)
def common_table() -> Table:
    """A table of these states and of all that they lead to; not to be changed."""
    table = Table(Limits())
    table.state_id(Space(MOST_BLANKS))
    for is_whole in (False, True):
        table.state_id(Free(is_whole))
    for typed in _PLAIN:
        kinds = plain_kinds(typed, JSON)
        table.state_id(kinds.begin(space=True))
        table.state_id(kinds.begin(space=False))
    for quote in JSON.quotes:
        for machine in (QuotedString.of(Verdicts((True,)), quote), free_keys(quote)):
            table.state_id(Chars(Lane(machine, quote), 0))
    number = 1
    while number < len(table.states):
        table.row(number)
        if isinstance(table.states[number], Free):
            table.at_zero(number)
        number += 1
    return table
