"""Turns that are fed token ids, by a caller or by our driver: markers count by their token."""

import pytest

from engines.doubles import ScriptedSession
from reader.feeding import merged
from serving import TEMPLATE
from untemplate.engines.driver import Options, drive
from untemplate.engines.events import Finished, Generated
from untemplate.engines.sampling import Sampling
from untemplate.errors import VocabularyError
from untemplate.message import Tool
from untemplate.turn import ChatTemplate, Turn
from untemplate.vocabulary import byte_vocabulary

ASK = [{"role": "user", "content": "How do I call it?"}]
TOOL = Tool("f", parameters={"type": "object", "properties": {"a": {"type": "string"}}})
WORDS = byte_vocabulary(
    ["<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"], eos="<|im_end|>"
)
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "x <tool_call> y"}}\n</tool_call>'
SAID = "Write <tool_call>, then JSON, then </tool_call>. Not <|im_end|>, so.\n"
IDS = [*WORDS.encode(SAID, special=False), *WORDS.encode(CALL, special=True)]
WRITTEN = (SAID + CALL).encode()


@pytest.fixture(scope="module")
def template():
    return ChatTemplate(TEMPLATE)


def unmasked(template):
    """A turn of an engine that takes no masks: only so a model may write what it likes."""
    turn = template.turn(ASK, tools=[TOOL], nonce="n")
    turn.constraint = lambda _vocabulary: None
    return turn


def check(message):
    """The markers that are spelt are content; the call is one."""
    assert message.content == SAID.rstrip("\n")
    (call,) = message.tool_calls
    assert (call.arguments, call.state) == ('{"a": "x <tool_call> y"}', "complete")
    assert message.raw == WRITTEN.decode()
    assert {d.code for d in message.diagnostics} == {"spelt_marker"}


@pytest.mark.parametrize("size", [1, 3, len(IDS)])
def test_what_ordinary_tokens_spell_is_text(template, size):
    turn = template.turn(ASK, tools=[TOOL])
    for at in range(0, len(IDS), size):
        turn.feed_tokens(IDS[at : at + size], WORDS)
    check(turn.finish())


def test_without_spelt_markers_ids_and_bytes_read_alike(template):
    by_ids, by_bytes = (template.turn(ASK, tools=[TOOL], nonce="n") for _ in range(2))
    ids = WORDS.encode("Sure.\n" + CALL.replace(" <tool_call> ", ""), special=True)
    told = [e for i in ids for e in by_ids.feed_tokens([i], WORDS)]
    assert told == [e for i in ids for e in by_bytes.feed(WORDS.tokens[i])]
    assert by_ids.finish() == by_bytes.finish()


def test_law_20_a_turn_that_is_cut_at_any_token_and_resumed_is_the_whole_turn(template):
    whole = template.turn(ASK, tools=[TOOL], nonce="n")
    events = whole.feed_tokens(IDS, WORDS)
    message = whole.finish()
    events = merged(events + whole.finish_events())
    check(message)
    for cut in range(len(IDS) + 1):
        turn = template.turn(ASK, tools=[TOOL], nonce="n")
        turn.feed_tokens(IDS[:cut], WORDS)
        turn.tokens += IDS[:cut]
        turn.finish("length")
        point = turn.resume_point()
        later = Turn.resumed(point)
        assert later.resume_point() == point
        again = later.before + later.feed_tokens(IDS[cut:], WORDS)
        assert later.finish() == message
        assert merged(again + later.finish_events()) == events


def test_a_turn_that_was_fed_bytes_is_resumed_by_its_text(template):
    turn = template.turn(ASK, tools=[TOOL])
    turn.feed_tokens(IDS[:10], WORDS)
    turn.feed(WRITTEN[10:30])
    turn.tokens += IDS[:30]
    assert turn.resume_point().spelled is None
    later = Turn.resumed(turn.resume_point())
    later.feed(WRITTEN[30:])
    assert later.finish().raw == WRITTEN.decode()


@pytest.mark.parametrize("size", [1, 4])
def test_limits_ask_a_second_reader_that_knows_the_ids_too(template, size):
    turn = unmasked(template)
    for at in range(0, len(SAID), size):
        turn.feed_tokens(IDS[at : at + size], WORDS)
        assert not turn.is_in_call
    turn.feed_tokens(IDS[len(SAID) : len(SAID) + 40], WORDS)
    assert turn.is_in_call


# ---------------------------------------------------------------------------------- our own driver


def driven(turn, ids, **options):
    """The message of a driven turn whose model wants to write these ids; and all it told."""
    session = ScriptedSession(ids, vocabulary=WORDS, end=WORDS.eos)
    options = {"sampling": Sampling(temperature=0), **options}
    events = list(drive(turn, session, Options(**options)))
    assert isinstance(events[-1], Finished)
    steps = [e for e in events if isinstance(e, Generated)]
    data = b"".join(e.data for e in steps)
    return events[-1].message, data, [e for step in steps for e in step.events]


def test_the_driver_reads_markers_by_their_token(template):
    turn = unmasked(template)
    message, data, _ = driven(turn, IDS)
    check(message)
    assert (message.finish_reason, data) == ("tool_calls", WRITTEN)
    assert turn.tokens == [*IDS, WORDS.eos]


STOPS = [(), ("</tool_call>.",), ("<tool_call>?",), ("x <", "call>!", " \n"), ("JSON",)]


@pytest.mark.parametrize("stop", STOPS, ids=repr)
def test_law_20_a_driven_turn_cut_at_any_token_is_the_uncut_one(template, stop):
    """Also where a stop string is held back that may begin inside of a marker's token."""
    whole, data, events = driven(unmasked(template), IDS, stop=stop)
    ends = [at for s in stop if (at := WRITTEN.find(s.encode())) >= 0]
    assert data == WRITTEN[: min(ends, default=len(WRITTEN))]
    for cut in range(1, len(IDS), 3):
        turn = unmasked(template)
        first, given, _ = driven(turn, IDS, stop=stop, max_tokens=cut)
        if first.finish_reason == "stop":
            break
        later = Turn.resumed(turn.resume_point())
        later.constraint = turn.constraint
        rest = WRITTEN[len(given) - turn.unsettled :]
        message, more, told = driven(later, IDS, stop=stop)
        assert message == whole
        assert rest.startswith(more)
        assert merged(later.before + told) == merged(events)


def test_a_stop_string_inside_a_marker_ends_the_turn_there(template):
    """The bytes of a token are given out as far as no stop may begin in them."""
    message, data, _ = driven(unmasked(template), IDS, stop=("call>\n",))
    assert data == WRITTEN[: WRITTEN.index(b"call>\n")]
    assert message.content == SAID + "<tool_"


def test_a_rejected_draft_leaves_no_trace_in_a_turn(template):
    turn = unmasked(template)
    for at, token_id in enumerate(IDS):
        before = turn.snapshot()
        for draft in (IDS[:7], WORDS.encode(CALL, special=True)):
            turn.tokens += draft
            turn.feed_tokens(draft, WORDS)
            turn.restore(before)
        assert len(turn.tokens) == at
        turn.tokens.append(token_id)
        turn.feed_tokens([token_id], WORDS)
    assert turn.tokens == IDS
    assert turn.resume_point().written == WRITTEN
    assert Turn.resumed(turn.resume_point()).finish() == turn.finish()
    check(turn.finish())


def test_an_id_that_the_vocabulary_does_not_have(template):
    for token_id in (-1, len(WORDS.tokens)):
        with pytest.raises(VocabularyError, match=f"no token has the id {token_id}"):
            template.turn(ASK, tools=[TOOL]).feed_tokens([token_id], WORDS)
