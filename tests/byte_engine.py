"""An engine without a model that has token ids: one for each byte, and the special tokens."""

from untemplate.engines.events import Finished, Generated, Prompted, Timings
from untemplate.message import Usage
from untemplate.vocabulary import byte_vocabulary


class ByteEngine:
    """Writes a script byte by byte, with an end token; keeps the prompts it was sent, as ids."""

    def __init__(self, stop, *script, context_tokens=1 << 20):
        self.context_tokens = context_tokens
        self.vocabulary = byte_vocabulary([stop, "<s>"], eos=stop)
        self.end = self.vocabulary.special[stop]
        self.script = list(script)
        self.sent, self.turns = [], []

    def generate(self, turn, *, max_tokens=None, sampling=None, stop=(), should_stop=None):
        prompt = list(turn.prompt_tokens(self.vocabulary))
        self.turns.append(turn)
        assert len(prompt) < self.context_tokens
        self.sent.append(prompt)
        yield Prompted(len(prompt), 0)
        text = self.script.pop(0)
        for token in self.vocabulary.encode(text, special=True):
            turn.tokens.append(token)
            piece = turn.spelled((token,), self.vocabulary)
            yield Generated((token,), piece.data, tuple(turn.feed_spelled(piece)))
        turn.tokens.append(self.end)
        message = turn.finish("stop")
        yield Finished(message, "stop", Usage(len(prompt), len(turn.tokens)), Timings(), 0)

    def text(self, ids):
        return self.vocabulary.bytes_of(ids).decode()
