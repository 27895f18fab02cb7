"""Jinja as Hugging Face sets it up, with every piece of work charged to a meter.

In goes the source of a chat template, out comes a compiled one. The language is the one that
transformers gives to chat templates (trimmed blocks, `{% break %}`, `{% generation %}`, its own
`tojson`), in Jinja's sandbox. What differs from transformers, and why:

- lists may be changed (`append`), since the data is a private copy; Kimi-K2 does it;
- lazy filters give lists, and `tojson` takes whatever can be iterated;
- a handful of filters and globals without a bounded cost or a repeatable result are not there;
- nothing may take more work than the `Meter` of the rendering allows.

Most of what a template does passes through a hook of the sandbox: operators, calls, filters, tests,
output. The rest is rewritten after parsing, in `untemplate.template.instrument`.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, NoReturn, cast

from jinja2 import Template, nodes, runtime
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment, SandboxedEscapeFormatter, SandboxedFormatter
from jinja2.utils import Namespace, pass_context
from markupsafe import Markup

from untemplate.errors import LimitError
from untemplate.template import charges
from untemplate.template.instrument import instrument, str_join
from untemplate.template.meter import ITEM, Meter, check_int, is_view

__all__ = ["MeteredContext", "MeteredEnvironment", "environment"]

MOST_INDENT = 64
MOST_TOKENS = 40_000
"""Lexical tokens of a source; the most in the corpus is 4,000."""


_Function = Callable[..., Any]
_NOT_AN_INDEX = (list, tuple, dict)


class MeteredContext(runtime.Context):
    """The names that a rendering sees, and what it may still spend."""

    meter: Meter

    def derived(self, locals: dict[str, Any] | None = None) -> "MeteredContext":  # noqa: A002
        context = super().derived(locals)
        assert isinstance(context, MeteredContext)
        context.meter = self.meter
        return context


class GenerationTag(Extension):
    """`{% generation %}…{% endgeneration %}` marks the assistant's text; it renders as its body."""

    tags = {"generation"}  # noqa: RUF012 - declared so by Extension

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Jinja's hook on the way from lexer to parser: stop here what would take long to parse."""
        for count, token in enumerate(stream):
            if count > MOST_TOKENS:
                raise LimitError(
                    f"the template has more than {MOST_TOKENS} words",
                    place=f"template line {token.lineno}",
                )
            yield token

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class _Format:
    """`text.format` or `text.format_map`, looked up but not yet called."""

    __slots__ = ("is_map", "text")

    def __init__(self, text: str, *, is_map: bool) -> None:
        self.text = text
        self.is_map = is_map


class _MeteredFields:
    """Charges each field of a format string."""

    meter: Meter

    def format_field(self, value: Any, format_spec: str) -> Any:
        charges.check_format_spec(format_spec)
        self.meter.spend(self.meter.weigh(value) + len(format_spec) + ITEM)
        return super().format_field(value, format_spec)  # type: ignore[misc]

    def convert_field(self, value: Any, conversion: Any) -> Any:
        self.meter.spend(self.meter.weigh(value))
        return super().convert_field(value, conversion)  # type: ignore[misc]


class _Formatter(_MeteredFields, SandboxedFormatter):
    pass


class _EscapeFormatter(_MeteredFields, SandboxedEscapeFormatter):
    pass


class _Dict:
    """The global `dict`: an object that can be called, so that there is no type to climb from."""

    __name__ = "dict"

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)


