"""Laws 9, 10 and 12 to 16 over the five dialects, with a byte vocabulary and small made-up ones."""

import json
import random
import threading

import jsonschema_rs
import numpy as np
import pytest

from constrain.judging import written
from dialects import ALL, CODER
from families import family
from interleaved import INTERLEAVED
from reader.soup import literals
from untemplate.constrain import CompiledGrammar, compile_grammar
from untemplate.dialect import Dialect, Hole, fill
from untemplate.grammar import Grammar, build_grammar
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.message import JSON, Tool, ToolChoice
from untemplate.reader import Reader
from untemplate.vocabulary import TokenKind, Vocabulary, byte_vocabulary

TOOLS = (
    Tool("ping"),
    Tool(
        "pay",
        "",
        {
            "type": "object",
            "properties": {
                "to": {"type": "string", "minLength": 1, "maxLength": 12},
                "amount": {"type": "number", "minimum": 1, "maximum": 120},
                "count": {"type": "integer", "minimum": -3, "exclusiveMaximum": 1000},
                "kind": {"enum": ["gift", "loan", 'a "quoted" one', "größe"]},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "when": {
                    "type": "object",
                    "properties": {"day": {"type": ["integer", "null"]}, "at": {"type": "boolean"}},
                    "required": ["day"],
                },
            },
            "required": ["to", "amount"],
        },
    ),
    Tool(
        "find",
        "",
        {
            "type": "object",
            "properties": {"what": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "required": ["what"],
        },
    ),
)
SPECIALS = ["<|im_end|>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]"]
PIECES = [
    b"{", b'"}', b'", "', b'": "', b'{"', b" {", b'"}}', b", ", b"\n", b"  ", b"\n\n", b"ing", b"<",
    b"to", b"amount", b"the ", b"\xc3", b"\xc3\xb6\xc3", b"12", b"000", b"</", b"tool", b"_call",
    b">", b"Paris", b'"\n', b"}\n", b"arguments", b'name": "', b"\\u00", b'\\"', b"\xe2\x82",
]  # fmt: skip


def vocabulary(pieces: list[bytes], specials: list[str], eos: str = "<|im_end|>") -> Vocabulary:
    """All bytes, some pieces, and special tokens; encodes by the longest piece."""
    tokens = [bytes([b]) for b in range(256)] + pieces + [s.encode() for s in specials]
    kinds = [TokenKind.NORMAL] * (256 + len(pieces)) + [TokenKind.CONTROL] * len(specials)
    special = {s: 256 + len(pieces) + n for n, s in enumerate(specials)}

    def encode(text: str, *, special: bool) -> list[int]:
        del special
        return longest_first(text.encode(), tokens[: 256 + len(pieces)])

    return Vocabulary(tuple(tokens), bytes(kinds), eos=special[eos], encode=encode)


def longest_first(data: bytes, tokens: list[bytes]) -> list[int]:
    ids = {t: i for i, t in reversed(list(enumerate(tokens)))}
    found: list[int] = []
    while data:
        size = next(n for n in range(16, 0, -1) if data[:n] in ids)
        found.append(ids[data[:size]])
        data = data[size:]
    return found


BYTES = byte_vocabulary(SPECIALS, eos="<|im_end|>")
SMALL = vocabulary(PIECES, SPECIALS)
PLAIN = vocabulary(PIECES, ["<|im_end|>"])
VOCABULARIES = {"bytes": BYTES, "small": SMALL, "plain": PLAIN}


def allowed(row: np.ndarray, size: int) -> list[int]:
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    assert not bits[size:].any()
    return np.flatnonzero(bits).tolist()


def choose_longest(ids: list[int], vocabulary: Vocabulary, rng: random.Random) -> int:
    most = max(len(vocabulary.tokens[i]) for i in ids)
    return rng.choice([i for i in ids if len(vocabulary.tokens[i]) == most])


def choose_open(ids: list[int], vocabulary: Vocabulary, rng: random.Random) -> int:
    """What opens values and never closes them."""
    worst = [i for i in ids if set(vocabulary.tokens[i]) & set(b'{["\\\xe2\xf0')]
    return rng.choice(worst or ids)


def choose_any(ids: list[int], _vocabulary: Vocabulary, rng: random.Random) -> int:
    return rng.choice(ids)


def choosing(wanted):
    """One of the tokens whose bytes are as wanted, while there are any."""

    def choose(ids: list[int], vocabulary: Vocabulary, rng: random.Random) -> int:
        return rng.choice([i for i in ids if wanted(vocabulary.tokens[i])] or ids)

    return choose


CHOICES = {
    "any": choose_any,
    "longest": choose_longest,
    "open": choose_open,
    "deep": choosing(lambda data: set(b"{[") & set(data) and not set(b"}]") & set(data)),
    "long strings": choosing(lambda data: not set(data) & set(b"\"'{}[]<>,")),
    "rare": choosing(lambda data: any(b >= 0x80 or b < 0x20 or b == 0x5C for b in data)),
    "space": choosing(lambda data: not data.strip()),
    "digits": choosing(lambda data: set(data) <= set(b"0123456789.eE+-")),
}
"""Uniform and adversarial: what makes values long, deep, or hard to end."""


def run(compiled: CompiledGrammar, extra: int, rng: random.Random, choose) -> list[int]:
    """Writes one turn within the least budget and `extra` tokens."""
    vocabulary = compiled.vocabulary
    constraint = compiled.constraint()
    row = np.zeros(constraint.words, np.int32)
    left = constraint.min_tokens() + extra
    written: list[int] = []
    while not constraint.is_finished:
        assert left > 0, vocabulary.bytes_of(written)
        least = constraint.min_tokens()
        assert least <= left
        constraint.fill(row, left)
        ids = allowed(row, vocabulary.size)
        assert ids, "a mask is never empty"
        token_id = choose(ids, vocabulary, rng)
        assert constraint.advance(token_id)
        written.append(token_id)
        left -= 1
    return written


def calls_of(name: str, text: str) -> list[tuple[str, JSON]]:
    """The calls in a strictly valid turn, read by plain means."""
    found: list[tuple[str, JSON]] = []
    decoder = json.JSONDecoder()
    if name == "coder":
        for call in text.split("<tool_call>\n<function=")[1:]:
            tool, _, rest = call.partition(">\n")
            found.append((tool, pairs_of(tool, rest)))
        return found
    if name == "deepseek":
        for call in text.split("<｜tool▁call▁begin｜>")[1:]:
            tool, _, rest = call.partition("<｜tool▁sep｜>")
            found.append((tool, decoder.raw_decode(rest)[0]))
        return found
    mark = "<tool_call>" if name in ("hermes", "qwen3") else "[TOOL_CALLS]["
    for call in text.split(mark)[1:]:
        rest = call.lstrip()
        while rest.startswith("{"):
            value, end = decoder.raw_decode(rest)
            found.append((value["name"], value["arguments"]))
            rest = rest[end:].removeprefix(", ")
    return found


def pairs_of(tool: str, text: str) -> JSON:
    properties = next(t for t in TOOLS if t.name == tool).parameters.get("properties", {})
    found: dict[str, JSON] = {}
    for pair in text.split("<parameter=")[1:]:
        key, _, rest = pair.partition(">")
        raw = rest[: rest.index("</parameter>")].removeprefix("\n").removesuffix("\n")
        assert key not in found
        schema = properties.get(key, {"type": "string"})
        is_text = schema.get("type") == "string" or "enum" in schema or "anyOf" in schema
        found[key] = raw if is_text else json.loads(raw)
    return found


@pytest.mark.parametrize("choose", [choose_any, choose_longest, choose_open])
@pytest.mark.parametrize("name", ALL)
def test_law_09_14_15_whatever_is_drawn_ends_in_time_and_validates(name, choose):
    rng = random.Random(f"{name} {choose.__name__}")
    for vocabulary in VOCABULARIES.values():
        for mode in ("auto", "required"):
            grammar = build_grammar(ALL[name], TOOLS, ToolChoice(mode))
            compiled = compile_grammar(grammar, vocabulary)
            for extra in (0, 1, 3, 10, 100):
                written = run(compiled, extra, rng, choose)
                text = vocabulary.bytes_of(written).decode()
                calls = calls_of(name, text)
                assert calls or mode == "auto", text
                for tool, arguments in calls:
                    schema = next(t.parameters for t in TOOLS if t.name == tool)
                    jsonschema_rs.validate(schema, arguments)


def rendered(name: str, tool: str, arguments: JSON) -> str:
    """A call as the dialect writes it, in a turn of its own."""
    dialect = ALL[name]
    block = dialect.blocks["call"]
    values = {
        Hole.NAME: tool,
        Hole.ARGUMENTS: block.arguments.write(arguments),
        Hole.ID: "a1b2c3d4e",
        Hole.INDEX: "0",
    }
    opening = next(o for o in dialect.prompts[0].openings if o.block == "call")
    end = next(e for e in dialect.edges if e.source == "call" and e.target == "$")
    return opening.literal + fill(block.pattern, values) + end.literal


CALLS = [
    ("ping", {}),
    ("pay", {"to": 'Zoë "x" \\ 😀', "amount": 12.5}),
    ("pay", {"amount": 120, "kind": "größe", "to": "a", "count": -3}),
    ("pay", {"to": "b", "tags": ["a", ""], "amount": 1, "when": {"at": True, "day": None}}),
    ("pay", {"count": 999, "when": {"day": 0}, "kind": 'a "quoted" one', "to": "c", "amount": 1.0}),
    ("find", {"what": "needle"}),
]


@pytest.mark.parametrize("name", ALL)
def test_law_10_what_the_template_writes_is_allowed_token_by_token(name):
    for vocabulary in VOCABULARIES.values():
        compiled = compile_grammar(build_grammar(ALL[name], TOOLS), vocabulary)
        for tool, arguments in CALLS:
            text = "Let me see.\n\nSo:" * (name != "nemo") + rendered(name, tool, arguments)
            for tokens in (list(vocabulary.tokens), [bytes([b]) for b in range(256)]):
                constraint = compiled.constraint()
                row = np.zeros(constraint.words, np.int32)
                ids = encoded(text, vocabulary, tokens)
                for n, token_id in enumerate(ids):
                    constraint.fill(row)
                    before = vocabulary.bytes_of(ids[:n])
                    assert token_id in allowed(row, vocabulary.size), (before, token_id)
                    assert constraint.advance(token_id)
                assert constraint.advance(vocabulary.eos)
                assert constraint.is_finished


def encoded(text: str, vocabulary: Vocabulary, tokens: list[bytes]) -> list[int]:
    """By the longest of the ordinary tokens, markers by their id."""
    found: list[int] = []
    ordinary = [t for i, t in enumerate(tokens) if i < 256 + len(PIECES) or vocabulary is BYTES]
    ordinary = ordinary[:256] if vocabulary is BYTES else ordinary
    while text:
        at = [(text.find(s), s) for s in vocabulary.special if s in text]
        start, special = min(at) if at else (len(text), "")
        found += longest_first(text[:start].encode(), ordinary)
        if special:
            found.append(vocabulary.special[special])
        text = text[start + len(special) :]
    return found


@pytest.mark.parametrize("name", ALL)
def test_law_12_forced_tokens_are_the_only_ones_and_allowed(name):
    rng = random.Random(name)
    some = 0
    for _ in range(20):
        grammar = build_grammar(ALL[name], TOOLS, ToolChoice("required"))
        constraint = compile_grammar(grammar, SMALL).constraint()
        row = np.zeros(constraint.words, np.int32)
        for _ in range(60):
            if constraint.is_finished:
                break
            forced = constraint.forced()
            check = constraint.fork()
            for token_id in forced:
                check.fill(row)
                assert token_id in allowed(row, SMALL.size)
                # Every other token that is allowed spells the beginning of the same text.
                assert check.advance(token_id)
            some += len(forced)
            constraint.fill(row, 60)
            assert constraint.advance(rng.choice(allowed(row, SMALL.size)))
    assert some > 20


def test_law_12_without_an_encoder_nothing_is_forced():
    silent = Vocabulary(SMALL.tokens, SMALL.kinds, eos=SMALL.eos)
    grammar = build_grammar(CODER, TOOLS, ToolChoice("required"))
    assert compile_grammar(grammar, silent).constraint().forced() == []


def test_law_13_the_choice_can_not_be_broken():
    rng = random.Random(13)
    for name, dialect in ALL.items():
        for choice, least, most in (
            (ToolChoice("none"), 0, 0),
            (ToolChoice("required"), 1, 99),
            (ToolChoice("required", "ping"), 1, 99),
            (ToolChoice(parallel=False), 0, 1),
            (ToolChoice("required", parallel=False), 1, 1),
        ):
            compiled = compile_grammar(build_grammar(dialect, TOOLS, choice), SMALL)
            for _ in range(6):
                text = SMALL.bytes_of(run(compiled, 80, rng, choose_any)).decode()
                calls = calls_of(name, text)
                assert least <= len(calls) <= most, text
                assert choice.name is None or {tool for tool, _ in calls} == {choice.name}


def test_law_15_special_unused_and_empty_tokens_are_never_allowed():
    tokens = (*SMALL.tokens, b"", b"<unused>", b"<|other|>", b"<mask>")
    kinds = SMALL.kinds + bytes(
        [TokenKind.NORMAL, TokenKind.UNUSED, TokenKind.CONTROL, TokenKind.UNKNOWN]
    )
    wide = Vocabulary(tokens, kinds, eos=SMALL.eos, encode=SMALL.encode)
    constraint = compile_grammar(build_grammar(ALL["hermes"], TOOLS), wide).constraint()
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row)
    ids = allowed(row, wide.size)
    assert not set(ids) & set(range(SMALL.size, wide.size))
    assert wide.special["<tool_call>"] in ids
    assert not constraint.allows(SMALL.size + 2)
    assert not constraint.allows(wide.size)
    assert not constraint.allows(-1)


