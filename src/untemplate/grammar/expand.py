r"""Expands a `Call` node for one tool into simpler nodes: what the model may write, strictly.

    expand_call(call, get_weather)
    -> Sequence(Literal('<tool_call>\n{"name": "'), Tag("name", Literal("get_weather")),
                Literal('", "arguments": '), Tag("arguments", Value(parameters, JsonText())),
                Literal('}\n</tool_call>'))

The automaton and the exports expand a tool when they come to it, so sixty tools cost nothing until
one of them is written. Arguments may stand before the name: the tool is fixed beforehand.
"""

from collections.abc import Iterator
from typing import assert_never

from untemplate.dialect import CallBlock, Hole, Whole
from untemplate.grammar import nodes
from untemplate.message import Tool

__all__ = ["expand_call"]

_DIGITS = nodes.Choice(
    (
        nodes.Literal(b"0"),
        nodes.Sequence(
            (nodes.ByteSet(b"123456789"), nodes.Repeat(nodes.ByteSet(b"0123456789"), 0, 5))
        ),
    )
)


def expand_call(call: nodes.Call, tool: Tool) -> nodes.Node:
    """The call of this tool as literals, tags and one `Value` of the tool's parameters."""
    return nodes.Sequence(tuple(_parts(call.block, tool)))


def _parts(block: CallBlock, tool: Tool) -> Iterator[nodes.Node]:
    for at, part in enumerate(block.pattern):
        if not isinstance(part, Hole):
            yield nodes.Literal(part.encode())
            continue
        match part:
            case Hole.NAME:
                yield nodes.Tag("name", nodes.Literal(tool.name.encode()))
            case Hole.ID:
                ids = block.ids
                yield nodes.Tag(
                    "id",
                    nodes.Repeat(nodes.ByteSet(ids.characters.encode()), ids.least, ids.most),
                )
            case Hole.INDEX:
                yield nodes.Tag("index", _DIGITS)
            case Hole.ARGUMENTS:
                arguments = block.arguments
                encoding = arguments.encoding if isinstance(arguments, Whole) else arguments
                following = block.pattern[at + 1 : at + 2]
                until = tuple(p.encode() for p in following if not isinstance(p, Hole))
                yield nodes.Tag(
                    "arguments",
                    nodes.Value(tool.parameters, encoding, until, f"tool {tool.name}"),
                )
            case _:
                assert_never(part)
