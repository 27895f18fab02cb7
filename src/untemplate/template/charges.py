"""What filters, tests, methods and operators cost: the price list of the sandbox.

Most operations make something no larger than a few times what they are given, so weighing what goes
in is enough. The ones listed by name here can make more; each has a function that says beforehand
how much, from its arguments alone. A method that is in no list can't be called.
"""

import re
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass
from typing import Any, cast

from untemplate.errors import LimitError
from untemplate.template.meter import ITEM, MOST_BITS, STEP, Meter, check_int

__all__ = [
    "COMPUTING_FILTERS",
    "EACH_FILTERS",
    "FREE_FILTERS",
    "FREE_METHODS",
    "FREE_TESTS",
    "HASHING_CALLS",
    "METHODS",
    "MODULO_TESTS",
    "ORDERING_FILTERS",
    "REMOVED_FILTERS",
    "SLOW_FILTERS",
    "charge_filter",
    "charge_method",
    "charge_operator",
    "charge_result",
    "check_format_spec",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FREE_FILTERS = frozenset({"length", "count", "first", "last", "default", "d"})
"""Filters that look at no more than one item."""

EACH_FILTERS = frozenset({"map", "select", "reject", "selectattr", "rejectattr", "items"})
"""Filters that do one small thing for each item, which is charged where it is done."""

ORDERING_FILTERS = frozenset({"sort", "unique", "groupby", "dictsort", "min", "max"})
"""Filters that compare items with each other."""

SLOW_FILTERS = {"title": 16, "urlencode": 16, "wordcount": 4, "wordwrap": 128}
"""Filters that take more than a unit for a character, and how many."""

REMOVED_FILTERS = frozenset({"pprint", "random", "striptags", "urlize", "xmlattr"})
"""Filters whose cost has no useful bound, or whose result is not a function of the input."""

COMPUTING_FILTERS = frozenset({"int", "round", "sum"})
"""Filters that make integers."""

FREE_TESTS = _words("""
    boolean callable defined escaped false filter float integer iterable mapping none number sameas
    sequence string test true undefined
""")
"""Tests that look at the type of a value only."""

MODULO_TESTS = frozenset({"divisibleby", "even", "odd"})
"""Tests that use `%`, which formats when the value is text."""

METHODS: dict[type, frozenset[str]] = {
    str: _words("""
        capitalize casefold center count endswith expandtabs find format format_map index isalnum
        isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle
        isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex
        rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill
    """),
    list: _words("append clear copy count extend index insert pop remove reverse sort"),
    dict: _words("clear copy get items keys pop popitem setdefault update values"),
    tuple: _words("count index"),
    range: _words("count index"),
    float: _words("is_integer"),
}
"""What may be called on a plain value, by its type."""

FREE_METHODS = frozenset(
    {"append", "endswith", "get", "items", "keys", "pop", "startswith", "values"}
)
"""Methods whose work does not grow with the value they belong to."""

HASHING_CALLS = frozenset({"dict", "namespace", "setdefault", "update"})
"""Each key that is added may be compared with all that are there, if their hashes are alike."""

MOST_WIDTH = 4096
"""Largest width, precision or indentation."""

_DIGITS = re.compile(r"\d+")
_PERCENT = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?")


def charge_operator(meter: Meter, operator: str, left: object, right: object) -> None:
    """Charge `left operator right` before it is done."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        _check_arithmetic(operator, left, right)
    elif operator == "+" and isinstance(left, str):
        meter.spend_copy(_copied(left) + _copied(right))
    elif operator == "+":
        meter.spend(_copied(left) + _copied(right))
    elif operator == "*":
        for value, times in ((left, right), (right, left)):
            if isinstance(times, int):
                meter.spend(_copied(value) * max(0, times))
    elif operator == "%" and isinstance(left, str):
        meter.spend(_printf_weight(meter, left, right))
    else:
        meter.spend(meter.weigh(left) + meter.weigh(right))


def _check_arithmetic(operator: str, left: float, right: float) -> None:
    for number in (left, right):
        if isinstance(number, int):
            check_int(number)
    if operator == "**" and isinstance(left, int) and isinstance(right, int):
        # x ** n has at most n times the bits of x.
        check_int(1 << min(max(0, left.bit_length() * right - 1), MOST_BITS))
    elif operator in ("+", "-", "*") and isinstance(left, int) and isinstance(right, int):
        check_int(left * right if operator == "*" else abs(left) + abs(right))


def charge_method(
    meter: Meter, owner: object, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Charge `owner.name(*args)` before it is called."""
    if name == "append":
        return
    meter.spend(_weigh_all(meter, args, kwargs) + ITEM)
    if isinstance(owner, str) and name in _METHOD_GROWTH:
        meter.spend(_METHOD_GROWTH[name](_Use(meter, owner, args, kwargs)))
    elif name in HASHING_CALLS:
        added = len(args[0]) if args and isinstance(args[0], Sized) and name != "setdefault" else 1
        present = len(owner) if isinstance(owner, dict) else 0  # pyright: ignore[reportUnknownArgumentType]
        meter.spend((present + added) * added)
    elif name in ("count", "index", "remove", "sort"):
        weight = meter.weigh(owner)
        meter.spend(weight * _rounds(weight) if name == "sort" else weight)
    elif name not in FREE_METHODS:
        meter.spend(_copied(owner))


def charge_filter(
    meter: Meter, name: str, value: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Charge `value | name(*args)` before it is run."""
    is_text = isinstance(value, str)
    items = len(value) if isinstance(value, Sized) else 1
    given = _weigh_all(meter, args, kwargs)
    if name in EACH_FILTERS:
        # `attribute="a.b.c"` is looked up part by part in each item.
        meter.spend(STEP + (STEP + given) * items)
        return
    weight = meter.weigh(value)
    meter.spend(STEP + weight * SLOW_FILTERS.get(name, 1))
    meter.spend(given)
    if name in _GROWTH:
        meter.spend(_GROWTH[name](_Use(meter, value, args, kwargs)))
    elif name in ORDERING_FILTERS:
        # A text is a list of characters to these.
        weight = weight * ITEM if is_text else weight
        meter.spend(weight * _rounds(weight) + given * items)


def charge_result(meter: Meter, result: object) -> Any:
    """Charge what came out. Lazy results are made at once: a chain of them has no bound."""
    if isinstance(result, str):
        meter.spend_copy(len(result))
        return meter.made(result)
    if isinstance(result, Iterator):
        items = list(cast("Iterator[object]", result))
        meter.spend(_copied(items))
        return items
    meter.spend(_copied(result))
    return result


def check_format_spec(spec: str) -> None:
    """Refuse a width or precision that makes much out of little: `{:>2000000}`."""
    for digits in _DIGITS.findall(spec):
        _width(digits)


def _weigh_all(meter: Meter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    weight = 0
    for value in args:
        weight += meter.weigh(value)
    for value in kwargs.values():
        weight += meter.weigh(value)
    return weight


def _copied(value: object) -> int:
    """Units to copy a value once, without what it refers to."""
    if isinstance(value, str):
        # Markup escapes what is added to it: `<` becomes `&lt;`.
        return len(value) if type(value) is str else 6 * len(value)
    if isinstance(value, (list, tuple, dict, range)):
        return ITEM * (len(cast("list[object]", value)) + 1)
    return ITEM


def _rounds(weight: int) -> int:
    """How often sorting looks at each part, at most."""
    return weight.bit_length() + 1


def _width(digits: str) -> int:
    if len(digits) > 6 or int(digits) > MOST_WIDTH:
        raise LimitError(
            f"the template asks for a width, precision or indentation above {MOST_WIDTH}"
        )
    return int(digits)


def _printf_weight(meter: Meter, template: str, arguments: object) -> int:
    meter.spend(template.count("%") * ITEM)
    places: list[tuple[str, str]] = _PERCENT.findall(template)
    if any("*" in place for place in places):
        raise LimitError("the template formats with `*` as a width; write the width out")
    width = sum(_width(part) for place in places for part in place if part)
    return len(template) + width + len(places) * meter.weigh(arguments)


@dataclass(frozen=True, slots=True)
class _Use:
    """One use of a filter or method."""

    meter: Meter
    value: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def argument(self, at: int, name: str) -> Any:
        return self.args[at] if len(self.args) > at else self.kwargs.get(name)

    def number(self, at: int, name: str, default: int = 0) -> int:
        value = self.argument(at, name)
        return value if isinstance(value, int) else default

    def width(self, at: int, name: str, default: int) -> int:
        """A width given as a number."""
        number = self.number(at, name, default)
        return _width(str(number)) if number > 0 else 0

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else str(self.value)


# What each of these can make beyond what it was given, before it does.


def _pad(use: _Use) -> int:
    return len(use.text) + use.width(0, "width", 80)


def _expand(use: _Use) -> int:
    return len(use.text) + use.text.count("\t") * use.width(0, "tabsize", 8)


def _replace(use: _Use) -> int:
    old, new = str(use.argument(0, "old")), use.argument(1, "new")
    return len(use.text) + use.text.count(old) * use.meter.weigh(new)


def _join(use: _Use) -> int:
    """`items | join(separator, attribute)`."""
    each = ITEM + _weigh_all(use.meter, use.args, use.kwargs)
    return each * len(use.value) if isinstance(use.value, Sized) else 0


def _join_with(use: _Use) -> int:
    """`separator.join(items)`."""
    items = use.argument(0, "iterable")
    return (ITEM + len(use.value)) * len(items) if isinstance(items, Sized) else 0


def _search_back(use: _Use) -> int:
    """Python searches backwards by trying every place."""
    return len(use.text) * (1 + use.meter.weigh(use.argument(0, "sep")) // 4)


def _strip(use: _Use) -> int:
    """Each character may be looked up in all that are taken off."""
    return len(use.text) * (1 + use.meter.weigh(use.argument(0, "chars") or "") // 16)


def _indent(use: _Use) -> int:
    width = use.argument(0, "width")
    each = use.meter.weigh(width) if isinstance(width, str) else use.width(0, "width", 4)
    return len(use.text) + each * (len(use.text.splitlines()) + 1)


def _wrap(use: _Use) -> int:
    return len(use.text) * (1 + use.meter.weigh(use.argument(2, "wrapstring")))


def _printf(use: _Use) -> int:
    return _printf_weight(use.meter, use.text, use.kwargs or use.args)


def _groups(use: _Use) -> int:
    """`slice(n)` and `batch(n, fill)` can make n items out of none."""
    return ITEM * max(0, use.number(0, "linecount"), use.number(0, "slices"))


def _round(use: _Use) -> int:
    """`value * 10 ** precision`, which repeats a value that is no number."""
    precision = _width(str(abs(use.number(0, "precision"))))
    is_number = isinstance(use.value, (int, float))
    return precision if is_number else _copied(use.value) * 10 ** min(precision, 9)


def _sum(use: _Use) -> int:
    """Sums of lists copy the list so far for each item."""
    if isinstance(use.argument(1, "start"), (int, float, type(None))):
        return 0
    return use.meter.weigh(use.value) * (len(use.value) if isinstance(use.value, Sized) else 1)


def _parse(use: _Use) -> int:
    """Three characters of JSON can be a list of 64 bytes."""
    return ITEM * len(use.text)


def _listed(use: _Use) -> int:
    return ITEM * len(use.value) if isinstance(use.value, str) else 0


_GROWTH: dict[str, Callable[[_Use], int]] = {
    "batch": _groups,
    "center": _pad,
    "format": _printf,
    "from_json": _parse,
    "indent": _indent,
    "join": _join,
    "list": _listed,
    "replace": _replace,
    "round": _round,
    "slice": _groups,
    "sum": _sum,
    "trim": _strip,
    "wordwrap": _wrap,
}
_METHOD_GROWTH: dict[str, Callable[[_Use], int]] = {
    "center": _pad,
    "expandtabs": _expand,
    "join": _join_with,
    "ljust": _pad,
    "lstrip": _strip,
    "replace": _replace,
    "rfind": _search_back,
    "rindex": _search_back,
    "rjust": _pad,
    "rpartition": _search_back,
    "rsplit": _search_back,
    "rstrip": _strip,
    "strip": _strip,
    "zfill": _pad,
}