def test_law_16_a_marker_that_is_one_token_can_not_be_spelt_in_text():
    grammar = build_grammar(ALL["hermes"], TOOLS)
    for vocabulary, is_open in ((SMALL, False), (PLAIN, True)):
        constraint = compile_grammar(grammar, vocabulary).constraint()
        for piece in (b"<", b"tool", b"_call"):
            assert constraint.advance(vocabulary.tokens.index(piece))
        row = np.zeros(constraint.words, np.int32)
        constraint.fill(row)
        assert (vocabulary.tokens.index(b">") in allowed(row, vocabulary.size)) is is_open


def test_law_10_all_that_may_stand_behind_one_token_is_allowed():
    """Each key begins with the same marker; where that is one token, none of them is lost."""
    words = byte_vocabulary(["<parameter=", "<tool_call>", "<|im_end|>"], eos="<|im_end|>")
    constraint = compile_grammar(build_grammar(CODER, TOOLS), words).constraint()
    ids = [
        words.special["<tool_call>"],
        *b"\n<function=pay>\n",
        words.special["<parameter="],
    ]
    assert all(map(constraint.advance, ids))
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row)
    assert bytes(allowed(row, words.size)) == b"acktw"


def marked(dialect: Dialect) -> Vocabulary:
    """All bytes, pieces, each marker of the dialect as a token, and added words that are text."""
    markers = sorted({m for text in literals(dialect) for m in marks(text) if is_distinctive(m)})
    words = [b"name", b"\n\n", b'": ', b"to", b"="]
    markers = [m for m in markers if m not in dialect.stops]
    plain = vocabulary(PIECES, [*markers, *dialect.stops], eos=dialect.stops[0])
    return Vocabulary(
        (*plain.tokens, *words),
        plain.kinds + bytes([TokenKind.USER_DEFINED] * len(words)),
        eos=plain.eos,
    )


