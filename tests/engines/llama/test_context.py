"""Caches and batches on the real model: exactness, trimming, saving, aborting, guards."""

import ctypes
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from untemplate.engines.llama.context import Context, Sequence, shared_prefix
from untemplate.engines.llama.model import Model
from untemplate.errors import EngineError

pytestmark = pytest.mark.model

TEXT = "The quick brown fox jumps over the lazy dog, and then it sleeps under a tree. " * 12


@pytest.fixture(scope="module")
def context(model):
    context = Context(model, context_tokens=512, sequences=3)
    yield context
    context.close()


@pytest.fixture
def sequence(context):
    sequence = Sequence(context, 0)
    sequence.clear()
    return sequence


@pytest.fixture(scope="module")
def tokens(model):
    return model.tokenize(TEXT, special=False)[:140]


def greedy(sequence, count):
    written = []
    for _ in range(count):
        written.append(int(sequence.context.logits().argmax()))
        assert sequence.evaluate(written[-1:])
    return written


def fill(sequence, tokens, size=64):
    for at in range(0, len(tokens), size):
        assert sequence.evaluate(tokens[at : at + size])


def test_the_same_batches_give_the_same_bits_in_any_sequence(context, sequence, tokens):
    fill(sequence, tokens)
    written = greedy(sequence, 5)
    logits = context.logits().copy()
    other = Sequence(context, 1)
    fill(other, tokens[50:90])
    greedy(other, 3)
    third = Sequence(context, 2)
    fill(third, tokens)
    assert greedy(third, 5) == written
    assert (context.logits() == logits).all()
    assert third.batches == sequence.batches == [
        (0, 64), (64, 128), (128, 140), *((n, n + 1) for n in range(140, 145)),
    ]  # fmt: skip


def test_trimming_to_a_border_and_going_on_gives_the_same_bits(context, sequence, tokens):
    fill(sequence, tokens)
    written = greedy(sequence, 8)
    logits = context.logits().copy()
    assert sequence.trim(142) == 142
    assert sequence.tokens == [*tokens, *written[:2]]
    for token in written[2:]:
        sequence.evaluate([token])
    assert (context.logits() == logits).all()


def test_a_saved_sequence_comes_back_bit_by_bit_elsewhere(context, sequence, tokens):
    fill(sequence, tokens)
    saved = sequence.save()
    written = greedy(sequence, 4)
    logits = context.logits().copy()
    other = Sequence(context, 2)
    fill(other, tokens[30:90])
    assert other.restore(saved)
    assert (other.tokens, other.batches) == (tokens, list(saved.batches))
    for token in written:
        other.evaluate([token])
    assert (context.logits() == logits).all()


def test_a_state_that_makes_no_sense_leaves_the_sequence_empty(sequence):
    sequence.evaluate([1, 2, 3])
    saved = sequence.save()
    assert not sequence.restore(replace(saved, state=saved.state[:100]))
    assert sequence.tokens == []
    assert sequence.evaluate([1])


def test_an_empty_sequence_saves_nothing(sequence):
    assert sequence.save() is None


def test_trimming_inside_a_batch_keeps_how_it_was_evaluated(sequence, tokens):
    fill(sequence, tokens)
    assert sequence.trim(100) == 100
    sequence.evaluate(tokens[100:120])
    assert sequence.batches == [(0, 64), (64, 128), (100, 120)]
    assert sequence.trim(0) == 0
    assert sequence.batches == []


def test_a_model_that_can_not_trim_starts_again(sequence, monkeypatch):
    sequence.evaluate([1, 2, 3])
    real = Context.trim
    monkeypatch.setattr(
        Context, "trim", lambda self, seq, length: length == 0 and real(self, seq, length)
    )
    assert sequence.trim(2) == 0
    assert sequence.tokens == []
    assert sequence.evaluate([1])


