"""Calls that a model writes in turns, in dialects made for the test: see `interleaved`."""

import json
import random
from dataclasses import replace

import pytest

from counting import steps
from dialects import ALL, CODER, DEEPSEEK, HERMES, NEMO
from interleaved import (
    INTERLEAVED,
    MADE_FOR_TEST_BY_ID,
    MADE_FOR_TEST_BY_INDEX,
    write_piece,
    write_pieces,
    write_turn,
)
from reader.feeding import (
    Fold,
    check_calls,
    check_closing,
    check_tiling,
    feed,
    grammar_of,
    merged,
    read_all,
)
from reader.outputs import draw
from untemplate.constrain import compile_grammar
from untemplate.dialect import CallBlock, Hole, dumps, loads
from untemplate.errors import DialectError
from untemplate.reader import (
    ArgumentEnd,
    ArgumentsDelta,
    CallEnd,
    CallPause,
    CallResume,
    CallStart,
    Part,
    Reader,
    deltas,
)
from untemplate.vocabulary import byte_vocabulary

EACH = pytest.mark.parametrize("dialect", INTERLEAVED.values(), ids=INTERLEAVED)
DOCUMENT = '{"a": "Zü\\"\\ud83d\\ude00 x", "n": -12, "b": true, "o": {"k": [1, null]}}'
VALUES = json.loads(DOCUMENT)


def codes(message):
    return [d.code for d in message.diagnostics]


def told(dialect, pieces):
    """What is told of the calls, and the bytes that wait for the next piece."""
    text = write_turn(dialect, pieces)
    _, events = feed(grammar_of(dialect), [text.encode()])
    for event in events:
        match event:
            case CallStart(index, _, name):
                yield CallStart, index, name
            case CallPause(index) | CallResume(index):
                yield type(event), index
            case CallEnd(index, state):
                yield CallEnd, index, state
            case ArgumentsDelta(index, written, _):
                yield index, written
            case ArgumentEnd(index, name, value, _):
                yield ArgumentEnd, index, name, value
            case Part("held", (start, end)):
                yield "held", text[start:end]
            case _:
                pass


@EACH
def test_a_call_pauses_and_resumes_and_each_event_says_whose_it_is(dialect):
    pieces = [(0, "f", '{"a": "x", "n": 1'), (1, "ping", "{}"), (0, "f", "2}")]
    assert list(told(dialect, pieces)) == [
        (CallStart, 0, "f"),
        (0, "{"),
        (0, '"a": "x"'),
        (ArgumentEnd, 0, "a", "x"),
        ("held", ', "n": 1'),
        (CallPause, 0),
        (CallStart, 1, "ping"),
        (1, "{}"),
        (CallEnd, 1, "complete"),
        (CallResume, 0),
        (0, ', "n": 12'),
        (ArgumentEnd, 0, "n", 12),
        (0, "}"),
        (CallEnd, 0, "complete"),
    ]


def read_twice(dialect, pieces):
    """The message, read whole and byte by byte: what most of these tests need."""
    data = write_turn(dialect, pieces).encode()
    whole = feed(grammar_of(dialect), [data])
    assert feed(grammar_of(dialect), [data[at : at + 1] for at in range(len(data))]) == whole
    return whole[0]


@EACH
def test_a_document_may_be_cut_anywhere(dialect):
    for at in range(len(DOCUMENT)):
        pieces = [(0, "f", DOCUMENT[:at]), (1, "ping", "{}"), (0, "f", DOCUMENT[at:])]
        message = read_twice(dialect, pieces)
        first, second = message.tool_calls
        assert (first.arguments, first.state, first.closing) == (DOCUMENT, "complete", "")
        assert set(first.arguments_state.values()) == {"complete"}
        assert first.ambiguous == ()
        assert (second.name, second.arguments, second.state) == ("ping", "{}", "complete")
        assert (message.end, message.finish_reason) == ("complete", "tool_calls")
        assert codes(message) == []
        assert [b.call for b in message.blocks] == [0, 1]


