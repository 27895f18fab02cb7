"""What filters, tests, methods and operators cost: the price list of the sandbox.

Most operations make something no larger than a few times what they are given, so weighing what goes
in is enough. The ones listed by name here can make more; each has a function that says beforehand
how much, from its arguments alone. A method that is in no list can't be called.
"""

import re
from collections.abc import Callable, Iterator, Sized
from typing import Any

from untemplate.errors import LimitError
from untemplate.template.meter import ITEM, Meter, check_int

__all__ = [
    "EACH_FILTERS",
    "FREE_FILTERS",
    "FREE_METHODS",
    "FREE_TESTS",
    "METHODS",
    "REMOVED_FILTERS",
    "charge_filter",
    "charge_method",
    "charge_operator",
    "charge_result",
    "check_format_spec",
]

MOST_WIDTH = 4096
"""Largest width, precision or indentation."""

FREE_FILTERS = frozenset({"length", "count", "first", "last", "default", "d", "safe", "attr"})
"""Filters that look at no more than one item."""

EACH_FILTERS = frozenset({"map", "select", "reject", "selectattr", "rejectattr", "items"})
"""Filters that do one small thing for each item, which is charged where it is done."""

FREE_TESTS = frozenset(
    "boolean callable defined divisibleby escaped even false filter float integer iterable mapping "
    "none number odd sameas sequence string test true undefined".split()
)
"""Tests that look at the type of a value only."""

REMOVED_FILTERS = frozenset({"pprint", "random", "striptags", "urlize", "xmlattr"})
"""Filters whose cost has no useful bound, or whose result is not a function of the input."""

_STR = frozenset(
    "capitalize casefold center count endswith expandtabs find format format_map index isalnum "
    "isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle "
    "isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust"
    " rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill".split()
)
METHODS: dict[type, frozenset[str]] = {
    str: _STR,
    list: frozenset("append clear copy count extend index insert pop remove reverse sort".split()),
    dict: frozenset("clear copy get items keys pop popitem setdefault update values".split()),
    tuple: frozenset({"count", "index"}),
    range: frozenset({"count", "index"}),
    float: frozenset({"is_integer"}),
}
"""What may be called on a plain value, by its type."""

FREE_METHODS = frozenset(
    {"append", "endswith", "get", "items", "keys", "pop", "startswith", "values"}
)
"""Methods whose work does not grow with the value they belong to."""

_DIGITS = re.compile(r"\d+")
_PERCENT = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?")


def charge_operator(meter: Meter, operator: str, left: object, right: object) -> None:
    """Charge `left operator right` before it is done."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        _charge_arithmetic(operator, left, right)
    elif operator == "+":
        meter.spend(_shallow(left) + _shallow(right))
    elif operator == "*":
        for value, times in ((left, right), (right, left)):
            if isinstance(times, int) and isinstance(value, (str, list, tuple)):
                meter.spend(_shallow(value) * max(0, times))
    elif operator == "%" and isinstance(left, str):
        meter.spend(_printf_weight(meter, left, right))
    else:
        meter.spend(meter.weigh(left) + meter.weigh(right))


def _charge_arithmetic(operator: str, left: float, right: float) -> None:
    bits = [check_int(n).bit_length() if isinstance(n, int) else 0 for n in (left, right)]
    if operator == "**" and bits[0] and isinstance(right, int):
        # 2 ** 12 has 13 bits: the bound is never below the true number of bits.
        check_int(1 << min(bits[0] * max(0, right), 1 << 20))


def _shallow(value: object) -> int:
    """Units to copy a value once."""
    if isinstance(value, str):
        # Markup escapes what is added to it: `<` becomes `&lt;`.
        return len(value) if type(value) is str else 6 * len(value)
    if isinstance(value, (list, tuple)):
        return ITEM * (len(value) + 1)
    return ITEM


def _printf_weight(meter: Meter, template: str, arguments: object) -> int:
    places = _PERCENT.findall(template)
    width = sum(_width(part) for place in places for part in place if part and part != "*")
    if any("*" in place for place in places):
        raise LimitError("the template formats with `*` as a width; write the width out")
    return len(template) + width + len(places) * meter.weigh(arguments)


def _width(digits: str) -> int:
    if len(digits) > 6 or int(digits) > MOST_WIDTH:
        raise LimitError(
            f"the template asks for a width, precision or indentation above {MOST_WIDTH}"
        )
    return int(digits)


def check_format_spec(spec: str) -> None:
    """Refuse a width or precision that makes much out of little: `{:>2000000}`."""
    for digits in _DIGITS.findall(spec):
        _width(digits)


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], at: int, name: str) -> Any:
    return args[at] if len(args) > at else kwargs.get(name)


def _bounded(value: object) -> int:
    """A width or indentation given as a number."""
    number = _number(value, 0)
    return _width(str(number)) if number > 0 else 0


def charge_method(
    meter: Meter, owner: object, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Charge `owner.name(*args)` before it is called."""
    if name == "append":
        return
    meter.spend(sum(map(meter.weigh, args)) + sum(map(meter.weigh, kwargs.values())) + ITEM)
    if isinstance(owner, str) and name in _GROWING:
        meter.spend(_GROWING[name](meter, owner, args, kwargs))
    elif name in ("count", "index", "remove", "sort"):
        weight = meter.weigh(owner)
        meter.spend(weight * _log2(weight) if name == "sort" else weight)
    elif name not in FREE_METHODS:
        meter.spend(_shallow(owner))


