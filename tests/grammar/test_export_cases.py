"""Formulas as cases, and which cases exclude each other."""

import pytest

from untemplate.grammar.export import apart
from untemplate.grammar.export.cases import MOST_CASES, cases
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import HasKey, Length, Pattern, Place
from untemplate.grammar.schema_formula import Not, One, Some, conj

A, B, C = HasKey("a"), HasKey("b"), HasKey("c")


def told(formula):
    notes = []
    return cases(formula, notes.append), notes


def test_conditions_are_multiplied_out():
    assert told(True) == ([()], [])
    assert told(False) == ([], [])
    assert told(conj(A, Some((B, C)))) == ([(A, B), (A, C)], [])
    assert told(conj(Some((A, B)), Some((A, C)))) == ([(A,), (A, C), (B, A), (B, C)], [])


def test_each_of_exactly_one_excludes_the_others_where_rules_can_say_it():
    assert told(One((A, B))) == ([(A, Not(B)), (B, Not(A))], [])
    found, notes = told(One((Length(0, 3), Pattern("x"))))
    assert found == [(Length(0, 3),), (Pattern("x"),)]
    assert set(notes) == {"more than one of the options may hold"}


def test_too_many_cases_are_said():
    many = conj(*(Some((HasKey(f"{n}x"), HasKey(f"{n}y"))) for n in range(8)))
    found, notes = told(many)
    assert len(found) <= MOST_CASES
    assert notes
    assert set(notes) == {f"more than {MOST_CASES} cases"}


def keyed(kind, **more):
    properties = {"kind": kind, "to": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": ["kind"], **more}


@pytest.mark.parametrize(
    ("one", "other", "is_apart"),
    [
        ({"const": "a"}, {"const": "b"}, True),
        ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}, False),
        (keyed({"const": "a"}), keyed({"const": "b"}), True),
        (keyed({"const": 1}), keyed({"const": 2}), True),
        (keyed({"type": "string"}), keyed({"type": "integer"}), True),
        (keyed({"type": "string"}), keyed({"type": ["string", "null"]}), False),
        (keyed({"const": "a"}), keyed({"const": "b"}, required=[]), False),
        (keyed(keyed({"const": "a"})), keyed(keyed({"const": "b"})), True),
    ],
)
def test_what_excludes_each_other(one, other, is_apart):
    schemas = Schemas({"oneOf": [one, other]}, origin="tool f", open_objects=True)
    both = [schemas.typed(Place(f"#/oneOf/{n}")) for n in range(2)]
    assert apart._typed_apart(schemas, 3, *both) is is_apart