@EACH
def test_a_document_may_be_cut_inside_its_characters(dialect):
    """Whatever splits a stream of bytes in pieces may do so inside of a character."""
    data = '{"ä": "é漢🦀"}'.encode()
    text = write_turn(dialect, [(0, "f", f"\0{at}\0") for at in range(len(data))]).encode()
    for at in range(len(data)):
        text = text.replace(b"\0%d\0" % at, data[at : at + 1])
    message, _ = read_all(grammar_of(dialect), text)
    (call,) = message.tool_calls
    assert (json.loads(call.arguments), call.state) == ({"ä": "é漢🦀"}, "complete")
    assert codes(message) == ["missing_argument", "undeclared_argument"]


@EACH
def test_many_calls_in_turns_with_each_byte_a_piece(dialect):
    documents = [json.dumps({"a": f"value {n}", "n": n * 100}) for n in range(3)]
    turns = [
        (n, "f", d[at : at + 1])
        for at in range(max(map(len, documents)))
        for n, d in enumerate(documents)
        if at < len(d)
    ]
    message = read_twice(dialect, turns)
    assert [c.arguments for c in message.tool_calls] == documents
    assert {c.state for c in message.tool_calls} == {"complete"}
    assert codes(message) == []


@EACH
@pytest.mark.parametrize("seed", range(8))
def test_law_02_03_05_07_08_calls_in_any_turns(dialect, seed):
    rng = random.Random(seed)
    output = draw(dialect, rng, calls=3)
    message, _ = read_all(grammar_of(dialect), output.data, seed=seed)
    assert [json.loads(c.arguments) for c in message.tool_calls] == output.calls
    assert {c.state for c in message.tool_calls} == {"complete"}
    assert set(codes(message)) <= {"missing_argument"}


def test_a_call_that_is_whole_ends_at_once():
    """Only what may go on has to wait."""
    reader = Reader(grammar_of(MADE_FOR_TEST_BY_ID))
    events = reader.feed(write_piece(MADE_FOR_TEST_BY_ID, 0, "f", '{"a": "x"}').encode())
    assert events[-1] == CallEnd(0, "complete")


def test_deltas_say_the_index_of_the_call():
    pieces = [(0, "f", '{"a": "x'), (1, "f", '{"a": "y'), (0, "f", 'z"}'), (1, "f", '"}')]
    text = write_turn(MADE_FOR_TEST_BY_INDEX, pieces).encode()
    reader = Reader(grammar_of(MADE_FOR_TEST_BY_INDEX), nonce="n")
    news = [c for d in deltas(reader.feed(text)) for c in d.tool_calls]
    assert [(c.index, c.name, c.arguments, c.state) for c in news] == [
        (0, "f", "", None),
        (0, None, '{"a": "x', None),
        (1, "f", "", None),
        (1, None, '{"a": "y', None),
        (0, None, 'z"}', "complete"),
        (1, None, '"}', "complete"),
    ]


def test_the_live_turn_shows_each_call_as_it_stands():
    dialect = MADE_FOR_TEST_BY_INDEX
    reader = Reader(grammar_of(dialect))
    begun = [(0, "f", '{"a": "x", "o": {"k": "v')]
    reader.feed(write_turn(dialect, begun, is_open=True).encode())
    first = reader.live.calls[0]
    reader.feed(write_piece(dialect, 1, "ping", "{}").encode())
    assert [c.is_open for c in reader.live.calls] == [True, False]
    assert (first.arguments, first.closing) == ('{"a": "x", "o": {"k": "v', '"}}')
    assert (first.open_pointer, dict(first.values)) == ("/o/k", {"a": "x"})
    reader.feed(write_piece(dialect, 0, "f", 'w"}}').encode())
    assert not first.is_open
    assert json.loads(first.arguments)["o"] == {"k": "vw"}
    assert [c.index for c in reader.live.calls] == [0, 1]


