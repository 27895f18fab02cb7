"""Stops a model that calls the same thing over and over.

Calls are compared by *signature*: the name and the canonical text of the arguments. A repetition
counts only while nothing new comes of it. The count of a signature starts again when

- its own result has changed since (polling is legal), or
- a new call that may change something ran in between (edit, test, edit, test is legal).

So A A A and A B A B A B are both caught; the third of a kind is not run, the fifth ends the run:

    breaker.count("now {}", changes=False)     -> 1, 2, 3 (refused), 4 (refused), 5 (the end)
    breaker.note("now {}", result)             after each call that ran

The state is a value: `dump` and `load` carry it across processes.
"""

import hashlib
from dataclasses import asdict, dataclass
from typing import cast

from untemplate.message import JSON

__all__ = ["END_AT", "REFUSE_AT", "Breaker"]

REFUSE_AT = 3
END_AT = 5


@dataclass(slots=True)
class _Seen:
    times: int
    era: int
    """How much had changed when it was last called."""
    changes: bool
    result: str = ""
    """Digest of the last result."""
    summary: str = ""


class Breaker:
    """Counts identical calls of one run."""

    def __init__(self) -> None:
        self._era = 0
        self._seen: dict[str, _Seen] = {}

    def count(self, signature: str, *, changes: bool) -> int:
        """Register a call; how often it was made by now with nothing new coming of it."""
        seen = self._seen.get(signature)
        if seen is None:
            self._era += changes
            self._seen[signature] = _Seen(1, self._era, changes)
            return 1
        seen.times = seen.times + 1 if seen.era == self._era else 1
        seen.era = self._era
        return seen.times

    def note(self, signature: str, result: str, *, summary_max: int = 1000) -> None:
        """Register what a call gave; a changed result makes the call count as new."""
        seen = self._seen[signature]
        digest = hashlib.sha256(result.encode("utf-8", "replace")).hexdigest()
        if seen.result and seen.result != digest:
            self._era += seen.changes
            seen.times, seen.era = 1, self._era
        seen.result, seen.summary = digest, result[:summary_max]

    def earlier(self, signature: str) -> str:
        """The start of what the call gave last."""
        return self._seen[signature].summary

    def dump(self) -> dict[str, JSON]:
        """The state as JSON."""
        return {"era": self._era, "seen": {s: asdict(v) for s, v in self._seen.items()}}

    @classmethod
    def load(cls, state: dict[str, JSON]) -> "Breaker":
        """The breaker whose `dump` this is."""
        breaker = cls()
        breaker._era = cast("int", state["era"])
        for signature, seen in cast("dict[str, dict[str, JSON]]", state["seen"]).items():
            breaker._seen[signature] = _Seen(
                times=cast("int", seen["times"]),
                era=cast("int", seen["era"]),
                changes=cast("bool", seen["changes"]),
                result=cast("str", seen["result"]),
                summary=cast("str", seen["summary"]),
            )
        return breaker
