"""A conversation cut into exchanges: the pieces of history that may be dropped whole.

    exchanges(messages) -> ((1, 2, 3, 4), (5, 6))       indexes into the messages

An exchange begins with a user's message and holds all that answers it, up to the next one. System
messages belong to none. A tool result belongs to the exchange of its call, wherever it stands: if a
result comes late, the exchanges in between are one with it, so that no call is ever parted from its
result. Which call a result answers is said by its id; among several calls of one id (some servers
give every call the same) it is the last before it that has no result yet. A result without a usable
id answers the calls right before it.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from untemplate.message import JSON

__all__ = ["Messages", "exchanges", "is_system"]

Messages = Sequence[Mapping[str, JSON]]

_RESULT_ROLES = ("tool", "function")


def is_system(message: Mapping[str, JSON]) -> bool:
    """Whether a message is an instruction that stays whatever is dropped."""
    return message.get("role") in ("system", "developer")


def exchanges(messages: Messages) -> tuple[tuple[int, ...], ...]:
    """Indexes of the messages of each exchange, in order; O(messages)."""
    numbers = _by_users(messages)
    # What stands between a call and its result is bridged too: dropping it would leave a hole.
    change = [0] * (max(numbers, default=-1) + 2)
    for call_at, result_at in _answers(messages):
        change[numbers[call_at] + 1] += 1
        change[numbers[result_at] + 1] -= 1
    bridges = list(accumulate(change))
    groups: list[list[int]] = []
    last = -1
    for index, number in enumerate(numbers):
        if number < 0:
            continue
        if number != last and not bridges[number]:
            groups.append([])
        last = number
        groups[-1].append(index)
    return tuple(map(tuple, groups))


def _by_users(messages: Messages) -> list[int]:
    """The number of the exchange of each message, before results are looked at; -1 for system."""
    out: list[int] = []
    number = -1
    previous = ""
    for message in messages:
        role = str(message.get("role"))
        if is_system(message):
            out.append(-1)
            continue
        if number < 0 or (role == "user" and previous != "user"):
            number += 1
        out.append(number)
        previous = role
    return out


def _answers(messages: Messages) -> list[tuple[int, int]]:
    """Pairs of indexes: the message of a call, and that of its result."""
    open_calls: dict[str, list[int]] = {}
    last_call: dict[str, int] = {}
    latest = -1
    pairs: list[tuple[int, int]] = []
    for index, message in enumerate(messages):
        for call_id in _call_ids(message):
            open_calls.setdefault(call_id, []).append(index)
            last_call[call_id] = index
            latest = index
        if message.get("role") in _RESULT_ROLES:
            answered = str(message.get("tool_call_id") or "")
            waiting = open_calls.get(answered)
            at = waiting.pop() if waiting else last_call.get(answered, latest)
            if at >= 0:
                pairs.append((at, index))
    return pairs


def _call_ids(message: Mapping[str, JSON]) -> list[str]:
    calls = message.get("tool_calls")
    return [
        str(call.get("id") or "")
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict)
    ]
