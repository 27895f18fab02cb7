"""From a `Value` of the grammar to what writes it.

Each tool has its own schema, read when the tool is first looked at. The encoding of the value says
how it is written: as JSON text, or pair by pair in the dialect's own notation.

Agents send the same tools turn after turn, in ever new sets. What was made of a tool's schema is
therefore kept across grammars, by the schema's text; used under the lock of `table.GROWTH`.
"""

import json
from functools import lru_cache

from untemplate.constrain.notation import NotationWriter
from untemplate.constrain.positions import Step
from untemplate.grammar import Grammar, GrammarOptions, nodes
from untemplate.grammar.schema import Schemas

__all__ = ["Sources", "forget_tools"]

_MOST_TOOLS = 256


class Sources:
    """The values of one grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self._options = grammar.options
        self._writers: dict[str, NotationWriter] = {}
        self._steps: dict[int, tuple[nodes.Value, Step]] = {}
        for tool in grammar.tools:
            origin = f"tool {tool.name}"
            self._writers[origin] = _writer(json.dumps(tool.parameters), origin, grammar.options)

    def step(self, value: nodes.Value) -> Step:
        """What writes a value."""
        found = self._steps.get(id(value))
        if found is None:
            # The node is kept beside its number, so that the number stays its own.
            found = self._steps[id(value)] = (value, self._make(value))
        return found[1]

    def _make(self, value: nodes.Value) -> Step:
        writer = self._writers.get(value.origin)
        if writer is None:
            schemas = Schemas(
                value.schema,
                origin=value.origin,
                open_objects=True,
                avoid=[text.decode() for text in value.until],
            )
            writer = self._writers[value.origin] = NotationWriter(schemas, self._options)
        following = value.until[0].decode() if value.until else ""
        (step,) = writer.root(value.encoding, following, value.unlike)
        return step


@lru_cache(maxsize=_MOST_TOOLS)
def _writer(parameters: str, origin: str, options: GrammarOptions) -> NotationWriter:
    schemas = Schemas(json.loads(parameters), origin=origin, open_objects=options.open_objects)
    return NotationWriter(schemas, options)


def forget_tools() -> None:
    """Drops what is kept across grammars; what is in use goes on."""
    _writer.cache_clear()
