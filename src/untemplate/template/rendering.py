"""A chat template, ready to turn conversations into prompts.

In goes Jinja source with the special tokens of its model, out comes text, the same that Hugging
Face's `apply_chat_template` gives:

    template = CompiledTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    template.render([{"role": "user", "content": "Hi"}], add_generation_prompt=False)   # "<user>Hi"

Whatever goes wrong in a template, however it was meant, is one line with the template's line in it:
a `TemplateError` when it is broken or refuses the conversation, a `LimitError` when it would take
too much time or memory. A rendering is bounded by what it does, never by a clock, so it succeeds or
fails alike everywhere.

The clock is passed in: without `now` a template finds no `strftime_now`, and most have a fixed date
to fall back to.

It does not know what a message is: messages and tools are JSON in whatever form the template wants,
and finding that form is the work of `untemplate.inference`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, cast

from untemplate.errors import LimitError, RequestError, TemplateError
from untemplate.message import JSON
from untemplate.template.meter import ITEM, Allowance, Meter

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes

    from untemplate.template.sandbox import MeteredEnvironment

__all__ = ["CompiledTemplate", "Names"]

MOST_SOURCE_CHARS = 400_000
"""The longest template in the corpus has 17,000."""
MOST_DEPTH = 200
"""Deepest nesting of messages, tools and variables."""
MOST_MESSAGE_CHARS = 400


@dataclass(frozen=True, slots=True)
class Names:
    """The names that a template's source contains: what it may read and compare with."""

    variables: tuple[str, ...]
    """Names read but not certainly set by the template, without those that every template has."""
    attributes: tuple[str, ...]
    """What follows a dot: `m.role`."""
    strings: tuple[str, ...]
    """String constants: `m["role"]`, `"user"`."""


