"""One face for the engines of `bench.mask`: compile a schema, then mask and advance.

`Engine(tokenizer folder, vocabulary)` is set up once and is not timed. `compile(schema)` gives what
a server would keep; `start(kept)` a new request on it, with `fill()` and `advance(token_id)`.
Masks are int32 words in a numpy row of a batch.
"""

import importlib.util
import json
import sys
from unittest.mock import MagicMock

import numpy as np

from untemplate.constrain import compile_grammar, mask_words
from untemplate.dialect import END, Dialect, Edge, Opening, Prompt, TextBlock
from untemplate.grammar import build_grammar


class Ours:
    name = "untemplate"

    def __init__(self, folder, vocabulary):
        del folder
        self._vocabulary = vocabulary
        # Nothing but the value and the end token: peers get the schema alone, too.
        self._dialect = Dialect(
            prompts=(Prompt("", (Opening("content"),)),),
            blocks={"content": TextBlock("content")},
            edges=(Edge("content", END, ""),),
            stops=(),
        )

    def compile(self, schema):
        grammar = build_grammar(self._dialect, response_schema=schema)
        compiled = compile_grammar(grammar, self._vocabulary)
        compiled.constraint()
        return grammar

    def start(self, grammar):
        return _OurRequest(compile_grammar(grammar, self._vocabulary).constraint())


class _OurRequest:
    def __init__(self, constraint):
        self._constraint = constraint
        self.row = np.zeros((1, constraint.words), np.int32)[0]
        self.fill = lambda: constraint.fill(self.row)
        self.advance = constraint.advance
        self.forced = constraint.forced

    def ends(self, eos):
        return self._constraint.allows(eos)


class Llguidance:
    name = "llguidance"

    def __init__(self, folder, vocabulary):
        import llguidance
        import llguidance.numpy

        self._module = llguidance
        self._tokenizer = llguidance.LLTokenizer(
            str(folder / "tokenizer.json"), n_vocab=vocabulary.size, eos_token=vocabulary.eos
        )
        self._words = mask_words(vocabulary.size)

    def compile(self, schema):
        matcher = self._module.LLMatcher
        kept = matcher(
            self._tokenizer, matcher.grammar_from_json_schema(json.dumps(schema)), log_level=0
        )
        if kept.is_error():
            raise ValueError(kept.get_error())
        return kept

    def start(self, kept):
        return _LlguidanceRequest(kept.deep_copy(), self._words)


class _LlguidanceRequest:
    def __init__(self, matcher, words):
        self.row = np.zeros((1, words), np.int32)[0]
        address, size = self.row.ctypes.data, self.row.nbytes
        self._matcher = matcher
        self.fill = lambda: matcher.unsafe_compute_mask_ptr(address, size)
        self.forced = matcher.compute_ff_tokens

    def advance(self, token_id):
        return self._matcher.try_consume_tokens([token_id]) == 1

    def ends(self, eos):
        del eos
        return self._matcher.is_accepting()


class Xgrammar:
    """Open objects, as the specification says: `strict_mode=False`."""

    name = "xgrammar"

    def __init__(self, folder, vocabulary):
        del folder
        # It imports torch and transformers, gigabytes that nothing here uses.
        absent = [n for n in ("torch", "transformers") if importlib.util.find_spec(n) is None]
        for name in absent:
            sys.modules[name] = MagicMock(__spec__=None)
        if "torch" in absent:
            sys.modules["torch"].cuda.is_available.return_value = False
            sys.modules["torch"].Tensor = type("Tensor", (), {})
        import xgrammar

        for name in absent:
            del sys.modules[name]
        info = xgrammar.TokenizerInfo(
            list(vocabulary.tokens),
            xgrammar.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=[vocabulary.eos],
        )
        self._module = xgrammar
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self._words = mask_words(vocabulary.size)

    def compile(self, schema):
        return self._compiler.compile_json_schema(json.dumps(schema), strict_mode=False)

    def start(self, kept):
        return _XgrammarRequest(self._module.GrammarMatcher(kept), self._words)


class _XgrammarRequest:
    def __init__(self, matcher, words):
        batch = np.zeros((1, words), np.int32)
        self.row = batch[0]
        self._matcher = matcher
        self.fill = lambda: matcher.fill_next_token_bitmask(batch)
        self.advance = matcher.accept_token

    def forced(self):
        return ()

    def ends(self, eos):
        return self._matcher.accept_token(eos)


class OutlinesCore:
    name = "outlines-core"

    def __init__(self, folder, vocabulary):
        del folder
        import outlines_core

        self._module = outlines_core
        by_bytes = {}
        for token_id, data in enumerate(vocabulary.tokens):
            if data and token_id not in vocabulary.ends:
                by_bytes.setdefault(data, []).append(token_id)
        self._vocabulary = outlines_core.Vocabulary(vocabulary.eos, by_bytes)
        self._words = mask_words(vocabulary.size)

    def compile(self, schema):
        regex = self._module.json_schema.build_regex_from_schema(json.dumps(schema))
        return self._module.Index(regex, self._vocabulary)

    def start(self, kept):
        return _OutlinesRequest(self._module.Guide(kept), self._words)


class _OutlinesRequest:
    def __init__(self, guide, words):
        self.row = np.zeros((1, words), np.int32)[0]
        self._guide = guide
        address = self.row.ctypes.data
        self.fill = lambda: guide.write_mask_into(address, words, 4)

    def forced(self):
        return ()

    def advance(self, token_id):
        try:
            self._guide.advance(token_id, return_tokens=False)
        except ValueError:
            return False
        return True

    def ends(self, eos):
        return self._guide.is_finished() or self._guide.accepts_tokens([eos])


ENGINES = {e.name: e for e in (Ours, Llguidance, Xgrammar, OutlinesCore)}