def test_content_may_stand_between_pieces():
    dialect = replace(
        MADE_FOR_TEST_BY_ID,
        edges=(*MADE_FOR_TEST_BY_ID.edges, replace(MADE_FOR_TEST_BY_ID.edges[0], source="call")),
    )
    texts = [write_piece(dialect, 0, "f", p) for p in ('{"a": "x", "n": ', "7}")]
    message, _ = read_all(grammar_of(dialect), f"{texts[0]}Wait.\n{texts[1]}")
    assert [(b.kind, b.text, b.call) for b in message.blocks] == [
        ("call", "", 0),
        ("content", "Wait.", None),
    ]
    assert message.tool_calls[0].arguments == '{"a": "x", "n": 7}'
    assert codes(message) == ["text_after_call"]


# ---------------------------------------------------------------------------------- what is no call


@EACH
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_call_that_nothing_goes_on_with_is_cut(dialect, reason):
    pieces = [(0, "f", '{"a": "x", "n": 1'), (1, "ping", "{}")]
    message, events = read_all(grammar_of(dialect), write_turn(dialect, pieces), reason)
    first, second = message.tool_calls
    assert (first.state, first.arguments, first.closing) == ("cut", '{"a": "x"', "}")
    assert first.arguments_state == {"/a": "complete", "/n": "cut"}
    assert second.state == "complete"
    assert (codes(message), message.end) == (["cut_call"], "cut")
    assert [e.index for e in events if isinstance(e, CallEnd)] == [1, 0]


@EACH
@pytest.mark.parametrize(
    ("reason", "state", "code"),
    [("stop", "complete", "no_arguments"), ("length", "cut", "cut_call")],
)
def test_a_block_without_arguments_waits_for_them(dialect, reason, state, code):
    text = write_turn(dialect, [(0, "ping", "")])
    message, _ = read_all(grammar_of(dialect), text, reason)
    (call,) = message.tool_calls
    assert (call.state, call.arguments + call.closing, codes(message)) == (state, "{}", [code])
    pieces = [(0, "ping", ""), (0, "ping", ""), (0, "ping", "{}")]
    message, _ = read_all(grammar_of(dialect), write_turn(dialect, pieces), reason)
    (call,) = message.tool_calls
    assert (call.state, call.arguments, codes(message)) == ("complete", "{}", [])


@EACH
def test_a_block_that_repeats_what_names_a_whole_call_is_a_call_of_its_own(dialect):
    pieces = [(0, "f", '{"a": "x"}'), (0, "f", '{"a": "y"}'), (0, "f", ', "n": 1}')]
    message, _ = read_all(grammar_of(dialect), write_turn(dialect, pieces))
    assert [(c.index, c.state) for c in message.tool_calls] == [
        (0, "complete"),
        (1, "complete"),
        (2, "malformed"),
    ]
    assert [c.arguments for c in message.tool_calls[:2]] == ['{"a": "x"}', '{"a": "y"}']
    assert len({c.id for c in message.tool_calls}) == 3
    assert codes(message)[0] == "bad_arguments"


@pytest.mark.parametrize("dialect", [MADE_FOR_TEST_BY_INDEX, MADE_FOR_TEST_BY_ID])
def test_a_block_of_another_tool_is_a_call_of_its_own_and_both_go_on(dialect):
    pieces = [(0, "f", '{"a": "x'), (0, "ping", "{"), (0, "f", 'y"}'), (0, "ping", "}")]
    message, _ = read_all(grammar_of(dialect), write_turn(dialect, pieces))
    assert [(c.name, c.arguments, c.state) for c in message.tool_calls] == [
        ("f", '{"a": "xy"}', "complete"),
        ("ping", "{}", "complete"),
    ]
    assert codes(message) == ["repeated_id"]


