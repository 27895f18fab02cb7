"""Tries that are kept as bytes: the same trie again, or none."""

import dataclasses

import numpy as np
import pytest

from constrain.test_laws import SMALL
from constrain.vocabularies import wide_vocabulary
from untemplate.constrain.trie import TokenTrie
from untemplate.constrain.trie_store import key_of, load, save
from untemplate.vocabulary import byte_vocabulary

WIDE = wide_vocabulary(["<|im_end|>"])


@pytest.mark.parametrize("vocabulary", [SMALL, WIDE, byte_vocabulary(["<end>"], eos="<end>")])
def test_what_was_saved_is_the_same_trie(vocabulary):
    built = TokenTrie(vocabulary)
    kept = load(vocabulary, save(built, vocabulary))
    assert kept is not None
    for name in vars(built):
        a, b = getattr(built, name), getattr(kept, name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b)
        elif name != "full":
            assert a == b
    for field in dataclasses.fields(built.full):
        a, b = getattr(built.full, field.name), getattr(kept.full, field.name)
        assert np.array_equal(a, b)
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None)
    assert np.array_equal(built.loop(b'"\\').row(), kept.loop(b'"\\').row())


def test_what_is_damaged_or_foreign_is_no_trie():
    data = save(TokenTrie(WIDE), WIDE)
    assert load(WIDE, data) is not None
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    for other in (None, b"", b"x" * 200, data[:-1], data[: len(data) // 2], bytes(damaged)):
        assert load(WIDE, other) is None
    assert load(SMALL, data) is None
    assert load(WIDE, data.replace(b"trie 1", b"trie 0", 1)) is None
    assert key_of(WIDE) != key_of(SMALL)
