"""What a model got wrong, and the one thing that is done about it, by the code of its diagnostic.

Each slip is written in several families; `docs/diagnostics.md` has the table. Every text is read
whole, byte by byte, in pieces and from snapshots.
"""

import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from families import family
from reader.feeding import grammar_of, read_all
from reader.outputs import draw
from untemplate.dialect import END, CallBlock
from untemplate.message import ToolChoice

QWEN, CODER, DEEPSEEK = "hermes", "coder", "deepseek"
LFM, GEMMA, MUSE = "LFM2-8B-A1B", "google-gemma-4-31B-it", "muse-glimmer"
APERTUS, COHERE, R1 = (
    "Apertus-8B-Instruct",
    "Cohere2MoE",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
)
THINKS = "qwen3"
GLM, KIMI, OSS = "GLM-4.6", "Kimi-K2-Instruct", "openai-gpt-oss-120b"
NEMO, M2, LLAMA = "nemo", "MiniMax-M2", "meta-llama-Llama-3.1-8B-Instruct"

CALL = {
    QWEN: '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>',
    DEEPSEEK: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>%s<｜tool▁sep｜>%s<｜tool▁call▁end｜>"
    "<｜tool▁calls▁end｜>",
    KIMI: "<|tool_calls_section_begin|><|tool_call_begin|>functions.%s:0"
    "<|tool_call_argument_begin|>%s<|tool_call_end|><|tool_calls_section_end|>",
    OSS: "<|channel|>commentary to=functions.%s <|constrain|>json<|message|>%s",
    NEMO: '[TOOL_CALLS][{"name": "%s", "arguments": %s, "id": "abc123def"}]',
    LLAMA: '{"name": "%s", "parameters": %s}',
}
"""A call with JSON arguments, in six families."""
TAGGED = {
    CODER: "<tool_call>\n<function=%s>\n%s</function>\n</tool_call>",
    GLM: "<tool_call>%s\n%s</tool_call>",
    M2: '<minimax:tool_call>\n<invoke name="%s">\n%s</invoke>\n</minimax:tool_call>',
}
PAIR = {
    CODER: "<parameter=%s>\n%s\n</parameter>\n",
    GLM: "<arg_key>%s</arg_key>\n<arg_value>%s</arg_value>\n",
    M2: '<parameter name="%s">%s</parameter>\n',
}


def read(name, text, reason="stop", *, prompt=0, choice=None):
    """The message, and the codes of its diagnostics but for arguments that are missing."""
    if name == M2:
        text = "</think>" + text
    message, _ = read_all(grammar_of(family(name), choice=choice, prompt=prompt), text, reason)
    return message, {d.code for d in message.diagnostics} - {"missing_argument"}


def one(message):
    """Arguments of the only call, which is complete."""
    (call,) = message.tool_calls
    assert call.state == "complete"
    return json.loads(call.arguments)


@pytest.mark.parametrize("name", CALL)
@pytest.mark.parametrize(
    ("written", "code", "value"),
    [
        ("{'a': 'it is \"x\"'}", "single_quotes", {"a": 'it is "x"'}),
        ('{"a": "two\nlines"}', "raw_control", {"a": "two\nlines"}),
        ('{"a": "x", "l": ["y", ], }', "trailing_comma", {"a": "x", "l": ["y"]}),
        ('{"b": True, "u": None}', "python_literal", {"b": True, "u": None}),
        ('{a: "x"}', "unquoted_key", {"a": "x"}),
        ('{"a": "x", "a": "y"}', "duplicate_key", {"a": "x"}),
        ('"{\\"a\\": \\"x\\"}"', "quoted_arguments", {"a": "x"}),
        ('{"a": "\\d"}', "bad_escape", {"a": "\\d"}),
        ('{"a": "\\ud83d"}', "lone_surrogate", {"a": "\ufffd"}),
        ('{"n": "three"}', "wrong_type", {"n": "three"}),
    ],
    ids=lambda v: v if isinstance(v, str) and v.isidentifier() else "",
)
def test_slips_in_json_are_set_right_where_they_leave_no_doubt(name, written, code, value):
    message, codes = read(name, CALL[name] % ("f", written))
    assert one(message) == value
    assert code in codes


