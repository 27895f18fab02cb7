r"""What the token limit does to a turn: how reasoning is ended in time, and what was not chosen.

    end_of_reasoning(grammar)       -> "\n</think>\n\n"
    forced(message, at_limit)       -> the message, its open calls marked `forced`

A mask that closes a turn in time writes valid calls; whether they are what was meant is another
question. `at_limit` is the turn as it stood at the first token that the limit decided. Calls that
were whole by then stay whole. In each later one the argument that was being written is `cut`, what
came after it is `forced`, and `finish_reason` is `length`, as for every turn that was not left to
end by itself.
"""

from dataclasses import replace

from untemplate.dialect import END, CallBlock, TextBlock
from untemplate.grammar import Grammar
from untemplate.message import ArgumentState, Message, ToolCall

__all__ = ["end_of_reasoning", "forced"]


def end_of_reasoning(grammar: Grammar) -> str:
    """The text that ends the reasoning of a turn and lets it go on; empty if there is none.

    Where it may go on in several ways, it is what they have in common. If a call is required, only
    the ways to a call count.
    """
    blocks = grammar.dialect.blocks
    edges = [
        e
        for e in grammar.dialect.edges
        if _kind(grammar, e.source) == "reasoning"
        and e.target != END
        and _kind(grammar, e.target) != "reasoning"
    ]
    calls = [e for e in edges if isinstance(blocks[e.target], CallBlock)]
    if grammar.choice.mode == "none":
        edges = [e for e in edges if e not in calls]
    elif grammar.choice.mode == "required":
        edges = calls or edges
    literals = sorted(e.literal for e in edges)
    if not literals:
        return ""
    # What the first and the last in order have in common, all between them have.
    first, last = literals[0], literals[-1]
    size = next((n for n, c in enumerate(first) if not last.startswith(c, n)), len(first))
    return first[:size]


def _kind(grammar: Grammar, block: str) -> str:
    found = grammar.dialect.blocks.get(block)
    return found.kind if isinstance(found, TextBlock) else ""


def forced(message: Message, at_limit: Message) -> Message:
    """A turn that ended properly only because the limit decided its end."""
    whole = {c.index for c in at_limit.tool_calls if c.state == "complete"}
    before = {c.index: c for c in at_limit.tool_calls}
    calls = tuple(
        c if c.index in whole or c.state != "complete" else _forced(c, before.get(c.index))
        for c in message.tool_calls
    )
    return replace(message, tool_calls=calls, end="forced", finish_reason="length")


def _forced(call: ToolCall, before: ToolCall | None) -> ToolCall:
    known = {} if before is None else dict(before.arguments_state)
    states: dict[str, ArgumentState] = {
        pointer: "complete" if known.get(pointer) == "complete" else "forced"
        for pointer in call.arguments_state
    }
    for pointer, state in known.items():
        if state in ("cut", "undecided"):
            # The pointer may be deeper than those of a whole call: `/files/1/path` in `/files`.
            states.pop("/" + pointer.split("/")[1], None)
            states[pointer] = "cut"
    return replace(call, state="forced", arguments_state=states)
