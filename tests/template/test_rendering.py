# ruff: noqa: E501 - the tables are read by their columns
import json
import threading
import time
from datetime import UTC, datetime
from enum import StrEnum

import jinja2
import pytest
from jinja2.sandbox import SandboxedEnvironment

from corpus import corpus_dir, template_source
from untemplate.errors import LimitError, RequestError, TemplateError
from untemplate.template import Allowance, CompiledTemplate

NOW = datetime(2026, 3, 14, tzinfo=UTC)
HI = [{"role": "user", "content": "Hi"}]


def render(source, messages=HI, tools=None, **variables):
    return CompiledTemplate(source).render(
        messages, tools, add_generation_prompt=False, now=NOW, **variables
    )


# ---------------------------------------------------------------- as Hugging Face renders


def test_blocks_are_trimmed():
    source = (
        "{% for m in messages %}\n  {% if true %}\n{{ m.content }}\n  {% endif %}\n{% endfor %}\n"
    )

    assert render(source) == "Hi\n"


def test_messages_bos_and_prompt():
    template = CompiledTemplate(
        "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m.content }}{{ eos_token }}"
        "{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}{{ image_token }}",
        bos_token="<s>",
        eos_token="</s>",
        special_tokens={"image_token": "<img>"},
    )

    assert template.render(HI, add_generation_prompt=True) == "<s>[user]Hi</s>[assistant]<img>"
    assert template.render(HI, add_generation_prompt=False) == "<s>[user]Hi</s><img>"
    assert template.render(HI, add_generation_prompt=False, bos_token="") == "[user]Hi</s><img>"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("{'b': 1, 'a': '<é>'} | tojson", '{"b": 1, "a": "<é>"}'),
        ("{'b': 1, 'a': '<é>'} | tojson(ensure_ascii=true)", r'{"b": 1, "a": "<\u00e9>"}'),
        ("{'b': 1, 'a': 2} | tojson(sort_keys=true)", '{"a": 2, "b": 1}'),
        ("{'b': [1]} | tojson(indent=2)", '{\n  "b": [\n    1\n  ]\n}'),
        ("{'b': [1, 2]} | tojson(separators=(',', ':'))", '{"b":[1,2]}'),
        ("[1, 2] | map('string') | tojson", '["1", "2"]'),
        ("{'a': 1}.keys() | tojson", '["a"]'),
        ("'{\"a\": [1]}' | from_json", "{'a': [1]}"),
    ],
)
def test_json(expression, text):
    assert render("{{ " + expression + " }}") == text


def test_numbers_of_any_size_are_printed():
    source = (
        "{{ messages[0].n }}{{ messages[0] | tojson }}{{ messages[0].get('n') == messages[0].n }}"
    )

    assert render(source, [{"n": 10**300}]) == f'{10**300}{{"n": {10**300}}}True'


def test_generation_and_loop_controls():
    source = (
        "{% for m in messages %}{% generation %}{% set x = m.content %}{{ x }}{% break %}"
        "{% endgeneration %}{% endfor %}{{ x is defined }}"
    )

    assert render(source) == "HiFalse"


def test_tools_are_undefined_when_there_are_none():
    source = "{{ tools is defined }}"

    assert render(source) == render(source, tools=[]) == "False"
    assert render(source, tools=[{"name": "f"}]) == "True"


def test_date():
    assert render("{{ strftime_now('%d %b %Y') }}") == "14 Mar 2026"


def test_without_a_date_there_is_no_function_for_it():
    source = "{% if strftime_now is defined %}now{% else %}26 Jul 2024{% endif %}"

    assert CompiledTemplate(source).render(HI, add_generation_prompt=True) == "26 Jul 2024"
    with pytest.raises(TemplateError, match="writes the date: pass `now`"):
        CompiledTemplate("{{ strftime_now('%d') }}").render(HI, add_generation_prompt=True)


def test_lists_may_be_changed_but_the_callers_are_not():
    messages = [{"role": "user", "content": ["a"]}]
    source = (
        "{% for m in messages %}{% set _ = m.content.append('b') %}{{ m.content | join }}"
        "{% set _ = m.update({'x': 1}) %}{{ m.x }}{% endfor %}"
    )

    assert render(source, messages) == "ab1"
    assert messages == [{"role": "user", "content": ["a"]}]


