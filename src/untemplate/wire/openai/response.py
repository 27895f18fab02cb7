"""Answers of the chat completions API: one object, or the chunks of a stream.

    writer = AnswerWriter("chatcmpl-1", model="qwen3", created=1)
    writer.completion(message, usage)          the whole answer as JSON bytes
    writer.first()                             then, for a stream: the role,
    writer.chunks(delta)                       the news, each as JSON bytes,
    writer.last(message), writer.usage(usage)  the finish reason, the token counts

A chunk tells one thing: text, or the header of one call (index, id, type, name, empty arguments),
or more arguments of one call; clients exist that look at the first entry only.

What OpenAI's format can't say stands in fields named `untemplate`: at a call whether it is
complete, what its arguments lack and how far each can be trusted; at a choice how the turn ended
and what was odd in it. A stream's last chunk has both, at the choice.

A chunk of a call that has ended says how: `untemplate.state`. So a client need not wait for the
end of the stream to know that a call is complete.

A turn that was cut also says how to go on with it: `raw` is what the model wrote, `resume` names
the place for a while. A message has them in its own `untemplate`, so that sending it back is enough
to go on; of a stream they stand in the last chunk. An answer that goes on says in `before` how much
of what was said before still holds: text at a cut may turn out to be the beginning of a marker.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from untemplate.message import CallDelta, Delta, Message, ToolCall, Usage

__all__ = ["AnswerNotes", "AnswerWriter", "ModelCard", "encode_model", "encode_models"]

Reason = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True)
class AnswerNotes:
    """What the server has to say of an answer, beside the message itself."""

    resume: str = ""
    """Names the place where it was cut."""
    resumed: Literal["", "exact", "evaluated again", "from text"] = ""
    """How it went on with a message that had been cut. `exact`: as if it had never been cut."""
    warnings: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    """What of the conversation was left out of the prompt, to fit."""
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Tokens of a call, at least and usually, by the name of its tool; of those that were cut."""
    may_call: bool = False
    """Whether the cut came in a call, behind one, or in what may become the marker of one."""


class _Function(msgspec.Struct, omit_defaults=True):
    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET


class _Needs(msgspec.Struct):
    """Tokens of a call of this tool."""

    least: int
    typical: int


class _CallNotes(msgspec.Struct, omit_defaults=True):
    state: str
    closing: str
    arguments_state: dict[str, str]
    cut_path: str | None = None
    missing: list[str] = []
    defaulted: list[str] = []
    forced: list[str] = []
    ambiguous: tuple[str, ...] = ()
    written_id: str | None = None
    needs: _Needs | UnsetType = UNSET
    span: tuple[int, int] | UnsetType = UNSET
    index: int | UnsetType = UNSET
    id: str | UnsetType = UNSET


class _Call(msgspec.Struct, omit_defaults=True):
    id: str
    type: str
    function: _Function
    untemplate: _CallNotes


class _StateNote(msgspec.Struct):
    state: str


class _CallChunk(msgspec.Struct, omit_defaults=True):
    index: int
    id: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    function: _Function | UnsetType = UNSET
    untemplate: _StateNote | UnsetType = UNSET


class _DiagnosticNote(msgspec.Struct):
    code: str
    span: tuple[int, int]
    message: str


class _Before(msgspec.Struct):
    """Characters of what was said before that still hold, and for each call of its arguments."""

    content: int
    reasoning_content: int
    tool_calls: list[int]


class _BeforeNote(msgspec.Struct):
    before: _Before


class _ChoiceNotes(msgspec.Struct, omit_defaults=True):
    end: str
    may_call: bool = False
    before: _Before | UnsetType = UNSET
    tool_calls: list[_CallNotes] | UnsetType = UNSET
    diagnostics: list[_DiagnosticNote] | UnsetType = UNSET
    raw: str | UnsetType = UNSET
    resume: str | UnsetType = UNSET
    resumed: str = ""
    warnings: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class _MessageNotes(msgspec.Struct, omit_defaults=True):
    raw: str
    resume: str | UnsetType = UNSET


