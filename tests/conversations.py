"""Random conversations, and whether one has been torn apart."""

import json
import random

from untemplate.message import Tool

WORDS = ["city", "weather", "file", "note", "list", "search", "send", "read", "東京", "Größe"]


def said(draw, words=20):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, words)))


def call(call_id, name="search", **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": call_id, "type": "function", "function": function}


def conversation(seed, exchanges=12):
    """A history as hosts really send it: parallel calls, late and missing results, ids reused."""
    draw = random.Random(seed)
    one_id = draw.random() < 0.1
    messages = [{"role": "system", "content": said(draw)}] if draw.random() < 0.7 else []
    late = []
    number = 0
    for _ in range(draw.randint(1, exchanges)):
        messages += [{"role": "user", "content": said(draw)}] * draw.choice([1, 1, 1, 2])
        messages += late
        late = []
        for _ in range(draw.randint(0, 3)):
            calls = []
            for _ in range(draw.randint(1, 3)):
                number += 1
                calls.append(call("same" if one_id else f"call_{number}", n=number))
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
            results = [
                {"role": "tool", "tool_call_id": c["id"], "content": said(draw)}
                for c in draw.sample(calls, len(calls))
                if draw.random() < 0.95
            ]
            if draw.random() < 0.1 and results:
                late.append(results.pop())
            messages += results
        if draw.random() < 0.1:
            messages.append({"role": "system", "content": said(draw)})
        if draw.random() < 0.9:
            messages.append({"role": "assistant", "content": said(draw)})
    return messages


def forty_turns():
    """A long talk with calls and their results, as an agent has it."""
    messages = [{"role": "system", "content": "You look things up, and never make them up. " * 4}]
    for number in range(40):
        noun = ["weather", "file", "mail", "calendar", "ticket", "invoice"][number % 6]
        asked = f"Question {number}: which {noun} is it that Anna Schmidt wrote about?"
        made = call(f"call_{number}", f"find_{noun}_{number}", limit=number)
        found = f"{noun} {number}: " + "seen by Anna Schmidt on Monday, and not since. " * 6
        messages += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": "", "tool_calls": [made]},
            {"role": "tool", "tool_call_id": made["id"], "content": found},
            {"role": "assistant", "content": f"It is {noun} {number}, seen on Monday."},
        ]
    return [*messages, {"role": "user", "content": "Is there an invoice for Anna Schmidt?"}]


def torn(messages, kept):
    """Indexes of calls and results of which only one is kept. Read naively, backwards."""
    kept = set(kept)
    answered = {}
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            calls = [
                i
                for i in range(index)
                for c in messages[i].get("tool_calls") or []
                if c["id"] == message["tool_call_id"]
            ]
            if calls:
                answered.setdefault(index, calls)
    out = []
    for index, calls in answered.items():
        if index in kept and not kept.intersection(calls):
            out.append(index)
        if index not in kept and len(calls) == 1 and calls[0] in kept:
            out.append(index)
    return out


def tools(count):
    """So many tools with descriptions and parameters."""
    made = []
    for number in range(count):
        noun = ["weather", "file", "mail", "calendar", "ticket", "invoice"][number % 6]
        properties = {
            "name": {
                "type": "string",
                "description": f"Name of the {noun}, as it stands in the list. Never made up.",
                "maxLength": 80,
            },
            "kind": {"enum": ["new", "old", "any"], "description": "Which of them to look at."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        }
        parameters = {
            "type": "object",
            "properties": properties,
            "required": ["name"],
            "additionalProperties": False,
        }
        description = f"Looks up a {noun} in store {number}. " + "It is kept for seven years. " * 4
        made.append(Tool(f"find_{noun}_{number}", description, parameters))
    return made


def count(messages, tools):
    """Tokens of a template with four tokens around each message, one for each word."""
    total = 3
    for message in messages:
        total += 4 + len(str(message.get("content") or "").split())
        total += sum(len(json.dumps(c).split()) for c in message.get("tool_calls") or [])
    return total + sum(len(json.dumps([t.description, t.parameters]).split()) + 8 for t in tools)