def test_lazy_filters_may_be_used_more_than_once():
    source = (
        "{% set u = messages | selectattr('role', 'equalto', 'user') %}{{ u|length }}{{ u|length }}"
    )

    assert render(source) == "11"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ 'a' ~ 1 ~ none ~ ['b'] }}", "a1None['b']"),
        ("{{ 'abc'[1:] }}{{ 'abc'[::-1] }}{{ [1, 2, 3][-2:] }}{{ (1, 2)[:1] }}", "bccba[2, 3](1,)"),
        ("{{ 1 < 2 < 3 }}{{ 3 > 2 >= 2 }}{{ 1 in [1] in [[1]] }}", "TrueTrueTrue"),
        ("{{ 'a' in messages[0] }}{{ 'role' in messages[0] }}{{ 'x' not in 'abc' }}", "FalseTrueTrue"),
        ("{{ {1 + 1: 'x', 'a' ~ 'b': 'y'} }}", "{2: 'x', 'ab': 'y'}"),
        ("{{ '%s-%05d|%-4s|%%' % ('a', 42, 'b') }}", "a-00042|b   |%"),
        ("{{ '%(a)s' % {'a': 1} }}{{ 'x%sy' | format('z') }}", "1xzy"),
        ("{{ '{} {0}'.format(1) if false else '{0:>4}|{a}'.format(1, a='b') }}", "   1|b"),
        ("{{ '{a}'.format_map({'a': 2}) }}{{ ('<{}>' | safe).format('<') }}", "2<&lt;>"),
        ("{{ ('<b>' | safe) + '<' }}{{ ('<b>' | safe) ~ '<' }}", "<b>&lt;<b><"),
        ("{{ 7 // 2 }}{{ 7 % 2 }}{{ 2 ** 10 }}{{ -7 + 1.5 }}{{ 3 * 'ab' }}", "311024-5.5ababab"),
        ("{{ ', '.join(['a', 'b']) }}{{ ['a', 1] | join('-') }}{{ 'abc' | join('.') }}", "a, ba-1a.b.c"),
        ("{{ [3, 1] | sort | first }}{{ {'b': 1, 'a': 2} | dictsort }}", "1[('a', 2), ('b', 1)]"),
        ("{{ 'a\nb' | indent(2) }}|{{ 'a' | center(5) }}|{{ 'a-b'.replace('-', '+') }}", "a\n  b|  a  |a+b"),
        ("{{ ' x '.strip() }}{{ 'X'.lower() }}{{ 'a,b'.split(',') }}", "xx['a', 'b']"),
        ("{% set ns = namespace(a=0) %}{% for i in range(3) %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}", "3"),
        ("{% macro m(a, b='x') %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}{% call m(1) %}y{% endcall %}", "1xy"),
        ("{% for x in [1, [2]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}", "12"),
        ("{% for i in range(4) if i % 2 %}{{ i }}{{ loop.last }}{% else %}none{% endfor %}", "1False3True"),
        ("{% for i in [] %}{% else %}none{% endfor %}", "none"),
        ("{% set x %}a{{ 1 }}{% endset %}{{ x }}{% filter upper %}b{% endfilter %}", "a1B"),
        ("{{ messages[0].items() | list }}{{ messages[0].get('x', 5) }}", "[('role', 'user'), ('content', 'Hi')]5"),
        ("{{ undefined_thing }}{{ messages[0].nothing }}{{ messages[9] is defined }}", "False"),
        ("{{ dict(a=1)['a'] }}{{ namespace(self=2).self }}", "12"),
        ("{{ messages[0].content is string }}{{ 5 is divisibleby 5 }}{{ 'A' is upper }}{{ 1 is eq 1 }}", "TrueTrueTrueTrue"),
        ("{% block a %}x{% endblock %}{{ self.a() }}", "xx"),
        ("{{ cycler('a', 'b').next() }}{% set j = joiner('|') %}{{ j() }}{{ j() }}", "a|"),
        ("{{ [1, 2] | sum }}{{ 2.567 | round(1) }}{{ '7' | int + 1 }}{{ [1, 2, 3] | batch(2) | list }}", "32.68[[1, 2], [3]]"),
    ],
)  # fmt: skip
def test_the_language_is_jinjas(source, text):
    plain = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    assert render(source) == text
    assert plain.from_string(source).render(messages=HI) == text


