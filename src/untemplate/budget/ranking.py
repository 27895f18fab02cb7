"""Which tools a conversation is most likely to need: the default order, by words.

    rank(tools, messages) -> the tools, the likeliest first

BM25 over what each tool says of itself (its name, its description, the names and descriptions of
its parameters), asked with what was said last. Words are cut at case changes and underscores, so
that `getWeather` and `get_weather` both answer to "weather"; scripts without spaces are compared by
pairs of characters. A tool that the conversation has already called comes before all that it has
not: the model has seen it work. Equal tools keep their order.

Whoever knows better passes a function of their own to `plan`.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from untemplate.budget.exchanges import Messages, exchanges
from untemplate.message import JSON, Tool

__all__ = ["Rank", "rank"]

Rank = Callable[[Sequence[Tool], Messages], Sequence[Tool]]
"""The tools in the order of their use for the conversation."""

_K1, _B = 1.2, 0.75
"""The usual constants of BM25: how soon repetition stops counting, how much length counts."""
_ASKED_EXCHANGES = 2
_ASKED_CHARACTERS = 4000
_EARLIER_WEIGHT = 0.5
_DEPTH_MAX = 8

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def rank(tools: Sequence[Tool], messages: Messages) -> Sequence[Tool]:
    """The tools, the likeliest first. O(words of the tools)."""
    documents = [Counter(_tool_words(t)) for t in tools]
    asked = _asked(messages)
    called = _called(messages)
    scores = _bm25(documents, asked)
    order = sorted(range(len(tools)), key=lambda i: (tools[i].name not in called, -scores[i], i))
    return [tools[i] for i in order]


def _bm25(documents: Sequence[Counter[str]], asked: Mapping[str, float]) -> list[float]:
    holding = Counter(word for d in documents for word in d)
    lengths = [d.total() for d in documents]
    mean = sum(lengths) / len(lengths) if lengths else 1.0
    scores: list[float] = []
    for document, length in zip(documents, lengths, strict=True):
        score = 0.0
        for word, weight in asked.items():
            if count := document.get(word, 0):
                rarity = math.log(
                    1 + (len(documents) - holding[word] + 0.5) / (holding[word] + 0.5)
                )
                damping = _K1 * (1 - _B + _B * length / (mean or 1.0))
                score += weight * rarity * count * (_K1 + 1) / (count + damping)
        scores.append(score)
    return scores


def _asked(messages: Messages) -> dict[str, float]:
    """Words of the last exchanges, the last one counting most."""
    asked: dict[str, float] = {}
    recent = exchanges(messages)[-_ASKED_EXCHANGES:]
    for age, indexes in enumerate(reversed(recent)):
        for index in indexes:
            if messages[index].get("role") in ("user", "assistant"):
                for word in _words(_text(messages[index].get("content"))[-_ASKED_CHARACTERS:]):
                    asked[word] = max(asked.get(word, 0.0), _EARLIER_WEIGHT**age)
    return asked


def _called(messages: Messages) -> set[str]:
    names: set[str] = set()
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                names.add(str(function.get("name")))
    return names


def _tool_words(tool: Tool) -> Iterator[str]:
    # The name says most: it counts twice.
    yield from _words(f"{tool.name} {tool.name} {tool.description}")
    yield from _schema_words(tool.parameters, _DEPTH_MAX)


def _schema_words(schema: JSON, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or not depth:
        return
    yield from _words(_text(schema.get("description")))
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield from _words(name)
        yield from _schema_words(inner, depth - 1)
    yield from _schema_words(schema.get("items"), depth - 1)


def _words(text: str) -> Iterable[str]:
    for found in _WORDS.findall(text):
        word: str = found.lower()
        if _SPACELESS.search(word):
            yield from (word[i : i + 2] for i in range(max(len(word) - 1, 1)))
        else:
            # A plural finds its singular; nothing cleverer is worth its mistakes.
            yield word[:-1] if len(word) > 3 and word.endswith("s") else word


def _text(content: JSON) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(str(p.get("text") or "") for p in content if isinstance(p, dict))
    return ""
