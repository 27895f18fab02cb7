"""Habits of templates that are not in the corpus, each in a small template of its own."""

import ast
import json

import pytest

from untemplate.dialect import CallBlock, Hole, Python
from untemplate.inference import analyse
from untemplate.message import Tool
from untemplate.template.rendering import CompiledTemplate
from untemplate.turn import ChatTemplate

HEADER = "<|im_start|>{{ m['role'] }}\n"
OPENED = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def chat(body, *, before=""):
    """A template that writes each message as `body` says."""
    return before + "{% for m in messages %}" + body + "{% endfor %}" + OPENED


def with_calls(call):
    calls = "{% for t in m.tool_calls %}" + call + "{% endfor %}"
    shown = "{% if tools %}{{ tools | tojson }}{% endif %}"
    return chat(HEADER + "{{ m['content'] }}" + calls + "<|im_end|>\n", before=shown)


def analysis_of(source, **tokens):
    return analyse(CompiledTemplate(source, **tokens), messages=12)


def test_a_field_that_no_mark_tells_from_content_is_no_reasoning():
    analysis = analysis_of(
        chat("<|{{ m.role }}|>{{ m.metadata }}\n{{ m.content }}").replace(
            "<|im_start|>assistant\n", "<|assistant|>"
        )
    )
    assert analysis.capabilities.reasoning is None
    assert "reasoning" not in analysis.dialect.blocks
    assert analysis.proof.proved


def test_a_last_message_that_is_written_in_another_way_is_no_part_of_the_prompt():
    body = (
        "{% if m.role == 'user' %}<|user|>{% if loop.last and tools %}{{ tools|tojson }}{% endif %}"
        "{{ m.content }}{% if loop.last %}<|bot|>{% endif %}"
        "{% else %}<|bot|>{{ m.content }}{% for t in m.tool_calls or [] %}"
        '<c>{"name": "{{ t.function.name }}", "arguments": {{ t.function.arguments|tojson }}}</c>'
        "{% endfor %}<|end|>{% endif %}"
    )
    source = "{% for m in messages %}" + body + "{% endfor %}"
    analysis = analysis_of(source)
    assert analysis.dialect.prompts[0].text == "<|bot|>"
    assert analysis.proof.proved, analysis.proof.first_difference


def test_calls_without_the_names_of_their_tools_are_not_claimed():
    analysis = analysis_of(with_calls("<call>{{ t.id }}<args>{{ t.function.arguments|tojson }}"))
    assert analysis.notes[0] == "calls: calls are written without the names of their tools"
    assert analysis.dialect.polyfill is not None


def test_names_stand_in_ids_where_it_is_known_how():
    analysis = analysis_of(
        with_calls(
            "{% if loop.first %}<|tool_calls_section_begin|>{% endif %}<|tool_call_begin|>"
            "{{ t.id }}<|tool_call_argument_begin|>{{ t.function.arguments|tojson }}"
            "<|tool_call_end|>{% if loop.last %}<|tool_calls_section_end|>{% endif %}"
        ).replace("<|im_start|>", "<|im_middle|>")
    )
    call = analysis.dialect.blocks["call"]
    assert isinstance(call, CallBlock)
    assert Hole.NAME in call.pattern
    assert analysis.proof.proved, analysis.proof.first_difference


@pytest.mark.parametrize(
    "replaced",
    [
        r"""replace("\\", "\\\\") | replace("'", "\\'")""",
        r"""replace("\\", "\\\\") | replace("'", "\\'") | replace("\n", "\\n")""",
    ],
)
def test_strings_that_a_template_quotes_by_itself_are_written_so_and_read_as_python(replaced):
    string = f"{{% if v is string %}}'{{{{ v | {replaced} }}}}'{{% else %}}{{{{ v }}}}{{% endif %}}"
    pairs = (
        "{% for k, v in t.function.arguments.items() %}{{ k }}="
        + string
        + "{% if not loop.last %}, {% endif %}{% endfor %}"
    )
    analysis = analysis_of(with_calls("<py>{{ t.function.name }}(" + pairs + ")</py>"))
    call = analysis.dialect.blocks["call"]
    assert isinstance(call, CallBlock)
    encoding = call.arguments.types["string"].encoding
    assert isinstance(encoding, Python)
    assert analysis.proof.proved, analysis.proof.first_difference
    odd = "it's \\ \"\t\r"
    assert ast.literal_eval(encoding.write(odd).replace("\r", "\\r")) == odd


