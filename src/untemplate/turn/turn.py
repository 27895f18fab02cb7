"""One turn of a model: what to send, what may come back, and what came back.

    turn = template.turn(messages, tools=tools)
    turn.prompt, turn.stops                  # for the engine
    constraint = turn.constraint(vocabulary) # for an engine that takes masks, else None
    events = turn.feed(b"...")               # as the bytes arrive; linear in their number
    message = turn.finish("stop")            # the whole turn; never raises on what was written

A turn generates nothing and belongs to one thread. Text that the model had written before (an
assistant message that is to be continued) is part of the prompt to send, and has already been fed:
the events in `turn.before` and the message at the end hold it, `feed` takes only what is new.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from untemplate.dialect import Dialect
from untemplate.errors import RequestError, VocabularyError
from untemplate.grammar import Grammar
from untemplate.message import FinishReason, Message
from untemplate.reader import Event, Reader
from untemplate.template.marking import MarkedPrompt
from untemplate.vocabulary import Vocabulary

if TYPE_CHECKING:
    from untemplate.constrain import Constraint

__all__ = ["Turn"]


class Turn:
    """State of one turn. `ChatTemplate.turn` makes it."""

    def __init__(
        self,
        prompt: str,
        grammar: Grammar,
        *,
        render: Callable[[Vocabulary], MarkedPrompt],
        written: str = "",
        nonce: str = "",
        changes: Sequence[str] = (),
    ) -> None:
        self.prompt = prompt + written
        """What to send to the model."""
        self._render = render
        self.grammar = grammar
        self.changes = tuple(changes)
        """What of the conversation had to be said differently for the template, with places."""
        self.tokens: list[int] = []
        """Ids that an engine has generated in this turn; the engine appends."""
        self.batches: list[tuple[int, int]] = []
        """How an engine evaluated prompt and turn, so that a resume can go on as it would have."""
        self.reader = Reader(grammar, nonce=nonce)
        self._constraint: Constraint | None = None
        self._written = written.encode()
        self.before: list[Event] = self.reader.feed(self._written) if written else []
        """Events of what the message to be continued had already written."""

    @property
    def dialect(self) -> Dialect:
        return self.grammar.dialect

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end the turn."""
        return self.dialect.stops

    def prompt_tokens(self, vocabulary: Vocabulary, *, start: int = 0) -> list[int]:
        """The prompt as token ids; markers inside untrusted text stay ordinary text.

        `start` leaves out so many characters, which the caller has as ids already.
        """
        if vocabulary.encode is None:
            raise VocabularyError("this vocabulary has no encoder; load it with one")
        ids = self._render(vocabulary).after(start).encode(vocabulary.encode)
        if self._written:
            ids += vocabulary.encode(self._written.decode(), special=True)
        return ids

    def constraint(self, vocabulary: Vocabulary) -> "Constraint | None":
        """The mask for this turn, behind what was already written; None if nothing is asked for.

        The compiled grammar is cached and shared; the constraint is this turn's own and stays the
        same, so a turn that is driven again goes on where it stopped.
        """
        if self._constraint is None and self.grammar.tools:
            from untemplate.constrain import compile_grammar  # noqa: PLC0415  numpy is heavy

            self._constraint = compile_grammar(self.grammar, vocabulary).constraint()
            if self._written and not self._constraint.feed(self._written):
                raise RequestError(
                    "what is to be continued is not what tools and tool_choice allow",
                    place="continue_final_message",
                )
        return self._constraint

    def feed(self, data: bytes) -> list[Event]:
        """Read on; O(len(data)) amortised, however the output is cut into pieces."""
        return self.reader.feed(data)

    def finish(self, reason: FinishReason = "stop") -> Message:
        """The turn as a message. `reason` is why generation ended, not whether it was complete."""
        return self.reader.finish(reason)

    def finish_events(self) -> list[Event]:
        """Events of `finish`: what had been held back, and the ends of what was open."""
        return self.reader.finish_events()
