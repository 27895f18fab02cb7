"""A chat template, and what was found out about it.

    template = ChatTemplate.open("model.gguf")     # or a .jinja file, or a Hugging Face folder
    template.dialect                               # inferred and proved, or given
    turn = template.turn(messages, tools=tools, tool_choice=ToolChoice("required"))

The dialect is inferred once, on construction; many threads may share a template. A conversation
goes through three steps before it is rendered: tools are described in words where the template
knows none (`polyfill`), the messages are brought into the form that the template takes
(`template.history`), and special tokens inside untrusted text are marked as plain text.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from untemplate.budget.plan import Plan, fit
from untemplate.budget.ranking import Rank, rank
from untemplate.dialect import Dialect, Prompt, generic, loads
from untemplate.errors import DialectError, RequestError, TemplateError
from untemplate.grammar import GrammarOptions, build_grammar
from untemplate.grammar.report import in_pairs, refuse_inexact, report_on
from untemplate.inference import Analysis, Cache, analyse, prove
from untemplate.inference.text import common_suffix
from untemplate.message import JSON, Continue, Tool, ToolChoice
from untemplate.reader import OnArgument
from untemplate.template.history import Change, Prepared, prepare
from untemplate.template.marking import (
    MarkedPrompt,
    control_tokens,
    needs_marks,
    render_marked,
)
from untemplate.template.rendering import CompiledTemplate
from untemplate.template.source import TemplateSource, read_source
from untemplate.template.tools import plain_tools, prepare_tools
from untemplate.turn.continuation import written_so_far
from untemplate.turn.notes import is_pinned, without_notes
from untemplate.turn.polyfill import describe_tools, polyfill, spell_calls
from untemplate.turn.turn import Turn
from untemplate.vocabulary import Vocabulary

__all__ = ["ChatTemplate"]

Messages = Sequence[Mapping[str, JSON]]

_Shown = Sequence[Mapping[str, JSON]] | None
_Rendered = TypeVar("_Rendered")

_TEXT_TOKENS = 256
"""Kept for a reply without a call."""


class ChatTemplate:
    """A chat template with its dialect. May be shared by threads."""

    def __init__(
        self,
        source: str | TemplateSource,
        *,
        bos_token: str = "",
        eos_token: str = "",
        dialect: Dialect | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Compile a template and find out how its model writes.

        Args:
            source: Jinja source, or what was read from a file with its special tokens.
            bos_token: the text of this special token; only with a source that is a string.
            eos_token: likewise.
            dialect: instead of the inferred one; it is proved against the template before use.
            cache: where analyses are kept from one process to the next.

        Raises:
            TemplateError: the template is broken or renders no conversation.
            LimitError: the template is too large or takes too much work.
            DialectError: the given dialect does not fit the template.
        """
        if isinstance(source, str):
            tokens: dict[str, JSON] = {"bos_token": bos_token, "eos_token": eos_token}
            source = TemplateSource({"default": source}, tokens)
        self._with_tools = source.compile(with_tools=True)
        self._without_tools = (
            self._with_tools
            if source.text() == source.text(with_tools=True)
            else source.compile(with_tools=False)
        )
        self.source = source
        said = source.response_template
        self.analysis = analyse(self._with_tools, cache=cache, response_template=said)
        """What was found out: dialect, capabilities, proof."""
        if dialect is not None:
            self.analysis = self._proved(dialect)

    @property
    def dialect(self) -> Dialect:
        return self.analysis.dialect

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        dialect: str | Path | None = None,
        cache: Cache | None = None,
    ) -> "ChatTemplate":
        """Read a template from a GGUF file, a Hugging Face folder, or a file of Jinja source.

        `dialect` is a file that `untemplate.dialect.dumps` wrote, perhaps edited since.
        """
        given = None
        if dialect is not None:
            try:
                given = loads(Path(dialect).read_text(encoding="utf-8"))
            except OSError as error:
                raise DialectError(error.strerror or "can't be read", place=str(dialect)) from None
        return cls(read_source(Path(path)), dialect=given, cache=cache)

    def _proved(self, dialect: Dialect) -> Analysis:
        proof = prove(self._with_tools, dialect, self.analysis.capabilities)
        if not proof.proved:
            raise DialectError(
                f"the given dialect does not fit the template: {proof.first_difference}",
                place="dialect",
            )
        return replace(self.analysis, dialect=dialect, proof=proof, source="given")

    def turn(
        self,
        messages: Messages,
        *,
        tools: Sequence[Tool] = (),
        shown: Sequence[Tool] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: JSON = None,
        response_strict: bool = False,
        add_generation_prompt: bool = True,
        continue_final_message: Continue = False,
        options: GrammarOptions | None = None,
        nonce: str = "",
        now: datetime | None = None,
        variables: Mapping[str, JSON] | None = None,
        on_argument: OnArgument | None = None,
    ) -> Turn:
        """The next turn of a conversation.

        Args:
            messages: in the shape of OpenAI's API; keys that are not known there reach the
                template, but for `untemplate`, which is ours.
            tools: what the model may call.
            shown: the same tools as the prompt describes them; `Plan.shown`. Default as they are.
            tool_choice: which of them it may or must call. The default is any; without tools it
                is none, and what looks like a call is content.
            response_schema: JSON Schema of the content, where the turn is no call. An object that
                says nothing of other keys takes them. The default is free text.
            response_strict: whether to refuse a schema that can't be enforced exactly.
            add_generation_prompt: whether to open the model's turn at the end.
            continue_final_message: whether the last message is an assistant's that is to go on,
                behind the last that it holds or behind the field that is named.
            options: how wide the grammar is where JSON leaves a choice.
            nonce: makes the ids of calls unique; without one they follow from the prompt.
            now: for templates that write the date.
            variables: what else the template reads, as `enable_thinking`.
            on_argument: called with the call's index, the argument's name and its value as soon as
                an argument is complete.

        Raises:
            RequestError: messages, tools or the choice are wrong, or an answer by a schema can't
                be told from a call.
            TemplateError: the template refuses the conversation.
            SchemaError: the response's schema, or the parameters of a tool, are not valid, or what
                is strict of them has a keyword that can't be enforced exactly.
        """
        messages = _checked(messages)
        tool_choice = tool_choice or ToolChoice("auto" if tools else "none")
        options = options or GrammarOptions()
        # Before templates, which read schemas in ways of their own, have a look at them.
        report = report_on(
            tuple(tools),
            response_schema,
            open_objects=options.open_objects,
            in_pairs=in_pairs(self.dialect),
        )
        refuse_inexact(report, tuple(tools), is_answer_strict=response_strict)
        last = messages[-1] if continue_final_message else None
        if last is not None:
            if last.get("role") != "assistant":
                raise RequestError(
                    "only an assistant's message can be continued",
                    place=f"messages[{len(messages) - 1}].role",
                )
            messages = messages[:-1]
            add_generation_prompt = True
        described = () if tool_choice.mode == "none" else tuple(tools if shown is None else shown)
        compiled, prepared = self._prepared(messages, described)
        variables = variables or {}

        def render(control: Collection[str], tools: _Shown) -> MarkedPrompt:
            return render_marked(
                compiled,
                prepared.messages,
                tools,
                control,
                add_generation_prompt=add_generation_prompt,
                now=now,
                **self._variables(variables, tools),
            )

        marked, taken, changes = self._taken(lambda tools: render((), tools), described)

        def render_for(vocabulary: Vocabulary) -> MarkedPrompt:
            control = control_tokens(vocabulary, compiled)
            is_plain = not needs_marks(prepared.messages, taken, control)
            return marked if is_plain else render(control, taken)

        text = marked.text
        prompt = self._prompt_of(text, messages, variables)
        grammar = build_grammar(
            self.dialect,
            tuple(tools),
            tool_choice,
            prompt=prompt,
            options=options,
            response_schema=response_schema,
        )
        return Turn(
            text,
            grammar,
            render=render_for,
            written=(
                written_so_far(self.dialect, prompt, last, continue_final_message)
                if last is not None
                else ""
            ),
            nonce=nonce or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            changes=tuple(f"{c.place}: {c.what}" for c in (*prepared.changes, *changes)),
            on_argument=on_argument,
        )

    def plan(
        self,
        messages: Messages,
        tools: Sequence[Tool],
        vocabulary: Vocabulary,
        *,
        context: int,
        output: int | None = None,
        results: int = 0,
        tool_choice: ToolChoice | None = None,
        now: datetime | None = None,
        variables: Mapping[str, JSON] | None = None,
        order: Rank = rank,
    ) -> Plan:
        """The conversation as it fits into a context; `turn` takes what the plan says.

        Messages with `{"untemplate": {"pinned": true}}` stay, with all of their exchange.

        Args:
            messages: in the shape of OpenAI's API.
            tools: what the model may call.
            vocabulary: the model's, with an encoder.
            context: tokens of prompt and reply together.
            output: tokens to keep for the reply; the default is the largest typical call.
            results: tokens to keep for results of its calls.
            tool_choice: a tool that it names stays.
            now: as for `turn`.
            variables: as for `turn`.
            order: puts the tools in the order of their use.

        Raises:
            FitError: it does not fit, whatever is dropped; holds the table.
            TemplateError: the template refuses the conversation.
        """
        choice = tool_choice or ToolChoice("auto" if tools else "none")

        def made(messages: Messages, tools: Sequence[Tool]) -> Turn:
            # A choice that needs tools can't be made where none are left to count.
            asked = choice if tools else ToolChoice("none")
            return self.turn(messages, tools=tools, tool_choice=asked, now=now, variables=variables)

        if output is None:
            from untemplate.budget.window import windows  # noqa: PLC0415  numpy is heavy

            found = windows(made(messages, tools).grammar, vocabulary, messages)
            output = max([_TEXT_TOKENS, *(w.typical for w in found)])
        return fit(
            _checked(messages),
            () if choice.mode == "none" else tools,
            context=context,
            count=lambda messages, tools: len(made(messages, tools).prompt_tokens(vocabulary)),
            output=output,
            results=results,
            pinned=[n for n, m in enumerate(messages) if is_pinned(m)],
            required=() if choice.name is None else (choice.name,),
            order=order,
        )

    def render(
        self,
        messages: Messages,
        tools: Sequence[Tool] = (),
        *,
        add_generation_prompt: bool = False,
        now: datetime | None = None,
        variables: Mapping[str, JSON] | None = None,
    ) -> str:
        """The text of a whole conversation, as the template writes it."""
        compiled, prepared = self._prepared(_checked(messages), tools)

        def render(tools: _Shown) -> str:
            return compiled.render(
                prepared.messages,
                tools,
                add_generation_prompt=add_generation_prompt,
                now=now,
                **self._variables(variables or {}, tools),
            )

        return self._taken(render, tools)[0]

    def _variables(self, given: Mapping[str, JSON], tools: _Shown) -> dict[str, Any]:
        """All that the template reads besides messages and tools."""
        known = self.analysis.capabilities
        text = {known.tools_text: json.dumps(tools or [])} if known.tools_text else {}
        return {**known.variables, **text, **given}

    def _prepared(
        self, messages: Messages, tools: Sequence[Tool]
    ) -> tuple[CompiledTemplate, Prepared]:
        """The template for this conversation, and the conversation as it takes it."""
        if self.dialect.polyfill is not None:
            messages = polyfill(messages, tools, self.dialect)
        else:
            messages = spell_calls(messages, self.dialect)
        hidden = tools and self.dialect.polyfill is None and not self.analysis.capabilities.tools
        words = generic().polyfill
        if hidden and words is not None:
            messages = describe_tools(messages, tools, self.dialect, words)
        prepared = prepare([without_notes(m) for m in messages], self.analysis.capabilities)
        if hidden:
            change = Change("tools", "they are described in words: the template shows none")
            prepared = replace(prepared, changes=(*prepared.changes, change))
        return self._with_tools if tools else self._without_tools, prepared

    def _taken(
        self, render: Callable[[_Shown], _Rendered], tools: Sequence[Tool]
    ) -> tuple[_Rendered, _Shown, Sequence[Change]]:
        """A rendering with the tools as the template takes them; none where words describe them.

        What templates know of JSON Schema differs: one that refuses the tools gets plainer ones.
        """
        if self.dialect.polyfill is not None:
            return render(None), None, ()
        shown = prepare_tools([_as_openai(t) for t in tools], self.analysis.capabilities)
        try:
            return render(shown), shown, ()
        except TemplateError as error:
            plain = plain_tools(shown)
            if plain == shown:
                raise
            change = Change("tools", f"the template gets plainer schemas, for it refuses: {error}")
        return render(plain), plain, (change,)

    def _prompt_of(self, text: str, messages: Messages, variables: Mapping[str, JSON]) -> Prompt:
        """Which of the dialect's prompts a rendered conversation ends with."""
        fitting = [p for p in self.dialect.prompts if text.endswith(p.text)]
        users = sum(m["role"] == "user" for m in messages)
        place = "tool" if messages[-1]["role"] == "tool" else "user" if users < 2 else "later user"

        def likeness(prompt: Prompt) -> tuple[int, bool, int]:
            switches = sum(
                1 if variables.get(name) == value else -1 for name, value in prompt.switches.items()
            )
            return len(prompt.text), prompt.before == place, switches

        if fitting:
            return max(fitting, key=likeness)
        # Switches that were not tried together: the prompt that ends most like it.
        return max(
            self.dialect.prompts,
            key=lambda p: (len(common_suffix(text[-len(p.text) :], p.text)), *likeness(p)[1:]),
        )


def _checked(messages: Messages) -> Messages:
    if not messages:
        raise RequestError("at least one message is needed", place="messages")
    for number, message in enumerate(messages):
        if not isinstance(message.get("role"), str):
            raise RequestError("a message needs a role", place=f"messages[{number}].role")
    return messages


def _as_openai(tool: Tool) -> dict[str, JSON]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }
