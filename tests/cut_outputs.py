"""Outputs of templates, written as their dialects say, and what must hold wherever one is cut."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from untemplate.dialect import END, CallBlock, TextBlock, write_calls
from untemplate.message import Tool, ToolCall
from untemplate.reader import Reader

NOW = datetime(2026, 3, 14, tzinfo=UTC)
SAID = {"description": "Said."}
REQUIRED = ["to", "amount", "memo"]
TOOL = Tool(
    "pay_out",
    "Pays",
    {
        "type": "object",
        "properties": {
            "to": {"type": "string", **SAID},
            "amount": {"type": "integer", **SAID},
            "memo": {"type": "string", **SAID},
            "tags": {"type": "array", "items": {"type": "string"}, **SAID},
            "sure": {"type": "boolean", **SAID},
            "rate": {"type": "number", **SAID},
        },
        "required": REQUIRED,
    },
)
USER = {"role": "user", "content": "Pay them."}
TEXTS = [
    "Anna",
    'Zoë "Z"\\n\n🙂',
    "",
    "</x> {a}",
    "东京 120",
    "a\tb\\",
    "if (x < 3) { y[0] = '1'; }",
]


def begin(template):
    return template.turn([USER], tools=[TOOL], nonce="n", now=NOW)


def drawn(draw):
    """Random arguments; the optional ones come and go, and so does the order."""
    value = {
        "to": draw.choice(TEXTS),
        "amount": draw.choice([0, -5, 7, 120, 12345678901234567890]),
        "memo": draw.choice(TEXTS) * draw.randint(0, 2),
    }
    if draw.random() < 0.5:
        value["tags"] = [draw.choice(TEXTS) for _ in range(draw.randint(0, 3))]
    if draw.random() < 0.5:
        value["sure"] = draw.random() < 0.5
    if draw.random() < 0.3:
        value["rate"] = draw.choice([0.5, -1.25, 1e-07, 3.0])
    names = list(value)
    draw.shuffle(names)
    return {name: value[name] for name in names}


def most_calls(dialect):
    """How many calls a turn may have; None: any number."""
    again = any(e.source == e.target for e in dialect.edges)
    return dialect.calls_max if again else 1


def written(grammar, arguments, content="", reasoning=""):
    """A turn as the dialect writes it, and so as models mostly do; text that can't stand is not."""
    calls = [
        ToolCall(number, f"abcdefgh{number}", TOOL.name, json.dumps(value))
        for number, value in enumerate(arguments)
    ]
    dialect = replace(grammar.dialect, written={})
    name = next(n for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    texts = {"reasoning": reasoning, "content": content}
    ways = [("", o.literal, o.block) for o in grammar.prompt.openings]
    # Every way from the prompt to the calls, each with what may be said on it; the fullest wins.
    found = []
    while ways:
        out, literal, block = ways.pop()
        if block == name:
            found.append(out + literal)
            continue
        pattern = dialect.blocks.get(block)
        if not isinstance(pattern, TextBlock) or len(out) > 1000:
            continue
        said = texts[pattern.kind]
        if said and said in out:
            continue
        ways += [
            (out + literal + said, e.literal, e.target)
            for e in dialect.edges_from(block)
            if e.target not in (block, END)
        ]
    end = next((e.literal for e in dialect.edges_from(name) if e.target == END), "")
    return (max(found, key=len) + write_calls(dialect, name, calls) + end).encode()


def read(grammar, data, reason="length"):
    reader = Reader(grammar, nonce="n")
    reader.feed(data)
    return reader.finish(reason)


def settled(call):
    """Values that the call says are whole, by name."""
    received = json.loads(call.arguments + call.closing)
    return {
        name: value
        for name, value in received.items()
        if call.arguments_state.get(f"/{name}") == "complete"
    }


def check_cut(message, whole, before):
    """Laws 17 to 19 for a message that was cut; `before` has what was settled at the last cut."""
    for call in message.tool_calls:
        values = settled(call)
        expected = json.loads(whole.tool_calls[call.index].arguments)
        assert values.items() <= expected.items()
        received = json.loads(call.arguments + call.closing)
        for name in received.keys() - values.keys():
            # What is not whole is the beginning of a string, or a list that is open.
            assert isinstance(received[name], str | list)
            if isinstance(received[name], str):
                assert expected[name].startswith(received[name])
        assert before.get(call.index, {}).items() <= values.items()
        before[call.index] = values
        if call.state == "complete":
            assert values == expected
        else:
            assert call is message.tool_calls[-1]
            assert message.end == "cut"
            lacking = set(REQUIRED) - values.keys()
            assert all(
                any(p == f"/{n}" or p.startswith(f"/{n}/") for p in call.arguments_state)
                for n in lacking
            )
    assert before.keys() == {c.index for c in message.tool_calls}
