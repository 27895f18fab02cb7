r"""Objects that read as a call, as a formula: what an answer by a schema must not be.

CallShape(("name",), ("parameters",), ("ping",))
-> HasKey(name) and name in {"ping"} and HasKey(parameters) and parameters is an object
"""

from dataclasses import replace

from untemplate.grammar.envelope import CallShape
from untemplate.grammar.schema_atoms import (
    NOTHING,
    HasKey,
    Place,
    Properties,
    Schema,
    Strings,
    Typed,
)
from untemplate.grammar.schema_formula import Formula, conj, disj

__all__ = ["call_typed"]


def call_typed(shape: CallShape, at: str) -> tuple[Typed, dict[Schema, Typed]]:
    """The objects of this shape, and the subschemas that they speak of.

    `at` makes the names of those its own: no pointer begins so.
    """
    named = replace(NOTHING, string=Strings(shape.tools) if shape.tools else False)
    places: dict[Schema, Typed] = {}

    def leads(path: tuple[str, ...], end: Typed, pointer: str) -> Typed:
        if not path:
            return end
        inner = Place(f"{pointer}/{path[0]}")
        places[inner] = leads(path[1:], end, inner.pointer)
        keys = (path[0],) if path[0] else shape.tools
        return replace(NOTHING, object=disj(*(_holds(key, inner) for key in keys)))

    ends = [leads(shape.arguments, replace(NOTHING, object=True), f"{at} arguments")]
    if shape.name:
        ends.append(leads(shape.name, named, f"{at} name"))
    return replace(NOTHING, object=conj(*(typed.object for typed in ends))), places


def _holds(key: str, inner: Place) -> Formula:
    return conj(HasKey(key), Properties(((key, inner),), (), True))
