"""Arguments before the name of their tool, with several tools: which name may follow."""

import json
import random

import jsonschema_rs
import pytest

from constrain.judging import following, takes
from constrain.test_laws import CHOICES, SMALL, TOOLS, run
from untemplate.constrain import compile_grammar
from untemplate.dialect import END, CallBlock, Dialect, Edge, Hole, JsonText, Opening, Prompt, Whole
from untemplate.errors import LimitError
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.reader import Reader
from untemplate.vocabulary import byte_vocabulary

PATTERN = ('<call>{"arguments": ', Hole.ARGUMENTS, ', "name": "', Hole.NAME, '"}</call>')
LAST = Dialect(
    blocks={"call": CallBlock(PATTERN, Whole(JsonText()))},
    edges=(Edge("call", "call", "\n"), Edge("call", END, "")),
    prompts=(Prompt("", (Opening("call"),)),),
    stops=("<end>",),
)
BYTES = byte_vocabulary(["<end>"], eos="<end>")
REQUIRED = ToolChoice("required")


def compiled(*schemas, **options):
    tools = [Tool(name, "", schema) for name, schema in zip("abc", schemas, strict=False)]
    grammar = build_grammar(LAST, tuple(tools), REQUIRED, options=GrammarOptions(**options))
    return compile_grammar(grammar, BYTES)


def names_after(answer, arguments):
    """Bytes that the name may begin with behind these arguments."""
    return following(answer, f'<call>{{"arguments": {json.dumps(arguments)}, "name": "').decode()


def test_the_arguments_tell_which_names_may_follow():
    tree = {"properties": {"k": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "string"}}}
    answer = compiled(
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        {"properties": {"n": {"type": ["integer", "string"]}, "m": {"type": "null"}}},
        tree,
    )
    assert names_after(answer, {"n": 1}) == "ab"
    assert names_after(answer, {"n": "x"}) == "b"
    assert names_after(answer, {"k": "x"}) == "c"
    assert names_after(answer, {}) == "bc"
    for wrong in ({"k": 1}, {"n": True}, {"n": 1, "k": "x"}, [], 1):
        text = f'<call>{{"arguments": {json.dumps(wrong)}'
        assert not takes(answer, f'{text}, "name": "a"}}</call>')
        assert not answer.constraint().feed(f'{text}, "name": "'.encode())


@pytest.mark.parametrize("options", [{}, {"key_order": "declared"}, {"whitespace": "exact"}])
@pytest.mark.parametrize("name", CHOICES)
def test_law_09_14_what_is_drawn_is_read_and_validates(name, options):
    grammar = build_grammar(LAST, TOOLS, REQUIRED, options=GrammarOptions(**options))
    answer = compile_grammar(grammar, SMALL)
    schemas = {tool.name: tool.parameters for tool in TOOLS}
    for extra in (0, 1, 3, 10, 60):
        drawn = run(answer, extra, random.Random(f"{name} {extra}"), CHOICES[name])
        reader = Reader(grammar, nonce="together")
        reader.feed(SMALL.bytes_of(drawn[:-1]))
        message = reader.finish("stop")
        assert message.tool_calls
        assert not message.diagnostics
        for call in message.tool_calls:
            assert jsonschema_rs.is_valid(schemas[call.name], json.loads(call.arguments))


def test_schemas_that_can_not_stand_beside_others_are_named():
    answer = compiled({"$id": "urn:a", "type": "object"}, {"type": "object"})
    with pytest.raises(LimitError, match="tool a and tool b begin before their names"):
        answer.constraint().feed(b'<call>{"arguments": {')