def test_a_header_that_does_not_say_which_call_it_is_begins_one():
    text = '<|calls|><|call|>f<|args|>{"a": "x"}<|end_call|><|call|>f<|args|>{"a": "y"}<|end_call|>'
    message, _ = read_all(grammar_of(MADE_FOR_TEST_BY_INDEX), text)
    assert [c.arguments for c in message.tool_calls] == ['{"a": "x"}', '{"a": "y"}']
    assert {c.state for c in message.tool_calls} == {"complete"}


@EACH
def test_a_piece_that_is_no_json_damages_its_call_only(dialect):
    pieces = [(0, "f", '{"a": "x'), (1, "f", '{"a": "y'), (0, "f", '" oops'), (1, "f", '"}')]
    message, _ = read_all(grammar_of(dialect), write_turn(dialect, pieces))
    first, second = message.tool_calls
    assert first.state == "malformed"
    assert (second.state, second.arguments) == ("complete", '{"a": "y"}')
    assert codes(message) == ["bad_json"]


@EACH
def test_arguments_as_a_json_string_may_come_in_pieces_too(dialect):
    written = json.dumps(DOCUMENT)
    for at in range(1, len(written), 3):
        pieces = [(0, "f", written[:at]), (1, "ping", "{}"), (0, "f", written[at:])]
        message = read_twice(dialect, pieces)
        first, _ = message.tool_calls
        assert (json.loads(first.arguments), first.state) == (VALUES, "complete")
        assert codes(message) == ["quoted_arguments"]


@EACH
def test_a_closer_inside_a_string_is_text_where_no_call_follows_it(dialect):
    closer = write_piece(dialect, 0, "f", "\0").partition("\0")[2].strip()
    document = json.dumps({"a": f"x {closer} y", "n": 3})
    at = document.index("y")
    for pieces in ([document], [document[:at], document[at:]]):
        text = write_turn(dialect, [(0, "f", p) for p in pieces])
        message, _ = read_all(grammar_of(dialect), text)
        (call,) = message.tool_calls
        assert (call.arguments, call.state, call.ambiguous) == (document, "complete", ("/a",))


@EACH
def test_the_end_of_the_turn_inside_a_string_that_has_paused(dialect):
    text = write_turn(dialect, [(0, "f", '{"a": "x')], is_open=True)
    for end in ("", dialect.literal("call", "$"), dialect.stops[0]):
        for reason in ("stop", "length"):
            message, _ = read_all(grammar_of(dialect), text + end, reason)
            (call,) = message.tool_calls
            assert (call.arguments, call.state) == ('{"a": "x', "cut")
            assert call.arguments_state == {"/a": "cut"}
            assert message.end == "cut"


@EACH
def test_law_17_18_19_the_end_of_the_text_anywhere(dialect):
    """Cut after every byte: what is complete is right, all that is open is cut."""
    pieces = [(0, "f", '{"a": "x", "n": 1'), (1, "f", '{"a": "y'), (0, "f", '2, "b": t')]
    pieces += [(1, "f", '"}'), (0, "f", "rue}")]
    data = write_turn(dialect, pieces).encode()
    final = [{"a": "x", "n": 12, "b": True}, {"a": "y"}]
    for size in range(len(data) + 1):
        message, _ = feed(grammar_of(dialect), [data[:size]] if size else [], "length")
        for call in message.tool_calls:
            received = check_closing(call.arguments, call.closing)
            states = call.arguments_state
            whole = {k: v for k, v in received.items() if states.get(f"/{k}") == "complete"}
            assert whole.items() <= final[call.index].items()
            assert call.state == "cut" or received == final[call.index]
        assert message.end == "cut" or size == len(data)


@pytest.mark.parametrize("dialect", [MADE_FOR_TEST_BY_INDEX, MADE_FOR_TEST_BY_ID])
def test_law_13_under_none_pieces_are_text(dialect):
    from untemplate.message import ToolChoice

    text = write_turn(dialect, [(0, "f", '{"a": "x'), (0, "f", '"}')])
    message, _ = read_all(grammar_of(dialect, choice=ToolChoice("none")), text)
    assert (message.content.strip(), message.tool_calls) == (text, ())


