"""Exports of real schemas: valid instances are taken, invalid ones only where a note says so."""

import gzip
import json
import sys

import pytest
from tests.corpus import corpus_dir
from tests.grammar.peer_llama import GbnfEngine
from tests.grammar.peer_xgrammar import EbnfEngine

from untemplate.dialect import JsonText
from untemplate.grammar import GrammarOptions, nodes
from untemplate.grammar.export.book import RuleBook
from untemplate.grammar.export.notation import print_rules
from untemplate.grammar.export.notations import ValueWriter
from untemplate.grammar.export.notes import Notes
from untemplate.grammar.export.rules import prune


def entries(name):
    with gzip.open(corpus_dir() / f"schemas/{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def exported(schema, *, open_objects):
    """The text of one value as root, and the messages of what it leaves out."""
    notes = Notes()
    options = GrammarOptions(key_order="declared", open_objects=open_objects)
    book = RuleBook(options, notes)
    value = nodes.Value(schema, JsonText(), (), "tool f")
    book.rules["root"] = ValueWriter(book).value(value)
    return print_rules(prune(book.rules)), [n.message for n in notes.all()]


def in_declared_order(value, schema):
    """The value with the keys of its objects in the order of `properties`."""
    match value:
        case dict():
            inner = schema.get("properties", {}) if isinstance(schema, dict) else {}
            order = [k for k in inner if k in value] + [k for k in value if k not in inner]
            return {k: in_declared_order(value[k], inner.get(k, {})) for k in order}
        case list():
            inner = schema.get("items", {}) if isinstance(schema, dict) else {}
            return [in_declared_order(v, inner) for v in value]
        case _:
            return value


def test_tool_schemas_are_exact_in_llama_cpp():
    count = 0
    for entry in entries("bfcl"):
        text, notes = exported(entry["schema"], open_objects=False)
        assert not notes
        with GbnfEngine(text) as engine:
            for test in entry["tests"]:
                data = in_declared_order(test["data"], entry["schema"])
                taken = engine.accepts(json.dumps(data).encode())
                assert taken is test["valid"], (entry["id"], data)
                count += 1
    assert count > 1500


@pytest.mark.laws
def test_real_world_schemas_are_never_narrower_in_xgrammar():
    exact = valid = 0
    for entry in entries("jsonschemabench"):
        text, notes = exported(entry["schema"], open_objects=True)
        exact += not notes
        with EbnfEngine(text) as engine:
            for test in entry["tests"]:
                valid += test["valid"]
                if test["valid"]:
                    assert takes(engine, test["data"], entry["schema"]), (entry["id"], test["data"])
                elif not notes:
                    assert not engine.accepts(json.dumps(test["data"]).encode()), entry["id"]
    assert exact > 180
    assert valid > 400


def takes(engine, value, schema):
    """Whether the engine takes the value in the order given, the declared one, or some other."""
    if any(
        engine.accepts(json.dumps(v).encode()) for v in (value, in_declared_order(value, schema))
    ):
        return True
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return takes_in_some_order(engine, value)
    finally:
        sys.setrecursionlimit(limit)


def takes_in_some_order(engine, value):
    """Whether the engine takes the value with its keys in some order; goes back by `rollback`."""
    engine.reset()

    def feed(text, then):
        data = text.encode()
        taken = 0
        while taken < len(data) and engine.feed(data[taken]):
            taken += 1
        if taken == len(data) and then():
            return True
        engine.rollback(taken)
        return False

    def write(value, then):
        match value:
            case dict():
                return feed("{", lambda: pairs(value, "", then))
            case list():
                return feed("[", lambda: items(value, "", then))
            case _:
                return feed(json.dumps(value, ensure_ascii=False), then)

    def pairs(left, comma, then):
        if not left:
            return feed("}", then)
        return any(
            feed(
                f"{comma}{json.dumps(key, ensure_ascii=False)}: ",
                lambda key=key: write(
                    left[key],
                    lambda: pairs({k: v for k, v in left.items() if k != key}, ", ", then),
                ),
            )
            for key in left
        )

    def items(left, comma, then):
        if not left:
            return feed("]", then)
        return feed(comma, lambda: write(left[0], lambda: items(left[1:], ", ", then)))

    return write(value, engine.ends)
