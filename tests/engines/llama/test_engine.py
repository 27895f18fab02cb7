"""The engine on the real model: caches, resuming, fairness, cancelling."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from engines.doubles import PlainTurn
from untemplate.engines.events import Finished, Generated, Prompted
from untemplate.engines.llama.engine import LlamaEngine
from untemplate.engines.sampling import Sampling
from untemplate.errors import EngineError, RequestError

pytestmark = pytest.mark.model

GREEDY = Sampling(temperature=0)


def ask(text):
    return PlainTurn(f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")


LONG = "Tell me about rivers, lakes, mountains and the sea, one sentence for each. " * 6


def run(engine, turn, **options):
    events = list(engine.generate(turn, **{"sampling": GREEDY, **options}))
    assert isinstance(events[0], Prompted | Finished)
    assert isinstance(events[-1], Finished)
    return events


def test_a_question_is_answered(engine):
    last = run(engine, ask("What is the capital of France?"), max_tokens=30)[-1]
    assert "Paris" in last.message.content
    assert last.finish_reason == "stop"
    assert last.usage.completion_tokens == last.timings.steps + 1
    assert last.timings.decode_s > 0


def test_a_prompt_that_begins_like_an_earlier_one_is_partly_cached(engine):
    run(engine, ask(LONG + "First."), max_tokens=2)
    before = run(engine, ask(LONG + "Second."), max_tokens=2)
    usage = before[-1].usage
    assert usage.prompt_tokens - usage.cached_tokens < 12
    assert before[0].cached_tokens == usage.cached_tokens


def test_exact_reuse_gives_what_a_run_without_a_cache_gives(engine):
    question = ask(LONG + "Which is the longest river?")
    fresh = question.resumed()
    run(engine, fresh, max_tokens=12, reuse="none")
    run(engine, ask(LONG + "Something else?"), max_tokens=3)
    again = question.resumed()
    cached = run(engine, again, max_tokens=12, reuse="exact")[0].cached_tokens
    assert again.tokens == fresh.tokens
    assert again.batches == fresh.batches
    assert cached == 64 * ((cached or 1) // 64) > 0


def whole_and_cuts(engine, question, length):
    whole = question.resumed()
    run(engine, whole, max_tokens=length, reuse="exact")
    return whole, range(1, length)


def test_law_20_a_cut_turn_resumed_from_the_cache_is_byte_identical(engine):
    whole, cuts = whole_and_cuts(engine, ask(LONG), 8)
    for cut in cuts:
        turn = ask(LONG)
        run(engine, turn, max_tokens=cut, reuse="exact")
        resumed = turn.resumed()
        first = run(engine, resumed, max_tokens=8 - cut)[0]
        assert first.is_exact
        assert resumed.tokens == whole.tokens
        assert resumed.data == whole.data
        assert resumed.batches == whole.batches


def test_law_20_another_request_in_between_is_survived_by_the_saved_state(engine):
    whole, _ = whole_and_cuts(engine, ask(LONG), 8)
    turn = ask(LONG)
    run(engine, turn, max_tokens=4, reuse="exact")
    for n in range(4):
        run(engine, ask(f"Number {n}: " + LONG), max_tokens=2)
    assert len(engine._pool.saved) > 0
    resumed = turn.resumed()
    first = run(engine, resumed, max_tokens=4)[0]
    assert first.is_exact
    assert first.cached_tokens == first.prompt_tokens
    assert resumed.tokens == whole.tokens


def test_law_20_a_resume_without_any_cache_says_so_and_goes_on(model):
    engine = LlamaEngine(model, context_tokens=512, sequences=1, saved_bytes=0)
    turn = ask(LONG)
    run(engine, turn, max_tokens=4)
    run(engine, ask("Something else."), max_tokens=1)
    resumed = turn.resumed()
    first = run(engine, resumed, max_tokens=4)[0]
    assert not first.is_exact
    assert len(resumed.tokens) == 8
    assert resumed.tokens[:4] == turn.tokens


def test_law_20_sampled_turns_resume_with_the_numbers_they_would_have_had(engine):
    hot = Sampling(temperature=1.2, seed=11)
    whole = ask("Tell me a story.")
    run(engine, whole, max_tokens=10, sampling=hot, reuse="exact")
    turn = ask("Tell me a story.")
    run(engine, turn, max_tokens=6, sampling=hot, reuse="exact")
    resumed = turn.resumed()
    run(engine, resumed, max_tokens=4, sampling=hot)
    assert resumed.tokens == whole.tokens


def test_requests_that_run_together_alternate_and_none_waits_for_the_end(engine):
    order = []
    ready = threading.Barrier(2)

    def work(name):
        for event in engine.generate(ask(f"{name}: count to a hundred."), max_tokens=25):
            if isinstance(event, Prompted):
                ready.wait(timeout=60)
            if isinstance(event, Generated):
                order.append(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    shorter = min(order.count("a"), order.count("b"))
    together = order[2 : 2 * shorter - 2]
    runs = [1]
    for one, other in itertools.pairwise(together):
        runs[-1:] = [runs[-1] + 1] if one == other else [runs[-1], 1]
    assert max(runs) <= 4


def test_more_requests_than_sequences_are_served_in_turn_and_alike(engine):
    expected = ask("Name three colours.")
    run(engine, expected, max_tokens=8, reuse="none")
    turns = [ask("Name three colours.") for _ in range(6)]
    threads = [
        threading.Thread(target=run, args=(engine, t), kwargs={"max_tokens": 8, "reuse": "none"})
        for t in turns
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert [t.tokens for t in turns] == [expected.tokens] * 6
    assert engine.waiting == 0


def test_stopping_ends_generation_within_one_token(engine):
    stop = threading.Event()
    seen = 0
    for event in engine.generate(
        ask("Count to a thousand."), sampling=GREEDY, should_stop=stop.is_set
    ):
        match event:
            case Generated():
                seen += 1
                if seen == 5:
                    stop.set()
                    counted = engine.generated_tokens
            case Finished():
                assert event.finish_reason == "cancelled"
            case _:
                pass
    assert seen == 5
    assert engine.generated_tokens == counted


def test_closing_the_generator_gives_the_sequence_back(engine):
    for _ in range(5):
        events = engine.generate(ask("Count to a thousand."))
        next(events)
        next(events)
        before = engine.generated_tokens
        events.close()
    assert engine.generated_tokens == before
    assert len(engine._pool._free) == 3


def test_stopping_within_a_prefill_ends_it_at_once(engine):
    polled = []

    def should_stop():
        polled.append(engine.generated_tokens)
        return len(polled) > 3

    turn = ask("A new beginning: " + LONG * 4)
    last = list(engine.generate(turn, should_stop=should_stop))[-1]
    assert last.finish_reason == "cancelled"
    assert not turn.tokens
    assert engine.generated_tokens == polled[0]
    assert run(engine, turn, max_tokens=1)[-1].finish_reason == "length"


def test_waiting_for_a_sequence_can_be_stopped(model):
    engine = LlamaEngine(model, context_tokens=256, sequences=1)
    holder = engine.generate(ask("Hello"), max_tokens=5)
    next(holder)
    events = list(engine.generate(ask("Hello"), should_stop=lambda: engine.waiting == 1))
    assert [e.finish_reason for e in events] == ["cancelled"]
    holder.close()
    run(engine, ask("Hello"), max_tokens=1)


def test_the_context_s_end_is_a_length_and_the_engine_lives(model):
    engine = LlamaEngine(model, context_tokens=256, sequences=1)
    turn = PlainTurn("word " * 240)
    last = run(engine, turn)[-1]
    assert last.finish_reason in ("length", "stop")
    assert last.usage.prompt_tokens + last.usage.completion_tokens <= 256
    with pytest.raises(RequestError, match="the context holds 256"):
        run(engine, PlainTurn("word " * 400))
    assert run(engine, ask("Hello"), max_tokens=1)[-1].finish_reason == "length"


def test_a_closed_engine_refuses_work(library, model_path):
    from untemplate.engines.llama.model import Model

    engine = LlamaEngine(Model(model_path), context_tokens=256, sequences=1)
    events = engine.generate(ask("Count to a thousand."))
    next(events)
    next(events)
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        list(events)
    with pytest.raises(EngineError, match="closed"):
        list(engine.generate(ask("Hello")))


def test_the_logit_bias_and_stops_of_a_request_are_obeyed(engine):
    last = run(engine, ask("What is the capital of France?"), max_tokens=20, stop=["Par"])[-1]
    assert last.message.content.endswith("is ")
    (space,) = engine.vocabulary.encode(" Paris", special=False)
    biased = Sampling(temperature=0, logit_bias={space: -100.0})
    last = run(engine, ask("What is the capital of France?"), max_tokens=20, sampling=biased)[-1]
    assert " Paris" not in last.message.content


@pytest.mark.laws
def test_many_requests_that_stop_resume_and_leave_never_disturb_each_other(engine):
    questions = [LONG[:length] for length in (40, 150, 300, 430)]
    expected = []
    for question in questions:
        turn = ask(question)
        run(engine, turn, max_tokens=12, reuse="none")
        expected.append(turn.tokens)
    failures = []

    def work(seed):
        random = Random(seed)
        for _ in range(25):
            number = random.randrange(len(questions))
            turn, cut = ask(questions[number]), random.randint(1, 11)
            way = random.choice(["whole", "resume", "stop", "leave"])
            if way in ("whole", "resume"):
                run(engine, turn, max_tokens=12 if way == "whole" else cut, reuse="exact")
            if way == "resume":
                turn = turn.resumed()
                if not run(engine, turn, max_tokens=12 - cut)[0].is_exact:
                    continue
            if way in ("whole", "resume") and turn.tokens != expected[number]:
                failures.append((way, number, cut, turn.tokens))
            if way == "stop":
                polls = iter(range(cut))
                run(engine, turn, should_stop=lambda polls=polls: next(polls, None) is None)
            if way == "leave":
                events = engine.generate(turn, max_tokens=40)
                for _ in range(cut):
                    next(events, None)
                events.close()

    with ThreadPoolExecutor(6) as executor:
        list(executor.map(work, range(6)))
    assert not failures
    assert len(engine._pool._free) == 3
