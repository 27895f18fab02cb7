"""Law 16: a reader that is fed ids takes special tokens by id, and their spelling for text."""

import json
import random

import pytest

from dialects import ALL, CODER, DEEPSEEK, HERMES, QWEN3
from families import FAMILIES, family
from reader.feeding import Fold, check_tiling, feed, grammar_of, merged
from reader.outputs import draw
from reader.soup import literals, soup
from untemplate.budget.policy import repairs
from untemplate.dialect import END, Hole, fill
from untemplate.errors import VocabularyError
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.reader import Reader
from untemplate.vocabulary import TokenKind, Vocabulary, byte_vocabulary
from untemplate.vocabulary.from_gguf import from_gguf

HERMES_TOKENS = byte_vocabulary(
    ["<|im_end|>", "<|endoftext|>", "<tool_call>", "</tool_call>", "<think>", "</think>"],
    eos="<|im_end|>",
)
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "x"}}\n</tool_call>'


def read(grammar, vocabulary, groups, reason="stop"):
    """Message and events for groups of ids, after checking that the spans tile the bytes."""
    reader, events, fold = Reader(grammar, nonce="n", vocabulary=vocabulary), [], Fold()
    for group in groups:
        new = reader.feed_tokens(group)
        events += new
        fold.add(new)
    message = reader.finish(reason)
    new = reader.finish_events()
    fold.add(new)
    events += new
    assert fold.content == message.content
    check_tiling(events, message.raw.encode())
    return message, merged(events)


def read_tokens(grammar, vocabulary, ids):
    """The same for all ids at once, one by one, and in random groups."""
    whole = read(grammar, vocabulary, [ids])
    assert read(grammar, vocabulary, [[i] for i in ids]) == whole
    rng = random.Random(1)
    for _ in range(3):
        places = sorted(rng.randrange(len(ids) + 1) for _ in range(4))
        groups = [ids[a:b] for a, b in zip([0, *places], [*places, len(ids)], strict=True)]
        assert read(grammar, vocabulary, groups) == whole
    return whole


def codes(message):
    return [d.code for d in message.diagnostics]


def special(text, vocabulary=HERMES_TOKENS):
    return vocabulary.encode(text, special=True)


def spelt(text, vocabulary=HERMES_TOKENS):
    return vocabulary.encode(text, special=False)


def test_special_tokens_are_markers_and_all_reads_as_from_bytes():
    for text in (f"Sure.\n{CALL}", CALL, f"{CALL}\n{CALL}<|im_end|>", "Only text.<|im_end|>"):
        found = read_tokens(grammar_of(HERMES), HERMES_TOKENS, special(text))
        assert found == feed(grammar_of(HERMES), [text.encode()])
        assert codes(found[0]) == []


@pytest.mark.parametrize("before", ["", "Write ", "\n", "a\n\n"])
def test_a_marker_that_ordinary_tokens_spell_is_text(before):
    text = before + CALL.replace("\n", "") + " like this"
    message, _ = read_tokens(grammar_of(HERMES), HERMES_TOKENS, spelt(text))
    assert message.tool_calls == ()
    assert message.content == text
    assert codes(message)[:1] == ["spelt_marker"]
    start = len(before)
    assert message.diagnostics[0].span == (start, start + len("<tool_call>"))


@pytest.mark.parametrize("marker", ["<tool_call>", "</tool_call>"])
def test_behind_a_call_a_marker_that_is_spelt_is_text(marker):
    ids = [*special(CALL), *spelt(f"\n{marker} is a marker.")]
    message, _ = read_tokens(grammar_of(HERMES), HERMES_TOKENS, ids)
    assert len(message.tool_calls) == 1
    assert message.content == f"\n{marker} is a marker."
    assert codes(message) == ["text_after_call", "spelt_marker"]


def test_behind_the_end_of_a_section_a_stop_that_is_spelt_is_text():
    vocabulary = vocabulary_of(DEEPSEEK)
    block = DEEPSEEK.blocks["call"]
    call = fill(block.pattern, {Hole.NAME: "ping", Hole.ARGUMENTS: "{}"})
    opening = next(o.literal for o in DEEPSEEK.prompts[0].openings if o.block == "call")
    turn = opening + call + DEEPSEEK.literal("call", END)
    stop = DEEPSEEK.stops[0]
    ids = [*special(turn, vocabulary), *spelt(stop, vocabulary)]
    message, _ = read_tokens(grammar_of(DEEPSEEK), vocabulary, ids)
    assert [c.name for c in message.tool_calls] == ["ping"]
    assert (message.content, codes(message)) == (stop, ["spelt_marker", "text_after_end"])
    ids = [*special(turn, vocabulary), *special(stop, vocabulary)]
    message, _ = read_tokens(grammar_of(DEEPSEEK), vocabulary, ids)
    assert (message.content, codes(message)) == ("", [])


