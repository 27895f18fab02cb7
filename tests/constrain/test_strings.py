"""Strings between quotes: what may be escaped, and what is forced because it may not."""

import json

import pytest

from constrain.judging import answer_by, call_by, following, takes, takes_answer
from constrain.test_laws import SMALL
from dialects import HERMES
from untemplate.constrain import compile_grammar
from untemplate.dialect import Python, Whole
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolChoice

PRINTABLE = [chr(c) for c in range(0x20, 0x7F)]


@pytest.mark.parametrize(
    "schema",
    [{"type": "string"}, {"type": "string", "maxLength": 9}, {"type": "string", "pattern": "."}],
)
def test_printable_ascii_has_no_code(schema):
    answer = answer_by(schema)
    for character in PRINTABLE:
        assert takes_answer(answer, character)
        assert not takes(answer, f'"\\u{ord(character):04x}"')
    assert following(answer, '"\\') == b'"\\bfnrtu'
    assert following(answer, '"\\u00') == b"01789ABCDEFabcdef"
    assert following(answer, '"\\u007') == b"Ff"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("\\u0000\\u001F\\u007f\\u00e9\\u20AC", "\0\x1f\x7fé€"),
        ("\\ud83d\\uDE00", "😀"),
        ("\x7fé€😀", "\x7fé€😀"),
        ('\\"\\\\\\b\\f\\n\\r\\t/', '"\\\b\f\n\r\t/'),
    ],
)
def test_other_characters_are_raw_or_coded(written, value):
    assert json.loads(f'"{written}"') == value
    assert takes(answer_by({"type": "string"}), f'"{written}"')
    assert takes(answer_by({"enum": [value]}), f'"{written}"')
    assert takes(answer_by({"type": "string", "minLength": len(value)}), f'"{written}"')
    assert not takes(answer_by({"type": "string", "minLength": len(value) + 1}), f'"{written}"')


@pytest.mark.parametrize(
    "written", ["\\/", "\\ud83d", "\\ude00", "\\ud83d\\u0041", "\\ud83dx", "\\x41", "\n", "\\'"]
)
def test_what_is_no_character_of_a_string(written):
    assert not takes(answer_by({"type": "string"}), f'"{written}"')


def test_keys_have_one_spelling():
    answer = answer_by({"properties": {"name": {}}, "additionalProperties": False})
    assert following(answer, '{"') == b"n"
    assert following(answer_by({"required": ["é"], "maxProperties": 1}), '{"') == b"\\\xc3"


def test_python_strings_have_codes_for_what_repr_codes():
    call = call_by({"properties": {"s": {"type": "string"}}}, Whole(Python()))
    for value in ("a'b", 'a"b', "a'\"b", "\x7f\x00\xa0\u200b\U000e0001é😀\n\\"):
        assert takes(call, f"f\n{ {'s': value}!r}\n")
    assert not takes(call, "f\n{'s': '\\x41'}\n")
    assert not takes(call, "f\n{'s': '\\u0041'}\n")


def test_one_spelling_forces_more_tokens():
    tool = Tool("pay", "", {"properties": {"to": {"enum": ["gift"]}}, "required": ["to"]})
    grammar = build_grammar(HERMES, (tool,), ToolChoice("required"))
    constraint = compile_grammar(grammar, SMALL).constraint()
    assert constraint.feed(b'<tool_call>\n{"name": "pay", "arguments": {"')
    assert SMALL.bytes_of(constraint.forced()) == b"to"
