r"""A model whose replies are a script of raw text, read by the real reader.

    with ScriptedModel(
        '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
        "It is noon.",
    ) as model:
        result = await ToolLoop(model, [now]).complete(messages)

Each text is what a model would write after its prompt, markers included, in the dialect that is
given, or the generic one. It comes in pieces of a few bytes, which may part a character. `Cut` is a
reply that the token limit ends there; the next text of the script then goes on with it, since the
loop resumes. A script that was not read to its end fails the `with` block: the loop did less than
the test thinks. Asking for more than there is fails too.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Self

from untemplate.dialect import Dialect, Opening, Prompt
from untemplate.dialect.given import generic
from untemplate.grammar import build_grammar
from untemplate.loop import LocalModel, ModelItem, Request
from untemplate.message import JSON, Tool, ToolChoice
from untemplate.template.marking import MarkedPrompt
from untemplate.testing.engine import ScriptedEngine
from untemplate.turn import Turn

__all__ = ["Cut", "ScriptedModel"]


@dataclass(frozen=True, slots=True)
class Cut:
    """A reply that the token limit ends in the middle."""

    text: str | bytes


class ScriptedModel:
    """Plays one text for each reply, in order."""

    def __init__(
        self, *script: str | bytes | Cut, dialect: Dialect | None = None, piece: int = 3
    ) -> None:
        """Set up a script.

        Args:
            script: what the model writes in each reply.
            dialect: how its calls are written; by default as JSON in tags.
            piece: bytes that come at a time.
        """
        self._engine = _Engine([_as_step(s) for s in script], piece)
        self._model = LocalModel(self._engine, _Template(dialect or _default()))
        self.requests: list[Request] = []
        """What the loop asked, in order."""

    @property
    def left(self) -> int:
        """Replies that were not asked for yet."""
        return self._engine.left

    async def reply(self, request: Request) -> AsyncIterator[ModelItem]:
        self.requests.append(request)
        request = replace(request, max_tokens=self._engine.next_limit())
        async with aclosing(self._model.reply(request)) as items:
            async for item in items:
                yield item

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            assert self.left == 0, f"{self.left} replies of the script were not asked for"


def _default() -> Dialect:
    """The generic dialect, behind an empty prompt."""
    openings = (Opening("content"), Opening("call"))
    return replace(generic(), prompts=(Prompt("", openings),))


def _as_step(step: str | bytes | Cut) -> tuple[bytes, bool]:
    text = step.text if isinstance(step, Cut) else step
    return text.encode() if isinstance(text, str) else text, isinstance(step, Cut)


class _Engine:
    """A scripted engine that knows where the script wants the limit."""

    def __init__(self, steps: Sequence[tuple[bytes, bool]], piece: int) -> None:
        pieces = [[s[i : i + piece] for i in range(0, len(s), piece)] for s, _ in steps]
        self._engine = ScriptedEngine(*pieces)
        self._limits = [
            len(p) if is_cut else None for p, (_, is_cut) in zip(pieces, steps, strict=True)
        ]
        self.generate = self._engine.generate

    @property
    def left(self) -> int:
        return self._engine.left

    def next_limit(self) -> int | None:
        """Pieces after which the next reply is cut."""
        return self._limits[-self.left] if self.left else None


class _Template:
    """Turns of a dialect without a template: the prompt is empty, the reader is real."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def turn(
        self,
        messages: Sequence[Mapping[str, JSON]],  # noqa: ARG002 - a script knows what comes
        *,
        tools: Sequence[Tool] = (),
        tool_choice: ToolChoice | None = None,
        response_schema: JSON = None,  # noqa: ARG002 - a script writes what it wants
        nonce: str = "",
        now: datetime | None = None,  # noqa: ARG002
        variables: Mapping[str, JSON] | None = None,  # noqa: ARG002
    ) -> Turn:
        grammar = build_grammar(self._dialect, tools, tool_choice)
        return Turn("", grammar, render=lambda _: MarkedPrompt(()), nonce=nonce)

    def render(
        self,
        messages: Sequence[Mapping[str, JSON]],  # noqa: ARG002
        tools: Sequence[Tool] = (),  # noqa: ARG002
        *,
        add_generation_prompt: bool = False,  # noqa: ARG002
        now: datetime | None = None,  # noqa: ARG002
        variables: Mapping[str, JSON] | None = None,  # noqa: ARG002
    ) -> str:
        return ""