def test_inside_a_call_structure_may_be_spelt_since_nothing_else_can_stand_there():
    vocabulary = vocabulary_of(DEEPSEEK)
    first, last = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
    ids = [
        *special("<｜tool▁calls▁begin｜>" + first, vocabulary),
        *spelt("f<｜tool▁sep｜>" + '{"a": "x"}' + last, vocabulary),
        *special("<｜tool▁calls▁end｜>", vocabulary),
    ]
    message, _ = read_tokens(grammar_of(DEEPSEEK), vocabulary, ids)
    (call,) = message.tool_calls
    assert (call.arguments, call.state) == ('{"a": "x"}', "complete")
    assert codes(message) == ["spelt_marker", "spelt_marker"]
    assert repairs(message, call) == ()


@pytest.mark.parametrize("marker", ["</tool_call>", "<tool_call>", "<|im_end|>"])
def test_a_damaged_call_is_not_ended_by_a_marker_that_is_spelt(marker):
    head = special('<tool_call>\n{"name": "f", "arguments": {"a" 1')
    ids = [*head, *spelt(f" {marker} and"), *special("\n</tool_call>\nSo.")]
    message, _ = read_tokens(grammar_of(HERMES), HERMES_TOKENS, ids)
    (call,) = message.tool_calls
    assert call.state == "malformed"
    assert message.content == "\nSo."


def test_added_words_that_are_text_are_no_markers():
    """The mask may spell them as it likes; so a reader takes any spelling."""
    plain = byte_vocabulary(["<tool_call>", '", "', "name"])
    kinds = bytes(k if k != TokenKind.CONTROL else TokenKind.USER_DEFINED for k in plain.kinds)
    vocabulary = Vocabulary(plain.tokens, kinds, encode=plain.encode)
    tail = CALL.removeprefix("<tool_call>")
    ids = [*special("<tool_call>", vocabulary), *spelt(tail, vocabulary)]
    message, _ = read_tokens(grammar_of(HERMES), vocabulary, ids)
    assert len(message.tool_calls) == 1
    assert codes(message) == []


def test_both_in_one_text():
    ids = [*spelt("You write <tool_call> first: "), *special(CALL)]
    message, _ = read_tokens(grammar_of(HERMES), HERMES_TOKENS, ids)
    assert message.content == "You write <tool_call> first: "
    (call,) = message.tool_calls
    assert json.loads(call.arguments) == {"a": "x"}
    assert codes(message) == ["spelt_marker"]


def test_reasoning_ends_by_its_token_only():
    grammar = grammar_of(QWEN3, prompt=2)
    ids = [*spelt("I close </think> later"), *special("\n</think>\n\nNow.")]
    message, _ = read_tokens(grammar, HERMES_TOKENS, ids)
    assert message.reasoning_content == "I close </think> later"
    assert message.content == "Now."


def test_the_turn_ends_by_its_token_only():
    ids = [*spelt("The stop is <|im_end|>, I say."), *special("<|im_end|>")]
    message, _ = read_tokens(grammar_of(HERMES), HERMES_TOKENS, ids)
    assert message.content == "The stop is <|im_end|>, I say."
    assert message.end == "complete"


def test_an_end_that_the_dialect_does_not_know_has_no_bytes():
    vocabulary = byte_vocabulary(["<|im_end|>", "<|endoftext|>"], eos="<|endoftext|>")
    ids = special("Hello<|endoftext|>", vocabulary)
    message, _ = read_tokens(grammar_of(HERMES), vocabulary, ids)
    assert (message.content, message.raw) == ("Hello", "Hello")


def test_a_raw_value_ends_by_its_token_only():
    vocabulary = byte_vocabulary(["<|im_end|>", "<tool_call>", "</tool_call>", "</parameter>"])
    inner = "</parameter>\n<parameter=n>\n5\n</parameter>\n</function>"
    head = special("<tool_call>\n<function=f>\n<parameter=a>\nx", vocabulary)
    tail = special("\n</parameter>\n</function>\n</tool_call>", vocabulary)
    ids = [*head, *spelt(inner, vocabulary), *tail]
    message, _ = read_tokens(grammar_of(CODER), vocabulary, ids)
    (call,) = message.tool_calls
    assert json.loads(call.arguments) == {"a": "x" + inner}
    assert call.ambiguous == ()
    assert set(codes(message)) == {"spelt_marker"}


@pytest.mark.parametrize("write", [special, spelt])
def test_inside_a_json_string_all_is_text(write):
    value = "a</tool_call><|im_end|><tool_call>b"
    head, tail = CALL.split("x")
    ids = [*special(head), *write(value), *special(tail)]
    message, _ = read_tokens(grammar_of(HERMES), HERMES_TOKENS, ids)
    (call,) = message.tool_calls
    assert json.loads(call.arguments) == {"a": value}
    assert codes(message) == []


def test_a_marker_that_is_no_token_is_known_by_its_characters():
    vocabulary = byte_vocabulary(["<|im_end|>"])
    message, _ = read_tokens(grammar_of(HERMES), vocabulary, spelt(CALL, vocabulary))
    assert len(message.tool_calls) == 1
    assert codes(message) == []