@pytest.mark.parametrize("name", CALL)
def test_what_is_no_json_makes_the_call_malformed_and_is_not_lost(name):
    text = CALL[name] % ("f", '{"a": "x" "y"}')
    message, codes = read(name, text)
    (call,) = message.tool_calls
    assert call.state == "malformed"
    assert codes & {"bad_json", "bad_arguments"}
    assert '"y"' in text.encode()[slice(*call.span)].decode()


@pytest.mark.parametrize("name", [*CALL, *TAGGED])
def test_an_unknown_tool_is_returned_and_marked(name):
    arguments = '{"k": "x"}' if name in CALL else PAIR[name] % ("k", "x")
    message, codes = read(name, {**CALL, **TAGGED}[name] % ("fly", arguments))
    if name == LLAMA and not message.tool_calls:  # nothing shows that it is a call
        assert "fly" in message.content
        return
    assert (message.tool_calls[0].name, one(message)) == ("fly", {"k": "x"})
    assert codes == {"unknown_tool"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (DEEPSEEK, '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "x"}<｜tool▁call▁end｜>'),
        (KIMI, "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"),
        (CODER, "<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>"),
        (M2, '<invoke name="f">\n<parameter name="a">x</parameter>\n</invoke>'),
    ],
)  # fmt: skip
def test_a_call_without_its_first_marker(name, text):
    message, codes = read(name, text)
    assert one(message) == ({} if name == KIMI else {"a": "x"})
    assert codes == {"missing_marker"}


@pytest.mark.parametrize("name", [*CALL, *TAGGED])
def test_space_between_markers_is_free_and_needs_no_diagnostic(name):
    arguments = '{"a":"x"}' if name in CALL else PAIR[name] % ("a", "x")
    whole = {**CALL, **TAGGED}[name] % ("f", arguments)
    message, codes = read(name, whole.replace("\n", ""))
    assert (one(message), codes) == ({"a": "x"}, set())


@pytest.mark.parametrize("name", [QWEN, CODER, DEEPSEEK, GLM])
def test_a_call_that_stands_as_json_in_a_fence_or_alone(name):
    call = '{"name": "f", "arguments": {"a": "x"}}'
    for text in (call, f"```json\n{call}\n```", f"Here:\n```\n{call}\n```", f"[{call}]"):
        message, codes = read(name, text)
        assert one(message) == {"a": "x"}
        assert codes == {"bare_call"}


@pytest.mark.parametrize("name", [QWEN, CODER])
def test_json_behind_the_markers_of_a_family_that_has_another_form(name):
    call = '{"name": "f", "arguments": {"a": "x"}}'
    for inner in (f"[{call}]", f"```json\n{call}\n```"):
        message, codes = read(name, f"<tool_call>\n{inner}\n</tool_call>")
        assert one(message) == {"a": "x"}
        assert codes == {"unknown_form"}


@pytest.mark.parametrize("name", [QWEN, CODER, LFM, "MiniMax-M1", APERTUS, COHERE, R1])
@pytest.mark.parametrize(
    "text", ["[%s, %s]", "```json\n%s\n```\n```json\n%s\n```", "```json\n[%s, %s]\n```"]
)
def test_several_calls_as_json_in_a_list_or_in_fences(name, text):
    opening = "<|END_THINKING|><|START_TEXT|>" if name == COHERE else ""
    calls = '{"name": "f", "arguments": {"a": "x"}}', '{"name": "ping", "arguments": {}}'
    message, codes = read(name, opening + text % calls)
    assert [c.name for c in message.tool_calls] == ["f", "ping"]
    assert (message.content, "bare_call" in codes) == ("", True)


@pytest.mark.parametrize("name", [APERTUS, COHERE])
@pytest.mark.parametrize(
    "written",
    [
        '{"name": "f", "arguments": {"a": "x"}}',
        '{"name": "f", "parameters": {"a": "x"}}',
        '{"arguments": {"a": "x"}, "name": "f"}',
        '```json\n{"name": "f", "arguments": {"a": "x"}}\n```',
    ],
)
def test_a_call_in_the_common_form_where_the_family_has_other_keys(name, written):
    opening = "<|END_THINKING|><|START_TEXT|>" if name == COHERE else ""
    message, codes = read(name, opening + written)
    assert (one(message), message.content) == ({"a": "x"}, "")
    assert codes == {"bare_call", "renamed_key"}
    message, codes = read(name, opening + written.replace('"f"', '"Bob"'))
    assert (message.content, message.tool_calls) == (written.replace('"f"', '"Bob"'), ())


