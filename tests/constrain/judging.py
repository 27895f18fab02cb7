"""Judges values by the mask alone, byte by byte: what a schema accepts, and what it does not."""

import json

import numpy as np

from untemplate.constrain import CompiledGrammar, compile_grammar
from untemplate.dialect import (
    END,
    Arguments,
    CallBlock,
    Dialect,
    Edge,
    Hole,
    JsonText,
    Opening,
    Prompt,
    TextBlock,
    Whole,
    fill,
)
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import JSON, Tool, ToolChoice
from untemplate.vocabulary import byte_vocabulary

VOCABULARY = byte_vocabulary(["<end>"], eos="<end>")


def _dialect(block: TextBlock | CallBlock) -> Dialect:
    return Dialect(
        blocks={"only": block},
        edges=(Edge("only", END, ""),),
        prompts=(Prompt("", (Opening("only"),)),),
        stops=("<end>",),
    )


ANSWERS = _dialect(TextBlock("content"))
"""Nothing but content."""


def calls_in(arguments: Arguments) -> Dialect:
    """Nothing but one call: the name, a line, the arguments, a line."""
    return _dialect(CallBlock((Hole.NAME, "\n", Hole.ARGUMENTS, "\n"), arguments))


def answer_by(schema: JSON) -> CompiledGrammar:
    """A turn that is one JSON value of the schema, its objects open."""
    return compile_grammar(build_grammar(ANSWERS, response_schema=schema), VOCABULARY)


def call_by(
    schema: dict[str, JSON],
    arguments: Arguments = Whole(JsonText()),  # noqa: B008  a frozen value
    options: GrammarOptions | None = None,
) -> CompiledGrammar:
    """A turn that is one call of `f` with arguments of the schema, its objects closed."""
    grammar = build_grammar(
        calls_in(arguments), (Tool("f", "", schema),), ToolChoice("required"), options=options
    )
    return compile_grammar(grammar, VOCABULARY)


def takes(compiled: CompiledGrammar, text: str) -> bool:
    """Whether the turn may be this text."""
    constraint = compiled.constraint()
    return constraint.feed(text.encode()) and constraint.allows(VOCABULARY.eos)


def takes_answer(compiled: CompiledGrammar, value: JSON) -> bool:
    """Whether the answer may be the value, as `json.dumps` writes it."""
    return takes(compiled, json.dumps(value))


def takes_call(compiled: CompiledGrammar, arguments: JSON) -> bool:
    """Whether the arguments of the call may be this, as `json.dumps` writes it."""
    return takes(compiled, f"f\n{json.dumps(arguments)}\n")


def written(dialect: Dialect, tool: Tool, arguments: JSON) -> tuple[Prompt, str] | None:
    """A prompt, and a turn behind it that is one call; None where the dialect writes none.

    The call stands first in the turn where it may.
    """
    starts = [(p, o.literal, o.block) for p in dialect.prompts for o in p.openings]
    ways = starts + [
        (prompt, lead + edge.literal, edge.target)
        for prompt, lead, block in starts
        for edge in dialect.edges_from(block)
    ]
    for prompt, lead, target in ways:
        block = dialect.blocks.get(target)
        if isinstance(block, CallBlock):
            values = {
                Hole.NAME: tool.name,
                Hole.ARGUMENTS: block.arguments.write(arguments),
                Hole.ID: (block.ids.characters * 64)[: max(block.ids.least, 1)],
                Hole.INDEX: str(block.index_base),
            }
            end = next((e for e in dialect.edges_from(target) if e.target == END), None)
            return prompt, lead + fill(block.pattern, values) + (end.literal if end else "")
    return None


def following(compiled: CompiledGrammar, text: str) -> bytes:
    """Bytes that may come after a text."""
    constraint = compiled.constraint()
    assert constraint.feed(text.encode())
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    return bytes(np.flatnonzero(bits[:256]).tolist())
