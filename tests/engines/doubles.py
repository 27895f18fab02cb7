"""Small real things for the engine's tests: a turn without a dialect, a session without a model."""

from dataclasses import dataclass, field

import numpy as np

from untemplate.engines.driver import Prepared
from untemplate.message import Message
from untemplate.turn import Spelled
from untemplate.vocabulary import byte_vocabulary

BYTES = byte_vocabulary(["<|start|>", "<|end|>"], eos="<|end|>")
END = BYTES.special["<|end|>"]


@dataclass
class PlainTurn:
    """A turn that takes everything the model writes for content."""

    prompt: str
    stops: tuple[str, ...] = ()
    make_constraint: object = None
    tokens: list[int] = field(default_factory=list)
    batches: list[tuple[int, int]] = field(default_factory=list)
    data: bytes = b""
    reason: str = ""
    reasoning_tokens: int = 0
    unsettled: int = 0
    reasoning_until: int = 0
    """So many bytes are reasoning, unless `.` ends it before."""
    in_call: bool = False
    limited_at: int | None = None
    """How many bytes there were when the limit began to decide."""

    def prompt_tokens(self, vocabulary):
        return vocabulary.encode(self.prompt, special=True)

    def constraint(self, vocabulary):
        return self.make_constraint(vocabulary) if self.make_constraint else None

    @property
    def is_reasoning(self):
        return len(self.data) < self.reasoning_until and b"." not in self.data

    @property
    def is_in_call(self):
        return self.in_call

    def end_of_reasoning(self, vocabulary):
        return vocabulary.encode(".>", special=True)

    def limit_decides(self):
        if self.limited_at is None:
            self.limited_at = len(self.data)

    def spelled(self, ids, vocabulary):
        return Spelled(vocabulary.bytes_of(ids), (), frozenset())

    def feed_spelled(self, spelled):
        return self.feed(spelled.data)

    def feed(self, data):
        assert data
        self.data += data
        return [data.decode("utf-8", "replace")]

    def finish(self, reason):
        self.reason = reason
        text = self.data.decode("utf-8", "replace")
        return Message(content=text, raw=text, finish_reason=reason)

    def finish_events(self):
        return []

    def resumed(self):
        """The same turn in another process, after a cut."""
        return PlainTurn(
            self.prompt,
            self.stops,
            self.make_constraint,
            list(self.tokens),
            list(self.batches),
            self.data[: len(self.data) - self.unsettled],
            unsettled=self.unsettled,
        )


class TextConstraint:
    """Allows exactly one text, then the end; forces it up to `choices`, where it leaves the model
    a choice between the right byte and `Z`, which it reads as the right one."""

    def __init__(self, text, choices=()):
        self.ids = [*text, END]
        self.choices = set(choices)
        self.at = 0
        self.remaining_seen = []

    @property
    def is_finished(self):
        return self.at == len(self.ids)

    def fill(self, row, remaining=None):
        self.remaining_seen.append(remaining)
        row[:] = 0
        for token in (self.ids[self.at], ord("Z")):
            row[token // 32] |= np.int32(np.uint32(1 << token % 32).view(np.int32))

    def advance(self, token_id):
        assert token_id in (self.ids[self.at], ord("Z"))
        self.at += 1
        return True

    def forced(self):
        ends = [i for i in self.choices if i >= self.at]
        return self.ids[self.at : min(ends, default=len(self.ids))]


class LettersConstraint:
    """Allows letters and the end; with one token left only the end."""

    is_finished = False

    def fill(self, row, remaining=None):
        row[:] = 0
        for token in [END] if remaining == 1 else [*range(97, 123), END]:
            row[token // 32] |= np.int32(np.uint32(1 << token % 32).view(np.int32))

    def advance(self, token_id):
        self.is_finished = token_id == END
        return True

    def forced(self):
        return []


@dataclass
class ScriptedSession:
    """Wants to write one text after the prompt, whatever it is given; notes what it evaluates."""

    text: bytes | list[int]
    """Bytes, each of which is its id, or ids."""
    vocabulary: object = BYTES
    end: int = END
    context_tokens: int = 1000
    stop_at: int | None = None
    batches: list[tuple[int, int]] = field(default_factory=list)
    evaluated: list[list[int]] = field(default_factory=list)
    prompt_tokens: int = 0
    counted: int = 0

    def prepare(self, prompt, written, batches, timings):
        self.prompt_tokens = len(prompt)
        self.tokens = [*prompt, *written]
        self.batches = list(batches)
        border = batches[-1][1] if batches else 0
        del self.tokens[border:]
        return Prepared(border, [*prompt, *written][border:])

    def evaluate(self, tokens, timings):
        if self.stop_at is not None and len(self.evaluated) >= self.stop_at:
            return None
        self.evaluated.append(list(tokens))
        start = len(self.tokens)
        self.tokens += tokens
        self.batches.append((start, len(self.tokens)))
        row = np.zeros(self.vocabulary.size, np.float32)
        wanted = [*self.text, self.end]
        row[wanted[min(len(self.tokens) - self.prompt_tokens, len(wanted) - 1)]] = 50.0
        return row, 0.001

    def count(self):
        self.counted += 1
