"""Cuts a valid output after every byte: laws 17 to 19, and one-shot and streamed reading agree."""

import json

from interleaved import is_interleaved
from untemplate.reader import Reader


def settled(call):
    """Values that the call says are whole, by name."""
    received = json.loads(call.arguments + call.closing)
    states = call.arguments_state
    return {n: v for n, v in received.items() if states.get(pointer(n)) == "complete"}


def pointer(name):
    return "/" + name.replace("~", "~0").replace("/", "~1")


def is_named(call, name):
    """Whether a state says what is wrong with the argument, or with something inside it."""
    own = pointer(name)
    states = {p: s for p, s in call.arguments_state.items() if s != "complete"}
    return any(p == own or p.startswith(own + "/") for p in states)


def check_call(call, whole, required):
    """What is said of a call that is open, against the same call when it is whole."""
    received = json.loads(call.arguments + call.closing)
    values, final = settled(call), json.loads(whole.arguments)
    assert values.items() <= final.items(), "law 17: a complete argument is right"
    for name in received.keys() - values.keys():
        # What is not whole is the beginning of a string, or a list or object that is open; or a
        # closer has been seen that may still be text.
        assert is_named(call, name)
        value = received[name]
        if isinstance(value, str) and isinstance(final[name], str):
            assert final[name].startswith(value)
        elif call.arguments_state.get(pointer(name)) != "undecided":
            assert isinstance(value, list | dict), "law 17: a cut number has no value"
    for name in required - values.keys():
        assert is_named(call, name), f"law 19: {name} is named"
    return values


def messages_at_every_cut(grammar, data):
    """The message for data[:1], data[:2], ..., after checking that both ways to read agree.

    The second one is what is read if the engine says that the model ended its turn there.
    """
    stream = Reader(grammar, nonce="n")
    for size in range(1, len(data) + 1):
        stream.feed(data[size - 1 : size])
        streamed = Reader(grammar, nonce="n")
        streamed.restore(stream.snapshot())
        once = Reader(grammar, nonce="n")
        once.feed(data[:size])
        message = once.finish("length")
        assert streamed.finish("length") == message
        streamed.restore(stream.snapshot())
        yield message, streamed.finish("stop")


def is_beginning(value, final):
    """Whether a value is another one as far as it was received: no closer, no half escape in it."""
    if isinstance(value, str) and isinstance(final, str):
        return final.startswith(value)
    if isinstance(value, list) and isinstance(final, list):
        pairs = zip(value, final, strict=False)
        return len(value) <= len(final) and all(is_beginning(a, b) for a, b in pairs)
    if isinstance(value, dict) and isinstance(final, dict):
        return all(k in final and is_beginning(v, final[k]) for k, v in value.items())
    return value == final


def check_cuts(grammar, data):
    """Laws 17, 18 and 19 for this output; gives the number of cuts."""
    reader = Reader(grammar, nonce="n")
    reader.feed(data)
    whole = reader.finish("stop").tool_calls
    required = {t.name: set(t.parameters.get("required", ())) for t in grammar.tools}
    before = {}
    for message, ended in messages_at_every_cut(grammar, data):
        for call in ended.tool_calls:
            received = json.loads(call.arguments + call.closing)
            assert is_beginning(received, json.loads(whole[call.index].arguments))
        for call in message.tool_calls:
            final = whole[call.index]
            assert call.name == final.name
            values = check_call(call, final, required[call.name])
            assert before.get(call.index, {}).items() <= values.items(), "law 18: it stays"
            before[call.index] = values
            if call.state == "complete":
                assert values == json.loads(final.arguments)
                continue
            assert call is message.tool_calls[-1] or is_interleaved(grammar.dialect)
            assert (call.state, message.end) == ("cut", "cut")
            assert "cut_call" in {d.code for d in message.diagnostics}
        assert before.keys() == {c.index for c in message.tool_calls}
    assert len(before) == len(whole)
    return len(data)