def test_the_bracket_of_a_list_is_missing():
    begun = "<|tool_call_start|>%sf(a='x'%s<|tool_call_end|>"
    message, codes = read(LFM, begun % ("", ")]"))
    assert (one(message), codes) == ({"a": "x"}, {"missing_marker"})
    message, codes = read(LFM, begun % ("[", ")"))
    assert (one(message), codes) == ({"a": "x"}, {"missing_marker"})
    message, codes = read(LFM, begun % ("[", ""))
    assert (one(message), codes) == ({"a": "x"}, {"missing_close", "missing_marker"})


@pytest.mark.parametrize("between", ["", " ", "\n"])
def test_the_comma_between_calls_is_missing(between):
    calls = f"f(a='x'){between}ping()"
    message, codes = read(LFM, f"<|tool_call_start|>[{calls}]<|tool_call_end|>")
    assert [(c.name, c.arguments) for c in message.tool_calls] == [
        ("f", '{"a": "x"}'),
        ("ping", "{}"),
    ]
    assert (message.content, codes) == ("", {"bare_call"})
    text = "f(a='print('x') and ping to (all)')"  # no tool's name in front of the bracket
    message, _ = read(LFM, f"<|tool_call_start|>[{text}]<|tool_call_end|>")
    assert one(message) == {"a": "print('x') and ping to (all)"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (NEMO, CALL[NEMO].replace("}]", "},]") % ("f", '{"a": "x"}')),
        (LFM, "<|tool_call_start|>[f(a='x'), ]<|tool_call_end|>"),
        (APERTUS, '<|tools_prefix|>[{"f": {"a": "x"}}, ]<|tools_suffix|>'),
    ],
)
def test_a_comma_behind_the_last_call(name, text):
    message, codes = read(name, text)
    assert (one(message), message.content, codes) == ({"a": "x"}, "", {"trailing_comma"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (NEMO, '[TOOL_CALLS]{"name": "f", "arguments": {"a": "x"}}'),
        (APERTUS, '<|tools_prefix|>{"f": {"a": "x"}}<|tools_suffix|>'),
    ],
)
def test_one_call_without_the_list_around_it(name, text):
    message, codes = read(name, text)
    assert (one(message), message.content, codes) == ({"a": "x"}, "", {"missing_marker"})


def test_arguments_as_an_object_where_the_family_writes_pairs():
    for name, text in (
        (GLM, '<tool_call>f\n{"a": "x"}\n</tool_call>'),
        (CODER, '<tool_call>\n<function=f>\n{"a": "x"}\n</function>\n</tool_call>'),
    ):
        message, codes = read(name, text)
        assert (one(message), codes) == ({"a": "x"}, {"unknown_form"})


@pytest.mark.parametrize("key", ["tool_name", "tool", "function", "function_name"])
def test_the_name_under_another_key(key):
    message, codes = read(QWEN, CALL[QWEN].replace('"name"', f'"{key}"') % ("f", '{"a": "x"}'))
    assert (one(message), message.tool_calls[0].name) == ({"a": "x"}, "f")
    assert codes == {"renamed_key"}
    text = json.dumps({key: "Bob", "input": {"a": "x"}})
    assert read(QWEN, text)[0].content == text


def test_arguments_without_names_are_a_damaged_call():
    message, codes = read(LFM, "<|tool_call_start|>[f('x'), ping()]<|tool_call_end|>")
    assert (message.tool_calls[0].name, message.tool_calls[0].state) == ("f", "malformed")
    assert codes == {"bad_arguments"}


