"""What models really write, read in the dialect of their template: slips and how they come out.

Every text goes through `read_all`, so each is also read in pieces and from snapshots.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

import pytest

from corpus import template_source
from reader.feeding import read_all
from untemplate.message import Tool
from untemplate.turn import ChatTemplate


def _tool(name, required=(), **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name, parameters=schema)


TOOLS = (
    _tool("ping"),
    _tool(
        "get_weather",
        ["city"],
        city={"type": "string"},
        state={"type": "string"},
        days={"type": "integer"},
    ),
)


@cache
def template(name):
    return ChatTemplate(template_source(name), bos_token="<s>", eos_token="</s>")


@dataclass
class Reads:
    """A text, and what comes out of it."""

    name: str
    template: str
    text: str
    calls: list = field(default_factory=list)
    content: str = ""
    reasoning: str = ""
    codes: tuple = ()
    variables: dict = field(default_factory=dict)


CASES = [
    Reads(
        "a stop that begins the header of the next message is none",
        "upstage-Solar-Open-100B",
        "<|think|>Hm.<|end|><|begin|>assistant<|content|>Hi<|end|><|begin|>assistant"
        "<|tool_calls|><|tool_call:begin|>a<|tool_call:name|>ping<|tool_call:args|>{}"
        "<|tool_call:end|><|calls|>",
        [("ping", {})],
        "Hi",
        "Hm.",
    ),
    Reads(
        "the call of the older version, as a message of its own",
        "GigaChat3.1-10B-A1.8B",
        'Hi<|message_sep|>\n\nfunction call<|role_sep|>\n{"name": "ping", "arguments": {}}</s>',
        [("ping", {})],
        "Hi",
    ),
    Reads(
        "a line break behind the number of a call",
        "Kimi-K2-Instruct",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0\n"
        "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        [("ping", {})],
    ),
    Reads(
        "a line break between the list of calls and the fence behind it",
        "CohereForAI-c4ai-command-r-plus-tool_use",
        'Action:\n```json\n[{"tool_name": "ping", "parameters": {}}]\n```',
        [("ping", {})],
    ),
    Reads(
        "a message to a recipient that the format does not have",
        "openai-gpt-oss-120b",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
        " to=assistant<|channel|>final<|message|>Hi",
        [],
        "Hi",
        "Hm.",
        ("unknown_header",),
    ),
    Reads(
        "a channel that the format does not have",
        "openai-gpt-oss-120b",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>comment"
        "<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|> there",
        [],
        "Hi there",
        "Hm.",
        ("unknown_header",),
    ),
    Reads(
        "a second call without its first marker",
        "Qwen3-Coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"
        "</function>\n</tool_call>\n<function=ping>\n</function>\n</tool_call>",
        [("get_weather", {"city": "Paris"}), ("ping", {})],
        codes=("missing_marker",),
    ),
    Reads(
        "the next call where the last one should be closed",
        "GLM-4.6",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
        "<tool_call>ping\n</tool_call>",
        [("get_weather", {"city": "Paris"}), ("ping", {})],
        codes=("missing_close",),
    ),
    Reads(
        "the end of all calls where the last one should be closed",
        "MiniMax-M2",
        'Hm.\n</think>\n\n<minimax:tool_call>\n<invoke name="get_weather">\n'
        '<parameter name="city">Paris</parameter>\n</minimax:tool_call>',
        [("get_weather", {"city": "Paris"})],
        reasoning="Hm.",
        codes=("missing_close",),
    ),
    Reads(
        "the end of the turn where a call should be closed",
        "Qwen3-Coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n",
        [("get_weather", {"city": "Paris"})],
        codes=("missing_close",),
    ),
    Reads(
        "the header of a call breaks off in front of its arguments",
        "Kimi-K2-Instruct",
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0{"city": "Paris"}'
        "<|tool_call_end|><|tool_call_begin|>functions.ping:1<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>",
        [("get_weather", {"city": "Paris"}), ("ping", {})],
        codes=("missing_marker",),
    ),
    Reads(
        "a name without what should stand around it",
        "Kimi-K2-Instruct",
        '<|tool_calls_section_begin|><|tool_call_begin|>get_weather{"city": "Paris"}'
        "<|tool_call_end|><|tool_calls_section_end|>",
        [("get_weather", {"city": "Paris"})],
        codes=("missing_marker",),
    ),
    Reads(
        "a marker in the middle is missing",
        "Kimi-K2-Instruct",
        "<|tool_calls_section_begin|>functions.ping:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>",
        [("ping", {})],
        codes=("missing_marker",),
    ),
    Reads(
        "a name without the word before it",
        "google-gemma-4-31B-it",
        "<|tool_call>:ping{}<tool_call|><|tool_call>ping{}<tool_call|>",
        [("ping", {}), ("ping", {})],
        codes=("missing_marker",),
    ),
    Reads(
        "words where a name and arguments should be",
        "google-gemma-4-31B-it",
        "<|tool_call>call:look at this<tool_call|>",
        [("look at this", {})],
        codes=("missing_marker", "unknown_tool"),
    ),
    Reads(
        "a number swallows no arguments",
        "Mistral-Small-3.2-24B-Instruct-2506",
        '[TOOL_CALLS]get_weather[CALL_ID]abc123456{"city": "Paris"}'
        "[TOOL_CALLS]ping[CALL_ID]abc123457[ARGS]{}",
        [("get_weather", {"city": "Paris"}), ("ping", {})],
        codes=("missing_marker",),
    ),
    Reads(
        "all arguments inside one that is not declared, as a string",
        "deepseek-ai-DeepSeek-V3.2",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
        '<｜DSML｜parameter name="input" string="true">{"city":"Paris"}</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        [("get_weather", {"city": "Paris"})],
        codes=("wrapped_arguments",),
    ),
    Reads(
        "all arguments inside one that is not declared, in Python",
        "openbmb-MiniCPM5-1B",
        '<function name="get_weather"><param name="properties">'
        "{'city': 'Paris', 'days': 3}</param></function>",
        [("get_weather", {"city": "Paris", "days": 3})],
        codes=("wrapped_arguments",),
    ),
    Reads(
        "all arguments inside an object, in an envelope",
        "Qwen-Qwen3-0.6B",
        '<tool_call>\n{"name": "get_weather", "arguments": {"arguments": {"city": "Paris"}}}\n'
        "</tool_call>",
        [("get_weather", {"city": "Paris"})],
        codes=("wrapped_arguments",),
    ),
    Reads(
        "all arguments inside an object, behind a header",
        "unsloth-mistral-Devstral-Small-2507",
        '[TOOL_CALLS]get_weather[ARGS]{"parameters": {"city": "Paris"}}[TOOL_CALLS]ping[ARGS]{}',
        [("get_weather", {"city": "Paris"}), ("ping", {})],
        codes=("wrapped_arguments",),
    ),
    Reads(
        "an object that holds nothing the tool declares is no wrapper",
        "Qwen-Qwen3-0.6B",
        '<tool_call>\n{"name": "get_weather", "arguments": {"args": {"x": 1}, "city": "Paris"}}\n'
        "</tool_call>",
        [("get_weather", {"args": {"x": 1}, "city": "Paris"})],
        codes=("undeclared_argument",),
    ),
    Reads(
        "the next argument begins where a value should be closed",
        "Qwen3-Coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n<parameter=state>\nTX\n"
        "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        [("get_weather", {"city": "Paris", "state": "TX", "days": 3})],
        codes=("unclosed_value",),
    ),
    Reads(
        "the same where an element is named like its key",
        "MiniMax-M3",
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris'
        "]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        [("get_weather", {"city": "Paris", "days": 3})],
        codes=("unclosed_value",),
    ),
    Reads(
        "what begins an argument that no tool declares, or one that is there, is text",
        "Qwen3-Coder",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n<parameter=zone>\nTX\n"
        "<parameter=city>\n</parameter>\n</function>\n</tool_call>",
        [("get_weather", {"city": "Paris\n<parameter=zone>\nTX\n<parameter=city>"})],
    ),
    Reads(
        "nothing follows the markers of a call",
        "Qwen3-Coder",
        "Hi\n<tool_call>\n<func",
        content="Hi",
        codes=("cut_call",),
    ),
    Reads(
        "a marker at the end of a line of prose is text",
        "Qwen3-Coder",
        "It begins with <tool_call>",
        content="It begins with <tool_call>",
        codes=("not_a_call",),
    ),
    Reads(
        "reasoning is closed and nothing opened",
        "Cohere2MoE",
        "Hm.<|END_THINKING|>Hi",
        content="Hi",
        reasoning="Hm.",
        codes=("missing_marker",),
    ),
    Reads(
        "a constraint behind a recipient in the role",
        "openai-gpt-oss-120b",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.ping<|channel|>"
        "commentary <|constrain|>json<|message|>{}<|call|>",
        [("ping", {})],
        reasoning="Hm.",
    ),
    Reads(
        "a server dropped the special tokens",
        "LFM2-8B-A1B",
        "[get_weather(city='Paris'), ping()]",
        [("get_weather", {"city": "Paris"}), ("ping", {})],
        codes=("bare_call", "missing_marker"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[c.name.replace(" ", "-") for c in CASES])
def test_a_slip_is_read_as_it_was_meant(case):
    turn = template(case.template).turn(
        [{"role": "user", "content": "Hi"}],
        tools=TOOLS,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        variables=case.variables,
    )
    message, _ = read_all(turn.grammar, case.text)
    calls = [(c.name, json.loads(c.arguments)) for c in message.tool_calls]
    assert calls == case.calls
    assert (message.content.strip(), message.reasoning_content.strip()) == (
        case.content,
        case.reasoning,
    )
    assert {d.code for d in message.diagnostics} == set(case.codes)
