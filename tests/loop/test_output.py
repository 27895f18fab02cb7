"""Final answers of a given form."""

import dataclasses
import sys

import pytest
from pydantic import BaseModel

from tool_loop import complete, script
from untemplate.errors import RequestError, SchemaError
from untemplate.loop import Limits, ToolLoop, tool
from untemplate.testing import written

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer", "maximum": 60}},
    "required": ["city", "degrees"],
}


class Weather(BaseModel):
    city: str
    degrees: int


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


@tool(effect="read")
def look(city: str) -> int:
    return 12


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (SCHEMA, '{"city": "Oslo", "degrees": 3}', {"city": "Oslo", "degrees": 3}),
        (Weather, ' {"city": "Oslo", "degrees": 3}\n', Weather(city="Oslo", degrees=3)),
        (Point, '{"x": 1}', Point(1)),
        (list[int], "[1, 2]", [1, 2]),
        (int | None, "null", None),
        (bool, "true", True),
    ],
    ids=["schema", "model", "dataclass", "list", "union", "bool"],
)
def test_forms(form, text, value):
    result = complete(ToolLoop(script(text), output=form))
    assert (result.reason, result.output) == ("answer", value)


def test_the_schema_goes_with_every_request():
    model = script(written(("look", {"city": "Oslo"})), '{"city": "Oslo", "degrees": 12}')
    result = complete(ToolLoop(model, [look], output=SCHEMA))
    assert result.output == {"city": "Oslo", "degrees": 12}
    assert [r.output_schema for r in model.requests] == [SCHEMA, SCHEMA]


def test_a_wrong_answer_is_asked_for_again_and_told_why():
    model = script("It is cold.", '{"city": "Oslo", "degrees": 99}', '{"city": "O", "degrees": 9}')
    result = complete(ToolLoop(model, [look], output=SCHEMA))
    assert result.output == {"city": "O", "degrees": 9}
    assert [r.choice.mode for r in model.requests] == ["auto", "none", "none"]
    asked = [m["content"] for m in result.messages if m["role"] == "user"]
    assert "not valid JSON" in asked[1]
    assert "/degrees: 99 is greater than the maximum of 60" in asked[2]


def test_after_three_wrong_answers_the_run_ends():
    model = script("a", "b", "c")
    result = complete(ToolLoop(model, output=SCHEMA))
    assert (result.reason, result.output, result.text) == ("output", None, "c")


def test_types_check_more_than_their_schema():
    class Even(BaseModel):
        n: int

        def model_post_init(self, context):
            if self.n % 2:
                raise ValueError("has to be even")

    result = complete(ToolLoop(script('{"n": 1}', '{"n": 2}'), output=Even))
    assert result.output == Even(n=2)
    assert "has to be even" in result.messages[2]["content"]


def test_the_limit_on_steps_holds():
    result = complete(ToolLoop(script("a"), output=SCHEMA, limits=Limits(steps=1)))
    assert (result.reason, result.text) == ("steps", "a")


def test_the_last_answer_at_a_limit_counts():
    model = script(written(("look", {"city": "Oslo"})), '{"city": "Oslo", "degrees": 12}')
    limits = Limits(steps=1, final_answer=True)
    result = complete(ToolLoop(model, [look], output=SCHEMA, limits=limits))
    assert (result.reason, result.output) == ("steps", {"city": "Oslo", "degrees": 12})


def test_bad_forms_are_refused_at_the_door(monkeypatch):
    class Opaque: ...

    with pytest.raises(SchemaError, match="output: the schema is not valid"):
        ToolLoop(script(), output={"type": "wat"})
    with pytest.raises(SchemaError, match="output: the type has no JSON Schema"):
        ToolLoop(script(), output=Opaque)
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(RequestError, match=r"pip install 'untemplate\[tools\]'"):
        ToolLoop(script(), output=int)
