"""What the report of a grammar says of each keyword, and what it refuses."""

import math
from dataclasses import replace

import pytest

from constrain.judging import ANSWERS
from counting import steps
from dialects import CODER, HERMES
from untemplate.constrain import compile_grammar
from untemplate.errors import LimitError, RequestError, SchemaError
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.grammar.report import Keyword, refuse_inexact
from untemplate.message import Tool, ToolChoice
from untemplate.vocabulary import byte_vocabulary


def told(schema, dialect=HERMES, **options):
    grammar = build_grammar(dialect, (Tool("f", "", schema),), options=GrammarOptions(**options))
    return {k.pointer: (k.status, k.reason) for k in grammar.report().keywords}


@pytest.mark.parametrize(
    ("schema", "pointer", "reason"),
    [
        ({"pattern": "(a)\\1"}, "#/pattern", "a back-reference"),
        ({"pattern": "(?<=a)b"}, "#/pattern", "look-behind"),
        ({"pattern": "a(?=b)"}, "#/pattern", "look-ahead that is not at the beginning"),
        ({"pattern": "(?i)a"}, "#/pattern", "flags"),
        ({"pattern": "a{2}{3}"}, "#/pattern", "nothing to repeat at 4"),
        ({"pattern": "a*+"}, "#/pattern", "nothing to repeat at 2"),
        ({"format": "regex"}, "#/format", "format regex"),
        ({"multipleOf": 0.123457}, "#/multipleOf", "remainders"),
        ({"uniqueItems": True}, "#/uniqueItems", "arrays or objects"),
        (
            {"uniqueItems": True, "items": {"type": "string", "pattern": "^[ab]$"}},
            "#/uniqueItems",
            "no further item",
        ),
        (
            {"anyOf": [{"uniqueItems": True, "items": {"type": "string"}}, {"maxItems": 2}]},
            "#/anyOf/0/uniqueItems",
            "must differ in any case",
        ),
        (
            {"oneOf": [{"pattern": "(a)\\1"}, {"minLength": 3}]},
            "#/oneOf/1/minLength",
            "#/oneOf/0 is not enforced",
        ),
        ({"not": {"format": "regex"}}, "#/not", "#/not is not enforced"),
        ({"patternProperties": {"(?<!a)b": {}}}, "#/patternProperties", "look-behind"),
        ({"properties": {"a/b": {"pattern": "(a)\\1"}}}, "#/properties/a~1b/pattern", "back"),
    ],
)
def test_what_only_validation_enforces(schema, pointer, reason):
    status, why = told(schema)[pointer]
    assert status == "checked"
    assert reason in why


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"uniqueItems": True, "items": {"type": "string", "maxLength": 5}}, "#/uniqueItems"),
        ({"uniqueItems": True, "items": {"enum": ["a", "b", 1]}}, "#/uniqueItems"),
        ({"pattern": "^(?!a)[b-z]{2,9}$"}, "#/pattern"),
        ({"multipleOf": 86400}, "#/multipleOf"),
        ({"maximum": 1.7976931348623157e308}, "#/maximum"),
        ({"format": "date-time"}, "#/format"),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, "#/oneOf"),
        ({"type": "string", "nullable": True}, "#/nullable"),
        ({"properties": {"a": {"$ref": "#"}}}, "#/properties/a/$ref"),
    ],
)
def test_what_is_exact(schema, pointer):
    assert told(schema)[pointer][0] == "exact"
    assert all(status == "exact" for status, _ in told(schema).values())


UNIQUE = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_branch_must_hold_for_kinds_that_no_other_branch_takes(keyword):
    for other in ({"type": "string"}, {"type": "null"}, {"enum": ["a", 1]}):
        assert {s for s, _ in told({keyword: [other, UNIQUE]}).values()} == {"exact"}
    found = told({keyword: [{"type": "object"}, {"properties": {"a": UNIQUE}}]})
    assert found[f"#/{keyword}/1/properties/a/uniqueItems"][0] == "checked"


def test_what_asks_nothing():
    schema = {"minLenght": 3, "format": "color", "contentEncoding": "base64", "title": "T"}
    found = told(schema)
    assert {status for status, _ in found.values()} == {"ignored"}
    assert "#/title" not in found
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"a": {}}}
    found = told({**old, "$ref": "#/$defs/a", "minLength": 3})
    assert found["#/minLength"][0] == "ignored"


def test_digits_are_bounded_and_told():
    assert told({"type": "integer"})["#/type"][1].startswith("numbers have at most 40 digits")


def test_a_schema_of_the_answer_is_reported_too():
    report = build_grammar(ANSWERS, response_schema={"format": "regex"}).report()
    reason = "the format regex has no automaton"
    assert report.keywords == (Keyword("response_schema", "#/format", "checked", reason),)
    assert str(report) == f"response_schema #/format: checked; {reason}"


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}]},
        {"patternProperties": {"^a": {"type": "string"}}, "propertyNames": {"maxLength": 3}},
        {"contains": {"type": "integer"}, "maxContains": 2},
        {"not": {"type": "object", "properties": {"a": {"const": 1}}}},
    ],
)
def test_an_answer_is_written_whole_whatever_the_calls_are(schema):
    report = build_grammar(ANSWERS, response_schema=schema).report()
    assert {k.status for k in report.keywords} == {"exact"}


