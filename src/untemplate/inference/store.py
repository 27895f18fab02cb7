"""Analyses as text, so that they can be kept: on disk, or wherever the caller's cache puts them.

    key = key_of(template, seed=0, messages=6)
    cache.put(key, save(analysis))
    load(cache.get(key))               # the analysis again, or None when the text is of no use

The key is made of the template, its special tokens, how it was proved, and what this version of the
library knows; so what is found under it is never out of date.
"""

import hashlib
import json
from dataclasses import asdict, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from untemplate.dialect import Loss, dumps, generic, loads, read_given
from untemplate.errors import DialectError
from untemplate.inference.prove import Proof
from untemplate.template.capabilities import Capabilities, IdForm, ReasoningPlace
from untemplate.template.rendering import CompiledTemplate

if TYPE_CHECKING:
    from untemplate.inference.analyse import Analysis

__all__ = ["Cache", "key_of", "load", "save"]

_FORMAT = "2"
"""Goes up whenever inference gives something else for the same template."""


class Cache(Protocol):
    """Where analyses are kept from one process to the next."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, text: str) -> None: ...


@cache
def _known() -> str:
    """A hash of the written-down dialects."""
    parts = [dumps(generic()), *(f"{g.match}{dumps(g.dialect)}" for g in read_given())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def key_of(template: CompiledTemplate, said: str = "", *, seed: int, messages: int) -> str:
    """The name under which an analysis is kept; `said` is a response template, as text."""
    tokens = json.dumps(dict(template.special_tokens), sort_keys=True)
    parts = (_FORMAT, _known(), template.source, tokens, said, str(seed), str(messages))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def save(analysis: "Analysis") -> str:
    """The analysis as JSON text."""
    plain: dict[str, Any] = {
        "dialect": json.loads(dumps(analysis.dialect)),
        "capabilities": asdict(analysis.capabilities),
        "proof": asdict(analysis.proof),
        "source": analysis.source,
        "notes": list(analysis.notes),
        "renderings": analysis.renderings,
    }
    return json.dumps(plain, ensure_ascii=False)


def load(text: str) -> "Analysis | None":
    """The analysis that `save` wrote; None when the text is damaged or of another version."""
    from untemplate.inference.analyse import Analysis  # noqa: PLC0415  it imports this module

    try:
        plain = json.loads(text)
        return Analysis(
            dialect=loads(json.dumps(plain["dialect"])),
            capabilities=_capabilities(plain["capabilities"]),
            proof=_proof(plain["proof"]),
            source=str(plain["source"]),
            notes=tuple(map(str, plain["notes"])),
            renderings=int(plain["renderings"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError, DialectError):
        return None


def _capabilities(plain: dict[str, Any]) -> Capabilities:
    known = {f.name for f in fields(Capabilities)}
    if plain.keys() != known:
        raise ValueError
    reasoning = plain["reasoning"]
    place = ReasoningPlace(**reasoning) if reasoning else None
    values: dict[str, Any] = {**plain, "reasoning": place, "ids": IdForm(**plain["ids"])}
    refused: list[list[str]] = plain["refused"]
    values["refused"] = tuple(map(tuple, refused))
    return Capabilities(**values)


def _proof(plain: dict[str, Any]) -> Proof:
    losses = tuple(Loss(**loss) for loss in plain["losses"])
    values: dict[str, Any] = {**plain, "losses": losses}
    values["not_covered"] = tuple(plain["not_covered"])
    return Proof(**values)
