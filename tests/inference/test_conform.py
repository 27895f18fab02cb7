"""Recorded cases: their format, how what came out is compared, and the corpus as a whole."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from corpus import corpus_dir
from dialects import HERMES, QWEN3
from untemplate.cli import main
from untemplate.errors import RequestError
from untemplate.grammar import build_grammar
from untemplate.inference.cases import Case, Expected, ExpectedCall, read_case
from untemplate.inference.conform import (
    Received,
    divergences,
    judge,
    prompt_difference,
    read_input,
    unrecorded_prompt,
)
from untemplate.message import Message, Tool, ToolCall, ToolChoice

PAY = Tool(
    "pay",
    parameters={
        "type": "object",
        "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
        "required": ["to"],
    },
)
CALL = '<tool_call>\n{"name": "pay", "arguments": {"to": "a b", "amount": 12}}\n</tool_call>'
CASE = Case("a1", "hermes.jinja", CALL, Expected(), tools=(PAY,))


def judged(case, dialect=HERMES):
    grammar = build_grammar(dialect, case.tools or (), case.choice)
    whole, bytewise = (read_input(case, grammar, piece=n) for n in (0, 1))
    return judge(case, dialect, whole, bytewise)


def expecting(*calls, **text):
    return replace(CASE, expected=Expected(calls=calls, **text))


def test_a_case_is_read_with_its_defaults():
    case = read_case({"id": "x", "template": "t.jinja", "input": "Hi", "expected": {}})
    assert case == Case(
        "x", "t.jinja", "Hi", Expected(), is_recorded=False, tools=None, choice=ToolChoice()
    )


def test_a_case_is_read_in_full():
    call = {"function": {"name": "pay", "arguments": '{"to": "a"}'}, "id": "7"}
    case = read_case(
        {
            "id": "x",
            "template": "t.jinja",
            "input": "Hi",
            "messages": [{"role": "user", "content": "Pay"}],
            "tools": [{"type": "function", "function": {"name": "pay"}}],
            "tool_choice": "required",
            "parallel_tool_calls": False,
            "reasoning_format": "none",
            "enable_thinking": False,
            "chat_template_kwargs": {"effort": "low"},
            "continue_final_message": "content",
            "is_partial": True,
            "generation_prompt": "<bot>",
            "must_accept": "Hi",
            "expected": {"content": None, "reasoning": "R", "tool_calls": [call]},
        }
    )
    assert case.tools == (Tool("pay", parameters={"type": "object", "properties": {}}),)
    assert case.choice == ToolChoice("required", parallel=False)
    assert case.variables == {"enable_thinking": False, "effort": "low"}
    assert case.expected == Expected("", "R", (ExpectedCall("pay", {"to": "a"}, "7"),))
    assert (case.reasoning_is_content, case.continues, case.is_partial) == (True, "content", True)
    assert (case.generation_prompt, case.must_accept) == ("<bot>", "Hi")


def test_raw_arguments_stand_in_for_arguments_that_are_no_json():
    call = {"name": "pay", "arguments": None, "arguments_raw": '{"to": "a'}
    case = read_case({"id": "x", "template": "t", "input": "", "expected": {"tool_calls": [call]}})
    assert case.expected.calls == (ExpectedCall("pay", '{"to": "a'),)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"input": 3}, "case: input"),
        ({"tools": 3}, "case: tools"),
        ({"tool_choice": "perhaps"}, "case: tool_choice"),
        ({"expected": []}, "case: expected"),
    ],
)
def test_a_wrong_case_is_refused_with_its_place(change, place):
    with pytest.raises(RequestError) as error:
        read_case({"id": "x", "template": "t", "input": "", "expected": {}, **change})
    assert error.value.place == place


def test_arguments_are_compared_as_values():
    assert judged(expecting(ExpectedCall("pay", {"amount": 12.0, "to": "a b"}))) == ""
    assert judged(expecting(ExpectedCall("pay", {"amount": True, "to": "a b"}))) != ""
    assert judged(expecting(ExpectedCall("pay", {"to": "a b"}))) != ""
    assert "the name is 'pay'" in judged(expecting(ExpectedCall("pays", {})))
    assert "1 calls (pay), expected 0" in judged(expecting())


def test_text_is_compared_without_space_at_its_ends():
    case = replace(CASE, input="  Hi there\n", expected=Expected("Hi there"))
    assert judged(case) == ""
    assert judged(replace(case, expected=Expected("Hi  there"))) != ""


@pytest.mark.parametrize(
    ("written", "expected", "is_good"),
    [
        ('{"to": "a b", ', '{"to":"a b","am', True),
        ('{"to": "a b"', '{"to": "a b", "amount": ', True),
        ('{"to": "a b", "amount": 1', '{"to": "a b"', False),
        ('{"to": "a b"', '{"to": "a c', False),
        ('{"to": "a', '{"to": "a b", "amount"', False),
        ("", '{"to": "a \\"', True),
        ('{"to": "a', "", False),
        ("{", '{"to": {"in": [1, 2], "x', False),
        ('{"to": {"in": [1, 2]', '{"to": {"in": [1, 2], "x', True),
        ('{"to": {"in": [1', '{"to": {"in": [1, 2', True),
        ('{"to": {"in": [', '{"to": {"in": [1, 2', False),
    ],
)
def test_unfinished_arguments_have_to_begin_what_is_expected(written, expected, is_good):
    message = Message(tool_calls=(ToolCall(0, "call_x", "pay", written, state="cut"),))
    received = Received(message, "", "", ("", "", (written,)))
    case = expecting(ExpectedCall("pay", expected))
    assert (judge(case, HERMES, received, received) == "") == is_good


def test_a_call_of_an_undeclared_tool_may_stand_beside_those_expected():
    other = CALL.replace('"pay"', '"say"')
    both = replace(
        expecting(ExpectedCall("pay", {"to": "a b", "amount": 12})), input=f"{CALL}\n{other}"
    )
    assert judged(both) == ""
    assert judged(replace(both, expected=Expected())) == "1 calls (pay), expected 0"
    alone = replace(both, input=f"Hm.\n{other}", expected=Expected("Hm."))
    assert judged(alone) == ""
    assert judged(replace(alone, expected=Expected(f"Hm.\n{other}"))) == ""
    assert judged(replace(alone, expected=Expected(other))) != ""


def test_without_tools_declared_any_may_be_called():
    case = replace(expecting(ExpectedCall("pay", {"to": "a b", "amount": 12})), tools=None)
    assert judged(case) == ""
    assert judged(replace(case, tools=(), choice=ToolChoice("none"))) != ""


def test_reasoning_may_be_asked_for_as_content():
    text = "<think>\nHm.\n</think>\n\nHi"
    case = replace(CASE, input=text, expected=Expected("Hi", "Hm."))
    assert judged(case, QWEN3) == ""
    as_content = replace(case, reasoning_is_content=True, expected=Expected(text))
    assert judged(as_content, QWEN3) == ""


def test_text_without_a_recorded_prompt_was_written_after_one_that_fits():
    opened = replace(QWEN3.prompts[0], openings=QWEN3.prompts[0].openings[:0])
    assert unrecorded_prompt(CASE, QWEN3, opened).openings
    usual = QWEN3.prompts[0]
    assert unrecorded_prompt(CASE, QWEN3, usual) == usual


def test_the_end_of_the_prompt_is_checked():
    case = replace(CASE, generation_prompt="<bot>\n")
    assert prompt_difference(case, "Hi<bot>\n") == ""
    assert prompt_difference(case, "Hi<bot>") == "the prompt ends with 'i<bot>', not '<bot>\\n'"
    prefilled = replace(case, continues=True, generation_prompt="<bot><think>Hm")
    assert prompt_difference(prefilled, "Hi<bot>\n<think>\nHm") == ""
    assert prompt_difference(prefilled, "Hi<bot>\nSteps:<think>\nHm") == ""
    assert prompt_difference(prefilled, "Hi<think>\nHm") != ""


# ------------------------------------------------------------------------------------- the command


HERMES_NAME = "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja"


def conform(*args):
    return CliRunner().invoke(main, ["conform", *map(str, args)])


@pytest.fixture
def two_cases(tmp_path):
    case = {
        "id": "good",
        "template": HERMES_NAME,
        "input": CALL,
        "tools": [{"function": {"name": "pay", "parameters": PAY.parameters}}],
        "must_accept": CALL,
        "generation_prompt": "<|im_start|>assistant\n",
        "expected": {"tool_calls": [{"name": "pay", "arguments": {"to": "a b", "amount": 12}}]},
    }
    bad = {**case, "id": "bad", "expected": {"content": "Hi"}}
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, (case, bad))), encoding="utf-8")
    return path


def test_conform_has_a_row_for_each_template_and_a_sum(two_cases):
    folder = corpus_dir() / "templates"
    result = conform(two_cases, "--templates", folder, "--show", 1)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].split() == [HERMES_NAME, "1/2", "bad"]
    assert "  content is '', expected 'Hi'" in lines
    assert lines[-1] == "1 passed, 1 failed"


def test_conform_as_json_says_what_came_out(two_cases):
    result = conform(two_cases, "--templates", corpus_dir() / "templates", "--json")
    good, bad = json.loads(result.stdout)
    assert (good["passed"], bad["passed"]) == (True, False)
    assert good["must_accept"] == "mask"
    assert good["whole"] == good["byte_by_byte"]
    (call,) = good["whole"]["tool_calls"]
    assert (call["name"], json.loads(call["arguments"])) == ("pay", {"to": "a b", "amount": 12})
    assert result.stderr == "1 passed, 1 failed\n"


def test_conform_takes_a_list_of_divergences(two_cases, tmp_path):
    listed = tmp_path / "listed.json"
    folder = corpus_dir() / "templates"
    listed.write_text('[{"why": "The case is wrong.", "ids": ["bad"]}]', encoding="utf-8")
    result = conform(two_cases, "--templates", folder, "--divergences", listed, "--show", 1)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == [HERMES_NAME, "1/2", "(bad)"]
    assert "  listed: The case is wrong." in lines
    assert "must_accept: 2 of 2 by the mask, 0 by reading" in lines
    assert lines[-1] == "1 passed, 1 failed"
    listed.write_text("{}", encoding="utf-8")
    assert conform(two_cases, "--templates", folder, "--divergences", listed).exit_code == 1
    listed.write_text("[3]", encoding="utf-8")
    assert conform(two_cases, "--templates", folder, "--divergences", listed).exit_code == 2


def test_conform_names_a_bad_line_and_a_missing_template(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text("\n{", encoding="utf-8")
    result = conform(path, "--templates", tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("untemplate: cases.jsonl line 2: is not JSON")
    path.write_text('{"id": "x", "template": "no", "input": "", "expected": {}}', encoding="utf-8")
    result = conform(path, "--templates", tmp_path, "--show", 1)
    assert result.exit_code == 1
    assert "No such file" in result.stdout


# --------------------------------------------------------------------------------------- the corpus


@pytest.mark.parametrize(("name", "least"), [("llamacpp", 0.96), ("vllm", 0.90)])
def test_the_recorded_cases_come_out(name, least):
    cases = corpus_dir() / "cases" / f"{name}.jsonl"
    result = conform(cases, "--templates", corpus_dir() / "templates", "--json")
    outcomes = json.loads(result.stdout)
    passed = [o["id"] for o in outcomes if o["passed"]]
    assert len(passed) >= least * len(outcomes)
    assert result.exit_code == 0, "a failure is not listed"
    assert not [i for i in passed if i in divergences()], "listed, but it comes out"