@pytest.mark.parametrize(
    ("name", "call"),
    [
        (NEMO, '[TOOL_CALLS][{"name": "f", "arguments": {"a": "x"}, "id": "abc123def"}'),
        (DEEPSEEK, CALL[DEEPSEEK].removesuffix("<｜tool▁calls▁end｜>") % ("f", '{"a": "x"}')),
        (LFM, "<|tool_call_start|>[f(a='x')"),
        (M2, TAGGED[M2].removesuffix("\n</minimax:tool_call>") % ("f", PAIR[M2] % ("a", "x"))),
    ],
)
def test_the_section_of_calls_is_not_closed(name, call):
    message, codes = read(name, call)
    assert (one(message), codes) == ({"a": "x"}, {"missing_close"})
    assert read(name, call, "length")[0].end == "cut"


@pytest.mark.parametrize("name", [NEMO, APERTUS, LFM, "MiniMax-M3", "Kimi-K3"])
def test_what_closes_the_calls_stands_there_twice(name):
    dialect = family(name)
    calls = [n for n, b in dialect.blocks.items() if isinstance(b, CallBlock)]
    output = draw(dialect, random.Random(1), calls=1, values=lambda _: {"a": "x"})
    closing = dialect.literal(calls[0], END)
    data = output.data.removesuffix(dialect.stops[0].encode()).removesuffix(closing.encode())
    grammar = grammar_of(dialect, prompt=output.prompt)
    once, _ = read_all(grammar, data + closing.encode())
    message, _ = read_all(grammar, data + 2 * closing.encode())
    assert (message.content, one(message)) == (once.content, {"a": "x"})
    assert {d.code for d in message.diagnostics} == {"stray_marker"}


@pytest.mark.parametrize("name", [THINKS, GLM])
def test_a_call_inside_reasoning_is_a_call(name):
    start = "<think>Hm. " if name == THINKS else "\n<think>Hm. "
    call = CALL[QWEN] % ("f", '{"a": "x"}') if name == THINKS else TAGGED[GLM] % (
        "f", PAIR[GLM] % ("a", "x"),
    )  # fmt: skip
    message, codes = read(name, f"{start}{call}\nSo.</think>Done.")
    assert one(message) == {"a": "x"}
    assert (message.content.strip(), "So." in message.reasoning_content) == ("Done.", True)
    assert codes == {"missing_marker", "text_after_call"}


@pytest.mark.parametrize(("name", "prompt"), [(THINKS, 2), (DEEPSEEK, 1)])
def test_reasoning_that_is_closed_twice(name, prompt):
    message, codes = read(name, "Hm.</think></think>Yes.", prompt=prompt)
    assert (message.reasoning_content, message.content) == ("Hm.", "Yes.")
    assert codes == {"stray_marker"}
    message, codes = read(name, "Hm.</think>Yes</think>.", prompt=prompt)
    assert message.content == "Yes</think>."
    assert codes == {"stray_marker"}


@pytest.mark.parametrize(
    ("name", "opening", "closer"),
    [
        ("Apriel-1.6-15b-Thinker-fixed", "", "\n[BEGIN FINAL RESPONSE]\n"),
        (MUSE, " to=self<|message|>", "<|eom|><|start|>assistant to=user<|message|>"),
        ("Kimi-K3", "", "<|close|>think<|sep|><|open|>response<|sep|>"),
        ("upstage-Solar-Open-100B", "<|think|>", "<|end|><|begin|>assistant<|content|>"),
    ],
)
def test_reasoning_that_is_closed_twice_by_several_marks(name, opening, closer):
    message, codes = read(name, f"{opening}Hm.{closer}{closer}Yes.")
    assert (message.reasoning_content, message.content) == ("Hm.", "Yes.")
    assert (message.tool_calls, codes) == ((), {"stray_marker"})


def test_a_text_behind_another_is_no_call_of_its_header():
    header = "<|eom|><|start|>assistant to=%s<|message|>"
    message, codes = read(
        MUSE, " to=user<|message|>Yes." + header % "self" + "Hm." + header % "user"
    )
    assert [(b.kind, b.text) for b in message.blocks] == [("content", "Yes."), ("reasoning", "Hm.")]
    assert codes == {"stray_marker"}


def test_a_header_that_says_more_than_the_family_writes():
    header = "<|channel|>commentary to=%s<|message|>%s<|call|>"
    message, codes = read(OSS, header % ("functions.f code", '{"a": "x"}'))
    assert (one(message), message.tool_calls[0].name) == ({"a": "x"}, "f")
    assert codes == {"unknown_header"}
    message, codes = read(OSS, header % ("python", "print(1)"))
    assert (message.content, message.reasoning_content) == ("print(1)", "")
    assert codes == {"unknown_header"}


