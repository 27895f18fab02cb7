import json
from dataclasses import replace

import pytest

from untemplate.budget.policy import (
    Allowed,
    Policy,
    Refused,
    is_sealed,
    judge,
    mark_defaults,
    missing_arguments,
    repairs,
    unfinished,
)
from untemplate.message import Diagnostic, Message, Tool, ToolCall

TOOL = Tool(
    "search",
    "",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "default": 10},
            "dry_run": {"type": "boolean", "default": True},
            "tags": {"type": "array"},
        },
        "required": ["query"],
    },
)
PLAIN = Tool("search", "", {**TOOL.parameters, "properties": {"query": {}, "limit": {}}})
WHOLE = '{"query": "rivers", "limit": 12}'
SEALED = ToolCall(0, "a", "search", WHOLE)
PARTIAL = Policy("read", "partial", guarded=())


def cut(arguments, closing, **states):
    states = {f"/{name.replace('__', '/')}": state for name, state in states.items()}
    return ToolCall(0, "a", "search", arguments, closing, "cut", states)


CUT_NUMBER = cut('{"query": "rivers"', "}", query="complete", limit="cut")
CUT_STRING = cut('{"limit": 3, "query": "riv', '"}', query="cut", limit="complete")


def test_a_sealed_call_runs_whatever_the_tool_does():
    for effect in ("read", "idempotent", "write", "destructive"):
        assert judge(SEALED, TOOL, Policy(effect)) == Allowed(json.loads(WHOLE))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (CUT_NUMBER, "cut"),
        (CUT_STRING, "cut"),
        (replace(SEALED, state="forced"), "forced"),
        (replace(SEALED, state="malformed"), "malformed"),
        (replace(SEALED, arguments_state={"/query": "undecided"}), "undecided"),
        (replace(SEALED, arguments_state={"/limit": "defaulted"}), "cut"),
        (replace(SEALED, arguments='{"query": "rivers"', closing="}"), "cut"),
        (replace(SEALED, arguments="[1]"), "malformed"),
        (replace(SEALED, arguments="[" * 100_000), "malformed"),
    ],
)
def test_law_21_nothing_else_does(call, why):
    for effect in ("read", "idempotent", "write", "destructive"):
        assert judge(call, TOOL, Policy(effect)) == Refused(why)
    for effect in ("idempotent", "write", "destructive"):
        assert judge(call, TOOL, Policy(effect, "partial", ("query",), ())) == Refused(why)


def test_a_call_without_an_argument_that_it_needs_is_sealed_and_invalid():
    call = replace(SEALED, arguments="{}", arguments_state={"/query": "missing"})
    assert is_sealed(call)
    assert missing_arguments(call, TOOL) == ("/query",)


def test_a_call_that_was_set_right_runs_only_if_it_just_reads():
    slip = Diagnostic("duplicate_key", (5, 5), "")
    assert judge(SEALED, TOOL, Policy("read"), [slip]) == Allowed(json.loads(WHOLE))
    assert judge(SEALED, TOOL, Policy("write"), [slip]) == Refused("repaired")
    assert judge(SEALED, TOOL, Policy("idempotent"), [slip]) == Refused("repaired")


def test_what_was_set_right_is_found_by_its_place():
    slips = [
        Diagnostic("duplicate_key", (5, 5), ""),
        Diagnostic("unknown_tool", (6, 6), ""),
        Diagnostic("wrong_type", (30, 30), ""),
    ]
    message = Message(tool_calls=(replace(SEALED, span=(0, 20)),), diagnostics=tuple(slips))
    assert repairs(message, message.tool_calls[0]) == (slips[0],)


def test_a_part_may_run_where_it_is_asked_for():
    assert judge(CUT_NUMBER, PLAIN, PARTIAL) == Allowed({"query": "rivers"}, ("/limit",))
    assert judge(CUT_NUMBER, TOOL, Policy("read")) == Refused("cut")


def test_a_required_argument_that_is_cut_stops_it():
    assert judge(CUT_STRING, PLAIN, PARTIAL) == Refused("cut")


def test_unless_its_beginning_is_of_use():
    policy = replace(PARTIAL, cut_strings=("query",))
    assert judge(CUT_STRING, PLAIN, policy) == Allowed(
        {"limit": 3, "query": "riv"}, shortened=("/query",)
    )


def test_a_cut_number_or_list_is_never_of_use():
    policy = replace(PARTIAL, cut_strings=("limit", "tags"))
    assert judge(CUT_NUMBER, PLAIN, policy) == Allowed({"query": "rivers"}, ("/limit",))
    call = cut('{"query": "x", "tags": ["a"', "]}", query="complete", tags__1="cut")
    assert judge(call, PLAIN, policy) == Allowed({"query": "x"}, ("/tags",))


def test_absent_arguments_get_their_default_and_are_named():
    call = cut('{"query": "rivers", "tags": []', "}", query="complete", tags="complete")
    assert judge(call, TOOL, PARTIAL) == Allowed(
        {"query": "rivers", "tags": [], "limit": 10, "dry_run": True},
        defaulted=("/limit", "/dry_run"),
    )


def test_a_cut_argument_is_not_defaulted():
    allowed = judge(CUT_NUMBER, TOOL, PARTIAL)
    assert allowed == Allowed({"query": "rivers", "dry_run": True}, ("/limit",), (), ("/dry_run",))


def test_what_guards_something_is_never_defaulted():
    call = cut('{"query": "rivers"', "}", query="complete")
    assert judge(call, TOOL, Policy("read", "partial")) == Refused("cut")
    said = cut('{"query": "x", "dry_run": true', "}", query="complete", dry_run="complete")
    assert isinstance(judge(said, TOOL, Policy("read", "partial")), Allowed)


def test_an_argument_without_a_known_state_is_not_taken():
    call = cut('{"query": "rivers"', "}")
    assert judge(call, PLAIN, PARTIAL) == Refused("cut")


def test_defaults_are_marked_on_cut_calls_alone():
    marked = mark_defaults(CUT_NUMBER, TOOL)
    assert marked.arguments_state == {
        "/query": "complete",
        "/limit": "cut",
        "/dry_run": "defaulted",
    }
    assert marked.arguments == CUT_NUMBER.arguments
    assert mark_defaults(SEALED, TOOL) is SEALED
    assert unfinished(marked) == ("/limit", "/dry_run")


def test_names_with_slashes_and_tildes():
    tool = Tool("f", "", {"properties": {"a/b~": {}, "c": {"default": 1}}, "required": ["a/b~"]})
    call = ToolCall(0, "a", "f", '{"a/b~": 1', "}", "cut", {"/a~1b~0": "complete"})
    assert judge(call, tool, PARTIAL) == Allowed({"a/b~": 1, "c": 1}, defaulted=("/c",))
    assert missing_arguments(replace(call, arguments="{"), tool) == ("/a~1b~0",)
