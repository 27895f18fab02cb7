r"""Dialect + tools + tool choice + prompt -> the grammar of one turn.

The graph of the dialect is unrolled by the number of calls so far, as far as the choice cares: rule
`content:0` is content before any call, `content:1` after one. With `required` the rules without a
call have no way to the end; with `parallel: false` the rules after one call have no way to another.

    build_grammar(hermes, tools, ToolChoice("required"))
    start        -> "" call:0                       (no content: a call is what was asked for)
    call:0       -> Call(tools) after:call:1
    after:call:1 -> "\n" call:1 | "" end
    end          -> End("<|im_end|>")

Reading does not go by the choice: what a model wrote against it is still read and reported. The
reader therefore takes `unrestricted()`, the same grammar under the choice `auto`.

With a `response_schema` the turn is calls, or content that is one JSON value of the schema. Nothing
follows the value but the end; its strings hold no marker, since readers take content as plain text:

    content:0    -> Value(schema) end
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast
from typing import Literal as OneOf

from untemplate.dialect import (
    END,
    CallBlock,
    Dialect,
    Edge,
    Hole,
    JsonText,
    Opening,
    Prompt,
    TextBlock,
    dumps,
)
from untemplate.errors import RequestError
from untemplate.grammar import nodes
from untemplate.grammar.answer import ANSWER, check_answer
from untemplate.grammar.continued import check_continued
from untemplate.grammar.envelope import CallShape, find_envelope
from untemplate.grammar.marks import is_distinctive, marks
from untemplate.grammar.nodes import Node
from untemplate.grammar.schema_check import in_depth, schema_text
from untemplate.message import JSON, Tool, ToolChoice

if TYPE_CHECKING:
    from untemplate.grammar.export import Export
    from untemplate.grammar.report import Report

__all__ = ["Grammar", "GrammarOptions", "build_grammar"]


_ANYTHING = ToolChoice()
"""By identity: what `unrestricted` passes. Calls are read also where no tools are declared."""


@dataclass(frozen=True, slots=True)
class GrammarOptions:
    """How wide strict writing is where JSON leaves a choice."""

    whitespace: OneOf["bounded", "exact"] = "bounded"
    """`bounded`: up to 2 blanks, or one newline and up to 20 blanks, where JSON allows space."""
    key_order: OneOf["any", "declared"] = "any"
    open_objects: bool = False
    """Whether objects without `additionalProperties` take further keys, as JSON Schema says."""

    def __post_init__(self) -> None:
        if self.whitespace not in ("bounded", "exact"):
            raise RequestError("expected bounded or exact", place="whitespace")
        if self.key_order not in ("any", "declared"):
            raise RequestError("expected any or declared", place="key_order")


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """What a model may write in one turn; `rules` and `start` are the tree."""

    rules: Mapping[str, Node]
    start: Node
    dialect: Dialect
    prompt: Prompt
    tools: tuple[Tool, ...]
    """All declared tools, whatever the choice."""
    choice: ToolChoice
    options: GrammarOptions
    response_schema: JSON
    """What the content has to be; None: free text."""
    key: str = field(repr=False)
    """Hash of all that the grammar was made from; equal keys mean equal grammars."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def origin(self) -> str:
        """What an error is about that is about the whole: `tool pay`, `tools pay, ask`."""
        choice = self.choice
        named = [t.name for t in self.tools if choice.name in (None, t.name)]
        parts = [f"{'tool' if len(named) == 1 else 'tools'} {', '.join(named)}"] if named else []
        if choice.mode == "none":
            parts = []
        if self.response_schema is not None and choice.mode != "required":
            parts.append(ANSWER)
        return ", ".join(parts)

    def unrestricted(self) -> "Grammar":
        """The same grammar as if any tool might be called any number of times, declared or not.

        Its content is free text, whatever the schema of the response. What only history writes
        between two blocks is read too, and reasoning that the model opens though the prompt has
        done so, or has closed it.
        """
        if self.choice is _ANYTHING:
            return self
        dialect, prompt = self.dialect, self.prompt
        history = dialect.place(prompt.before)
        if history is not None:
            more = tuple(o for o in history.openings if o.literal.strip() and _thinks(dialect, o))
            openings = tuple(dict.fromkeys((*prompt.openings, *more)))
            prompt = replace(prompt, openings=openings)
            dialect = replace(dialect, edges=(*dialect.edges, *history.edges))
        return build_grammar(dialect, self.tools, _ANYTHING, prompt=prompt, options=self.options)

    def report(self) -> "Report":
        """What becomes of each keyword of the tools' schemas and of the response's."""
        from untemplate.grammar import report  # noqa: PLC0415  most grammars are not asked

        return report.report_on(
            self.tools,
            self.response_schema,
            open_objects=self.options.open_objects,
            in_pairs=report.in_pairs(self.dialect),
        )

    def gbnf(self) -> "Export":
        """The grammar for llama.cpp, and notes on what GBNF can't say."""
        from untemplate.grammar import export  # noqa: PLC0415  most turns export nothing

        return export.to_gbnf(self)

    def lark(self, special: Mapping[str, int] | None = None) -> "Export":
        """The grammar for llguidance; `special`: text to id of tokens that stand for themselves."""
        from untemplate.grammar import export  # noqa: PLC0415  most turns export nothing

        return export.to_lark(self, special)

    def ebnf(self) -> "Export":
        """The grammar for xgrammar."""
        from untemplate.grammar import export  # noqa: PLC0415  most turns export nothing

        return export.to_ebnf(self)

    def regex(self) -> "Export":
        """The grammar as a regular expression, where its language is regular."""
        from untemplate.grammar import export  # noqa: PLC0415  most turns export nothing

        return export.to_regex(self)

    def structural_tag(self) -> "Export":
        """The grammar as a structural tag, for vLLM, SGLang and TensorRT-LLM."""
        from untemplate.grammar import export  # noqa: PLC0415  most turns export nothing

        return export.to_structural_tag(self)