@pytest.mark.parametrize("choose", [choose_any, choose_longest, choose_open])
@pytest.mark.parametrize("name", [*ALL, *INTERLEAVED])
def test_law_16_a_constrained_turn_reads_alike_by_ids_and_by_bytes(name, choose):
    """And law 9: neither reading has anything to say about it."""
    dialect = {**ALL, **INTERLEAVED}[name]
    words = marked(dialect)
    grammar = build_grammar(dialect, TOOLS)
    compiled = compile_grammar(grammar, words)
    assert len(compiled.vocabulary.special) > 3
    for seed in range(12):
        ids = run(compiled, 60, random.Random(f"{name} {seed}"), choose)
        by_ids = Reader(grammar, nonce="n", vocabulary=words)
        told = [e for i in ids for e in by_ids.feed_tokens([i])]
        by_bytes = Reader(grammar, nonce="n")
        events = [e for i in ids for e in by_bytes.feed(words.tokens[i])]
        message = by_ids.finish()
        assert by_bytes.finish() == message
        assert told == events
        assert message.diagnostics == ()
        assert message.end == "complete"


def test_rollback_and_fork_lead_to_the_same_masks():
    rng = random.Random(5)
    grammar = build_grammar(ALL["qwen3"], TOOLS, ToolChoice("required"))
    constraint = compile_grammar(grammar, SMALL).constraint()
    row, again = np.zeros((2, constraint.words), np.int32)
    for _ in range(50):
        if constraint.is_finished:
            break
        constraint.fill(row, 60)
        ids = allowed(row, SMALL.size)
        fork = constraint.fork()
        for _ in range(3):
            fork.fill(again, 60)
            fork.advance(rng.choice(allowed(again, SMALL.size)))
        fork.rollback(3)
        fork.fill(again, 60)
        assert np.array_equal(row, again)
        constraint.advance(rng.choice(ids))