@pytest.mark.parametrize(("name", "prompt"), [(THINKS, 2), (DEEPSEEK, 1)])
def test_reasoning_that_is_never_closed_stays_reasoning(name, prompt):
    message, codes = read(name, "Hm, so", prompt=prompt)
    assert (message.reasoning_content, message.end) == ("Hm, so", "cut")
    assert codes == {"unclosed_reasoning"}
    message, codes = read(name, "Hm, so", "length", prompt=prompt)
    assert (message.reasoning_content, message.end, codes) == ("Hm, so", "cut", set())


@pytest.mark.parametrize(
    ("name", "closer"),
    [(QWEN, "</tool_call>"), (CODER, "</function>"), (DEEPSEEK, "<｜tool▁calls▁end｜>")],
)
def test_a_stray_closer_is_structure_behind_a_call_and_text_inside_of_text(name, closer):
    arguments = PAIR[CODER] % ("a", "x") if name == CODER else '{"a": "x"}'
    whole = {**CALL, **TAGGED}[name] % ("f", arguments)
    message, codes = read(name, whole + closer)
    assert (one(message), message.content) == ({"a": "x"}, "")
    assert codes == {"stray_marker"}
    message, codes = read(name, f"See {closer} there")
    assert message.content == f"See {closer} there"
    assert codes == {"stray_marker"}


def test_brackets_too_many_and_too_few():
    message, codes = read(QWEN, CALL[QWEN] % ("f", '{"a": "x"}}'))
    assert (one(message), message.content) == ({"a": "x"}, "")
    assert "stray_marker" in codes
    message, codes = read(QWEN, CALL[QWEN].replace("}\n", "\n") % ("f", '{"a": "x"}'))
    assert one(message) == {"a": "x"}
    assert codes == {"missing_close"}


@pytest.mark.parametrize("name", [QWEN, DEEPSEEK, CODER, GLM])
def test_text_behind_a_call_is_content(name):
    arguments = '{"a": "x"}' if name in CALL else PAIR[name] % ("a", "x")
    message, codes = read(name, {**CALL, **TAGGED}[name] % ("f", arguments) + "\nI did.")
    assert one(message) == {"a": "x"}
    assert message.content.strip() == "I did."
    assert codes in ({"text_after_call"}, {"text_after_end"})


@pytest.mark.parametrize("name", [QWEN, NEMO, DEEPSEEK])
def test_the_end_of_the_turn_inside_a_call_cuts_it(name):
    text = CALL[name] % ("f", '{"a": "x", "l": [1')
    begun = text[: text.index("[1") + 1]
    message, codes = read(name, begun + family(name).stops[0])
    (call,) = message.tool_calls
    assert call.state == "cut"
    assert json.loads(call.arguments + call.closing) == {"a": "x", "l": []}
    assert codes == {"stop_in_call"}


BEGUN = {
    CODER: ("<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n", "</function>"),
    GLM: (TAGGED[GLM].removesuffix("</tool_call>") % ("f", PAIR[GLM] % ("a", "x")), "<arg_key>"),
    LFM: ("<|tool_call_start|>[f(a='x'", ", "),
    GEMMA: ('<|tool_call>call:f{a:<|"|>x<|"|>', ","),
    "MiniMax-M3": (
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="f">]<]minimax[>[<a>x]<]minimax[>[</a>',
        "]<]minimax[>[</inv",
    ),
}
"""A call up to the closer of a string, and the beginning of what may follow."""


@pytest.mark.parametrize("name", BEGUN)
def test_a_turn_that_ends_behind_a_closer_has_no_closer_in_its_value(name):
    begun, following = BEGUN[name]
    for size in range(1, len(following) - (following[-1] == ">") + 1):
        message, codes = read(name, begun + following[:size])
        (call,) = message.tool_calls
        assert json.loads(call.arguments + call.closing) == {"a": "x"}
        assert (call.state, call.arguments_state) == ("cut", {"/a": "complete"})
        assert codes == {"cut_call"}


