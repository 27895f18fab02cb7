"""Keeps special tokens that stand in untrusted text from becoming special.

A tool result that contains the text of an end-of-turn token would forge a turn: the template pastes
it into the prompt, and the tokenizer can't tell it from the template's own. So, as transformers
does since 5.24, each such text is put between two private-use characters before rendering; they
come out around it, wherever the template puts it, and are then taken off again, leaving a prompt in
pieces, some of which are plain text:

    prompt = render_marked(template, messages, tools, {"<|end|>"}, add_generation_prompt=True)
    prompt.text                       # as if nothing had been marked
    prompt.pieces                     # (("<user>Say ", False), ("<|end|>", True), ...)
    prompt.encode(vocabulary.encode)  # "<|end|>" of the user as ordinary tokens

Untrusted is what users, tools and the system say. What the assistant said is not marked: it was
read by our own reader and has to be rendered as it was written, or the prefix cache breaks.

The marks may be torn apart by a template that cuts text up; each one alone still ends a piece, so
that what it parted is not joined to a special token. Where a template prints a value's JSON in
ASCII, or its Python repr, the marks come out as escapes, which are taken off likewise.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from untemplate.message import JSON, Span
from untemplate.template.rendering import CompiledTemplate
from untemplate.vocabulary import Encoder, TokenKind, Vocabulary

__all__ = ["MarkedPrompt", "control_tokens", "needs_marks", "render_marked"]

_OPEN, _CLOSE = "\U000f0000", "\U000f0001"
_MARK = re.compile(
    rf"({_OPEN}|\\+(?:udb80\\+udc00|U000f0000))|{_CLOSE}|\\+(?:udb80\\+udc01|U000f0001)"
)


@dataclass(frozen=True, slots=True)
class MarkedPrompt:
    """A prompt in pieces; a plain piece must not be read as a special token."""

    pieces: tuple[tuple[str, bool], ...]
    """Text, and whether it is plain."""

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)

    @property
    def plain_spans(self) -> tuple[Span, ...]:
        """Where the plain pieces stand in `text`, in characters."""
        spans: list[Span] = []
        pos = 0
        for text, is_plain in self.pieces:
            if is_plain:
                spans.append((pos, pos + len(text)))
            pos += len(text)
        return tuple(spans)

    def after(self, pos: int) -> "MarkedPrompt":
        """The same prompt without its first `pos` characters."""
        pieces: list[tuple[str, bool]] = []
        for text, is_plain in self.pieces:
            if len(text) > pos:
                pieces.append((text[pos:], is_plain))
            pos = max(0, pos - len(text))
        return MarkedPrompt(tuple(pieces))

    def encode(self, encode: Encoder) -> list[int]:
        """Token ids of the prompt, each piece encoded alone."""
        ids: list[int] = []
        for text, is_plain in self.pieces:
            ids += encode(text, special=not is_plain)
        return ids


def control_tokens(vocabulary: Vocabulary, template: CompiledTemplate) -> frozenset[str]:
    """What untrusted text must not become: control tokens, and added words the template writes.

    A vocabulary may have added words that are no markers (`<h1>`, runs of blanks); those that the
    template itself does not contain may stay what they are.
    """
    return frozenset(
        text
        for text, token_id in vocabulary.special.items()
        if vocabulary.kinds[token_id] == TokenKind.CONTROL or text in template.source
    )


def needs_marks(
    messages: Sequence[Mapping[str, JSON]],
    tools: Sequence[Mapping[str, JSON]] | None,
    control: Collection[str],
) -> bool:
    """Whether untrusted text holds a control token; if not, a rendering without marks will do."""
    mark = _Marker(control)
    return any(
        mark.found_in(fields)
        for fields in (*(m for m in messages if m.get("role") != "assistant"), *(tools or ()))
    )


def render_marked(
    template: CompiledTemplate,
    messages: Sequence[Mapping[str, JSON]],
    tools: Sequence[Mapping[str, JSON]] | None,
    control: Collection[str],
    *,
    add_generation_prompt: bool,
    now: datetime | None = None,
    **variables: Any,
) -> MarkedPrompt:
    """As `CompiledTemplate.render`, with the control tokens in untrusted text kept plain."""
    mark = _Marker(control)
    text = template.render(
        [
            message if message.get("role") == "assistant" else mark.fields(message)
            for message in messages
        ],
        None if tools is None else [mark.fields(tool) for tool in tools],
        add_generation_prompt=add_generation_prompt,
        now=now,
        **variables,
    )
    return MarkedPrompt(tuple(_pieces(text)) if mark.is_used else ((text, False),))


class _Marker:
    """Puts marks around control tokens in all strings of a JSON value; keys are left alone."""

    def __init__(self, control: Collection[str]) -> None:
        self.is_used = False
        longest_first = sorted(filter(None, control), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def found_in(self, value: JSON | Mapping[str, JSON]) -> bool:
        """Whether a control token stands in any string of a value."""
        if isinstance(value, str):
            return self._control.search(value) is not None
        if isinstance(value, Mapping):
            return any(map(self.found_in, value.values()))
        return isinstance(value, (list, tuple)) and any(map(self.found_in, value))

    def fields(self, value: Mapping[str, JSON]) -> dict[str, JSON]:
        return {key: self._value(item) for key, item in value.items()}

    def _value(self, value: JSON) -> JSON:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self.fields(cast("Mapping[str, JSON]", value))
        if isinstance(value, (list, tuple)):
            return [self._value(item) for item in value]
        return value

    def _text(self, text: str) -> str:
        if self._control.search(text) is None:
            return text
        self.is_used = True
        # Marks of the user's own would forge ours.
        bare = text.replace(_OPEN, "").replace(_CLOSE, "")
        return self._control.sub(rf"{_OPEN}\g<0>{_CLOSE}", bare)


def _pieces(text: str) -> list[tuple[str, bool]]:
    """The text cut at its marks; plain is what stands between an opening and the closing one."""
    pieces: list[tuple[str, bool]] = []
    pos, is_open = 0, False
    for mark in _MARK.finditer(text):
        is_opening = mark[1] is not None
        if mark.start() > pos:
            pieces.append((text[pos : mark.start()], is_open and not is_opening))
        pos, is_open = mark.end(), is_opening
    if pos < len(text):
        pieces.append((text[pos:], False))
    return pieces