def charge_filter(
    meter: Meter, name: str, value: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Charge `value | name(*args)` before it is run."""
    given = sum(map(meter.weigh, args)) + sum(map(meter.weigh, kwargs.values()))
    items = len(value) if isinstance(value, Sized) and not isinstance(value, str) else 1
    # `attribute="a.b.c"` is looked up part by part in each item.
    meter.spend(given * items)
    if name in EACH_FILTERS:
        meter.spend(2 * ITEM * items)
        return
    weight = meter.weigh(value)
    meter.spend(weight)
    if name in _GROWING:
        meter.spend(_GROWING[name](meter, value, args, kwargs))
    elif name in ("sort", "unique", "groupby", "dictsort", "min", "max"):
        meter.spend(weight * _log2(weight))


def _log2(n: int) -> int:
    return n.bit_length() + 1


_Growth = Callable[[Meter, Any, tuple[Any, ...], dict[str, Any]], int]


def _pad(_meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return len(value) + _bounded(_argument(args, kwargs, 0, "width")) if args or kwargs else 80


def _expand(_meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return len(value) + value.count("\t") * (_bounded(_argument(args, kwargs, 0, "tabsize")) or 8)


def _replace(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    old = str(_argument(args, kwargs, 0, "old"))
    new = _argument(args, kwargs, 1, "new")
    text = value if isinstance(value, str) else str(value)
    return len(text) + text.count(old) * meter.weigh(new)


def _join(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Both `", ".join(items)` and `items | join(", ")`: one of the two is the separator."""
    if isinstance(value, str) and args and not isinstance(args[0], str):
        value, separator = args[0], value
    else:
        separator = _argument(args, kwargs, 0, "d") or ""
    items = len(value) if hasattr(value, "__len__") else 0
    return meter.weigh(separator) * items


def _indent(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    width = _argument(args, kwargs, 0, "width")
    each = meter.weigh(width) if isinstance(width, str) else (_bounded(width) or 4)
    text = value if isinstance(value, str) else str(value)
    return len(text) + each * (len(text.splitlines()) + 1)


def _wrap(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return len(value) * (1 + meter.weigh(_argument(args, kwargs, 2, "wrapstring")))


def _printf(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return _printf_weight(meter, str(value), kwargs or args)


def _groups(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """`slice(n)` and `batch(n, fill)` can make n items out of none."""
    return ITEM * max(0, _number(args[0] if args else next(iter(kwargs.values()), 0), 0))


def _round(_meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return _bounded(abs(_number(_argument(args, kwargs, 0, "precision"), 0)))


def _sum(meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Sums of lists copy the list so far for each item."""
    start = _argument(args, kwargs, 1, "start")
    if start is None or isinstance(start, (int, float)):
        return 0
    return meter.weigh(value) * (len(value) if hasattr(value, "__len__") else 1)


def _parse(_meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Three characters of JSON can be a list of 64 bytes."""
    return ITEM * len(value)


def _listed(_meter: Meter, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    return ITEM * len(value) if isinstance(value, str) else 0


_GROWING: dict[str, _Growth] = {
    "batch": _groups,
    "center": _pad,
    "expandtabs": _expand,
    "format": _printf,
    "from_json": _parse,
    "indent": _indent,
    "join": _join,
    "list": _listed,
    "ljust": _pad,
    "replace": _replace,
    "rjust": _pad,
    "round": _round,
    "slice": _groups,
    "sum": _sum,
    "wordwrap": _wrap,
    "zfill": _pad,
}


def charge_result(meter: Meter, result: object) -> Any:
    """Charge what came out. Lazy results are made at once: a chain of them has no bound."""
    kind = type(result)
    if kind is str:
        meter.spend(len(result))  # type: ignore[arg-type]
    elif kind is list or kind is tuple:
        meter.spend(ITEM * len(result))  # type: ignore[arg-type]
    elif isinstance(result, Iterator):
        found: list[object] = []
        for item in result:  # pyright: ignore[reportUnknownVariableType]
            meter.spend(ITEM)
            found.append(item)
        return found
    elif isinstance(result, int):
        check_int(result)
    return result
