r"""Whether a dialect can answer by a schema, and what tells such an answer from a call.

    check_answer(hermes, tools, {"type": "object"})   -> ()    calls begin with "<tool_call>"
    check_answer(llama3, tools, {"type": "object"})   -> (CallShape(name, parameters, tools),)

Where calls are bare JSON, an object with the keys of one, which names a declared tool, is a call.
No answer is such an object, however it is written: the reader holds it back until it sees what it
is, so nothing that was told as content turns into a call.
"""

import json
from collections.abc import Iterator, Sequence

from untemplate.dialect import END, CallBlock, Dialect, Hole, TextBlock
from untemplate.errors import RequestError
from untemplate.grammar.envelope import CallShape, find_envelope
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


def check_answer(dialect: Dialect, tools: Sequence[Tool], schema: JSON) -> tuple[CallShape, ...]:
    """Checks that content may be a value of the schema, beside calls of these tools.

    Gives what no answer may look like, as it would be read as a call.

    Raises:
        SchemaError: the schema is not valid.
        RequestError: the dialect has no content that ends a turn; or its calls begin like values
            and are no JSON objects by which they could be told apart.
    """
    schemas = Schemas(schema, origin=ANSWER)
    for pointer in _pointers(schema, "#"):
        schemas.typed(Place(pointer))
    if not any(_is_content(dialect, e.source) and e.target == END for e in dialect.edges):
        raise RequestError("this dialect has no content to answer in", place=ANSWER)
    first = tuple(_first_characters(schema))
    shapes: list[CallShape] = []
    for text, call in _beginnings(dialect, tools):
        # A marker is a token of its own, or the constraint refuses it in that vocabulary.
        if not text.startswith(first) or _is_marked(text):
            continue
        envelope = find_envelope(call.pattern)
        lead = call.pattern[0]
        is_bare = not isinstance(lead, Hole) and text == lead.strip()
        if envelope is None or envelope.before.strip() or not is_bare:
            raise RequestError(
                "calls of this dialect begin like JSON, so an answer can't be told from one; "
                'ask with tool_choice "none" or "required"',
                place=ANSWER,
            )
        shapes.append(CallShape(envelope.name, envelope.arguments, tuple(t.name for t in tools)))
    return tuple(dict.fromkeys(shapes))


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


def _beginnings(dialect: Dialect, tools: Sequence[Tool]) -> Iterator[tuple[str, CallBlock]]:
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
                yield text, target
                # Behind what leads to content, as the end of reasoning.
                yield from ((text.removeprefix(lead).lstrip(), target) for lead in leads)


def _first_characters(schema: JSON) -> str:
    """What values of a schema may begin with, as far as `type`, `enum` and `const` say."""
    if not isinstance(schema, dict):
        return "".join(_FIRST.values())
    members = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(members, list):
        return "".join(json.dumps(member)[0] for member in members)
    kinds = schema.get("type", list(_FIRST))
    return "".join(_FIRST.get(str(k), "") for k in (kinds if isinstance(kinds, list) else [kinds]))