class _Message(msgspec.Struct, omit_defaults=True):
    role: str
    content: str | None
    reasoning_content: str | UnsetType = UNSET
    tool_calls: list[_Call] | UnsetType = UNSET
    untemplate: _MessageNotes | UnsetType = UNSET


class _Choice(msgspec.Struct):
    index: int
    message: _Message
    finish_reason: Reason
    untemplate: _ChoiceNotes


class _Delta(msgspec.Struct, omit_defaults=True):
    role: str | UnsetType = UNSET
    content: str | UnsetType | None = UNSET
    reasoning_content: str | UnsetType = UNSET
    tool_calls: tuple[_CallChunk, ...] | UnsetType = UNSET


class _ChunkChoice(msgspec.Struct, omit_defaults=True):
    index: int
    delta: _Delta
    finish_reason: Reason | None
    untemplate: _ChoiceNotes | _BeforeNote | UnsetType = UNSET


class _CachedTokens(msgspec.Struct):
    cached_tokens: int


class _Usage(msgspec.Struct):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: _CachedTokens


class _Completion(msgspec.Struct):
    id: str
    object: str
    created: int
    model: str
    choices: list[_Choice]
    usage: _Usage


class _Chunk(msgspec.Struct, omit_defaults=True):
    id: str
    object: str
    created: int
    model: str
    choices: tuple[_ChunkChoice, ...]
    usage: _Usage | UnsetType = UNSET


class ModelCard(msgspec.Struct, kw_only=True):
    """An entry of `/v1/models`."""

    id: str
    object: str
    created: int
    owned_by: str
    meta: dict[str, str | int | None]


_encode = msgspec.json.Encoder().encode


def encode_model(model: ModelCard) -> bytes:
    return _encode(model)


def encode_models(models: list[ModelCard]) -> bytes:
    return _encode({"object": "list", "data": models})


