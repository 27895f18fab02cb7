"""Own turns are sent again as they were written: the cache never ends inside them."""

import functools

import pytest

from byte_engine import ByteEngine
from corpus import template_source
from tool_loop import USER, complete
from untemplate.loop import Limits, LocalModel, ToolLoop
from untemplate.turn import ChatTemplate

TEMPLATES = {
    "Qwen-Qwen2.5-7B-Instruct": "<|im_end|>",
    "Qwen-Qwen3-0.6B": "<|im_end|>",
    "Qwen3-Coder": "<|im_end|>",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "<|im_end|>",
    "deepseek-ai-DeepSeek-V3.1": "<｜end▁of▁sentence｜>",
}
REPLIES = {
    "json": '<tool_call>\n{{"name":  "look",  "arguments": {{"at":   "{0}"}}}}\n</tool_call>',
    "Qwen3-Coder": "<tool_call>\n<function=look>\n<parameter=at>\n{0}\n</parameter>\n</function>\n"
    "</tool_call>",
    "deepseek-ai-DeepSeek-V3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>"
    '{{"at":   "{0}"}}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
}


@functools.cache
def template(name):
    return ChatTemplate(template_source(name), bos_token="<s>", eos_token=TEMPLATES[name])


def look(at: str) -> str:
    """Look there."""
    return f"{at}: <|im_end|></s>"


def run(name, *replies):
    engine = ByteEngine(TEMPLATES[name], *replies)
    loop = ToolLoop(LocalModel(engine, template(name)), [look], limits=Limits(steps=len(replies)))
    return engine, loop


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_step_only_adds_to_what_was_sent(name):
    written = REPLIES.get(name, REPLIES["json"])
    engine, loop = run(name, written.format("one"), written.format("two"), "done")
    result = complete(loop)
    assert [o.status for s in result.steps for o in s.outcomes] == ["ok", "ok"]
    for before, after in ((0, 1), (1, 2)):
        known = [*engine.sent[before], *engine.turns[before].tokens]
        assert engine.sent[after][: len(known)] == known
        added = engine.sent[after][len(known) :]
        assert engine.turns[after]._turn.prompt.endswith(engine.text(added))
        assert ("one", "two")[before] + ": <|im_end|></s>" in engine.text(added)
        # What a tool says never becomes a token that ends a turn.
        ends = engine.text(added).count(TEMPLATES[name]) - added.count(engine.end)
        assert ends == look("").count(TEMPLATES[name])


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_the_template_would_write_is_sent_as_it_writes_it(name):
    """With a reply as the template renders it, a replay changes nothing."""
    first, loop = run(name, REPLIES.get(name, REPLIES["json"]).format("one"), "done")
    complete(loop)
    rendered = first.turns[1]._turn.prompt.removeprefix(first.text(first.sent[0]))
    raw = rendered.split(TEMPLATES[name])[0]
    engine, loop = run(name, raw, "done")
    complete(loop)
    assert engine.text(engine.sent[1]) == engine.turns[1]._turn.prompt


def test_a_new_user_message_lets_the_template_decide():
    name = "Qwen-Qwen3-0.6B"
    written = "<think>\nHm.\n</think>\n\n" + REPLIES["json"]
    engine, loop = run(name, written.format("one"), "done", "again")
    first = complete(loop)
    complete(loop, [*first.messages, *USER])
    assert "Hm." in engine.text(engine.sent[1])
    assert engine.text(engine.sent[2]) == engine.turns[2]._turn.prompt
    assert "Hm." not in engine.text(engine.sent[2])


def test_other_tools_make_another_prompt():
    name = "Qwen-Qwen2.5-7B-Instruct"

    def broken(at: str) -> str:
        raise ValueError

    written = REPLIES["json"].replace("look", "broken")
    script = [written.format(n) for n in ("one", "two", "three")]
    engine = ByteEngine(TEMPLATES[name], *script, "done")
    complete(ToolLoop(LocalModel(engine, template(name)), [look, broken]))
    assert engine.text(engine.sent[2]) != engine.turns[2]._turn.prompt
    assert engine.text(engine.sent[3]) == engine.turns[3]._turn.prompt
