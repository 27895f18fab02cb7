"""The dialects that are written down, because their templates can't tell: read from package data.

Each file in `data/` holds a dialect, why it is needed (`note`), and `match`: markers that all stand
in the source of a template that it is for. The generic dialect matches nothing; it is for templates
without tools.

    given_for(source)     # (Given("harmony", match=("<|channel|>", ...), dialect=...),)
    generic()             # JSON calls in tags, tools described in words
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from untemplate.dialect.dialect import Dialect
from untemplate.dialect.serial import loads

__all__ = ["Given", "generic", "given_for", "read_given"]

_GENERIC = "generic.json"


@dataclass(frozen=True, slots=True)
class Given:
    """One written-down dialect."""

    name: str
    match: tuple[str, ...]
    """Texts that all stand in the source of a template that it is for."""
    dialect: Dialect
    """What it adds to an inferred one."""


@cache
def generic() -> Dialect:
    """The dialect for templates without tools of their own."""
    folder = resources.files("untemplate.dialect") / "data"
    return loads((folder / _GENERIC).read_text(encoding="utf-8"))


@cache
def read_given() -> tuple[Given, ...]:
    """All written-down dialects, in the order of their names."""
    folder = resources.files("untemplate.dialect") / "data"
    files = sorted(
        (f for f in folder.iterdir() if f.name.endswith(".json") and f.name != _GENERIC),
        key=lambda f: f.name,
    )
    return tuple(_given(f.name.removesuffix(".json"), f.read_text(encoding="utf-8")) for f in files)


def _given(name: str, text: str) -> Given:
    plain = json.loads(text)
    dialect = loads(json.dumps(plain["dialect"]))
    return Given(name, tuple(plain["match"]), dialect)


def given_for(source: str) -> tuple[Given, ...]:
    """The written-down dialects whose markers all stand in this template."""
    return tuple(g for g in read_given() if all(m in source for m in g.match))
