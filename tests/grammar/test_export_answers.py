"""Exports of an answer by a `response_schema`, judged by the engines that they are for."""

from dataclasses import replace

import pytest
from tests import dialects
from tests.grammar.peer_llama import GbnfEngine
from tests.grammar.peer_llguidance import LarkEngine
from tests.grammar.peer_xgrammar import EbnfEngine, StructuralTagEngine

from untemplate.dialect import (
    END,
    CallBlock,
    Edge,
    Hole,
    JsonText,
    Opening,
    Prompt,
    Whole,
)
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice

NOTATIONS = {
    "gbnf": GbnfEngine,
    "lark": LarkEngine,
    "ebnf": EbnfEngine,
    "structural_tag": StructuralTagEngine,
}
BARE = replace(
    dialects.HERMES,
    blocks={
        "content": dialects.HERMES.blocks["content"],
        "call": CallBlock(
            ('{"name": "', Hole.NAME, '", "parameters": ', Hole.ARGUMENTS, "}"), Whole(JsonText())
        ),
    },
    edges=(Edge("content", END, ""), Edge("content", "call", ""), Edge("call", END, "")),
    prompts=(Prompt("assistant\n", (Opening("content"), Opening("call"))),),
)
DECLARED = GrammarOptions(key_order="declared")
PING = Tool("ping", parameters={"type": "object", "properties": {}})
SCHEMA = {
    "type": "object",
    "properties": {"kind": {"enum": ["a", "b"]}, "title": {"type": "string", "maxLength": 3}},
    "required": ["kind"],
}
CALLS = {
    "hermes": '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>',
    "nemo": '[TOOL_CALLS][{"name": "ping", "arguments": {}, "id": "a1b2c3d4e"}]',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
    "<｜tool▁calls▁end｜>",
}


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("name", CALLS)
def test_either_calls_or_the_answer(name, notation):
    good = {'{"kind": "a"}', '{"kind":"b", "title": "xyz"}', '{"kind": "a", "more": [1, null]}'}
    bad = {"", "Hi", '{"kind": "c"}', '{"title": "x"}', '{"kind": "a"} ok', '{"kind": "a"'}
    for choice, answers, calls in (
        (ToolChoice("auto"), True, True),
        (ToolChoice("none"), True, False),
        (ToolChoice("required"), False, True),
    ):
        grammar = build_grammar(
            dialects.ALL[name], (PING,), choice, options=DECLARED, response_schema=SCHEMA
        )
        export = getattr(grammar, notation)()
        with NOTATIONS[notation](export.text) as engine:
            for text in good:
                assert engine.accepts(text.encode()) is answers, (text, choice)
            assert engine.accepts(CALLS[name].encode()) is calls
            for text in (*bad, CALLS[name] + '{"kind": "a"}', '{"kind": "a"}' + CALLS[name]):
                assert not engine.accepts(text.encode()), (text, choice)


def test_an_answer_beside_calls_that_are_bare_json():
    grammar = build_grammar(BARE, (PING,), options=DECLARED, response_schema=SCHEMA)
    assert "narrower" in {n.effect for n in grammar.lark().notes if n.origin == "response_schema"}
    export = grammar.gbnf()
    assert any("reads as a call" in note.message for note in export.notes)
    with GbnfEngine(export.text) as engine:
        for text in ('{"kind": "a"}', '{"name": "ping", "parameters": {}}'):
            assert engine.accepts(text.encode())
        assert not engine.accepts(b'{"kind": "c"}')


def test_what_an_export_can_not_say_is_noted():
    grammar = build_grammar(dialects.HERMES, response_schema={"type": "object"})
    notes = grammar.gbnf().notes
    assert [(n.origin, n.pointer, n.effect) for n in notes] == [("response_schema", "#", "wider")]
    assert "marker" in notes[0].message
