"""What fits into a context, how many tokens a call takes, and what a call that was cut is worth.

    fit(messages, tools, context=8192, count=count, output=600)   -> Plan, which prints as a table
    window.windows(turn.grammar, vocabulary)                      -> least and typical tokens
    judge(call, tool, Policy(effect="read"))                      -> Allowed, or Refused

`window` needs numpy and is not loaded from here. Values in, values out: nothing here renders,
tokenizes or generates by itself.
"""

from untemplate.budget.exchanges import exchanges
from untemplate.budget.plan import Count, Dropped, FitError, Plan, Row, fit
from untemplate.budget.policy import (
    Allowed,
    Effect,
    Policy,
    Refused,
    is_sealed,
    judge,
    mark_defaults,
    missing_arguments,
    repairs,
    unfinished,
)
from untemplate.budget.ranking import Rank, rank

__all__ = [
    "Allowed",
    "Count",
    "Dropped",
    "Effect",
    "FitError",
    "Plan",
    "Policy",
    "Rank",
    "Refused",
    "Row",
    "exchanges",
    "fit",
    "is_sealed",
    "judge",
    "mark_defaults",
    "missing_arguments",
    "rank",
    "repairs",
    "unfinished",
]