class _Namespace(Namespace):
    """A namespace that refuses names with an underscore and prints without its content."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        # No name for self: `namespace(self=1)` is allowed.
        names = dict(*args[1:], **kwargs)
        for name in names:
            _Namespace._check(name)
        Namespace.__init__(args[0], names)

    def __setitem__(self, name: str, value: Any) -> None:
        _Namespace._check(name)
        super().__setitem__(name, value)

    def __repr__(self) -> str:
        return "<Namespace>"

    @staticmethod
    def _check(name: object) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise SecurityError(f"a namespace takes no name with an underscore: {name!r}")


class MeteredEnvironment(SandboxedEnvironment):
    """The sandbox. It holds no state of a rendering, so one serves all templates and threads."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})
    context_class = MeteredContext

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationTag, "jinja2.ext.loopcontrols"],
            finalize=_output,
            optimized=False,
        )
        names: dict[str, Any] = dict(self.globals)
        names.update(dict=_Dict(), namespace=_Namespace, raise_exception=_refuse)
        del names["lipsum"]
        self.globals = self._names = names
        charged = {
            name: _charged_filter(name, function)
            for name, function in {**self.filters, "from_json": _from_json}.items()
            if name not in charges.REMOVED_FILTERS
        }
        self.filters = {
            **charged,
            "tojson": _tojson,
            " step": _step,
            " concat": _concat,
            " slice": _slice,
            " in": _is_in,
            " weighed": _weighed,
            " key": _key,
        }
        self.tests = {
            name: _charged_test(name, cast("_Function", test))
            if name not in charges.FREE_TESTS
            else test
            for name, test in self.tests.items()
        }

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        return instrument(super()._parse(source, name, filename), self)

    @property
    def global_names(self) -> frozenset[str]:
        """Names that every template finds defined."""
        return frozenset(self._names)

    def load(self, code: CodeType) -> Template:
        """A template out of what `compile` made."""
        return self.template_class.from_code(self, code, self._names)

    def call_binop(self, context: runtime.Context, operator: str, left: Any, right: Any) -> Any:
        meter = _meter(context)
        charges.charge_operator(meter, operator, left, right)
        result = self.binop_table[operator](left, right)
        return meter.made(result) if isinstance(result, str) else result

    def getattr(self, obj: object, attribute: str) -> Any:
        # Nearly every lookup of a template is one of these two.
        kind: type[object] = obj.__class__
        if kind is dict and attribute not in charges.METHODS[dict]:
            fields = cast("dict[str, Any]", obj)
            if attribute in fields:
                return fields[attribute]
        elif kind is _Namespace and not attribute.startswith("_"):
            return getattr(obj, attribute, None) or super().getattr(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, _NOT_AN_INDEX):
            raise TemplateRuntimeError("a list, tuple or object can't be an index")
        return super().getitem(obj, argument)

    def is_safe_attribute(self, obj: object, attr: str, value: Any) -> bool:
        methods = charges.METHODS.get(str if isinstance(obj, str) else type(obj))
        if methods is not None:
            return attr in methods
        if isinstance(obj, (int, bytes)) or is_view(obj):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Any:
        owner = getattr(value, "__self__", None)
        if not isinstance(owner, str) or value.__name__ not in ("format", "format_map"):
            return None
        return _Format(owner, is_map=value.__name__ == "format_map")

    def call(self, context: runtime.Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(obj, (runtime.Macro, runtime.LoopContext, runtime.BlockReference)):
            return super().call(context, obj, *args, **kwargs)
        meter = _meter(context)
        # The compiler adds these two for functions that want the context; none of ours does.
        kwargs.pop("_loop_vars", None)
        kwargs.pop("_block_vars", None)
        if isinstance(obj, _Format):
            return self._format(meter, obj, args, kwargs)
        owner = getattr(obj, "__self__", None)
        name = "namespace" if obj is _Namespace else getattr(obj, "__name__", "")
        charges.charge_method(meter, owner, name, args, kwargs)
        return charges.charge_result(meter, super().call(context, obj, *args, **kwargs))

    def _format(
        self, meter: Meter, wanted: _Format, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> str:
        if wanted.is_map:
            (kwargs,), args = args, ()
        meter.spend(len(wanted.text))
        formatter = (
            _EscapeFormatter(self, escape=wanted.text.escape)
            if isinstance(wanted.text, Markup)
            else _Formatter(self)
        )
        formatter.meter = meter
        text = type(wanted.text)(formatter.vformat(wanted.text, args, kwargs))
        meter.spend(len(text))
        return text


@functools.cache
def environment() -> MeteredEnvironment:
    """The one that all templates share."""
    return MeteredEnvironment()


def _meter(context: runtime.Context) -> Meter:
    assert isinstance(context, MeteredContext)
    return context.meter


def _refuse(message: object = "") -> NoReturn:
    raise JinjaError(str(message))


@pass_context
def _output(context: MeteredContext, value: Any) -> Any:
    """What `{{ value }}` passes through."""
    context.meter.spend(len(value) + ITEM if type(value) is str else context.meter.weigh(value))
    return value


@pass_context
def _step(context: MeteredContext, units: int) -> bool:
    """Stands at the head of each loop and macro."""
    context.meter.spend(units)
    return True


@pass_context
def _concat(context: MeteredContext, first: Any, *rest: Any) -> str:
    """`first ~ rest`."""
    meter = context.meter
    values = (first, *rest)
    for value in values:
        if type(value) is not str:
            meter.spend(meter.weigh(value))
    # Copies of what is text already are cheap.
    meter.spend_copy(sum(len(value) for value in values if type(value) is str))
    return meter.made(str_join(values, escaped=context.eval_ctx.autoescape))


@pass_context
def _slice(context: MeteredContext, value: Any, start: Any, stop: Any, step: Any) -> Any:
    """`value[start:stop:step]`."""
    return charges.charge_result(context.meter, value[start:stop:step])


@pass_context
def _is_in(context: MeteredContext, value: Any, container: Any) -> bool:
    """`value in container`; finding a key costs no more than the key."""
    meter = context.meter
    meter.spend(meter.weigh(value))
    if not isinstance(container, dict):
        meter.spend(meter.weigh(container))
    return value in container


@pass_context
def _weighed(context: MeteredContext, value: Any) -> Any:
    """The left side of a comparison, which takes no longer than reading it."""
    context.meter.spend(context.meter.weigh(value))
    return value


@pass_context
def _key(context: MeteredContext, value: Any) -> Any:
    """A key of `{key: value}`, which is hashed."""
    context.meter.spend(context.meter.weigh(value))
    return value


@pass_context
def _tojson(  # noqa: PLR0917 - templates pass them by position
    context: MeteredContext,
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    """JSON as transformers writes it: not escaped for HTML, characters as they are."""
    meter = context.meter
    meter.spend(meter.weigh(value) * (1 + len("".join(separators or ())) // 8))
    if isinstance(indent, (int, str)) and (
        (indent if isinstance(indent, int) else len(indent)) > MOST_INDENT
    ):
        raise TemplateRuntimeError(f"tojson with an indent above {MOST_INDENT}")
    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_as_list,
    )
    if indent is None:
        text = encoder.encode(value)
        meter.spend(len(text))
        return text
    pieces: list[str] = []
    for piece in encoder.iterencode(value):
        meter.spend(len(piece) + ITEM)
        pieces.append(piece)
    return "".join(pieces)


def _from_json(text: str) -> Any:
    return json.loads(text)


def _as_list(value: object) -> list[Any]:
    if isinstance(value, Iterator) or is_view(value):
        return list(value)  # type: ignore[call-overload, no-any-return]
    raise TypeError(f"{type(value).__name__} can't be written as JSON")


def _given(function: _Function, context: MeteredContext) -> tuple[Any, ...]:
    """What Jinja passes to this function before its arguments."""
    wanted = getattr(function, "jinja_pass_arg", None)
    match getattr(wanted, "name", None):
        case "context":
            return (context,)
        case "eval_context":
            return (context.eval_ctx,)
        case "environment":
            return (context.environment,)
        case _:
            return ()


def _charged_filter(name: str, function: _Function) -> _Function:
    is_free = name in charges.FREE_FILTERS

    @pass_context
    def run(context: MeteredContext, value: Any = None, *args: Any, **kwargs: Any) -> Any:
        if is_free:
            return function(*_given(function, context), value, *args, **kwargs)
        charges.charge_filter(context.meter, name, value, args, kwargs)
        result = function(*_given(function, context), value, *args, **kwargs)
        if name in charges.COMPUTING_FILTERS and isinstance(result, int):
            return check_int(result)
        return charges.charge_result(context.meter, result)

    return run


def _charged_test(name: str, function: _Function) -> _Function:
    @pass_context
    def run(context: MeteredContext, value: Any = None, *args: Any) -> Any:
        meter = context.meter
        meter.spend(meter.weigh(value) + sum(map(meter.weigh, args)))
        if name in charges.MODULO_TESTS:
            charges.charge_operator(meter, "%", value, args[0] if args else 2)
        return function(*_given(function, context), value, *args)

    return run