class CompiledTemplate:
    """A template and its special tokens. Holds no state of a rendering; threads may share it."""

    __slots__ = ("_allowance", "_compiled", "names", "source", "special_tokens")

    def __init__(
        self,
        source: str,
        *,
        bos_token: str = "",
        eos_token: str = "",
        special_tokens: Mapping[str, JSON] | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        """Compile a template.

        Args:
            source: Jinja source.
            bos_token: What the template sees under this name.
            eos_token: Likewise.
            special_tokens: All of them by name, as `unk_token` or `image_token`, these two too.
            allowance: How much work one rendering may take.
        """
        self.source = source
        self.special_tokens: Mapping[str, JSON] = MappingProxyType(
            {"bos_token": bos_token, "eos_token": eos_token, **(special_tokens or {})}
        )
        self._allowance = allowance or Allowance()
        self._compiled, self.names = _compile(source)

    def render(
        self,
        messages: Sequence[Mapping[str, JSON]],
        tools: Sequence[Mapping[str, JSON]] | None = None,
        *,
        add_generation_prompt: bool,
        now: datetime | None = None,
        **variables: Any,
    ) -> str:
        """The prompt for this conversation.

        Args:
            messages: As the template wants them; they are copied, a template can't change them.
            tools: The same. The template finds the name `tools` undefined when there are none.
            add_generation_prompt: Whether to open the assistant's turn at the end.
            now: What `strftime_now` tells.
            **variables: Whatever else the template reads, such as `enable_thinking`.
        """
        given: dict[str, Any] = {**self.special_tokens, **variables, "messages": messages}
        if tools:
            given["tools"] = tools
        copy = _Copy()
        try:
            names: dict[str, Any] = copy.of(given)
        except _NotJson as error:
            place = "".join(reversed(error.path)).removeprefix(".")
            raise RequestError(str(error), place=place) from error
        names["add_generation_prompt"] = add_generation_prompt
        if now is not None:
            names["strftime_now"] = _clock(now)
        meter = Meter(self._allowance, input_weight=copy.weight)
        return _run(self._compiled, names, meter)


def _compile(source: str) -> tuple["jinja2.Template", Names]:
    import jinja2  # noqa: PLC0415 - 100 ms that only those pay who compile a template

    if len(source) > MOST_SOURCE_CHARS:
        raise LimitError(
            f"the template has {len(source)} characters; at most {MOST_SOURCE_CHARS} are read",
            place="template",
        )
    environment = _environment()
    try:
        tree = environment.parse(source)
        names = _names(tree)
        code = environment.compile(tree)
        return environment.load(code), names
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(_one_line(error.message), place=_place(error.lineno)) from error
    except RecursionError as error:
        raise LimitError("the template is nested too deeply", place="template") from error
    except (SyntaxError, ValueError, MemoryError, OverflowError) as error:
        # Python compiles what Jinja made of the source: "too many statically nested blocks".
        raise TemplateError(_one_line(error), place="template") from error


def _run(compiled: "jinja2.Template", names: dict[str, Any], meter: Meter) -> str:
    from untemplate.template.sandbox import MeteredContext  # noqa: PLC0415 - as above

    context = compiled.new_context(names)
    assert isinstance(context, MeteredContext)
    context.meter = meter
    try:
        return "".join(compiled.root_render_func(context))
    except LimitError as error:
        raise LimitError(error.message, place=_line_of(compiled, error)) from error
    except RecursionError as error:
        raise LimitError(
            "the template calls itself too deeply", place=_line_of(compiled, error)
        ) from error
    except Exception as error:
        # A template is a foreign program: what it may raise is not ours to list.
        text = _one_line(error)
        if "strftime_now" in text and "strftime_now" not in names:
            text += "; the template writes the date: pass `now`"
        raise TemplateError(text, place=_line_of(compiled, error)) from error


def _names(tree: "nodes.Template") -> Names:
    from jinja2 import meta, nodes  # noqa: PLC0415 - as above

    known = {"messages", "tools", "bos_token", "eos_token", "add_generation_prompt"}
    known |= {"strftime_now", *_environment().global_names}
    constants = [node.value for node in tree.find_all(nodes.Const)]
    return Names(
        variables=_sorted(meta.find_undeclared_variables(tree) - known),
        attributes=_sorted(node.attr for node in tree.find_all(nodes.Getattr)),
        strings=_sorted(value for value in constants if isinstance(value, str)),
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _environment() -> "MeteredEnvironment":
    """The one environment, made when the first template is compiled."""
    from untemplate.template.sandbox import environment  # noqa: PLC0415 - as above

    return environment()


class _Copy:
    """Copies JSON for one rendering, and weighs it on the way."""

    __slots__ = ("weight",)

    def __init__(self) -> None:
        self.weight = 0

    def of(self, value: object, depth: int = 0) -> Any:
        """The copy, or a `_NotJson` for the way back to tell where."""
        self.weight += ITEM
        kind = type(value)
        if kind is str:
            self.weight += len(cast("str", value))
            return value
        if value is None or kind in (bool, int, float):
            return value
        if depth > MOST_DEPTH:
            raise _NotJson(f"nested more than {MOST_DEPTH} deep")
        if isinstance(value, Mapping):
            return self._of_mapping(cast("Mapping[object, object]", value), depth)
        if isinstance(value, (list, tuple)):
            return self._of_items(cast("Sequence[object]", value), depth)
        # Subclasses carry methods that a template might call.
        if isinstance(value, str):
            self.weight += len(value)
            return str.__str__(value)
        if isinstance(value, int):
            return int.__int__(value)
        if isinstance(value, float):
            return float.__float__(value)
        raise _NotJson(f"{kind.__name__} is not JSON; pass strings, numbers, lists and dicts")

    def _of_mapping(self, mapping: Mapping[object, object], depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for key, item in mapping.items():
            if not isinstance(key, str):
                raise _NotJson(f"a key is {type(key).__name__}, not a string")
            self.weight += ITEM + len(key)
            try:
                copied[str.__str__(key)] = self.of(item, depth + 1)
            except _NotJson as error:
                error.path.append(f".{key}")
                raise
        return copied

    def _of_items(self, items: Sequence[object], depth: int) -> list[Any]:
        copied: list[Any] = []
        for item in items:
            try:
                copied.append(self.of(item, depth + 1))
            except _NotJson as error:
                error.path.append(f"[{len(copied)}]")
                raise
        return copied


class _NotJson(Exception):  # noqa: N818 - never leaves this module
    """What is wrong, and the way to it, innermost first."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.path: list[str] = []


class _clock:  # noqa: N801 - a function that a template calls by its own name
    """`strftime_now(format)`."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def __call__(self, form: str) -> str:
        if len(form) > 200:
            raise LimitError("a date format of more than 200 characters")
        return self._now.strftime(form)


def _line_of(compiled: "jinja2.Template", error: BaseException) -> str:
    """The innermost template line on the way to the error."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if _is_template(trace):
            line = compiled.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return _place(line)


def _is_template(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename == "<template>"


def _place(line: int) -> str:
    return f"template line {line}" if line else "template"


def _one_line(error: object) -> str:
    text = " ".join(str(error or "").split()) or type(error).__name__
    if isinstance(error, (KeyError, ZeroDivisionError, MemoryError)):
        text = f"{type(error).__name__}: {text}"
    return text if len(text) <= MOST_MESSAGE_CHARS else text[: MOST_MESSAGE_CHARS - 1] + "…"
