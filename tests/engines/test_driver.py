"""The loop itself, on a session that has no model."""

import pytest

from engines.doubles import END, LettersConstraint, PlainTurn, ScriptedSession, TextConstraint
from untemplate.engines.driver import Options, drive
from untemplate.engines.events import Finished, Generated, Prompted
from untemplate.engines.sampling import Sampling
from untemplate.errors import RequestError

GREEDY = Sampling(temperature=0)


def run(turn, session, **options):
    events = list(drive(turn, session, Options(**{"sampling": GREEDY, **options})))
    assert isinstance(events[-1], Finished)
    assert not any(isinstance(e, Finished) for e in events[:-1])
    assert b"".join(e.data for e in events if isinstance(e, Generated)) == turn.data
    return events


def test_a_turn_is_written_token_by_token_until_the_end_token():
    turn, session = PlainTurn("hello"), ScriptedSession(b"world")
    events = run(turn, session)
    assert events[0] == Prompted(5, 0)
    assert [e.token_ids for e in events[1:-1]] == [*((b,) for b in b"world"), (END,)]
    assert events[1].events == ("w",)
    last = events[-1]
    assert last.message.content == "world"
    assert last.finish_reason == turn.reason == "stop"
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (5, 6)
    assert session.counted == 6
    assert session.evaluated == [list(b"hello"), *([b] for b in b"world")]
    assert last.timings.steps == 5


def test_the_end_token_is_not_evaluated_and_not_read():
    turn, session = PlainTurn("x"), ScriptedSession(b"")
    run(turn, session)
    assert turn.data == b""
    assert turn.tokens == [END]
    assert session.evaluated == [[ord("x")]]


@pytest.mark.parametrize("limit", [0, 1, 3, 5])
def test_max_tokens_ends_with_length(limit):
    turn, session = PlainTurn("hello"), ScriptedSession(b"world")
    last = run(turn, session, max_tokens=limit)[-1]
    assert last.finish_reason == "length"
    assert turn.data == b"world"[:limit]
    assert last.usage.completion_tokens == len(turn.tokens) == limit
    assert len(session.evaluated) == limit


def test_a_full_context_ends_with_length():
    turn = PlainTurn("hello")
    last = run(turn, ScriptedSession(b"world", context_tokens=8))[-1]
    assert last.finish_reason == "length"
    assert turn.data == b"wor"


def test_a_prompt_that_does_not_fit_is_refused_with_both_numbers():
    with pytest.raises(RequestError, match="prompt has 5 tokens, the context holds 5"):
        run(PlainTurn("hello"), ScriptedSession(b"", context_tokens=5))


def test_a_turn_that_had_filled_the_context_is_still_cut_when_it_is_resumed():
    turn = PlainTurn("hello")
    run(turn, ScriptedSession(b"world", context_tokens=8), max_tokens=3)
    later = turn.resumed()
    session = ScriptedSession(b"world", context_tokens=8)
    last = list(drive(later, session, Options(sampling=GREEDY, max_tokens=5)))[-1]
    assert (later.data, last.finish_reason, last.usage.completion_tokens) == (b"wor", "length", 0)
    assert later.resumed() == turn.resumed()


def test_an_empty_prompt_is_refused():
    with pytest.raises(RequestError, match="empty"):
        run(PlainTurn(""), ScriptedSession(b""))


def test_a_stop_string_across_tokens_ends_the_turn_and_is_not_read():
    turn, session = PlainTurn("p"), ScriptedSession(b"one<stop>two")
    last = run(turn, session, stop=("<stop>",))[-1]
    assert (turn.data, last.finish_reason) == (b"one", "stop")


def test_what_only_looked_like_a_stop_string_is_given_out():
    turn = PlainTurn("p", stops=("<stop>",))
    events = run(turn, ScriptedSession(b"a<st>b<sto"), max_tokens=10)
    assert turn.data == b"a<st>b<sto"
    assert [e.data for e in events[1:-1]] == [
        b"a", b"", b"", b"", b"<st>", b"b", b"", b"", b"", b"", b"<sto",
    ]  # fmt: skip


def test_a_stop_that_is_a_token_ends_by_id_and_its_spelling_is_text():
    turn, session = PlainTurn("p", stops=("<|start|>",)), ScriptedSession(b"a<|start|>b")
    assert run(turn, session)[-1].message.content == "a<|start|>b"


def test_forced_tokens_are_evaluated_in_one_batch_with_what_stood_before():
    text = b'{"name": "x"}'
    turn = PlainTurn("hi", make_constraint=lambda _: TextConstraint(text, choices=[10]))
    session = ScriptedSession(text)
    events = run(turn, session)
    assert turn.data == text
    assert session.evaluated == [list(b'hi{"name": "')]
    assert [e.token_ids for e in events[1:-1]] == [tuple(text[:10]), (*text[10:], END)]


def test_the_mask_decides_what_is_written():
    constraint = TextConstraint(b"abc", choices=range(4))
    turn = PlainTurn("hi", make_constraint=lambda _: constraint)
    last = run(turn, ScriptedSession(b"xyz"))[-1]
    assert (turn.data, last.finish_reason) == (b"ZZZ", "stop")
    assert constraint.remaining_seen == [None] * 4


