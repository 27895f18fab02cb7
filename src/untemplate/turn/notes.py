"""The field `untemplate` of messages and calls: what our answers say beside OpenAI's fields.

Clients send back what they got, so messages of a conversation carry it. What is meant for us is
read here; no template gets to see any of it.
"""

from collections.abc import Mapping

from untemplate.message import JSON

__all__ = ["is_pinned", "raw_text", "resume_handle", "without_notes"]

_NOTES = "untemplate"


def is_pinned(message: Mapping[str, JSON]) -> bool:
    """Whether a message stays however short the context is."""
    return _note(message, "pinned") is True


def raw_text(message: Mapping[str, JSON]) -> str:
    """Everything that the model wrote in this message, markers included; empty if it is not said.

    A character that the cut went through is left out: it is written again.
    """
    raw = _note(message, "raw")
    return raw.rstrip("\ufffd") if isinstance(raw, str) else ""


def resume_handle(message: Mapping[str, JSON]) -> str:
    """Names the point where the message was cut, as long as the server knows it."""
    handle = _note(message, "resume")
    return handle if isinstance(handle, str) else ""


def without_notes(message: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """The message as any OpenAI server would have made it."""
    calls = message.get("tool_calls")
    if _NOTES not in message and not calls:
        return message
    out = {key: value for key, value in message.items() if key != _NOTES}
    if isinstance(calls, list):
        out["tool_calls"] = [
            {k: v for k, v in c.items() if k != _NOTES} if isinstance(c, dict) else c for c in calls
        ]
    return out


def _note(message: Mapping[str, JSON], name: str) -> JSON:
    notes = message.get(_NOTES)
    return notes.get(name) if isinstance(notes, dict) else None
