from untemplate.budget.compact import compact
from untemplate.message import Tool

TOOL = Tool(
    "book",
    "Books a table, e.g. for two.  It can not be undone. Ask first.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "guests": {
                "type": "integer",
                "minimum": 1,
                "description": "How many come. Children count.",
            },
            "maximum": {"type": "string", "maxLength": 3},
            "day": {"enum": ["Mon", "Tue"]},
            "notes": {"type": "array", "items": {"type": "string", "title": "N"}, "maxItems": 3},
        },
        "required": ["guests", "maximum"],
        "additionalProperties": False,
    },
)


def test_bounds_go_first_but_never_a_property_of_their_name():
    parameters = compact(TOOL, "schema").parameters
    assert parameters == {
        "type": "object",
        "properties": {
            "guests": {"type": "integer", "description": "How many come. Children count."},
            "maximum": {"type": "string"},
            "day": {"enum": ["Mon", "Tue"]},
            "notes": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["guests", "maximum"],
    }
    assert compact(TOOL, "schema").description == TOOL.description


def test_then_all_sentences_but_the_first():
    shown = compact(TOOL, "words")
    assert shown.description == "Books a table, e.g. for two."
    assert shown.parameters["properties"]["guests"]["description"] == "How many come."


def test_then_descriptions_of_parameters():
    shown = compact(TOOL, "names")
    assert shown.parameters["properties"]["guests"] == {"type": "integer"}
    assert shown.name == "book"
    assert shown.description == "Books a table, e.g. for two."


def test_a_long_sentence_is_cut_at_a_word():
    shown = compact(Tool("f", "word " * 100), "words")
    assert shown.description.endswith(" word…")
    assert len(shown.description) <= 121


def test_the_full_tool_is_the_tool():
    assert compact(TOOL, "full") is TOOL