def conversations():
    """Chats, tools, parallel calls and their results, reasoning; arguments as object and text."""
    arguments = {"a": "x\"y'<é\n", "n": 3, "b": True, "z": None, "o": {"z": ["q"]}}
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "<x>"}, "n": {"type": "integer"}},
        "required": ["a"],
    }
    tools = [
        {"type": "function", "function": {"name": n, "description": "é", "parameters": schema}}
        for n in ("f", "g")
    ]
    yield HI, None
    yield [{"role": "system", "content": "Be brief."}, *HI], None
    yield HI, tools
    yield [*HI, {"role": "assistant", "content": " Yes. "}, *HI], None
    for given in (arguments, json.dumps(arguments)):
        calls = [
            {"id": f"abcdefgh{n}", "type": "function", "function": {"name": f, "arguments": given}}
            for n, f in enumerate(("f", "g"))
        ]
        results = [
            {"role": "tool", "name": f, "tool_call_id": f"abcdefgh{n}", "content": "42"}
            for n, f in enumerate(("f", "g"))
        ]
        for many in (1, 2):
            turn = {"role": "assistant", "content": "", "tool_calls": calls[:many]}
            yield [*HI, turn, *results[:many]], tools
            thought = {
                **turn,
                "content": "Well.",
                "reasoning_content": "Hm.\n\nHm.",
                "thinking": "Hm",
            }
            yield [*HI, thought, *results[:many], {"role": "assistant", "content": "Done."}], tools


def names_of_templates():
    folder = corpus_dir() / "templates"
    return sorted(path.stem for path in folder.glob("*.jinja"))


def plain_environment():
    """Jinja's own sandbox with the few additions of transformers, and nothing of ours."""

    class Generation(jinja2.ext.Extension):
        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.Scope(body, lineno=line)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys, default=list)  # fmt: skip

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    env = SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
    )
    env.filters["tojson"] = tojson
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def test_corpus_renders_as_plain_jinja_does():
    env, compared, refused = plain_environment(), 0, 0
    for name in names_of_templates():
        source = template_source(name)
        plain = env.from_string(source)
        ours = CompiledTemplate(source, bos_token="<s>", eos_token="</s>")
        for messages, tools in conversations():
            given = {"tools": tools} if tools else {}
            variables = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}
            copy = json.loads(json.dumps(messages))
            try:
                expected = plain.render(messages=copy, **given, **variables)
            except Exception:  # noqa: BLE001
                with pytest.raises(TemplateError):
                    ours.render(messages, tools, add_generation_prompt=True, now=NOW)
                refused += 1
                continue
            text = ours.render(messages, tools, add_generation_prompt=True, now=NOW)
            assert text == expected, name
            compared += 1
    assert compared > 600
    assert refused < 200


def test_long_conversations_keep_within_the_allowance():
    allowance = Allowance(units=10_000_000 // 3, units_per_input=256 // 3)
    turns = [turn for messages, _ in list(conversations())[4:5] for turn in messages]
    *_, (_, tools) = conversations()
    many = [
        {**tool, "function": {**tool["function"], "name": f"{tool['function']['name']}{n}"}}
        for n in range(10)
        for tool in tools
    ]
    rendered = 0
    for name in names_of_templates():
        template = CompiledTemplate(template_source(name), allowance=allowance)
        try:
            template.render([*turns * 33, *HI], many, add_generation_prompt=True, now=NOW)
        except TemplateError:
            continue
        rendered += 1
    assert rendered > 40


def test_a_prompt_built_in_one_variable_may_be_long():
    source = "{% set ns = namespace(o='') %}{% for m in messages %}{% set ns.o = ns.o ~ m.content %}{% endfor %}{{ ns.o }}"
    messages = [{"role": "user", "content": "é" * 4000}] * 500

    assert render(source, messages) == "é" * 2_000_000


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n{% if %}", "template line 2: Expected an expression, got 'end of statement block'"),
        ("{{ 'a }}", "template line 1: "),
        ("\n{{ raise_exception('no\n system role') }}", "template line 2: no system role"),
        ("{% macro m(a) %}\n{{ a.b.c }}\n{% endmacro %}\n\n{{ m({}) }}", "template line 2: 'dict object' has no attribute 'b'"),
        ("{{ functions.names }}", "template line 1: 'functions' is undefined"),
        ("{{ 1 / 0 }}", "template line 1: ZeroDivisionError: division by zero"),
        ("{{ {}.pop('k') }}", "template line 1: KeyError: 'k'"),
        ("{{ 'a' + 1 }}", "template line 1: can only concatenate str"),
        ("{{ x | nothing }}", "template line 1: No filter named 'nothing'."),
        ("{% if tools %}{{ x | nothing }}{% endif %}", None),
        ("{{ '" + "x" * 3000 + "'.y.z }}", "template line 1: "),
    ],
)  # fmt: skip
def test_errors_are_one_line_with_their_place(source, message):
    if message is None:
        assert render(source) == ""
        return
    with pytest.raises(TemplateError) as caught:
        render(source)

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("messages", "variables", "message"),
    [
        ([{"content": object()}], {}, "messages[0].content: object is not JSON; pass strings"),
        ([{"content": [{"a": b""}]}], {}, "messages[0].content[0].a: bytes is not JSON"),
        ([{1: "x"}], {}, "messages[0]: a key is int, not a string"),
        (HI, {"documents": {1, 2}}, "documents: set is not JSON"),
    ],
)
def test_what_is_not_json_is_named(messages, variables, message):
    with pytest.raises(RequestError) as caught:
        render("x", messages, **variables)

    assert str(caught.value).startswith(message)