@pytest.mark.parametrize("name", ALL)
def test_in_other_dialects_no_call_waits(name):
    """Their blocks are calls of their own, whatever ids they repeat."""
    rng = random.Random(name)
    for _ in range(5):
        output = draw(ALL[name], rng, calls=2)
        data = output.data.replace(b"abcdefgh1", b"abcdefgh0")
        message, events = feed(grammar_of(ALL[name], prompt=output.prompt), [data])
        assert len(message.tool_calls) == 2
        kinds = {type(e) for e in events}
        assert not {CallPause, CallResume} & kinds


# ------------------------------------------------------------------------------------ what it costs


def turns(dialect, calls, rounds, text="abcd"):
    """So many calls, each with so many pieces of one string."""
    before = [(n, "f", '{"a": "') for n in range(calls)]
    middle = [(n, "f", text) for _ in range(rounds) for n in range(calls)]
    after = [(n, "f", '"}') for n in range(calls)]
    return write_turn(dialect, [*before, *middle, *after]).encode()


def steps_of(dialect, data, *, looks):
    def run():
        reader = Reader(grammar_of(dialect))
        for at in range(0, len(data), 16):
            list(deltas(reader.feed(data[at : at + 16])))
            for call in reader.live.calls[-1:] if looks else ():
                assert call.pieces is not None
                assert call.closing is not None
        assert {c.state for c in reader.finish().tool_calls} == {"complete"}

    return steps(run)


@pytest.mark.parametrize("looks", [False, True], ids=["deltas", "deltas and looks"])
@EACH
def test_law_06_twice_the_turns_take_at_most_twice_the_steps(dialect, looks):
    steps_of(dialect, turns(dialect, 2, 2), looks=looks)
    for small, large in (((2, 10), (2, 20)), ((10, 2), (20, 2))):
        one, two = (turns(dialect, *size) for size in (small, large))
        ratio = len(two) / len(one)
        cost = steps_of(dialect, one, looks=looks)
        assert steps_of(dialect, two, looks=looks) <= 1.1 * ratio * cost


def opened(dialect, calls, size=1):
    reader = Reader(grammar_of(dialect))
    pieces = [(n, "f", '{"a": "' + "x" * size) for n in range(calls)]
    reader.feed(write_turn(dialect, pieces, is_open=True).encode())
    return reader


@EACH
def test_law_08_a_snapshot_costs_what_is_open(dialect):
    few = opened(dialect, 10)
    cost = steps(few.snapshot)
    assert steps(opened(dialect, 10, 10_000).snapshot) <= cost
    assert steps(opened(dialect, 100).snapshot) <= 2 * 10 * cost
    ended = Reader(grammar_of(dialect))
    ended.feed(write_turn(dialect, [(n, "f", '{"a": "x"}') for n in range(100)]).encode())
    assert steps(ended.snapshot) <= cost


@EACH
def test_law_08_two_readings_from_one_snapshot_do_not_meet(dialect):
    reader = opened(dialect, 2)
    point = reader.snapshot()
    ends = [write_pieces(dialect, [(1, "f", f'{n}"}}'), (0, "f", f'{n}"}}')]) for n in range(3)]
    for number, end in enumerate(ends):
        other = Reader(grammar_of(dialect))
        other.restore(point)
        other.feed(write_piece(dialect, 1, "f", "draft").encode())
        other.restore(point)
        other.feed(end.encode())
        message = other.finish()
        wanted = json.dumps({"a": f"x{number}"})
        assert [c.arguments for c in message.tool_calls] == [wanted, wanted]
        assert len(other.live.calls) == 2
    assert [c.state for c in reader.finish("length").tool_calls] == ["cut", "cut"]
    assert [c.arguments for c in reader.finish("length").tool_calls] == ['{"a": "x', '{"a": "x']


# ------------------------------------------------------------------------------------ tokens, masks


