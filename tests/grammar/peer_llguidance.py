"""llguidance's engine, byte by byte, for tests of what we export to it."""

import functools
import json

import pytest
from tests.grammar.peer_llama import END, byte_pieces


@functools.cache
def _engine(special=()):
    """The module and a vocabulary of single bytes, built here; skips when it is not installed.

    `special` texts are tokens of their own, from id 257 on.
    """
    llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed")
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {"type": "BPE", "vocab": {p: b for b, p in enumerate(byte_pieces())}, "merges": []}
    kind = {"special": True, "normalized": False, "single_word": False}
    kind |= {"lstrip": False, "rstrip": False}
    added = [{"id": END + n, "content": t, **kind} for n, t in enumerate(("<end>", *special))]
    tokenizer = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": False},
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": model,
    }
    return llguidance, llguidance.LLTokenizer(json.dumps(tokenizer), eos_token=END)


class LarkEngine:
    """A compiled Lark text."""

    def __init__(self, text, special=()):
        module, tokenizer = _engine(special)
        matcher = module.LLMatcher
        self._start = matcher(tokenizer, matcher.grammar_from_lark(text), log_level=0)
        assert not self._start.is_error(), self._start.get_error()
        self.reset()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._matcher = self._start = None

    def reset(self):
        self._matcher = self._start.deep_copy()

    def feed(self, token):
        """Whether the byte, or special token, may come next; if so it is taken."""
        return self._matcher.try_consume_tokens([token]) == 1

    def allowed(self):
        """All bytes that may come next, and 256 if the text may end here."""
        mask = self._matcher.compute_bitmask()
        return [t for t in range(END + 1) if mask[t >> 3] >> (t & 7) & 1]

    def accepts(self, tokens):
        """Whether the bytes, or tokens, are in the language."""
        self.reset()
        return all(map(self.feed, tokens)) and self._matcher.is_accepting()