def test_prefill_goes_on_where_the_text_stops():
    compiled = compile_grammar(build_grammar(ALL["hermes"], TOOLS), SMALL)
    constraint = compiled.constraint()
    assert constraint.feed(b'<tool_call>\n{"name": "pi')
    assert constraint.advance(SMALL.tokens.index(b"n"))
    assert not constraint.feed(b"k")
    assert constraint.feed(b'g", "arguments": {}}\n</tool_call>')
    assert constraint.advance(SMALL.eos)
    assert constraint.is_finished
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row)
    assert allowed(row, SMALL.size) == [SMALL.eos]


def test_eight_threads_share_one_compilation():
    grammar: Grammar = build_grammar(ALL["coder"], TOOLS, ToolChoice("required"))
    texts: list[bytes] = []

    def work() -> None:
        compiled = compile_grammar(grammar, SMALL)
        texts.append(SMALL.bytes_of(run(compiled, 60, random.Random(8), choose_any)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 8
    assert len(set(texts)) == 1


def test_a_token_that_ends_generations_ends_the_turn_whatever_else_may_follow():
    dialect = family("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B")
    stop = next(s for s in dialect.stops if any(s in e.literal for e in dialect.edges))
    vocabulary = byte_vocabulary([stop], eos=stop)
    tools, choice = (Tool("ping"),), ToolChoice("required")
    _, text = written(dialect, tools[0], {})
    constraint = compile_grammar(build_grammar(dialect, tools, choice), vocabulary).constraint()
    assert constraint.feed(text.encode())
    assert constraint.min_tokens() == 1
    assert constraint.advance(vocabulary.special[stop])
    assert constraint.is_finished
