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
from typing import TYPE_CHECKING, Any

from untemplate.errors import LimitError, RequestError, TemplateError
from untemplate.message import JSON
from untemplate.template.meter import ITEM, Allowance, Meter

if TYPE_CHECKING:
    import jinja2

    from untemplate.template.sandbox import MeteredEnvironment

__all__ = ["CompiledTemplate", "Names"]

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
            special_tokens: More of them by name, as `unk_token` or `image_token`.
            allowance: How much work compiling and one rendering may take.
        """
        self.source = source
        self.special_tokens: Mapping[str, JSON] = MappingProxyType(
            {**(special_tokens or {}), "bos_token": bos_token, "eos_token": eos_token}
        )
        self._allowance = allowance or Allowance()
        self._compiled, self.names = _compile(source, self._allowance)

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
        names = {name: copy.of(value, name, 0) for name, value in given.items()}
        names["add_generation_prompt"] = add_generation_prompt
        if now is not None:
            names["strftime_now"] = _clock(now)
        meter = Meter(self._allowance.units(input_weight=copy.weight))
        return _run(self._compiled, names, meter)


def _compile(source: str, allowance: Allowance) -> tuple["jinja2.Template", Names]:
    import jinja2  # noqa: PLC0415 - 100 ms that only those pay who compile a template

    if len(source) > allowance.source_chars:
        raise LimitError(
            f"the template has {len(source)} characters; at most {allowance.source_chars} are read",
            place="template",
        )
    environment = _environment()
    try:
        tree = environment.parse(source)
        names = _names(tree)
        code = environment.compile(tree)
        return environment.template_class.from_code(environment, code, environment.globals), names
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
        raise TemplateError(_one_line(error), place=_line_of(compiled, error)) from error


def _names(tree: "jinja2.nodes.Template") -> Names:
    from jinja2 import meta, nodes  # noqa: PLC0415 - as above

    known = {"messages", "tools", "bos_token", "eos_token", "add_generation_prompt"}
    known |= {"strftime_now", *_environment().globals}
    return Names(
        variables=_sorted(meta.find_undeclared_variables(tree) - known),
        attributes=_sorted(node.attr for node in tree.find_all(nodes.Getattr)),
        strings=_sorted(
            node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)
        ),
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

    def of(self, value: object, place: str, depth: int) -> Any:
        if depth > MOST_DEPTH:
            raise RequestError(f"nested more than {MOST_DEPTH} deep", place=place)
        self.weight += ITEM
        if isinstance(value, str):
            self.weight += len(value)
            return str.__str__(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, Mapping):
            copied: dict[str, Any] = {}
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
                if not isinstance(key, str):
                    raise RequestError("a key that is not a string", place=place)
                self.weight += ITEM + len(key)
                copied[str.__str__(key)] = self.of(item, f"{place}.{key}", depth + 1)
            return copied
        if isinstance(value, (list, tuple)):
            return [self.of(item, f"{place}[{n}]", depth + 1) for n, item in enumerate(value)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        raise RequestError(
            f"a {type(value).__name__} is not JSON; pass strings, numbers, lists and dicts",
            place=place,
        )


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