def test_unused_definitions_are_not_reported():
    assert told({"$defs": {"a": {"format": "regex"}}}) == {}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "strin"}, "#/type"),
        ({"type": []}, "#/type"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "#/properties/a/$ref"),
        ({"items": {"$ref": "http://x.example/y.json"}}, "#/items/$ref"),
        ({"$ref": "#"}, "#"),
        ({"properties": {"a": 3}}, "#/properties/a"),
        ({"required": "a"}, "#/required"),
        ({"allOf": []}, "#/allOf"),
        ({"anyOf": [{"$ref": "#/anyOf/7"}]}, "#/anyOf/0/$ref"),
        ({"dependentRequired": {"a": 5}}, "#/dependentRequired"),
        ({"dependencies": {"a/b": [5]}}, "#/dependencies/a~1b"),
        ({"$dynamicRef": 5}, "#/$dynamicRef"),
        ({"$id": 5}, "#/$id"),
        ({"$schema": 5}, "#/$schema"),
        ({"properties": {"a": {"nullable": "yes"}}}, "#/properties/a/nullable"),
        ({"properties": {"a": {"maximum": math.inf}}}, "#/properties/a/maximum"),
        ({"properties": {"a": {"enum": [1, math.nan]}}}, "#/properties/a/enum/1"),
        ({"properties": {"a": {"const": {1, 2}}}}, "#/properties/a/const"),
        # What neither a mask nor a validator makes anything of can't be promised.
        ({"properties": {"a": {"pattern": "("}}}, "#/properties/a/pattern"),
        ({"patternProperties": {"[z-a]": {}}}, "#/patternProperties/[z-a]"),
    ],
)
def test_what_is_no_schema_is_named_before_anything_is_written(schema, place):
    with pytest.raises(SchemaError) as refused:
        told(schema)
    assert refused.value.place == f"tool f {place}"


def nested(depth):
    schema = {}
    for _ in range(depth):
        schema = {"items": schema}
    return schema


ENDLESS = {}
ENDLESS["items"] = ENDLESS
CHAINS = {
    "ref": lambda following: following,
    "all": lambda following: {"allOf": [following, {"type": "object"}]},
    "one": lambda following: {"oneOf": [following, {"required": ["b"]}]},
    "property": lambda following: {"properties": {"a": following}, "required": ["a"]},
    "items": lambda following: {"items": following, "minItems": 1, "type": "array"},
}


@pytest.mark.parametrize(
    "schema",
    [nested(300), nested(10_000), ENDLESS, {"const": nested(300)}, {"default": nested(10_000)}],
)
def test_what_is_nested_too_deep_is_refused(schema):
    with pytest.raises(LimitError, match=r"^tool f #: nested deeper than 128 levels$"):
        told(schema)


def place_of_limit(ask):
    try:
        ask()
    except LimitError as error:
        return error.place
    return "tool f, which is followed only as far as it is written"


@pytest.mark.parametrize("chain", CHAINS)
def test_references_that_lead_too_deep_are_an_error_that_names_the_tool(chain):
    links = {f"d{n}": CHAINS[chain]({"$ref": f"#/$defs/d{n + 1}"}) for n in range(300)}
    links["d300"] = {}
    schema = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["a"], "$defs": links}
    grammar = build_grammar(HERMES, (Tool("f", "", schema),), ToolChoice("required"))
    vocabulary = byte_vocabulary(["<|im_end|>"], eos="<|im_end|>")
    call = b'<tool_call>\n{"name": "f", "arguments": {"a": {"a":'
    asked = (
        grammar.report,
        grammar.gbnf,
        grammar.lark,
        lambda: compile_grammar(grammar, vocabulary).constraint().feed(call),
    )
    assert all(place_of_limit(ask).startswith("tool f") for ask in asked)


@pytest.mark.parametrize("count", [20_000, 10**9, 1e30])
@pytest.mark.parametrize("keyword", ["minItems", "minLength", "minProperties", "minContains"])
def test_a_schema_that_asks_for_more_than_can_be_written_is_refused(keyword, count):
    with pytest.raises(LimitError, match=f"^tool f #/properties/a/{keyword}: asks for more than"):
        told({"properties": {"a": {keyword: count, "contains": True}}})