def test_closing_at_the_limit_tells_the_constraint_what_is_left():
    constraint = TextConstraint(b"abc", choices=range(4))
    turn = PlainTurn("hi", make_constraint=lambda _: constraint)
    run(turn, ScriptedSession(b"abc"), max_tokens=9, close_at_limit=True)
    assert constraint.remaining_seen == [None, 9, None, 8, None, 7, None, 6]
    assert turn.limited_at is None


def test_a_limit_decides_only_what_could_not_end_in_time():
    turn = PlainTurn("hi", make_constraint=lambda _: LettersConstraint())
    last = run(turn, ScriptedSession(b"abcdef"), max_tokens=4, close_at_limit=True)[-1]
    assert (turn.data, last.finish_reason) == (b"abc", "stop")
    assert turn.limited_at == 3
    assert last.usage.completion_tokens == 4


def test_a_call_that_is_open_at_the_limit_may_go_on():
    turn = PlainTurn("hi", in_call=True)
    run(turn, ScriptedSession(b"abcdef"), max_tokens=2, extend_tokens=3)
    assert (turn.data, turn.reason) == (b"abcde", "length")
    turn = PlainTurn("hi")
    run(turn, ScriptedSession(b"abcdef"), max_tokens=2, extend_tokens=3)
    assert turn.data == b"ab"
    turn = PlainTurn("hi", in_call=True)
    run(turn, ScriptedSession(b"a" * 50, context_tokens=10), max_tokens=2, extend_tokens=99)
    assert (turn.data, turn.reason) == (b"a" * 8, "length")


def test_reasoning_is_ended_when_its_budget_is_used_up():
    turn = PlainTurn("hi", reasoning_until=9)
    run(turn, ScriptedSession(b"abcdefgh"), reasoning_tokens=3)
    assert turn.data == b"abc.>fgh"
    assert turn.reasoning_tokens == 4
    turn = PlainTurn("hi", reasoning_until=3)
    run(turn, ScriptedSession(b"abcdefgh"), reasoning_tokens=4)
    assert turn.data == b"abcdefgh"
    turn = PlainTurn("hi", reasoning_until=9)
    run(turn, ScriptedSession(b"abcdefgh"), reasoning_tokens=0, max_tokens=1)
    assert (turn.data, turn.reason) == (b".", "length")


@pytest.mark.parametrize("cut", range(1, 11))
def test_a_stop_string_is_found_across_a_resume(cut):
    text, stop = b"one, two, three", (", th",)
    whole = PlainTurn("hi")
    run(whole, ScriptedSession(text), stop=stop)
    turn = PlainTurn("hi")
    run(turn, ScriptedSession(text), stop=stop, max_tokens=cut)
    assert turn.data == text[:cut]
    turn = turn.resumed()
    list(drive(turn, ScriptedSession(text), Options(sampling=GREEDY, stop=stop)))
    assert turn.data == whole.data == b"one, two"


@pytest.mark.parametrize("polls", range(12))
def test_should_stop_ends_the_turn_within_one_token(polls):
    asked = []

    def should_stop():
        asked.append(session.counted)
        return len(asked) > polls

    turn, session = PlainTurn("hello"), ScriptedSession(b"a long text without an end")
    last = run(turn, session, should_stop=should_stop)[-1]
    assert last.finish_reason == turn.reason == "cancelled"
    assert session.counted == asked[-1]


def test_a_session_that_stops_in_an_evaluation_cancels_the_turn():
    turn = PlainTurn("hello")
    assert run(turn, ScriptedSession(b"abc", stop_at=2))[-1].finish_reason == "cancelled"
    assert turn.data == b"ab"


def test_leaving_early_notes_how_far_the_turn_was_evaluated():
    turn = PlainTurn("hello")
    events = drive(turn, ScriptedSession(b"world"), Options(sampling=GREEDY))
    for _ in range(3):
        next(events)
    events.close()
    assert turn.tokens == list(b"wo")
    assert turn.batches == [(0, 5), (5, 6)]


@pytest.mark.parametrize("cut", range(1, 14))
def test_law_20_a_resumed_turn_evaluates_the_batches_of_the_uncut_one(cut):
    text = b'{"name": "x"}'

    def make(_vocabulary):
        constraint = TextConstraint(text, choices=[4, 10, 11])
        for token in turn.tokens:
            constraint.advance(token)
        return constraint

    turn = PlainTurn("hi", make_constraint=make)
    session = ScriptedSession(text)
    run(turn, session)
    whole, batches, tokens = session.evaluated, turn.batches, turn.tokens
    turn = PlainTurn("hi", make_constraint=make)
    first = ScriptedSession(text)
    assert run(turn, first, max_tokens=cut)[-1].finish_reason == "length"
    turn = turn.resumed()
    second = ScriptedSession(text)
    list(drive(turn, second, Options(sampling=GREEDY)))
    assert turn.tokens == tokens
    assert turn.data == text
    assert turn.batches == batches
    assert first.evaluated + second.evaluated == whole


def test_the_seed_is_told_and_gives_the_same_again():
    def write(seed):
        turn = PlainTurn("p", make_constraint=lambda _: TextConstraint(b"a" * 30, range(31)))
        hot = Sampling(temperature=100, seed=seed)
        return turn, run(turn, ScriptedSession(b"a" * 30), sampling=hot)[-1].seed

    turn, seed = write(None)
    assert write(seed)[0].data == turn.data
    assert len({write(n)[0].data for n in range(20)}) == 20
