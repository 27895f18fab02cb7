r"""What a docstring says about a function and its parameters, in the three common styles.

    describe("Weather.\n\nArgs:\n    city: with the country")
    -> Description("Weather.", {"city": "with the country"})

Google (`Args:`), NumPy (`Parameters` underlined) and Sphinx (`:param x:`) are told apart by what
the text holds, never by an option; a docstring may mix them. Sections about returned values, raised
errors and examples are left out: the model is told what a tool does and takes. Text that fits no
style is description. Nothing here fails: the worst docstring gives no parameter descriptions.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Description", "describe"]

_GOOGLE_PARAMETERS = re.compile(r"(keyword |other )?(arg(ument)?s|param(eter)?s)")
_GOOGLE_OTHERS = re.compile(
    r"returns?|yields?|raises?|examples?|attributes|see also|todo|warns|references"
)
_NUMPY_PARAMETERS = {"parameters", "other parameters"}

_HEADING = re.compile(r"^([A-Za-z ]+):\s*$")
_UNDERLINE = re.compile(r"^-{3,}\s*$")
_SPHINX = re.compile(r"^:(\w+)([^:]*):\s*(.*)$")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\((.*?)\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}


@dataclass(slots=True)
class Description:
    """A function in words."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def describe(docstring: str | None) -> Description:
    """What the docstring says, in whichever style it is written."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    out = Description()
    prose: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        heading = _HEADING.match(line)
        title = heading.group(1).strip().lower() if heading else ""
        if _UNDERLINE.match(following) and line.strip():
            end = _end_of_numpy(lines, at + 2)
            if line.strip().lower() in _NUMPY_PARAMETERS:
                out.parameters.update(_items(lines[at + 2 : end], _NUMPY_ITEM))
        elif title and _is_section(title) and _is_indented(following):
            end = _end_of_block(lines, at + 1)
            if _GOOGLE_PARAMETERS.fullmatch(title):
                out.parameters.update(_items(lines[at + 1 : end], _GOOGLE_ITEM))
        elif field_ := _SPHINX.match(line):
            end = _end_of_block(lines, at + 1)
            if field_.group(1) in _SPHINX_PARAMETERS and field_.group(2).strip():
                name = field_.group(2).split()[-1].lstrip("*")
                out.parameters[name] = _joined([field_.group(3), *lines[at + 1 : end]])
        else:
            prose.append(line)
            end = at + 1
        at = end
    out.text = re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip()
    return out


def _is_section(title: str) -> bool:
    return bool(_GOOGLE_PARAMETERS.fullmatch(title) or _GOOGLE_OTHERS.fullmatch(title))


def _is_indented(line: str) -> bool:
    return line.startswith((" ", "\t"))


def _end_of_block(lines: list[str], start: int) -> int:
    """First line after `start` that is neither blank nor indented; trailing blanks stay out."""
    end = start
    for number in range(start, len(lines)):
        if _is_indented(lines[number]):
            end = number + 1
        elif lines[number].strip():
            break
    return end


def _end_of_numpy(lines: list[str], start: int) -> int:
    """The line where the next underlined heading starts, or the end."""
    for number in range(start, len(lines) - 1):
        if _UNDERLINE.match(lines[number + 1]) and lines[number].strip():
            return number
    return len(lines)


def _items(lines: list[str], head: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The (name, text) of each item of a section; its lines are the least indented ones."""
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    names: list[str] = []
    text: list[str] = []
    for line in filled:
        found = head.match(line[margin:]) if not _is_indented(line[margin:]) else None
        if found is None:
            text.append(line)
            continue
        yield from ((name, _joined(text)) for name in names)
        names = [name.strip().lstrip("*") for name in found.group(1).split(",")]
        text = [found.group(3)] if head is _GOOGLE_ITEM else []
    yield from ((name, _joined(text)) for name in names)


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