@pytest.mark.parametrize("count", [10**6, 10**9, 1e30])
@pytest.mark.parametrize("keyword", ["maxItems", "maxLength", "maxProperties", "maxContains"])
def test_bounds_may_have_any_size(keyword, count):
    bounded = {keyword: count, "contains": {"type": "integer"}}
    schema = {"properties": {"a": {"anyOf": [bounded, {"type": "string", "minLength": 7}]}}}
    status, reason = told(schema)[f"#/properties/a/anyOf/0/{keyword}"]
    assert status == "exact"
    assert bool(reason) is (keyword == "maxLength" and count > 10**6)
    grammar = build_grammar(HERMES, (Tool("f", "", schema),), ToolChoice("required"))
    vocabulary = byte_vocabulary(["<|im_end|>"], eos="<|im_end|>")
    constraint = compile_grammar(grammar, vocabulary).constraint()
    assert constraint.feed(b'<tool_call>\n{"name": "f", "arguments": {"a": "abcdefgh')
    assert constraint.min_tokens() == len('"}}\n</tool_call>') + 1
    assert constraint.feed(b'"}}\n</tool_call>')


def test_long_arrays_are_measured_without_a_look_at_each_item():
    def measure(count):
        schema = {"properties": {"a": {"items": {"type": "integer"}, "minItems": count}}}
        tool = Tool("f", "", {**schema, "required": ["a"]})
        grammar = build_grammar(HERMES, (tool,), ToolChoice("required"))
        vocabulary = byte_vocabulary(["<|im_end|>"], eos="<|im_end|>")
        constraint = compile_grammar(grammar, vocabulary).constraint()
        assert constraint.feed(b'<tool_call>\n{"name": "f", "arguments": {"a": [1, 2, 3')

    steps(lambda: measure(100))  # what all grammars share is found
    assert steps(lambda: measure(10_000)) < 1.2 * steps(lambda: measure(200))


@pytest.mark.laws
def test_a_search_without_an_end_is_given_up_and_names_the_tool():
    links = {
        f"d{n}": {"oneOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"required": [f"k{n}"]}]}
        for n in range(80)
    }
    links["d80"] = {"type": "object"}
    schema = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "required": ["a"], "$defs": links}
    tools = (Tool("f", "", schema), Tool("g"))
    grammar = build_grammar(HERMES, tools, ToolChoice("required"))
    vocabulary = byte_vocabulary(["<|im_end|>"], eos="<|im_end|>")
    constraint = compile_grammar(grammar, vocabulary).constraint()
    with pytest.raises(LimitError, match=r"^tools? f.*: an object has too many ways"):
        constraint.feed(b'<tool_call>\n{"name": "f", "arguments": {"a": {"a": 1, ')
    assert constraint.feed(b'<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>')


def test_places_are_one_line_and_not_endless():
    for key in ("a\nb", "a" * 10_000):
        with pytest.raises(SchemaError) as refused:
            told({"properties": {key: {"type": "strin"}}})
        assert str(refused.value).isprintable()
        assert len(refused.value.place) < 600


def test_what_no_call_satisfies_is_named():
    never = Tool("f", "", {"properties": {"a": False}, "required": ["a"]})
    vocabulary = byte_vocabulary(["<|im_end|>"], eos="<|im_end|>")
    for tools, choice, answer, place in (
        ((never,), ToolChoice("required"), None, "tool f"),
        ((never, Tool("g")), ToolChoice("required", "f"), None, "tool f"),
        ((never, replace(never, name="h")), ToolChoice("required"), None, "tools f, h"),
        ((), None, False, "response_schema"),
    ):
        grammar = build_grammar(ANSWERS, tools, choice, response_schema=answer)
        with pytest.raises(SchemaError, match=f"^{place}: no value that can be written"):
            compile_grammar(grammar, vocabulary)
    both = build_grammar(HERMES, (never, Tool("g")), ToolChoice("required"))
    constraint = compile_grammar(both, vocabulary).constraint()
    assert constraint.feed(b'<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>')


def test_tools_choices_and_options_are_checked_at_the_door():
    with pytest.raises(RequestError, match="two tools are named 'f'"):
        build_grammar(HERMES, (Tool("f"), Tool("f", "", {"required": ["a"]})))
    with pytest.raises(RequestError, match="tool_choice"):
        ToolChoice("maybe")
    with pytest.raises(RequestError, match="whitespace"):
        GrammarOptions(whitespace="none")
    with pytest.raises(RequestError, match="key_order"):
        GrammarOptions(key_order="sorted")


def test_a_strict_tool_is_refused_where_it_is_not_exact():
    fine = Tool("fine", "", {"properties": {"a": {"format": "regex"}}})
    strict = Tool("pay", "", {"properties": {"a": {"format": "regex"}}}, strict=True)
    refuse_inexact(build_grammar(HERMES, (fine,)).report(), (fine,))
    with pytest.raises(SchemaError, match="tool pay #/properties/a/format: the tool is strict"):
        refuse_inexact(build_grammar(HERMES, (fine, strict)).report(), (fine, strict))


def test_arguments_pair_by_pair():
    schema = {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert told(schema)["#/anyOf/0/required"][0] == "exact"
    assert told(schema, CODER)["#/anyOf/0/required"][0] == "exact"
    option = {"properties": {"a": {"const": 1}}}
    values = {"properties": {"a": {}}, "anyOf": [option, {"required": ["b"]}]}
    assert told(values)["#/anyOf"][0] == "exact"
    assert told(values, CODER)["#/anyOf"][0] == "checked"