def test_a_long_batch_is_aborted_inside_and_leaves_no_trace(context, sequence, tokens):
    fill(sequence, tokens[:64])
    stop = threading.Event()
    threading.Timer(0.03, stop.set).start()
    assert not sequence.evaluate(tokens, stop.is_set)
    assert sequence.tokens == tokens[:64]
    assert sequence.evaluate(tokens[64:128], lambda: False)
    logits_after = context.logits().copy()
    other = Sequence(context, 1)
    other.clear()
    fill(other, tokens[:128])
    assert (context.logits() == logits_after).all()


def test_evaluating_leaves_the_interpreter_to_others(sequence, tokens):
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    fill(sequence, tokens)
    elapsed = time.perf_counter() - started
    done.set()
    thread.join()
    assert ticks > elapsed * 20


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([], "a batch of 0 tokens"),
        ([1] * 257, "a batch of 257 tokens, where 1-256 fit"),
        ([-1], "token ids must be"),
        ([1 << 30], "token ids must be"),
    ],
)
def test_what_would_trip_an_assertion_is_refused_before(sequence, batch, message):
    sequence.evaluate([1, 2])
    with pytest.raises(EngineError, match=message):
        sequence.evaluate(batch)
    assert sequence.tokens == [1, 2]
    assert sequence.evaluate([3])


def test_a_full_context_is_refused_and_the_process_lives(model, tokens):
    context = Context(model, context_tokens=256)
    sequence = Sequence(context, 0)
    fill(sequence, (tokens * 2)[:256])
    with pytest.raises(EngineError, match=r"256 \+ 1 tokens pass the 256"):
        sequence.evaluate([1])
    assert len(sequence.tokens) == 256
    assert sequence.trim(200) == 200
    assert sequence.evaluate([1])
    context.close()


@pytest.mark.parametrize(
    "options",
    [
        {"sequences": 0},
        {"sequences": 1000},
        {"context_tokens": 0},
        {"context_tokens": 1 << 31},
        {"threads": 0},
        {"prompt_threads": -1},
    ],
)
def test_impossible_contexts_are_refused(model, options):
    with pytest.raises(EngineError):
        Context(model, **{"context_tokens": 256, **options})


def test_a_sequence_that_is_not_there_is_refused(context):
    with pytest.raises(EngineError, match="no sequence 3 among 3"):
        Sequence(context, 3).evaluate([1])


def test_logits_before_any_evaluation_are_refused(model):
    context = Context(model, context_tokens=256)
    with pytest.raises(EngineError, match="nothing was evaluated"):
        context.logits()
    context.close()


def test_a_closed_context_is_refused(model):
    context = Context(model, context_tokens=256)
    sequence = Sequence(context, 0)
    context.close()
    context.close()
    for use in (lambda: sequence.evaluate([1]), context.logits, sequence.save, sequence.clear):
        if use == sequence.save:
            sequence.tokens.append(1)
        with pytest.raises(EngineError, match="closed"):
            use()


def test_closing_a_model_closes_its_contexts(library, model_path):
    model = Model(model_path)
    context = Context(model, context_tokens=256)
    model.close()
    with pytest.raises(EngineError, match="context was closed"):
        context.logits()
    with pytest.raises(EngineError, match="model was closed"):
        model.pointer  # noqa: B018


def test_logits_are_a_view_not_a_copy(context, sequence):
    sequence.evaluate([1, 2, 3])
    view = context.logits()
    before = view.copy()
    sequence.evaluate([4])
    assert not np.array_equal(view, before)
    assert view.ctypes.data % ctypes.sizeof(ctypes.c_float) == 0


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [([], [], 0), ([1], [], 0), ([1, 2, 3], [1, 2, 4], 2), ([1, 2], [1, 2, 3], 2), ([1], [2], 0)],
)
def test_shared_prefix(a, b, expected):
    assert shared_prefix(a, b) == shared_prefix(tuple(b), a) == expected
