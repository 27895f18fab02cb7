"""xgrammar's engine, byte by byte, for tests of what we export to it."""

import functools
import importlib.util
import sys
from unittest.mock import MagicMock

import numpy as np
import pytest
from tests.grammar.peer_llama import END


@functools.cache
def _engine():
    """The module and a compiler for a vocabulary of single bytes; skips when not installed.

    xgrammar imports torch and transformers, gigabytes that nothing here uses: where they are not
    installed, empty modules stand in for them while it is imported.
    """
    if importlib.util.find_spec("xgrammar") is None:
        pytest.skip("xgrammar is not installed")
    absent = [n for n in ("torch", "transformers") if importlib.util.find_spec(n) is None]
    for name in absent:
        sys.modules[name] = MagicMock(__spec__=None)
    if "torch" in absent:
        sys.modules["torch"].cuda.is_available.return_value = False
        sys.modules["torch"].Tensor = type("Tensor", (), {})
    try:
        import xgrammar
    finally:
        for name in absent:
            del sys.modules[name]
    tokens = [*(bytes([b]) for b in range(256)), b"<end>"]
    kind = xgrammar.VocabType.RAW
    info = xgrammar.TokenizerInfo(tokens, kind, vocab_size=END + 1, stop_token_ids=[END])
    return xgrammar, xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)


class _Engine:
    """A compiled grammar."""

    def __init__(self, compiled):
        self._matcher = _engine()[0].GrammarMatcher(compiled)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._matcher = None

    def reset(self):
        self._matcher.reset()

    def feed(self, byte):
        """Whether the byte may come next; if so it is taken."""
        return self._matcher.accept_token(byte)

    def rollback(self, count):
        """Takes back so many bytes."""
        if count:
            self._matcher.rollback(count)

    def ends(self):
        """Whether the text may end here; nothing follows then."""
        return self.feed(END)

    def allowed(self):
        """All bytes that may come next, and 256 if the text may end here."""
        row = np.zeros((1, (END + 32) // 32), dtype=np.int32)
        self._matcher.fill_next_token_bitmask(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[: END + 1]).tolist()

    def accepts(self, data):
        """Whether the text is in the language."""
        self.reset()
        return all(map(self.feed, data)) and self.ends()


class EbnfEngine(_Engine):
    """A compiled EBNF text."""

    def __init__(self, text):
        super().__init__(_engine()[1].compile_grammar(text))


class StructuralTagEngine(_Engine):
    """A compiled structural tag."""

    def __init__(self, text):
        super().__init__(_engine()[1].compile_structural_tag(text))
