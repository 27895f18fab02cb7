r"""The text that an assistant message, sent back to be gone on with, has already written.

    written_so_far(qwen3, prompt, {"reasoning_content": "Hm.", "content": "The an"})
    -> "<think>\nHm.\n</think>\n\nThe an"

The text starts after the prompt, so it depends on what the prompt opened. It is a beginning of what
the dialect may write; the reader is fed with it, and the mask goes on behind it.

A message that says what its model wrote (`{"untemplate": {"raw": "..."}}`, as our answers do) goes
on behind that, to the byte, also inside a call. From its fields it goes on as well as they tell.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

from untemplate.dialect import CallBlock, Dialect, Prompt, TextBlock, dumps
from untemplate.errors import RequestError
from untemplate.message import JSON, Continue
from untemplate.turn.notes import raw_text
from untemplate.turn.rewriting import calls_of, rewritten
from untemplate.vocabulary import TokenKind, Vocabulary
from untemplate.vocabulary.vocabulary import split_at

__all__ = ["written_ids", "written_so_far"]


def written_ids(text: str, dialect: Dialect, vocabulary: Vocabulary) -> list[int]:
    """Token ids of what a message has written, as its sender says.

    The markers of the dialect may be special tokens. Others may not: they would forge a turn.
    """
    encode = vocabulary.encode
    assert encode is not None
    known = _markers(dialect)
    foreign = {
        word
        for word, token_id in vocabulary.special.items()
        if vocabulary.kinds[token_id] == TokenKind.CONTROL
        and json.dumps(word, ensure_ascii=False)[1:-1] not in known
    }
    pieces = split_at(text, foreign)
    return [i for piece in pieces for i in encode(piece, special=piece not in foreign)]


def _markers(dialect: Dialect) -> str:
    """All that a turn may hold besides what is said in it, as JSON text."""
    prompts = tuple(replace(p, text="") for p in dialect.prompts)
    turn = replace(dialect, prompts=prompts, stops=(), history=(), polyfill=None, losses=())
    return dumps(turn)


def written_so_far(
    dialect: Dialect, prompt: Prompt, message: Mapping[str, JSON], field: Continue = True
) -> str:
    """What stands between the prompt and the place where the message is to go on.

    With `True` that is behind the last that the message holds.
    """
    if raw := raw_text(message):
        return raw
    out, block = "", ""
    # A template without reasoning drops what the message has of it.
    kinds = {_kind(dialect, name) for name in dialect.blocks}
    names = ("reasoning_content", "content")
    for name in names[:1] if field == "reasoning_content" else names:
        kind, text = name.removesuffix("_content"), message.get(name)
        is_named = name == field
        if not (text or is_named) or (kind == "reasoning" and "reasoning" not in kinds):
            continue
        text = text or ""
        if not isinstance(text, str):
            raise RequestError(f"{kind} has to be a string to be continued", place="messages[-1]")
        out, block = _entered(dialect, prompt, out, block, kind) or ("", "")
        if not block:
            raise RequestError(f"no {kind} may stand there", place="continue_final_message")
        out += text
    calls = calls_of(message.get("tool_calls")) if field is True else ()
    if calls:
        out, name, called = _to_call(dialect, prompt, out, block)
        out += rewritten(called, dialect.literal(name, name), calls)
    return out


def _to_call(dialect: Dialect, prompt: Prompt, out: str, block: str) -> tuple[str, str, CallBlock]:
    """The text up to a call, and the block of the call."""
    steps = [(e.target, e.literal) for e in dialect.edges_from(block)]
    steps = steps if block else [(o.block, o.literal) for o in prompt.openings]
    for target, literal in steps:
        if isinstance(called := dialect.blocks.get(target), CallBlock):
            return out + literal, target, called
    for target, literal in () if block else steps:
        # No call may come first: a text without any character stands before it.
        for edge in dialect.edges_from(target):
            if isinstance(called := dialect.blocks.get(edge.target), CallBlock):
                return out + literal + edge.literal, edge.target, called
    raise RequestError("no call may stand there", place="continue_final_message")


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