class AnswerWriter:
    """Writes one answer; the same id, model and time stand in all of its parts."""

    def __init__(self, answer_id: str, *, model: str, created: int) -> None:
        self._id = answer_id
        self._model = model
        self._created = created

    def completion(
        self,
        message: Message,
        usage: Usage,
        before: Iterable[Delta] = (),
        notes: AnswerNotes | None = None,
    ) -> bytes:
        """The whole answer in one object.

        `before` is what a message that was continued had already said: it is not said again.
        """
        said = _before(before)
        text = message.content[said.content :]
        reasoning = message.reasoning_content[said.reasoning_content :]
        notes = notes or AnswerNotes()
        calls = [
            _Call(
                c.id,
                "function",
                _Function(c.name, c.arguments),
                _call_notes(c, notes.sizes.get(c.name)),
            )
            for c in message.tool_calls
        ]
        content = None if calls and not text else text
        cut = _MessageNotes(message.raw, notes.resume or UNSET) if _may_go_on(message) else UNSET
        written = _Message("assistant", content, reasoning or UNSET, calls or UNSET, cut)
        about = _choice_notes(message, notes)
        if notes.resumed:
            about.before = said
        choice = _Choice(0, written, _reason(message), about)
        return _encode(
            _Completion(
                self._id, "chat.completion", self._created, self._model, [choice], _usage(usage)
            )
        )

    def first(self) -> bytes:
        """The chunk that opens a stream: the role, and no text yet."""
        return self._chunk(_Delta(role="assistant", content=None))

    def goes_on(self, before: Iterable[Delta]) -> bytes:
        """The chunk before the news of a message that was continued."""
        note = _BeforeNote(_before(before))
        return self._encode((_ChunkChoice(0, _Delta(), None, note),))

    def chunks(self, delta: Delta) -> Iterator[bytes]:
        """The chunks that tell this news; none if there is none."""
        if delta.reasoning_content:
            yield self._chunk(_Delta(reasoning_content=delta.reasoning_content))
        if delta.content:
            yield self._chunk(_Delta(content=delta.content))
        for call in delta.tool_calls:
            yield from self._call_chunks(call)

    def last(self, message: Message, notes: AnswerNotes | None = None) -> bytes:
        """The chunk with the finish reason, and what OpenAI's format can't say."""
        notes = notes or AnswerNotes()
        said = _choice_notes(message, notes)
        if message.tool_calls:
            said.tool_calls = [
                _call_notes(c, notes.sizes.get(c.name), place=True) for c in message.tool_calls
            ]
        if _may_go_on(message):
            said.raw, said.resume = message.raw, notes.resume or UNSET
        return self._encode((_ChunkChoice(0, _Delta(), _reason(message), said),))

    def usage(self, usage: Usage) -> bytes:
        """The chunk without choices that ends a stream if `include_usage` was asked for."""
        return self._encode((), _usage(usage))

    def _call_chunks(self, call: CallDelta) -> Iterator[bytes]:
        if call.id is not None:
            function = _Function(call.name or "", "")
            yield self._call_chunk(_CallChunk(call.index, call.id, "function", function))
        if call.arguments or call.state is not None:
            function = _Function(arguments=call.arguments)
            note = UNSET if call.state is None else _StateNote(call.state)
            yield self._call_chunk(_CallChunk(call.index, function=function, untemplate=note))

    def _call_chunk(self, call: _CallChunk) -> bytes:
        return self._chunk(_Delta(tool_calls=(call,)))

    def _chunk(self, delta: _Delta) -> bytes:
        return self._encode((_ChunkChoice(0, delta, None),))

    def _encode(
        self, choices: tuple[_ChunkChoice, ...], usage: _Usage | UnsetType = UNSET
    ) -> bytes:
        return _encode(
            _Chunk(self._id, "chat.completion.chunk", self._created, self._model, choices, usage)
        )


def _reason(message: Message) -> Reason:
    """`length` whatever was cut; else whether calls came, whatever the engine calls the end.

    A call that an engine left open when it stopped is none to be run.
    """
    if message.finish_reason == "length":
        return "length"
    calls = message.tool_calls
    return "tool_calls" if calls and all(c.state != "cut" for c in calls) else "stop"


def _may_go_on(message: Message) -> bool:
    return message.end == "cut" and bool(message.raw)


def _call_notes(
    call: ToolCall, size: tuple[int, int] | None = None, *, place: bool = False
) -> _CallNotes:
    return _CallNotes(
        call.state,
        call.closing,
        dict(call.arguments_state),
        call.cut_path,
        list(call.missing),
        list(call.defaulted),
        list(call.forced),
        call.ambiguous,
        call.written_id,
        UNSET if size is None or call.state != "cut" else _Needs(*size),
        call.span,
        call.index if place else UNSET,
        call.id if place else UNSET,
    )


def _before(before: Iterable[Delta]) -> _Before:
    said = _Before(0, 0, [])
    for delta in before:
        said.content += len(delta.content)
        said.reasoning_content += len(delta.reasoning_content)
        for call in delta.tool_calls:
            said.tool_calls += [0] * (call.index + 1 - len(said.tool_calls))
            said.tool_calls[call.index] += len(call.arguments)
    return said


def _choice_notes(message: Message, notes: AnswerNotes) -> _ChoiceNotes:
    diagnostics = [_DiagnosticNote(d.code, d.span, d.message) for d in message.diagnostics]
    return _ChoiceNotes(
        message.end,
        may_call=notes.may_call,
        diagnostics=diagnostics or UNSET,
        resumed=notes.resumed,
        warnings=notes.warnings,
        dropped=notes.dropped,
    )


def _usage(usage: Usage) -> _Usage:
    return _Usage(
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.prompt_tokens + usage.completion_tokens,
        _CachedTokens(usage.cached_tokens),
    )
