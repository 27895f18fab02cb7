"""How many tokens a call takes: at least, and usually, for each tool.

    windows(turn.grammar, vocabulary)
    -> (Window("get_weather", least=29, typical=41), Window("write_file", least=37, typical=62))

`least` is what the turn needs if it holds one call of this tool and nothing else: markers, name,
required arguments as short as the schema allows, and the end token. It is the automaton's own
distance to the end, so with `on_limit="close"` a turn of so many tokens always ends properly. Where
the text of the smallest call is not the only one possible, some other text might take a token less,
and `is_exact` is False.

`typical` is the size of a call with usual arguments, written as the dialect writes it and counted
by the tokenizer. Calls of the tool that the conversation already holds count more than what the
schema suggests: at least nine of ten of them would fit.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from untemplate.budget.exchanges import Messages
from untemplate.budget.typical import typical_arguments
from untemplate.constrain import Limits, compile_grammar
from untemplate.dialect import END, CallBlock, Dialect, Prompt, write_calls
from untemplate.grammar import Grammar, build_grammar
from untemplate.message import JSON, Message, Tool, ToolCall, ToolChoice, arguments_object
from untemplate.vocabulary import Vocabulary

__all__ = ["Window", "reply_tokens", "too_small", "windows", "windows_of_cut"]

_SEEN_SHARE = 0.9
_CALLS_PER_REPLY = 4
_REPLY_LEAST = 512


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens of a turn that holds one call of this tool."""

    tool: str
    least: int
    typical: int
    """Never below `least`."""
    is_exact: bool = False
    """Whether `least` is the true minimum; else it is an upper bound of it."""
    seen: int = 0
    """Calls in the conversation that `typical` was learnt from."""


def windows(grammar: Grammar, vocabulary: Vocabulary, earlier: Messages = ()) -> tuple[Window, ...]:
    """The window of each tool that may be called.

    Args:
        grammar: of the turn: its dialect, prompt, tools and choice.
        vocabulary: of the model; without an encoder `typical` is `least`.
        earlier: the conversation so far, to learn sizes from.

    Raises:
        SchemaError: a tool's schema is not valid.
        VocabularyError: the vocabulary can't spell what the grammar needs.
        LimitError: a bound of the compilation was passed.
    """
    seen = _seen(earlier)
    choice = grammar.choice
    allowed = () if choice.mode == "none" else grammar.tools
    return tuple(
        _learnt(_window(grammar, tool, vocabulary), grammar, tool, vocabulary, seen)
        for tool in allowed
        if choice.name in (None, tool.name)
    )


def windows_of_cut(
    message: Message, grammar: Grammar, vocabulary: Vocabulary, earlier: Messages = ()
) -> tuple[Window, ...]:
    """The windows of the tools whose calls were cut; raises as `windows` does."""
    names = {c.name for c in message.tool_calls if c.state == "cut"}
    tools = tuple(t for t in grammar.tools if t.name in names)
    return windows(replace(grammar, tools=tools), vocabulary, earlier) if tools else ()


def too_small(found: Sequence[Window], max_tokens: int) -> tuple[Window, ...]:
    """The tools of which no call fits into so many tokens."""
    return tuple(w for w in found if w.least > max_tokens)


def reply_tokens(found: Sequence[Window], choice: ToolChoice, room: int) -> int:
    """How long a reply may get, when nobody said.

    Text is as long as it is, so it gets all the room. A reply of which calls are required has no
    reason to be longer than a few of its largest calls: a small model that can't stop calling is
    stopped there.
    """
    if choice.mode != "required" or not found:
        return room
    calls = _CALLS_PER_REPLY if choice.parallel else 2
    return min(room, max(_REPLY_LEAST, calls * max(w.typical for w in found)))


class _Cache:
    """Windows by grammar and vocabulary, the one used longest ago dropped first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, str], Window] = OrderedDict()

    def get(self, key: tuple[str, str]) -> Window | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: tuple[str, str], window: Window) -> None:
        with self._lock:
            self._found[key] = window
            while len(self._found) > self._most:
                self._found.popitem(last=False)


_CACHE = _Cache(4096)


def _window(grammar: Grammar, tool: Tool, vocabulary: Vocabulary) -> Window:
    """What follows from the schema alone."""
    only = ToolChoice("required", tool.name, parallel=False)
    alone = build_grammar(
        grammar.dialect, (tool,), only, prompt=grammar.prompt, options=grammar.options
    )
    key = alone.key, vocabulary.digest
    found = _CACHE.get(key)
    if found is None:
        # With limits of its own it stays out of the cache that the turns share.
        constraint = compile_grammar(alone, vocabulary, limits=Limits()).constraint()
        least = constraint.min_tokens()
        for token_id in constraint.forced():
            constraint.advance(token_id)
        arguments = typical_arguments(tool.parameters)
        typical = _tokens(grammar.dialect, grammar.prompt, tool.name, arguments, vocabulary)
        found = Window(tool.name, least, max(least, typical), constraint.min_tokens() <= 1)
        _CACHE.put(key, found)
    return found


def _learnt(
    window: Window,
    grammar: Grammar,
    tool: Tool,
    vocabulary: Vocabulary,
    seen: Mapping[str, Sequence[dict[str, JSON]]],
) -> Window:
    calls = seen.get(tool.name, ())
    if not calls:
        return window
    sizes = sorted(
        _tokens(grammar.dialect, grammar.prompt, tool.name, arguments, vocabulary)
        for arguments in calls
    )
    size = sizes[min(int(len(sizes) * _SEEN_SHARE), len(sizes) - 1)]
    return replace(window, typical=max(size, window.least), seen=len(sizes))


def _tokens(
    dialect: Dialect,
    prompt: Prompt,
    name: str,
    arguments: dict[str, JSON],
    vocabulary: Vocabulary,
) -> int:
    """Tokens of a turn with this call alone, the end token among them."""
    block = next(n for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    if vocabulary.encode is None:
        return 0
    call = ToolCall(0, "call_0", name, json.dumps(arguments, ensure_ascii=False))
    before = next((o.literal for o in prompt.openings if o.block == block), None)
    if before is None:
        into = (e.literal for e in dialect.edges if e.target == block and e.source != block)
        before = next(into, "")
    after = dialect.literal(block, END)
    text = before + write_calls(dialect, block, [call]) + after
    return len(vocabulary.encode(text, special=True)) + 1


def _seen(messages: Messages) -> dict[str, list[dict[str, JSON]]]:
    """Arguments of the calls of a conversation, by tool; those that are no object are passed."""
    found: dict[str, list[dict[str, JSON]]] = {}
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                arguments = arguments_object(function.get("arguments"))
                if arguments is not None:
                    found.setdefault(str(function.get("name")), []).append(arguments)
    return found