@EACH
def test_token_ids_are_read_as_the_bytes_are(dialect):
    block = dialect.blocks["call"]
    marks = [p.strip() for p in block.pattern if not isinstance(p, Hole) and p != "#"]
    vocabulary = byte_vocabulary([*marks, *dialect.stops], eos=dialect.stops[0])
    data = draw(dialect, random.Random(5), calls=3).data
    events = []
    reader = Reader(grammar_of(dialect), nonce="n", vocabulary=vocabulary)
    for token in vocabulary.encode(data.decode(), special=True):
        events += reader.feed_tokens([token])
    message = reader.finish()
    events += reader.finish_events()
    check_tiling(events, data)
    check_calls(events)
    assert (message, merged(events)) == feed(grammar_of(dialect), [data])


def test_a_closer_in_a_string_that_ordinary_tokens_spell_is_text():
    """Even where a call follows: a special token would have closed the piece."""
    dialect = MADE_FOR_TEST_BY_INDEX
    vocabulary = byte_vocabulary(["<|call|>", "<|args|>", "<|end_call|>"])
    head, tail = write_turn(dialect, [(0, "f", '{"a": "\0"}')]).split("\0")
    ids = vocabulary.encode(head, special=True)
    ids += vocabulary.encode("<|end_call|><|call|>", special=False)
    ids += vocabulary.encode(tail, special=True)
    reader = Reader(grammar_of(dialect), vocabulary=vocabulary)
    fold = Fold()
    for token in ids:
        fold.add(reader.feed_tokens([token]))
    message = reader.finish()
    (call,) = message.tool_calls
    assert (
        json.loads(call.arguments) == {"a": "<|end_call|><|call|>"} == json.loads(fold.calls[0][2])
    )
    assert "spelt_marker" in codes(message)


@EACH
def test_the_mask_writes_one_call_after_another(dialect):
    """It closes each call before the next; what it writes needs no piece."""
    vocabulary = byte_vocabulary(list(dialect.stops), eos=dialect.stops[0])
    compiled = compile_grammar(grammar_of(dialect), vocabulary)
    whole = [(n, "f", '{"a": "x"}') for n in range(2)]
    assert compiled.constraint().feed(write_turn(dialect, whole).encode())
    halves = [(0, "f", '{"a": "x", '), (1, "f", '{"a": "x"}')]
    assert not compiled.constraint().feed(write_turn(dialect, halves).encode())


# ----------------------------------------------------------------------------------- how it is said


@EACH
def test_a_dialect_says_it_as_data(dialect):
    assert loads(dumps(dialect)) == dialect
    assert '"continued_by"' in dumps(dialect)
    assert '"continued_by"' not in dumps(HERMES)


@pytest.mark.parametrize(
    ("dialect", "by", "wrong"),
    [
        (HERMES, "id", "one JSON value"),
        (NEMO, "id", "one JSON value"),
        (CODER, "index", "one JSON value"),
        (DEEPSEEK, "id", "name and id in front of the arguments"),
        (MADE_FOR_TEST_BY_ID, "index", "name and index in front of the arguments"),
    ],
)
def test_a_dialect_whose_pieces_could_not_be_told_is_refused(dialect, by, wrong):
    block = replace(dialect.blocks["call"], continued_by=by)
    dialect = replace(dialect, blocks={**dialect.blocks, "call": block})
    with pytest.raises(DialectError, match=wrong):
        grammar_of(dialect)


def test_pieces_need_a_mark_at_their_end():
    block = CallBlock(
        ("<call ", Hole.NAME, " ", Hole.INDEX, ">", Hole.ARGUMENTS),
        MADE_FOR_TEST_BY_INDEX.blocks["call"].arguments,
        continued_by="index",
    )
    blocks = {**MADE_FOR_TEST_BY_INDEX.blocks, "call": block}
    with pytest.raises(DialectError, match="a mark behind the arguments"):
        grammar_of(replace(MADE_FOR_TEST_BY_INDEX, blocks=blocks))