def test_characters_that_a_template_replaces_are_learnt_one_by_one():
    pair = (
        "{% for k, v in t.function.arguments.items() %}<p n={{ k }}>"
        "{% if v is string %}{{ v | replace('%', '%25') | replace('<', '%3C') }}"
        "{% else %}{{ v | tojson }}{% endif %}</p>{% endfor %}"
    )
    analysis = analysis_of(with_calls("<f {{ t.function.name }}>" + pair + "</f>"))
    encoding = analysis.dialect.blocks["call"].arguments.types["string"].encoding
    assert encoding.write("a<b %") == "a%3Cb %25"
    assert analysis.proof.proved, analysis.proof.first_difference


def test_what_ends_reasoning_too_stops_no_turn():
    body = (
        "{% if m.role == 'assistant' %}"
        "{% if m.reasoning %}<|begin|>bot<|think|>{{ m.reasoning }}<|end|>{% endif %}"
        "<|begin|>bot<|say|>{{ m.content }}<|end|>"
        "{% else %}<|begin|>{{ m.role }}<|say|>{{ m.content }}<|end|>{% endif %}"
    )
    source = "{% for m in messages %}" + body + "{% endfor %}<|begin|>bot"
    analysis = analysis_of(source, eos_token="</s>")
    assert analysis.dialect.stops == ("</s>",)
    assert analysis.proof.proved, analysis.proof.first_difference


def test_space_that_ends_a_turn_is_read_though_nothing_stands_behind_it():
    analysis = analysis_of(
        "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}\n\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    )
    assert analysis.proof.proved, analysis.proof.first_difference


def test_a_newline_that_is_added_unless_content_ends_with_one_is_kept_in_content():
    body = (
        HEADER + "{{ m.content }}{% if m.tool_calls %}"
        "{% if m.content and not m.content.endswith('\\n') %}{{ '\\n' }}{% endif %}"
        "{% for t in m.tool_calls %}<c>{{ {'name': t.function.name,"
        " 'arguments': t.function.arguments} | tojson }}</c>{% endfor %}{% endif %}<|im_end|>\n"
    )
    analysis = analysis_of(chat(body, before="{% if tools %}{{ tools | tojson }}{% endif %}"))
    assert analysis.proof.proved, analysis.proof.first_difference


def test_tools_as_the_text_of_a_variable_are_given_to_it():
    body = chat("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n")
    template = ChatTemplate("Functions: {{ functions + '.' }}" + body)
    assert template.analysis.capabilities.tools_text == "functions"
    asked = [{"role": "user", "content": "Hi"}]
    assert template.turn(asked).prompt.startswith("Functions: [].")


def test_a_response_template_tells_the_calls_that_a_template_does_not(tmp_path):
    source = chat("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n")
    said = {
        "version": 1,
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "content": {"close": "<|im_end|>"},
            "tool_calls": {
                "open_pattern": r"<do>(?P<name>\w+):\d+<with>",
                "close": "</do>",
                "content": "json",
                "repeats": True,
            },
        },
    }
    config = {"chat_template": source, "eos_token": "<|im_end|>", "response_template": said}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    template = ChatTemplate.open(tmp_path)
    assert template.analysis.source == "inferred + response_template"
    turn = template.turn([{"role": "user", "content": "Hi"}], tools=[Tool("f")])
    turn.feed(b'So.<do>f:0<with>{"a": 1}</do><|im_end|>')
    message = turn.finish("stop")
    assert message.content == "So."
    assert [(c.name, c.arguments) for c in message.tool_calls] == [("f", '{"a": 1}')]


def test_a_response_template_that_is_not_understood_is_noted():
    source = chat("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n")
    analysis = analyse(CompiledTemplate(source), response_template={"fields": {}})
    assert analysis.notes[0] == "response_template: has no fields"
    assert analysis.source == "inferred + generic"


def test_a_prompt_of_switches_that_were_not_tried_together_is_read_by_the_one_most_like_it():
    body = HEADER.replace("m['role']", "m.role") + (
        "{% if m.reasoning %}<think>{{ m.reasoning }}</think>{% endif %}{{ m.content }}<|im_end|>\n"
    )
    prompt = (
        "{% if add_generation_prompt %}<|im_start|>{% if loud %}LOUD {% endif %}assistant\n"
        "{% if thinking %}<think>{% endif %}{% endif %}"
    )
    template = ChatTemplate("{% for m in messages %}" + body + "{% endfor %}" + prompt)
    asked = [{"role": "user", "content": "Hi"}]
    turn = template.turn(asked, variables={"loud": True, "thinking": True})
    assert turn.prompt.endswith("<|im_start|>LOUD assistant\n<think>")
    turn.feed(b"Hm.</think>So.<|im_end|>")
    message = turn.finish("stop")
    assert (message.reasoning_content, message.content) == ("Hm.", "So.")
