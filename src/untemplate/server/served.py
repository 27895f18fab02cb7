"""What a server serves: one engine with one template under one name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from untemplate.engines.engine import Engine
from untemplate.turn import ChatTemplate
from untemplate.vocabulary import Vocabulary

__all__ = ["Served"]


@dataclass(frozen=True, slots=True)
class Served:
    """A model as clients see it."""

    engine: Engine
    template: ChatTemplate
    model: str
    """Its name in `/v1/models` and in requests."""
    created: int
    """Seconds since 1970."""
    meta: Mapping[str, str | int | None] = field(default_factory=dict[str, str | int | None])
    """What else `/v1/models` tells of it: context size, file."""
    vocabulary: Vocabulary | None = None
    """Of the engine, if it has one: windows are counted with it."""
    context_tokens: int | None = None
    """Tokens of prompt and reply together, as far as the engine says."""
