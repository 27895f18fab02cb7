r"""Patterns beside jsonschema-rs: strings that match, near misses and others, in three spellings.

Matches are drawn from the mask itself; near misses are matches with one character taken out, put
in, changed or swapped. Each is asked for as JSON with codes, as JSON with raw characters, and as
raw text between tags.

They differ in one thing: to jsonschema-rs a letter beyond ASCII is part of a word where `\b` is
asked for, to ECMA it is not.
"""

import gzip
import json
import random

import jsonschema_rs
import pytest

from constrain.judging import VOCABULARY, answer_by, call_by, takes
from constrain.test_laws import choose_any, run
from corpus import corpus_dir
from untemplate.constrain.patterns import automaton_of
from untemplate.constrain.verdicts import Exit
from untemplate.constrain.words import Product, Words
from untemplate.dialect import Pairs, Raw, Written
from untemplate.errors import UntemplateError
from untemplate.grammar.report import report_on
from untemplate.grammar.schema_atoms import Format, Pattern
from untemplate.grammar.schema_formula import evaluate, leaves
from untemplate.grammar.schema_patterns import pattern_formula

HARD = [
    "", "^$", "a", "^a", "a$", "^(?:a|b)*$", "^[^a]*$", "^(ab|ba){2,3}$", "^a{3,}b?$", "^.{2,4}$",
    r"^\d{3}-\d{4}$", r"^\w+\s\W$", r"^\S+@\S+\.\S+$", r"\bfoo\b", r"^[\w.-]+$", r"^[a-z&&[]+$",
    r"^(?!ab)[a-c]+$", r"^(?=.*\d)[a-z0-9]{2,5}$", r"^\u00e9+$", r"^[à-ü]{1,3}$", "^[😀-😅]$",
    r"^\p{L}+$", r"^\p{Lu}\P{L}*$", r"^[\p{N}_]+$", r"^\x41\t\n\r\f\v\0?$", r"^[^\x00-\x1f]*$",
    r"^(a?){3}a{3}$", "^(a|ab)(c|bcd)(d*)$", "^((a*)*)*b$", "^[-a-]+$", r"^[\]\\]$", "^a|b$",
    r"^https?://[^/\s]+(/\S*)?$", r"^(\d{1,3}\.){3}\d{1,3}$", r"^\$\{[^}]*\}$", "^.$", r"^[^\n]*$",
    r"^\/\*.*\*\/$", "^[A-Fa-f0-9]{8}(-[A-Fa-f0-9]{4}){3}-[A-Fa-f0-9]{12}$", r"^(?:0|-?[1-9]\d*)$",
    "^a.b$", "x*", "^(?:)$", "^[\\s\\S]*$", "^[\\d\\D]{2}$", r"^\cJ$", "^a{0}b$", "^a{2}{3}$",
    "^a++$",
]  # fmt: skip
OTHERS = [
    "", "a", "b", "ab", "ba", "aaab", "foo", "a foo b", "foobar", "A", "é", "É", "ü", "😀", "😁😁",
    "\n", "a\nb", "\u2028", "a\u2028b", "\t", " ", "\xa0", "\ufeff", "_", "-", "]", "\\", "0", "12",
    "555-1234", "a@b.c", "http://x/y", "1.2.3.4", "${x}", "/* x */", "\0", "\x7f", "١", "ⅷ",
    "ſ", "K",
]  # fmt: skip
TAGGED = Pairs("", "<", "", "", "", {"string": Written(">", Raw(), "</>")})


def corpus_patterns():
    found = {}

    def walk(schema):
        if isinstance(schema, dict):
            if isinstance(pattern := schema.get("pattern"), str):
                found[pattern] = None
            if isinstance(named := schema.get("patternProperties"), dict):
                found.update(dict.fromkeys(named))
        for inner in schema.values() if isinstance(schema, dict) else schema:
            if isinstance(inner, dict | list):
                walk(inner)

    for name in ("bfcl", "jsonschemabench"):
        with gzip.open(corpus_dir() / f"schemas/{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                walk(json.loads(line)["schema"])
    return list(found)


def near(text, rng):
    """The text with one character taken out, put in, changed, or swapped with the next."""
    at = rng.randrange(len(text) + 1)
    other = rng.choice(["a", "0", "-", "\n", "é", "😀", " ", text[:1] or "x", text[-1:].swapcase()])
    return rng.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + other + text[at:],
            text[:at] + other + text[at + 1 :],
            text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :],
            text + text,
        ]
    )


def judge(pattern, count):
    """How many strings match; asserts that the mask and the validator agree on all."""
    rng = random.Random(pattern)
    schema = {"type": "string", "pattern": pattern}
    try:
        validator = jsonschema_rs.validator_for(schema)
    except ValueError:
        return None  # no pattern to it
    if report_on((), schema, open_objects=True).checked:
        return None
    answer = answer_by(schema)
    arguments = {"type": "object", "properties": {"k": schema}, "required": ["k"]}
    call = call_by(arguments, TAGGED)
    matches = []
    for _ in range(max(count // 3, 3)):
        drawn = run(answer, rng.choice((0, 2, 8, 30)), rng, choose_any)
        matches.append(json.loads(VOCABULARY.bytes_of(drawn[:-1])))
    texts = [*matches, *OTHERS]
    while len(texts) < count:
        texts.append(near(rng.choice(matches if rng.random() < 0.8 else texts), rng))
    texts = rng.sample(texts, count)
    for text in texts:
        if "\\b" in pattern.lower() and not text.isascii():
            continue
        is_valid = validator.is_valid(text)
        assert takes(answer, json.dumps(text)) is is_valid, (pattern, text)
        assert takes(answer, json.dumps(text, ensure_ascii=False)) is is_valid, (pattern, text)
        if "</>" not in text:
            assert takes(call, f"f\n<k>{text}</>\n") is is_valid, (pattern, text)
    return sum(map(validator.is_valid, texts))


def test_hard_patterns():
    valid = [found for pattern in HARD if (found := judge(pattern, 9)) is not None]
    assert len(valid) > 40
    assert sum(valid) > 100


@pytest.mark.laws
@pytest.mark.parametrize("source", ["hard", "corpus"])
def test_a_thousand_strings_for_each_pattern(source):
    wrong = {}
    patterns = HARD if source == "hard" else corpus_patterns()
    for pattern in patterns:
        try:
            judge(pattern, 1_000)
        except (AssertionError, UntemplateError) as error:
            wrong[pattern] = str(error)[:200]
    assert not wrong


def test_where_nothing_can_match_any_more_no_character_leads():
    formula = pattern_formula(Pattern("^a(?:b[cd]|c{3}x)$"))
    automaton = automaton_of(formula)
    ((low, high, after),) = automaton.spans(0)
    assert (low, high) == (ord("a"), ord("a"))
    assert [(low, high) for low, high, _ in automaton.spans(after)] == [(98, 98), (99, 99)]


def test_a_long_bound_beside_an_expression_is_not_searched_where_the_expression_has_failed():
    product = Product({a: automaton_of(a) for a in leaves(pattern_formula(Format("hostname")))})
    formula = pattern_formula(Format("hostname"))
    looked_at = []

    def end(state):
        looked_at.append(state)
        return Exit(None, 0) if evaluate(formula, product.truth(state).__getitem__) else None

    words = Words(product, lambda low, high: 1, end, must=formula)
    state = product.after("a-b.c-")
    assert [words.cost(0), words.cost(state), words.cost(product.after("a!"))] == [1, 1, None]
    assert words.spans(state)
    assert len(looked_at) < 200
