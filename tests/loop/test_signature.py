"""Functions as tools: every kind of annotation, and what is refused."""

import dataclasses
import datetime as dt
import enum
import functools
import sys
from typing import Annotated, Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field

from untemplate.errors import RequestError, SchemaError
from untemplate.loop import ToolContext, tool
from untemplate.loop.signature import TypesError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


class Person(BaseModel):
    name: str
    age: Annotated[int, Field(ge=0)]


def call(made, arguments):
    """What the function gets, from JSON arguments that fit the schema."""
    assert made.checker.errors(arguments) == ()
    return made.run(made.convert(arguments), ToolContext("id", made.name, 1))


def test_every_kind_of_parameter():
    def book(  # noqa: PLR0917
        who: Person,
        at: Point,
        options: Options,
        colour: Colour,
        kind: Literal["a", "b"],
        day: dt.date,
        tags: set[str],
        pair: tuple[int, str],
        note: str | None = None,
        seats: Annotated[int, Field(ge=1, le=9, description="how many")] = 1,
        row: Annotated[str, "letter of the row"] = "A",
    ):
        return who, at, options, colour, kind, day, tags, pair, note, seats, row

    made = tool(book)
    schema = made.definition.parameters
    assert schema["required"] == ["who", "at", "options", "colour", "kind", "day", "tags", "pair"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["seats"] == {
        "default": 1,
        "description": "how many",
        "maximum": 9,
        "minimum": 1,
        "type": "integer",
    }
    assert schema["properties"]["row"]["description"] == "letter of the row"
    assert "title" not in str(schema)
    got = call(
        made,
        {
            "who": {"name": "Ada", "age": 3},
            "at": {"x": 1},
            "options": {"deep": True},
            "colour": "blue",
            "kind": "b",
            "day": "2026-01-02",
            "tags": ["x", "x"][:1],
            "pair": [1, "z"],
            "seats": 2,
        },
    )
    assert got == (
        Person(name="Ada", age=3),
        Point(1.0),
        {"deep": True},
        Colour.BLUE,
        "b",
        dt.date(2026, 1, 2),
        {"x"},
        (1, "z"),
        None,
        2,
        "A",
    )


def test_the_second_check_is_by_types():
    def pay(amount: Annotated[float, Field(multiple_of=0.5)], when: dt.date):
        return amount, when

    made = tool(pay)
    with pytest.raises(TypesError) as caught:
        made.convert({"amount": 1.0, "when": "the first of May"})
    (detail,) = caught.value.details
    assert (detail.path, detail.got) == ("/when", "the first of May")


def test_names_that_models_reserve_are_fine():
    def odd(schema: int, json: int, copy: int, model_config: int, _hidden: int):
        return schema, json, copy, model_config, _hidden

    names = ["schema", "json", "copy", "model_config", "_hidden"]
    assert call(tool(odd), {n: i for i, n in enumerate(names)}) == (0, 1, 2, 3, 4)


def test_positional_keyword_only_and_defaults_of_any_kind():
    marker = object()

    def f(a: int, b: int = 2, /, c: int = 3, *, d: object = marker):
        return a, b, c, d

    assert call(tool(f), {"a": 1, "c": 5}) == (1, 2, 5, marker)


def test_no_annotations():
    def f(a, b=1):
        return a, b

    assert call(tool(f), {"a": [None, {"x": 1}]}) == ([None, {"x": 1}], 1)


def test_bound_methods_partials_and_callable_objects():
    class Shop:
        """A shop."""

        def sell(self, item: str, count: int = 1):
            """Sell something."""
            return item, count

        def __call__(self, item: str):
            return item

    made = tool(Shop().sell)
    assert (made.name, made.definition.description) == ("sell", "Sell something.")
    assert call(made, {"item": "x"}) == ("x", 1)
    partial = tool(functools.partial(Shop().sell, count=3))
    assert partial.name == "sell"
    assert call(partial, {"item": "x"}) == ("x", 3)
    assert call(tool(name="shop")(Shop()), {"item": "x"}) == "x"


def test_the_context_is_filled_in_and_not_shown():
    def f(context: ToolContext, a: int):
        return context.call_id, a

    made = tool(f)
    assert list(made.definition.parameters["properties"]) == ["a"]
    assert call(made, {"a": 1}) == ("id", 1)


def test_a_decorated_function_can_still_be_called():
    @tool(effect="read", timeout_s=5)
    def double(n: int) -> int:
        """Twice n."""
        return 2 * n

    assert double(4) == 8
    assert double.rules.effect == "read"
    assert double.rules.retries == 1


def test_a_description_may_come_from_the_docstring_or_the_field():
    def f(a: int, b: Annotated[int, Field(description="of the field")]):
        """F.

        Args:
            a: of the docstring
            b: not this
        """

    properties = tool(f).definition.parameters["properties"]
    assert properties["a"]["description"] == "of the docstring"
    assert properties["b"]["description"] == "of the field"


def test_lambdas_need_a_name():
    with pytest.raises(RequestError, match="a lambda has no name"):
        tool(lambda x: x)
    assert tool(name="same")(lambda x: x).name == "same"


def test_star_arguments_are_refused():
    def f(*args: int): ...
    def g(**kwargs: int): ...

    for function in (f, g):
        with pytest.raises(RequestError, match="can't be described to a model"):
            tool(function)


def test_types_without_a_schema_are_refused():
    class Opaque: ...

    def f(a: Opaque): ...
    def g(a: "Nowhere"): ...  # noqa: F821

    with pytest.raises(SchemaError, match="tool f: a parameter has no JSON Schema"):
        tool(f)
    with pytest.raises(SchemaError, match="tool g: an annotation can't be resolved"):
        tool(g)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"effect": "reads"}, "effect has to be one of"),
        ({"retries": 1}, "a write tool can't be retried"),
        ({"on_cut": "partial"}, "only a read tool"),
        ({"result_max": 0}, "result_max has to be at least 1"),
        ({"timeout_s": 0}, "timeout_s has to be positive"),
    ],
)
def test_wrong_rules_are_refused(options, text):
    with pytest.raises(RequestError, match=text):
        tool(**options)(test_lambdas_need_a_name)


def test_pydantic_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)

    def f(a: int): ...

    with pytest.raises(RequestError, match=r"pip install 'untemplate\[tools\]'"):
        tool(f)


class Tree(TypedDict):
    value: int
    children: list[Options]


def test_typed_dicts_inside_other_types():
    def f(
        a: list[Tree],
        b: dict[str, Tree] | None = None,
        c: Annotated[Tree | int, "either"] = 1,
        d: tuple[Tree, ...] = (),
    ):
        return a, b, c, d

    tree = {"value": 1, "children": [{"deep": True}]}
    made = tool(f)
    given = {"a": [tree], "b": {"x": tree}, "c": tree, "d": [tree]}
    assert call(made, given) == ([tree], {"x": tree}, tree, (tree,))
    assert made.checker.errors({"a": [{"value": 1, "children": [{"limit": 1}]}]})
