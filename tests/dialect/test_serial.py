import json

import pytest

from dialects import ALL
from untemplate.dialect import dumps, loads
from untemplate.errors import DialectError


@pytest.mark.parametrize("name", ALL)
def test_a_dialect_survives_being_saved(name):
    assert loads(dumps(ALL[name])) == ALL[name]


def test_defaults_are_not_written():
    assert "index_base" not in dumps(ALL["hermes"])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["stops"], "x", 'dialect /stops: "x" stands where a list is needed'),
        (["edges", 0, "literal"], 1, "dialect /edges/0/literal: 1 stands where a str is needed"),
        (["edges", 0, "sauce"], "a", "dialect /edges/0: Edge has no field 'sauce'"),
        (["edges", 0, "evidence"], "a", 'dialect /edges/0/evidence: "a" stands where one of'),
        (["blocks", "call", "is"], "Nonsense", "dialect /blocks/call: "),
    ],
)
def test_a_broken_dialect_names_the_pointer(path, value, message):
    plain = json.loads(dumps(ALL["hermes"]))
    place = plain
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(DialectError) as caught:
        loads(json.dumps(plain))
    assert str(caught.value).startswith(message)


def test_text_that_is_not_json_is_a_dialect_error():
    with pytest.raises(DialectError, match="dialect: is not JSON"):
        loads("{")