@pytest.mark.parametrize("name", [QWEN, LFM])
def test_half_an_escape_at_the_end_of_a_turn_is_no_text(name):
    call = CALL[QWEN].partition("%s}")[0] % "f" if name == QWEN else "<|tool_call_start|>[f("
    for escape in ("\\", "\\u", "\\u00e", "\\ud83d\\ude0"):
        message, _ = read(name, call + ('{"a": "x' if name == QWEN else 'a="x') + escape)
        (found,) = message.tool_calls
        assert (found.state, found.arguments + found.closing) == ("cut", '{"a": "x"}')


@pytest.mark.parametrize("name", [QWEN, DEEPSEEK])
def test_a_call_that_was_not_asked_for(name):
    text = CALL[name] % ("f", '{"a": "x"}')
    message, codes = read(name, text, choice=ToolChoice("none"))
    assert (message.content, message.tool_calls) == (text, ())
    assert "call_not_allowed" in codes
    message, codes = read(name, text, choice=ToolChoice("required", "ping"))
    assert (one(message), codes) == ({"a": "x"}, {"unrequested"})
    message, codes = read(name, "No.", choice=ToolChoice("required"))
    assert codes == {"missing_call"}


@pytest.mark.parametrize("name", [QWEN, LLAMA])
def test_arguments_under_another_key_or_none_at_all(name):
    other = {QWEN: "parameters", LLAMA: "arguments"}[name]
    own = {QWEN: "arguments", LLAMA: "parameters"}[name]
    text = CALL[name] % ("f", '{"a": "x"}')
    message, codes = read(name, text.replace(own, other))
    assert (one(message), codes) == ({"a": "x"}, {"renamed_key"})
    message, codes = read(name, CALL[name] % ("ping", "null"))
    assert (one(message), codes) == ({}, {"null_arguments"})


# --------------------------------------------------------------------- closers inside of a value


@pytest.mark.parametrize("name", TAGGED)
def test_a_closer_that_nothing_fitting_follows_is_text_and_the_argument_ambiguous(name):
    closer = re.search(r"</\w+>\n$", PAIR[name])[0].strip()
    value = f"use {closer} to close"
    message, codes = read(name, TAGGED[name] % ("f", PAIR[name] % ("a", value)))
    assert (one(message), codes) == ({"a": value}, set())
    assert message.tool_calls[0].ambiguous == ("/a",)


@pytest.mark.parametrize("name", TAGGED)
def test_a_value_is_undecided_between_its_closer_and_what_follows(name):
    whole = TAGGED[name] % ("f", PAIR[name] % ("a", "x"))
    begun = whole[: whole.index("x", whole.index("a", 20))]
    closer = PAIR[name] % ("a", "x")
    text = begun + closer[closer.rindex("x") :].rstrip("\n")
    message, codes = read(name, text, "length")
    (call,) = message.tool_calls
    assert call.arguments_state == {"/a": "undecided"}
    assert (call.state, codes) == ("cut", {"cut_call"})
    assert json.loads(call.arguments + call.closing) == {"a": "x"}


@pytest.mark.parametrize("name", CALL)
def test_a_marker_inside_a_json_string_is_text(name):
    for marker in (*re.findall(r"<[^<>]+>|\[TOOL_CALLS\]", CALL[name]), *family(name).stops):
        value = f"a {marker} b"
        message, codes = read(name, CALL[name] % ("f", json.dumps({"a": value})))
        assert (one(message), codes) == ({"a": value}, set())


# ----------------------------------------------------------------- repair changes no whole value

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("aé\"'\\\n<>/{}[], 😀", max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
SLIPS = ["'k': 'v'", "k: 1", '"k": True', '"k": "a\nb"', '"k": [1,]', '"k": "\\q"', '"a": 0']


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from(SLIPS), st.sampled_from(list(CALL)), st.booleans())
def test_repair_never_changes_a_value_that_was_received_whole(value, slip, name, is_ascii):
    written = f'{{"a": {json.dumps(value, ensure_ascii=is_ascii)}, {slip}}}'
    message, codes = read(name, CALL[name] % ("f", written))
    (call,) = message.tool_calls
    assert json.loads(call.arguments)["a"] == value
    assert codes - {"wrong_type"}
