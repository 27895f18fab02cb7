r"""Compiled grammars, kept across requests by the hash of all they were made from.

    compile_grammar(grammar, vocabulary)    # the same object for equal grammars and vocabularies
    compilations().hits                     # the cache can be watched

Those used longest ago are dropped where there are too many, or where together they take too much.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass

from untemplate.constrain.compiled import CompiledGrammar
from untemplate.constrain.sources import forget_tools
from untemplate.constrain.table import Limits
from untemplate.grammar import Grammar
from untemplate.vocabulary import Vocabulary

__all__ = ["CacheStatistics", "Compilations", "compilations", "compile_grammar"]

_MOST_UNMEASURED = 8
"""After so many new grammars the sizes of all are added up in any case."""
_LARGE = 8 << 20
"""What few grammars come to."""


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """The cache of compiled grammars."""

    entries: int
    most: int
    bytes: int
    most_bytes: int
    hits: int
    misses: int


class Compilations:
    """Compiled grammars, the one used longest ago dropped first."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, str, bool], CompiledGrammar] = OrderedDict()
        self._unmeasured = 0
        self._patience = 1
        self._hits = 0
        self._misses = 0

    def get(self, grammar: Grammar, vocabulary: Vocabulary, limits: Limits) -> CompiledGrammar:
        # Equal vocabularies may differ in whether they encode.
        key = (grammar.key, vocabulary.digest, vocabulary.encode is None)
        with self._lock:
            found = self._found.get(key)
            if found is not None and found.states * 2 > limits.states:
                # It learns from every turn, and would come to its bound in the end. Turns that are
                # under way keep it; others begin anew, as do the machines of all tools.
                del self._found[key]
                found = None
                forget_tools()
            if found is not None:
                self._hits += 1
                self._found.move_to_end(key)
                return found
            self._misses += 1
        compiled = CompiledGrammar(grammar, vocabulary, limits)
        with self._lock:
            # Another thread may have been faster; all share its states.
            compiled = self._found.setdefault(key, compiled)
            if len(self._found) > self._most:
                self._found.popitem(last=False)
            self._shrink()
        return compiled

    def _shrink(self) -> None:
        # All have to be asked for their size; not every time where there is room for more.
        self._unmeasured += 1
        if self._unmeasured < self._patience:
            return
        while (size := self._size()) > self._most_bytes and len(self._found) > 1:
            self._found.popitem(last=False)
        self._unmeasured = 0
        room = (self._most_bytes - size) // _LARGE
        self._patience = min(max(room, 1), _MOST_UNMEASURED)

    def _size(self) -> int:
        return sum(compiled.size for compiled in self._found.values())

    def statistics(self) -> CacheStatistics:
        with self._lock:
            return CacheStatistics(
                len(self._found),
                self._most,
                self._size(),
                self._most_bytes,
                self._hits,
                self._misses,
            )


_CACHE = Compilations(64, 256 << 20)


def compile_grammar(
    grammar: Grammar, vocabulary: Vocabulary, *, limits: Limits | None = None
) -> CompiledGrammar:
    """The grammar compiled for a vocabulary; the same object for equal ones.

    Args:
        grammar: what a turn may hold.
        vocabulary: the tokens of the model.
        limits: bounds of the compilation; given, the cache is not used.

    Raises:
        SchemaError: a tool's schema is not valid.
        VocabularyError: the vocabulary can't spell what the grammar needs.
        LimitError: a bound was passed; names the tool.
    """
    if limits is not None:
        return CompiledGrammar(grammar, vocabulary, limits)
    return _CACHE.get(grammar, vocabulary, Limits())


def compilations() -> CacheStatistics:
    """How the cache of compiled grammars stands."""
    return _CACHE.statistics()