def build_grammar(
    dialect: Dialect,
    tools: Sequence[Tool] = (),
    choice: ToolChoice | None = None,
    *,
    prompt: Prompt | None = None,
    options: GrammarOptions | None = None,
    response_schema: JSON = None,
) -> Grammar:
    """The grammar of one turn of this dialect.

    Args:
        dialect: how the model family writes a turn.
        tools: the declared tools; without any no call can be written.
        choice: which of them may or must be called; default `auto`.
        prompt: which prompt the output goes on after; default the dialect's first.
        options: where JSON leaves a choice.
        response_schema: JSON Schema of the content, where the turn is no call; default free text.
            Objects that say nothing of other keys take them.

    Raises:
        RequestError: the choice names no declared tool, or asks for a call without tools; or the
            dialect has no place for an answer by a schema.
        DialectError: calls of this dialect can't come in pieces as it says.
        SchemaError: `response_schema` is not a valid schema, or one of a tool no JSON.
        LimitError: a schema is nested too deep.
    """
    choice = choice or ToolChoice()
    options = options or GrammarOptions()
    names = [tool.name for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RequestError(f"two tools are named {twice!r}", place="tools")
    prompt = prompt or dialect.prompts[0]
    asked = "anything" if choice is _ANYTHING else repr(choice)
    parts = [_text_of(dialect), repr(prompt), asked, repr(options)]
    for tool in tools:
        text = schema_text(tool.parameters, f"tool {tool.name}")
        parts.append(repr((tool.name, tool.description, tool.strict, text)))
    if response_schema is not None:
        parts.append(schema_text(response_schema, ANSWER))
    key = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    asked_for = _Asked(key, dialect, prompt, tuple(tools), choice, options, response_schema)
    return _built(asked_for)


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What a grammar is made from, compared by its key."""

    key: str
    dialect: Dialect
    prompt: Prompt
    tools: tuple[Tool, ...]
    choice: ToolChoice
    options: GrammarOptions
    response_schema: JSON

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=64)
def _built(asked: _Asked) -> Grammar:
    """Kept, since agents send the same tools turn after turn."""
    dialect, prompt, choice = asked.dialect, asked.prompt, asked.choice
    # Callers may change their schemas later; those of a grammar stay as they are.
    tools = tuple(
        replace(t, parameters=cast("dict[str, JSON]", _copied(t.parameters))) for t in asked.tools
    )
    schema = _copied(asked.response_schema)
    builder = _Builder(dialect, _allowed(tools, choice), choice, schema)
    with in_depth(ANSWER):
        start, rules = builder.build(prompt)
    return Grammar(rules, start, dialect, prompt, tools, choice, asked.options, schema, asked.key)


def _copied(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copied(inner) for inner in value]
    return value


def _thinks(dialect: Dialect, opening: Opening) -> bool:
    block = dialect.blocks.get(opening.block)
    return isinstance(block, TextBlock) and block.kind == "reasoning"


class _Same:
    """A dialect by identity: comparing two takes as long as writing one out."""

    __slots__ = ("dialect",)

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.dialect is other.dialect

    def __hash__(self) -> int:
        return id(self.dialect)


def _text_of(dialect: Dialect) -> str:
    return _written(_Same(dialect))


@lru_cache(maxsize=64)
def _written(same: _Same) -> str:
    return dumps(same.dialect)


def _allowed(tools: Sequence[Tool], choice: ToolChoice) -> tuple[Tool, ...]:
    if choice.mode == "none":
        return ()
    if choice.name is not None:
        named = tuple(t for t in tools if t.name == choice.name)
        if not named:
            known = ", ".join(t.name for t in tools) or "none"
            raise RequestError(
                f"no tool is named {choice.name!r}; declared: {known}", place="tool_choice"
            )
        return named
    if choice.mode == "required" and not tools:
        raise RequestError("a call is required, but no tools are declared", place="tool_choice")
    return tuple(tools)


class _Builder:
    """Unrolls the dialect's graph into rules, from the openings on."""

    def __init__(
        self,
        dialect: Dialect,
        tools: tuple[Tool, ...],
        choice: ToolChoice,
        response_schema: JSON,
    ) -> None:
        self._dialect = dialect
        self._tools = tools
        self._has_calls = bool(tools) or choice is _ANYTHING
        self._required = choice.mode == "required"
        limits = [m for m in (dialect.calls_max, None if choice.parallel else 1) if m is not None]
        self._most = min(limits, default=None)
        self._schema = response_schema
        self._unlike: tuple[CallShape, ...] = ()
        self._rules: dict[str, Node] = {}

    def build(self, prompt: Prompt) -> tuple[Node, Mapping[str, Node]]:
        if self._schema is not None:
            tools = () if self._required else self._tools
            self._unlike = check_answer(self._dialect, tools, self._schema)
        openings = [o for o in prompt.openings if self._may_enter(o.block, 0)]
        if self._required:
            openings = [o for o in openings if not self._is_detour(o, openings)] or openings
        self._rules["end"] = nodes.End(tuple(s.encode() for s in self._dialect.stops))
        pending = [self._name(o.block, 0) for o in openings]
        while pending:
            name = pending.pop()
            if name not in self._rules:
                self._rules[name] = self._rule(name)
                pending.extend(_references(self._rules[name]))
        start = nodes.Choice(tuple(self._lead(o.literal, self._name(o.block, 0)) for o in openings))
        return start, dict(self._rules)

    # A call costs one of `_most`; without a limit only "none yet" and "some" differ.
    def _more(self, calls: int) -> int:
        return calls + 1 if self._most is not None else 1

    def _name(self, block: str, calls: int) -> str:
        return "end" if block == END else f"{block}:{calls}"

    def _may_enter(self, block: str, calls: int) -> bool:
        if block == END:
            return calls > 0 or not (self._required or self._schema is not None)
        if isinstance(self._dialect.blocks[block], TextBlock):
            return self._schema is None or not self._is_content(block) or calls == 0
        return self._has_calls and (self._most is None or calls < self._most)

    def _is_detour(self, opening: Opening, openings: Sequence[Opening]) -> bool:
        """Whether a required call can do without this opening: content, where a call may open."""
        return self._is_content(opening.block) and any(
            not self._is_content(o.block) for o in openings
        )

    def _is_content(self, block: str) -> bool:
        pattern = self._dialect.blocks.get(block)
        return isinstance(pattern, TextBlock) and pattern.kind == "content"

    def _edges(self, block: str, calls: int) -> list[Edge]:
        edges = [e for e in self._dialect.edges_from(block) if self._may_enter(e.target, calls)]
        if self._required and calls == 0:
            direct = [e for e in edges if not self._is_content(e.target)]
            return direct or edges
        return edges

    def _rule(self, name: str) -> Node:
        if name.startswith("after:"):
            block, calls = name.removeprefix("after:").rsplit(":", 1)
            edges = self._edges(block, int(calls))
            return nodes.Choice(
                tuple(self._lead(e.literal, self._name(e.target, int(calls))) for e in edges)
            )
        block, calls = name.rsplit(":", 1)
        pattern = self._dialect.blocks[block]
        if isinstance(pattern, CallBlock):
            check_continued(pattern)
            call = nodes.Call(pattern, self._tools, find_envelope(pattern.pattern))
            after = nodes.Reference(f"after:{block}:{self._more(int(calls))}")
            return nodes.Sequence((call, after))
        if self._schema is not None and pattern.kind == "content":
            return self._answer(block)
        return self._text(pattern, block, int(calls))

    def _answer(self, block: str) -> Node:
        """Before any call: the JSON value and the end of the turn, or a call."""
        options: list[Node] = []
        if not self._required:
            ends = [e.literal for e in self._dialect.edges_from(block) if e.target == END]
            # White space beside content is soft.
            ends += [e.lstrip() for e in ends]
            value = nodes.Value(
                self._schema,
                JsonText(),
                tuple(f for f in self._forbidden_in(block) if b'"' not in f),
                ANSWER,
                self._unlike,
            )
            after = nodes.Choice(tuple(self._lead(e, "end") for e in dict.fromkeys(ends)))
            options.append(nodes.Sequence((value, after)))
        options += [
            self._lead(e.literal, self._name(e.target, 0))
            for e in self._edges(block, 0)
            if not isinstance(self._dialect.blocks[e.target], TextBlock)
        ]
        return nodes.Choice(tuple(options))

    def _text(self, pattern: TextBlock, block: str, calls: int) -> Node:
        edges = self._edges(block, calls)
        exits = tuple(nodes.Exit(e.literal.encode(), self._name(e.target, calls)) for e in edges)
        triggers = tuple(t for i, e in enumerate(edges) for t in self._triggers(e, i))
        return nodes.Text(pattern.kind, exits, triggers, self._forbidden_in(block))

    def _forbidden_in(self, block: str) -> tuple[bytes, ...]:
        """What text of a block must not hold."""
        edges = self._dialect.edges_from(block)
        return tuple(dict.fromkeys(f for e in edges for f in self._forbidden(e)))

    def _openings_of(self, edge: Edge) -> Iterator[str]:
        """The literal text through which the edge leads up to its first hole or free text."""
        target = self._dialect.blocks.get(edge.target)
        if edge.target == END:
            yield from (edge.literal + stop for stop in self._dialect.stops)
        elif isinstance(target, CallBlock):
            first = target.pattern[0]
            yield edge.literal + (first if not isinstance(first, Hole) else "")
        else:
            yield edge.literal

    def _triggers(self, edge: Edge, number: int) -> Iterator[nodes.Trigger]:
        for opening in self._openings_of(edge):
            for i, mark in enumerate(marks(opening)):
                if is_distinctive(mark) or (i == 0 and not mark.startswith(("{", '"', "["))):
                    yield nodes.Trigger(mark.encode(), number, i)

    def _forbidden(self, edge: Edge) -> Iterator[bytes]:
        for opening in self._openings_of(edge):
            found = marks(opening)
            distinctive = [m.encode() for m in found if is_distinctive(m)]
            if distinctive:
                yield from distinctive
            elif found:
                yield opening.strip().encode()

    @staticmethod
    def _lead(literal: str, rule: str) -> Node:
        reference = nodes.Reference(rule)
        return (
            nodes.Sequence((nodes.Literal(literal.encode()), reference)) if literal else reference
        )


def _references(node: Node) -> Iterator[str]:
    """Names of the rules that a node leads to."""
    match node:
        case nodes.Reference(rule):
            yield rule
        case nodes.Sequence(items) | nodes.Choice(items):
            for item in items:
                yield from _references(item)
        case nodes.Text():
            yield from (e.target for e in node.exits)
        case nodes.Repeat() | nodes.Tag():
            yield from _references(node.item)
        case _:
            return
