r"""The text that an assistant message, sent back to be gone on with, has already written.

    written_so_far(qwen3, prompt, {"reasoning_content": "Hm.", "content": "The an"})
    -> "<think>\nHm.\n</think>\n\nThe an"

The text starts after the prompt, so it depends on what the prompt opened. It is a beginning of what
the dialect may write; the reader is fed with it, and the mask goes on behind it.
"""

from collections.abc import Mapping

from untemplate.dialect import Dialect, Prompt, TextBlock
from untemplate.errors import RequestError
from untemplate.message import JSON

__all__ = ["written_so_far"]


def written_so_far(dialect: Dialect, prompt: Prompt, message: Mapping[str, JSON]) -> str:
    """What stands between the prompt and the place where the message is to go on."""
    if message.get("tool_calls"):
        raise RequestError(
            "a message with tool calls can't be continued from its fields; send its raw text",
            place="continue_final_message",
        )
    out, block = "", ""
    # A template without reasoning drops what the message has of it.
    kinds = {_kind(dialect, name) for name in dialect.blocks}
    for kind, text in (
        ("reasoning", message.get("reasoning_content")),
        ("content", message.get("content")),
    ):
        if not text or (kind == "reasoning" and "reasoning" not in kinds):
            continue
        if not isinstance(text, str):
            raise RequestError(f"{kind} has to be a string to be continued", place="messages[-1]")
        out, block = _entered(dialect, prompt, out, block, kind) or ("", "")
        if not block:
            raise RequestError(f"no {kind} may stand there", place="continue_final_message")
        out += text
    return out


def _entered(
    dialect: Dialect, prompt: Prompt, out: str, block: str, kind: str
) -> tuple[str, str] | None:
    """The text and the block after entering a block of this kind."""
    steps = [(e.target, e.literal) for e in dialect.edges_from(block)]
    steps = steps if block else [(o.block, o.literal) for o in prompt.openings]
    for target, literal in steps:
        if _kind(dialect, target) == kind:
            return out + literal, target
    if not block:
        # Content where the prompt opened reasoning: the reasoning is empty and closed at once.
        for target, literal in steps:
            for edge in dialect.edges_from(target):
                if _kind(dialect, edge.target) == kind:
                    return out + literal + edge.literal, edge.target
    return None


def _kind(dialect: Dialect, block: str) -> str:
    pattern = dialect.blocks.get(block)
    return pattern.kind if isinstance(pattern, TextBlock) else ""
