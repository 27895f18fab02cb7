"""From a `Value` of the grammar to what writes it.

Each tool has its own schema, read when the tool is first looked at and once. The encoding of the
value says how it is written: as JSON text, or pair by pair in the dialect's own notation.
"""

from untemplate.constrain.notation import NotationWriter
from untemplate.constrain.positions import Step
from untemplate.grammar import Grammar, nodes
from untemplate.grammar.schema import Schemas

__all__ = ["Sources"]


class Sources:
    """The values of one grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self._options = grammar.options
        self._schemas: dict[str, Schemas] = {}
        self._steps: dict[int, tuple[nodes.Value, Step]] = {}
        for tool in grammar.tools:
            origin = f"tool {tool.name}"
            self._schemas[origin] = Schemas(
                tool.parameters, origin=origin, open_objects=self._options.open_objects
            )

    def step(self, value: nodes.Value) -> Step:
        """What writes a value."""
        found = self._steps.get(id(value))
        if found is None:
            # The node is kept beside its number, so that the number stays its own.
            found = self._steps[id(value)] = (value, self._make(value))
        return found[1]

    def _make(self, value: nodes.Value) -> Step:
        schemas = self._schemas.get(value.origin)
        if schemas is None:
            schemas = Schemas(
                value.schema,
                origin=value.origin,
                open_objects=True,
                avoid=[text.decode() for text in value.until],
            )
            self._schemas[value.origin] = schemas
        following = value.until[0].decode() if value.until else ""
        steps = NotationWriter(schemas, self._options).root(value.encoding, following)
        (step,) = steps
        return step
