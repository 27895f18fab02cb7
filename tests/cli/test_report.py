"""`untemplate report`: each keyword of each tool, and what becomes of it."""

import json

from click.testing import CliRunner

from corpus import corpus_dir
from untemplate.cli import main


def tool(name, parameters, **more):
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


TYPES = "array, boolean, integer, null, number, object, string"
PAY = {
    "type": "object",
    "properties": {"to": {"type": "string", "pattern": "(a)\\1", "minLenght": 2}},
    "anyOf": [{"required": ["to"]}, {"maxProperties": 0}],
}
TOOLS = [
    tool("pay", PAY),
    tool("old", {"properties": {"n": {"type": "strin"}}}),
    tool("hard", {"properties": {"n": {"format": "regex"}}}, strict=True),
]


def report(value, *args):
    text = value if isinstance(value, str) else json.dumps(value)
    return CliRunner().invoke(main, ("report", *args), input=text)


def test_each_keyword_has_a_line():
    result = report(TOOLS)
    assert result.stdout.splitlines() == [
        "tool pay",
        "  #/type                     exact",
        "  #/properties               exact",
        "  #/anyOf                    exact",
        "  #/anyOf/0/required         exact",
        "  #/anyOf/1/maxProperties    exact",
        "  #/properties/to/type       exact",
        "  #/properties/to/pattern    checked  the pattern has no automaton: a back-reference",
        "  #/properties/to/minLenght  ignored  not a keyword",
        "tool old",
        f"  #/properties/n/type        refused  'strin' is not a type; the types are {TYPES}",
        "tool hard",
        "  #/properties               exact",
        "  #/properties/n/format      refused  the format regex has no automaton",
        "3 tools: 7 exact, 1 checked, 1 ignored, 2 refused",
    ]
    assert result.exit_code == 1  # something is refused


def test_programs_get_the_same_as_json():
    result = report(TOOLS[:1], "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert rows[6] == {
        "origin": "tool pay",
        "pointer": "#/properties/to/pattern",
        "status": "checked",
        "reason": "the pattern has no automaton: a back-reference",
    }


def test_the_template_tells_how_arguments_are_written():
    schema = {"properties": {"v": {"type": "array", "contains": {"const": 1}}}}

    def of(name):
        path = corpus_dir() / "templates" / f"{name}.jinja"
        result = report([tool("f", schema)], "--template", str(path), "--json")
        return {row["pointer"]: row["status"] for row in json.loads(result.stdout)}

    assert of("Qwen-Qwen3-0.6B")["#/properties/v/contains"] == "exact"
    assert of("google-gemma-4-31B-it")["#/properties/v/contains"] == "checked"


def test_a_request_and_a_lone_schema_are_taken_too():
    form = {"type": "json_schema", "json_schema": {"schema": {"format": "regex"}, "strict": True}}
    request = {"tools": [tool("f", {"type": "object"})], "response_format": form}
    assert report(request).stdout.splitlines()[2:] == [
        "response_schema",
        "  #/format  refused  the format regex has no automaton",
        "1 tool and the answer: 1 exact, 1 refused",
    ]
    alone = report({"type": "array"}).stdout
    assert alone == "response_schema\n  #/type  exact\nthe answer: 1 exact\n"
    assert report({"messages": []}).stdout == "0 tools: nothing is asked\n"


def test_what_can_not_be_read_is_one_line():
    result = report("[1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("untemplate: stdin: is not JSON: ")
    assert report("[]", "--dialect", __file__).stderr == "untemplate: --dialect: needs --template\n"