def test_deep_messages_are_refused():
    deep = []
    for _ in range(300):
        deep = [deep]

    with pytest.raises(RequestError, match="nested more than 200 deep"):
        render("x", [{"role": "user", "content": deep}])


def test_a_message_that_holds_itself_is_refused():
    message = {"role": "user"}
    message["content"] = message

    with pytest.raises(RequestError, match="nested more than 200 deep"):
        render("x", [message])


def test_subclasses_lose_what_they_can_do():
    class Role(StrEnum):
        USER = "user"

    assert (
        render("{{ messages[0].role }}{{ messages[0].role.name }}", [{"role": Role.USER}]) == "user"
    )


# ---------------------------------------------------------------- bounds


def test_the_allowance_is_the_callers():
    source = "{% for i in range(99) %}{% for j in range(99) %}x{% endfor %}{% endfor %}"
    small = CompiledTemplate(source, allowance=Allowance(units=200_000, units_per_input=0))

    assert len(CompiledTemplate(source).render(HI, add_generation_prompt=True)) == 99 * 99
    with pytest.raises(
        LimitError, match="template line 1: the template takes more than 200000 units"
    ):
        small.render(HI, add_generation_prompt=True)


def test_work_is_counted_not_timed():
    """The same template stops at the same place every time."""
    source = "{% set ns = namespace(n=0) %}{% for i in range(100) %}{% set ns.n = i %}{% if ns.n == K %}{{ raise_exception(ns.n) }}{% endif %}{% endfor %}"
    allowance = Allowance(units=20_000, units_per_input=0)
    ends = set()
    for k in range(100):
        template = CompiledTemplate(source, allowance=allowance)
        try:
            template.render(HI, add_generation_prompt=True, K=k)
        except LimitError:
            ends.add(("limit", None))
        except TemplateError:
            ends.add(("raised", k))
    raised = sorted(k for kind, k in ends if kind == "raised")

    assert raised == list(range(len(raised)))
    assert 0 < len(raised) < 100


def test_threads_may_share_a_template():
    template = CompiledTemplate(
        "{% for m in messages %}{{ m.content }}{% set _ = m.clear() %}{% endfor %}"
    )
    wrong = []

    def work(n):
        messages = [{"role": "user", "content": f"{n}."}] * 50
        texts = [template.render(messages, add_generation_prompt=True) for _ in range(20)]
        wrong.extend(text for text in texts if text != f"{n}." * 50)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


# ---------------------------------------------------------------- names


def test_names():
    names = CompiledTemplate(
        "{% set own = 1 %}{% for m in messages %}{{ m.reasoning_content }}{{ m['thinking'] }}"
        "{% if enable_thinking and m.get('x') %}{{ own }}{{ bos_token }}{% endif %}{% endfor %}"
        "{{ range(tools | length) }}{{ m.y[1:] ~ z }}"
    ).names

    assert names.variables == ("enable_thinking", "m", "z")
    assert names.attributes == ("get", "reasoning_content", "y")
    assert names.strings == ("thinking", "x")


def test_names_are_cheap():
    source = template_source("Kimi-K3")
    CompiledTemplate(source)
    start = time.process_time()
    template = CompiledTemplate(source)
    compiled = time.process_time() - start

    assert "role" in template.names.attributes + template.names.strings
    assert compiled < 1.0