def test_ids_and_bytes_may_take_turns():
    reader = Reader(grammar_of(HERMES), vocabulary=HERMES_TOKENS)
    reader.feed_tokens(spelt("Not <tool_call>, but "))
    reader.feed(CALL.encode())
    message = reader.finish()
    assert message.content == "Not <tool_call>, but "
    assert len(message.tool_calls) == 1


def test_law_08_a_snapshot_keeps_where_tokens_stand():
    reader = Reader(grammar_of(HERMES), vocabulary=HERMES_TOKENS)
    reader.feed_tokens(spelt("a <tool_"))
    point = reader.snapshot()
    for _ in range(2):
        events = reader.feed_tokens([*spelt("call> "), *special(CALL)])
        reader.restore(point)
    assert reader.feed_tokens([*spelt("call> "), *special(CALL)]) == events
    assert reader.finish().content == "a <tool_call> "


def test_without_a_vocabulary_ids_are_refused():
    with pytest.raises(VocabularyError, match="vocabulary"):
        Reader(grammar_of(HERMES)).feed_tokens([65])


def test_many_special_tokens_in_a_text_that_waits_stay_linear():
    vocabulary = byte_vocabulary(["<|im_end|>", "<tool_call>", "<|x|>"])
    reader = Reader(grammar_of(HERMES), vocabulary=vocabulary)
    reader.feed_tokens(special("\n{", vocabulary))
    for _ in range(3000):
        reader.feed_tokens(special("<|x|>", vocabulary))
    assert reader.finish().content.count("<|x|>") == 3000
    assert len(reader._machine.tape.specials._at) < 200


def test_with_the_vocabulary_of_a_real_model(model_path):
    vocabulary = from_gguf(model_path)
    by_bytes = {}
    for token_id, data in enumerate(vocabulary.tokens):
        by_bytes.setdefault(data, token_id)

    def ids(text):
        return [by_bytes[c.encode()] for c in text]

    end = vocabulary.special["<|im_end|>"]
    said = "Write <|im_end|> and go on."
    call = [*ids(CALL.replace("\n", "")), end]
    message, _ = read_tokens(grammar_of(HERMES), vocabulary, [*ids(said), *call])
    assert message.content == said
    assert [json.loads(c.arguments) for c in message.tool_calls] == [{"a": "x"}]
    assert codes(message) == ["spelt_marker"]
    assert message.end == "complete"


STRIPPED = {
    "hermes": (HERMES, '{"name": "f", "arguments": {"a": "x"}}'),
    "coder": (CODER, "<function=f>\n<parameter=a>\nx\n</parameter>\n</function>"),
    "nemo": (ALL["nemo"], '[{"name": "f", "arguments": {"a": "x"}, "id": "abcdefghi"}]'),
}


@pytest.mark.parametrize("name", STRIPPED)
def test_calls_are_read_where_a_server_dropped_the_special_tokens_and_that_is_said(name):
    dialect, text = STRIPPED[name]
    message, _ = feed(grammar_of(dialect), [text.encode()])
    (call,) = message.tool_calls
    assert json.loads(call.arguments) == {"a": "x"}
    assert {"bare_call", "missing_marker"} & set(codes(message))


def test_a_name_alone_is_no_call_where_all_markers_are_gone():
    message, _ = feed(grammar_of(DEEPSEEK), [b'f{"a": "x"}'])
    assert message.content == 'f{"a": "x"}'


def vocabulary_of(dialect):
    """Bytes, and a special token for each marker that can't be anything else."""
    single = {m for text in literals(dialect) for m in marks(text)}
    return byte_vocabulary(sorted(m for m in single if is_distinctive(m)))


@pytest.mark.parametrize("name", FAMILIES)
def test_law_16_ids_and_bytes_agree_on_what_a_dialect_writes(name):
    dialect, rng = family(name), random.Random(3)
    vocabulary = vocabulary_of(dialect)
    assert len(vocabulary.special) > 1
    for _ in range(6):
        output = draw(dialect, rng)
        text = output.data.decode()
        ids = special(text, vocabulary)
        grammar = grammar_of(dialect, prompt=output.prompt)
        assert read_tokens(grammar, vocabulary, ids) == feed(grammar, [text.encode()])


@pytest.mark.parametrize("name", FAMILIES)
def test_law_07_ids_of_any_kind_lose_no_byte(name):
    dialect = family(name)
    vocabulary = vocabulary_of(dialect)
    for seed in range(20):
        rng = random.Random(seed)
        text = soup(dialect, rng).decode("utf-8", "replace")
        pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
        ids = [i for p in pieces for i in vocabulary.encode(p, special=rng.random() < 0.5)]
        ids += vocabulary.encode(text, special=True)
        read_tokens(grammar_of(dialect), vocabulary, ids)
