r"""Whether a dialect can answer by a schema, and tell such an answer from a call at once.

    check_answer(hermes, tools, {"type": "object"})   # fine: calls begin with "<tool_call>"
    check_answer(llama3, tools, {"type": "object"})   # RequestError: {"name": ... begins both

The reader holds a bare JSON call back until it sees what it is; but what may be written has to be
one or the other from its first byte on, so that each is kept to its own schema.
"""

import json
from collections.abc import Iterator, Sequence

from untemplate.dialect import END, CallBlock, Dialect, Hole, TextBlock
from untemplate.errors import RequestError
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import Place
from untemplate.grammar.schema_check import subschemas
from untemplate.message import JSON, Tool

__all__ = ["ANSWER", "check_answer"]

ANSWER = "response_schema"
"""Origin of the value that answers."""

_FIRST = {
    "object": "{", "array": "[", "string": '"', "number": "-0123456789", "integer": "-0123456789",
    "boolean": "tf", "null": "n",
}  # fmt: skip


def check_answer(dialect: Dialect, tools: Sequence[Tool], schema: JSON) -> None:
    """Checks that content may be a value of the schema, beside calls of these tools.

    Raises:
        SchemaError: the schema is not valid.
        RequestError: the dialect has no content that ends a turn, or its calls begin like values.
    """
    schemas = Schemas(schema, origin=ANSWER)
    for pointer in _pointers(schema, "#"):
        schemas.typed(Place(pointer))
    if not any(_is_content(dialect, e.source) and e.target == END for e in dialect.edges):
        raise RequestError("this dialect has no content to answer in", place=ANSWER)
    first = tuple(_first_characters(schema))
    # A marker is a token of its own, or the constraint refuses it in that vocabulary.
    if any(t.startswith(first) and not _is_marked(t) for t in _beginnings(dialect, tools)):
        raise RequestError(
            "calls of this dialect begin like JSON, so an answer can't be told from one; "
            'ask with tool_choice "none" or "required"',
            place=ANSWER,
        )


def _pointers(schema: JSON, pointer: str) -> Iterator[str]:
    """Every subschema, so that a reference that leads nowhere is found at once."""
    yield pointer
    if isinstance(schema, dict):
        for step, inner in subschemas(schema):
            yield from _pointers(inner, pointer + step)


def _is_marked(text: str) -> bool:
    return is_distinctive(marks(text)[0])


def _is_content(dialect: Dialect, block: str) -> bool:
    pattern = dialect.blocks.get(block)
    return isinstance(pattern, TextBlock) and pattern.kind == "content"


def _beginnings(dialect: Dialect, tools: Sequence[Tool]) -> Iterator[str]:
    """What a first call may begin with where content might stand as well."""
    openings = [(o.literal, o.block) for p in dialect.prompts for o in p.openings]
    ways = openings + [
        (e.literal, e.target)
        for e in dialect.edges
        if isinstance(dialect.blocks[e.source], TextBlock)
    ]
    leads = {literal.strip() for literal, block in ways if _is_content(dialect, block)}
    for literal, block in ways:
        target = dialect.blocks.get(block)
        if tools and isinstance(target, CallBlock):
            call = target.pattern[0]
            for name in [t.name for t in tools] if isinstance(call, Hole) else [call]:
                text = (literal + name).strip()
                yield text
                # Behind what leads to content, as the end of reasoning.
                yield from (text.removeprefix(lead).lstrip() for lead in leads)


def _first_characters(schema: JSON) -> str:
    """What values of a schema may begin with, as far as `type`, `enum` and `const` say."""
    if not isinstance(schema, dict):
        return "".join(_FIRST.values())
    members = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(members, list):
        return "".join(json.dumps(member)[0] for member in members)
    kinds = schema.get("type", list(_FIRST))
    return "".join(_FIRST.get(str(k), "") for k in (kinds if isinstance(kinds, list) else [kinds]))
