r"""Reads a turn back from history, through the same grammar and reader that read a model.

    reader = HistoryReader.of(hermes, history, tools)
    reader.read("<|im_start|>assistant\nHi<|im_end|>\n")    # Message(content="Hi")

The header and what stands behind the stop are the template's, not the turn's, and are taken off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from untemplate.dialect import Dialect, History, Opening, Prompt, write_turn
from untemplate.errors import UntemplateError
from untemplate.grammar import Grammar, build_grammar
from untemplate.message import Message, Tool
from untemplate.reader import Reader

__all__ = ["HistoryReader"]


@dataclass(frozen=True, slots=True)
class HistoryReader:
    """Reads the turns of one place back."""

    dialect: Dialect
    history: History
    grammars: tuple[Grammar, ...]
    """One for each way to take a beginning that several blocks share."""

    @classmethod
    def of(cls, dialect: Dialect, history: History, tools: Sequence[Tool]) -> "HistoryReader":
        blocks = {**dialect.blocks, **dialect.written}
        known = replace(dialect, blocks=blocks)
        grammars = (
            build_grammar(
                known,
                tools,
                prompt=Prompt(history.header, openings, evidence="written", before=history.before),
            ).unrestricted()
            for openings in _alternatives(history)
        )
        return cls(dialect, history, tuple(grammars))

    def read(self, text: str, *, earlier_calls: int = 0) -> Message:
        """The message behind a turn: the first reading that is written as the same text."""
        body = self._body(text).encode("utf-8", "surrogatepass")
        readings: list[Message] = []
        for grammar in self.grammars:
            reader = Reader(grammar)
            reader.feed(body)
            readings.append(reader.finish("stop"))
            if len(self.grammars) == 1 or self._writes(readings[-1], text, earlier_calls):
                return readings[-1]
        return readings[0]

    def _body(self, text: str) -> str:
        """What of a turn in history a model would have written, its stop included."""
        body = text.removeprefix(self.history.header)
        after = self.history.after.strip()
        if after and body.rstrip().endswith(after):
            body = body.rstrip()[: -len(after)]
        if any(body.rstrip().endswith(stop) for stop in self.dialect.stops):
            body = body.rstrip()
        return body

    def _writes(self, message: Message, text: str, earlier_calls: int) -> bool:
        before = self.history.before
        try:
            written = write_turn(self.dialect, message, before=before, earlier_calls=earlier_calls)
        except UntemplateError:
            return False
        return written == text


def _alternatives(history: History) -> Iterator[tuple[Opening, ...]]:
    """The openings, once for each text block where several begin with nothing of their own."""
    bare = {o.block for o in history.openings if not o.literal.strip()} - {"call"}
    for block in sorted(bare, reverse=True) if len(bare) > 1 else ("",):
        yield tuple(
            o for o in history.openings if not block or o.block == block or o.block not in bare
        )
