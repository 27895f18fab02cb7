r"""Hugging Face's `response_template` (transformers 5.13 and later): written, and read.

    said = to_response_template(dialect)
    said.template     # {"version": 1, "start_anchor": "<|im_start|>assistant\n", "fields": {...}}
    said.unsaid       # what of the dialect it can't say, one line each

A response template is a flat list of fields: each opens and closes with texts or expressions, and
has a parser for what stands in between. It says one kind of call, in one place; nothing of the
order of blocks, of notations of a family's own, of ids, or of types that only a schema tells.

`from_response_template` gives the blocks, openings and edges that one says, as one more source for
a template that tells nothing of its calls.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from untemplate.dialect.dialect import (
    END,
    BlockPattern,
    CallBlock,
    Dialect,
    Edge,
    Opening,
    Prompt,
    TextBlock,
)
from untemplate.dialect.pattern import (
    Hole,
    JsonText,
    JsonType,
    Pairs,
    Pattern,
    Python,
    Raw,
    Whole,
    Written,
)
from untemplate.errors import DialectError
from untemplate.message import JSON

__all__ = ["Said", "from_response_template", "to_response_template"]

_TYPES: tuple[JsonType, ...] = (
    "string",
    "integer",
    "number",
    "boolean",
    "null",
    "array",
    "object",
)
_REASONING = ("reasoning_content", "thinking", "reasoning")
_NAME = r"(?P<name>[^<>\[\]{}()\s:]+)"
_PLAIN = r"(?:[^()|\\]|\\.)*"
"""Part of an expression without groups and choices."""
_HOLES = {Hole.NAME: _NAME, Hole.INDEX: r"\d+", Hole.ID: r"[^<>\[\]\s]+"}
_MARKS = {Hole.INDEX: "\ue021", Hole.ID: "\ue022"}
"""What stands for expressions of holes while the text around them is read."""


@dataclass(frozen=True, slots=True)
class Said:
    """A response template, and what of the dialect it does not say."""

    template: Mapping[str, JSON]
    unsaid: tuple[str, ...]


def to_response_template(dialect: Dialect) -> Said:
    """The dialect as a response template."""
    unsaid: list[str] = []
    fields: dict[str, JSON] = {}
    anchor, reasoning = _anchor(dialect)
    if reasoning:
        fields["reasoning_content"] = {"open": reasoning[0], "close": reasoning[1]}
    elif "reasoning" in dialect.blocks:
        unsaid.append("reasoning: its opening or closing is no text of its own")
    fields["content"] = _content(dialect)
    calls = {n: b for n, b in dialect.blocks.items() if isinstance(b, CallBlock)}
    for number, (name, block) in enumerate(calls.items()):
        if number:
            unsaid.append(f"{name}: a second way to write calls")
            continue
        field = _calls(dialect, name, block)
        if field is None:
            unsaid.append(f"{name}: the form of its calls")
        else:
            fields["tool_calls"] = field
            unsaid += _losses(block)
    if not anchor:
        unsaid.append("the header of a turn: the template writes none")
    template: dict[str, JSON] = {
        "version": 1,
        "defaults": {"role": "assistant"},
        **({"start_anchor": anchor} if anchor else {"start_anchor_pattern": "\\A"}),
        "fields": fields,
    }
    return Said(template, tuple(unsaid))


def _losses(block: CallBlock) -> list[str]:
    out: list[str] = []
    if Hole.ID in block.pattern or block.id_pattern:
        out.append("ids of calls")
    if block.continued_by:
        out.append("calls that are written in turns")
    if isinstance(block.arguments, Pairs):
        out.append("types of arguments: they are cast by the schema of the tool")
    return out


def _anchor(dialect: Dialect) -> tuple[str, tuple[str, str] | None]:
    """What a turn begins with, and what opens and closes reasoning."""
    history = dialect.place()
    header = history.header if history else ""
    exits = [e.literal.strip() for e in dialect.edges_from("reasoning") if e.target != END]
    closing = _shared(exits)
    if not closing:
        return header, None
    known = [
        *(history.openings if history else ()),
        *(o for p in dialect.prompts for o in p.openings),
    ]
    opening = next((x for o in known if o.block == "reasoning" and (x := o.literal.strip())), "")
    if not opening:
        # Every turn opens reasoning: the last marker of the header does.
        found = list(re.finditer(r"<[^<>]+>|\[\w+\]", header))
        if not found or not found[-1].start():
            return header, None
        at = found[-1].start()
        header, opening = header[:at], header[at:].strip()
    return header, (opening, closing)


def _shared(texts: Sequence[str]) -> str:
    """What all texts begin with, up to the end of a marker."""
    least, most = min(texts, default=""), max(texts, default="")
    size = next((n for n, c in enumerate(least) if c != most[n]), len(least))
    shared = least[:size]
    at = shared.rfind("<")
    return (shared[:at] if at > shared.rfind(">") else shared).strip()


def _content(dialect: Dialect) -> JSON:
    wrappers = {
        o.literal.strip() for p in dialect.prompts for o in p.openings if o.block == "content"
    } - {""}
    ends = [e.literal.strip() for e in dialect.edges_from("content") if e.target == END]
    if len(wrappers) == 1 and ends and ends[0]:
        return {"open": wrappers.pop(), "close": ends[0]}
    # Text between two calls must not take the place of what stood before them.
    return {"close": list(dialect.stops), "repeats": True, "join": ""}


def _function(name: str, arguments: str) -> JSON:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def _calls(dialect: Dialect, name: str, block: CallBlock) -> JSON | None:
    leads = [o.literal.strip() for p in dialect.prompts for o in p.openings if o.block == name]
    before = min((x for x in (*leads, dialect.literal("content", name).strip()) if x), default="")
    after = dialect.literal(name, END).strip()
    between = dialect.literal(name, name).strip()
    keys = _json_keys(block.pattern)
    if keys is not None and between == "," and before.endswith("[") and after.startswith("]"):
        return _array(before[:-1].strip(), after[1:].strip(), keys, dialect)
    opening, closing = _outside(block.pattern)
    section = _optional(before), _optional(after, before_it=True)
    if keys is not None and opening.strip() and closing.strip():
        if any(section):
            ends: dict[str, JSON] = {
                "open_pattern": section[0] + re.escape(opening.strip()),
                "close_pattern": re.escape(closing.strip()) + section[1],
            }
        else:
            ends = {"open": opening.strip(), "close": closing.strip()}
        return {
            **ends,
            "content": "json",
            "repeats": True,
            "transform": _function(f"{{content.{keys[0]}}}", f"{{content.{keys[1]}}}"),
        }
    if keys is not None:
        return None
    if _is_python(block):
        return {
            "open": before.removesuffix("["),
            "close": after.removeprefix("]") or list(dialect.stops),
            "content": "python-call-list",
            "content_args": {},
            "transform": _function("{name}", "{arguments}"),
            "transform_each": True,
        }
    return _named(dialect, block, section)


def _optional(text: str, *, before_it: bool = False) -> str:
    """An expression for a section marker that stands there once only."""
    if not text:
        return ""
    core = re.escape(text)
    return rf"(?:\s*{core})?" if before_it else rf"(?:{core}\s*)?"


def _array(opening: str, closing: str, keys: tuple[str, str], dialect: Dialect) -> JSON | None:
    if not opening:
        return None
    return {
        "open": opening,
        "close": closing or list(dialect.stops),
        "content": "json",
        "transform": _function(f"{{{keys[0]}}}", f"{{{keys[1]}}}"),
        "transform_each": True,
    }


def _json_keys(pattern: Pattern) -> tuple[str, str] | None:
    """Dotted paths to name and arguments, where a call is a JSON object with both."""
    names = {Hole.NAME: '"N"', Hole.ARGUMENTS: '"A"', Hole.ID: '"I"', Hole.INDEX: "0"}
    text = ""
    for part in pattern:
        hole = names.get(part) if isinstance(part, Hole) else None
        quoted = text.endswith('"')
        text += part if hole is None else hole.strip('"') if quoted else hole
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    import json  # noqa: PLC0415  small and rare

    try:
        value = json.loads(text[start : end + 1])
    except ValueError:
        return None
    name, arguments = _path(value, "N"), _path(value, "A")
    return (name, arguments) if name and arguments else None


def _path(value: object, wanted: str) -> str:
    if isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            if item == wanted:
                return key
            inner = _path(item, wanted)
            if inner:
                return f"{key}.{inner}"
    return ""


def _outside(pattern: Pattern) -> tuple[str, str]:
    """The text before and after the JSON object of a call."""
    first, last = pattern[0], pattern[-1]
    before = "" if isinstance(first, Hole) else first.partition("{")[0]
    after = "" if isinstance(last, Hole) else last.rpartition("}")[2]
    return before, after


def _is_python(block: CallBlock) -> bool:
    if block.pattern != (Hole.NAME, "(", Hole.ARGUMENTS, ")"):
        return False
    pairs = block.arguments
    return isinstance(pairs, Pairs) and all(w.before == "=" for w in pairs.types.values())


def _named(dialect: Dialect, block: CallBlock, section: tuple[str, str]) -> JSON | None:
    """A call whose name stands in its opening, before the arguments."""
    shape = block.pattern
    if shape.count(Hole.NAME) != 1 or Hole.ARGUMENTS not in shape:
        return None
    name, arguments = shape.index(Hole.NAME), shape.index(Hole.ARGUMENTS)
    first, rest = shape[0], shape[arguments + 1 :]
    if name > arguments or isinstance(first, Hole) or "{" in first:
        return None
    opening = "".join(_HOLES[p] if isinstance(p, Hole) else _escaped(p) for p in shape[:arguments])
    closing = "".join("" if isinstance(p, Hole) else p for p in rest).strip()
    ends = "|".join(map(re.escape, dialect.stops))
    close = re.escape(closing) + section[1] if closing else f"(?={_escaped(first)})|{ends}"
    field: dict[str, JSON] = {
        "open_pattern": section[0] + opening,
        "close_pattern": close,
        "repeats": True,
        "transform": _function("{name}", "{content}"),
    }
    pairs = block.arguments
    if isinstance(pairs, Whole):
        return {**field, "content": "json"} if isinstance(pairs.encoding, JsonText) else None
    strings = pairs.types.get("string")
    if strings is None or not isinstance(strings.encoding, Raw) or pairs.notations:
        return None
    leads = dict.fromkeys(_escaped(w.before) for w in pairs.types.values())
    between = f"(?:{'|'.join(leads)})" if len(leads) > 1 else next(iter(leads))
    end = _escaped(strings.after.rstrip())
    tag = f"{_escaped(pairs.open.strip())}(?P<key>.+?){between}(?P<value>.*?){end}"
    return {**field, "content": "xml-inline", "content_args": {"tag_pattern": tag}}


def _escaped(text: str) -> str:
    """An expression for the text; newlines at its end may be missing."""
    core = text.rstrip("\n")
    return re.escape(core).replace("\\\n", "\\n") + "\\n?" * (len(text) - len(core))


# -------------------------------------------------------------------------------------- reading


def from_response_template(template: Mapping[str, Any]) -> Dialect:
    """What a response template says, as a dialect without history.

    Raises:
        DialectError: it has no fields, or says calls in a way that no dialect says.
    """
    fields = template.get("fields")
    if not isinstance(fields, Mapping) or not fields:
        raise DialectError("has no fields", place="response_template")
    known = cast("Mapping[str, Mapping[str, Any]]", fields)
    blocks: dict[str, BlockPattern] = {"content": TextBlock("content")}
    edges = [Edge("content", END, "", "given")]
    openings = [Opening("content")]
    reasoning = next((known[n] for n in _REASONING if n in known), None)
    if reasoning is not None:
        blocks["reasoning"] = TextBlock("reasoning")
        openings.append(Opening("reasoning", _first(reasoning, "open")))
        edges.append(Edge("reasoning", "content", _first(reasoning, "close"), "given"))
    if "tool_calls" in known:
        block, before, between, after = _read_calls(known["tool_calls"])
        blocks["call"] = block
        openings.append(Opening("call", before))
        edges += [
            Edge("content", "call", before, "given"),
            Edge("call", "call", between, "given"),
            Edge("call", END, after, "given"),
        ]
        if reasoning is not None:
            closing = _first(reasoning, "close")
            edges.append(Edge("reasoning", "call", closing + before, "given"))
    anchor = template.get("start_anchor", "")
    texts = cast("list[object]", anchor) if isinstance(anchor, list) else [anchor]
    prompt = Prompt(str(texts[0]), tuple(openings), evidence="given")
    return Dialect(blocks, tuple(edges), (prompt,), _stops(known), origin="given")


def _stops(fields: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    close = fields.get("content", {}).get("close", ())
    return (close,) if isinstance(close, str) else tuple(map(str, close))


def _first(field: Mapping[str, Any], key: str) -> str:
    """A literal, the first of several, or an expression that is one."""
    value = field.get(key)
    if isinstance(value, list) and value:
        value = cast("list[object]", value)[0]
    if isinstance(value, str):
        return value
    pattern = field.get(f"{key}_pattern")
    return "".join(_literals(str(pattern))) if pattern else ""


def _literals(pattern: str) -> list[str]:
    """The literal texts around the named groups of an expression, or DialectError."""
    pattern = re.sub(rf"\(\?:{_PLAIN}\)\?", "", pattern)  # what may be missing
    pattern = re.sub(rf"\(\?:({_PLAIN})\|(?:[^()\\]|\\.)*\)", r"\1", pattern)  # one of several
    pieces = re.split(r"\(\?P<\w+>(?:[^()\\]|\\.|\[(?:[^\]\\]|\\.)*\])*\)", pattern)
    return [_unescaped(p) for p in pieces]


def _unescaped(pattern: str) -> str:
    text = re.sub(r"(\\s|\\n|\s)[*?+]", "", pattern)
    text = text.replace("\\n", "\n")
    if re.search(r"(?<!\\)[.*+?()\[\]{}|^$]", text):
        raise DialectError(f"{pattern!r} is more than text", place="response_template")
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def _read_calls(field: Mapping[str, Any]) -> tuple[CallBlock, str, str, str]:
    """A call, and what stands before the first, between two, and after the last."""
    content = field.get("content", "text")
    if content == "python-call-list":
        types: dict[JsonType, Written] = {k: Written("=", Python(), "") for k in _TYPES}
        pairs = Pairs("", "", ", ", "", "", types)
        call = CallBlock((Hole.NAME, "(", Hole.ARGUMENTS, ")"), pairs)
        return call, _first(field, "open") + "[", ", ", "]" + _first(field, "close")
    if "(?P<name>" in str(field.get("open_pattern")):
        return _read_named(field, str(content))
    if content != "json":
        raise DialectError(f"calls of content {content!r}", place="response_template.tool_calls")
    name, arguments = _placeholders(field.get("transform"))
    opening, closing = _first(field, "open"), _first(field, "close")
    literal = f'{{"{name}": "', f'", "{arguments}": '
    if field.get("transform_each"):
        call = CallBlock((literal[0], Hole.NAME, literal[1], Hole.ARGUMENTS, "}"), _json())
        return call, opening + "[", ", ", "]" + closing
    pattern: Pattern = (
        f"{opening}\n{literal[0]}",
        Hole.NAME,
        literal[1],
        Hole.ARGUMENTS,
        f"}}\n{closing}",
    )
    return CallBlock(pattern, _json()), "\n", "\n", ""


def _json() -> Whole:
    return Whole(JsonText())


def _placeholders(transform: object) -> tuple[str, str]:
    """The keys of name and arguments inside the JSON of a call."""
    function = cast("Mapping[str, Any]", transform).get("function") if transform else None
    if not isinstance(function, Mapping):
        raise DialectError("no function in its transform", place="response_template.tool_calls")
    given = cast("Mapping[str, Any]", function)
    out = [
        str(given.get(k, "")).strip("{}").removeprefix("content.") for k in ("name", "arguments")
    ]
    if not all(out) or any("." in key for key in out):
        raise DialectError(
            "its name or arguments are nested", place="response_template.tool_calls.transform"
        )
    return out[0], out[1]


def _with_holes(literal: str) -> Pattern:
    """The text with the holes for which marks stand in it."""
    holes: dict[str, Hole] = {mark: hole for hole, mark in _MARKS.items()}
    parts = re.split(f"([{''.join(holes)}])", literal)
    return tuple(holes.get(p, p) for p in parts if p)


def _read_named(field: Mapping[str, Any], content: str) -> tuple[CallBlock, str, str, str]:
    opening = str(field["open_pattern"])
    for hole, mark in _MARKS.items():
        opening = opening.replace(_HOLES[hole], mark)
    literals = _literals(opening)
    closing = _first(field, "close") if "(?=" not in str(field.get("close_pattern")) else ""
    if len(literals) != 2:
        raise DialectError("more than a name", place="response_template.tool_calls.open_pattern")
    before, behind = map(_with_holes, literals)
    parts_of_call = (*before, Hole.NAME, *behind, Hole.ARGUMENTS, closing)
    pattern: Pattern = tuple(p for p in parts_of_call if p)
    if content == "json":
        return CallBlock(pattern, _json()), "", "", ""
    if content != "xml-inline":
        raise DialectError(f"calls of content {content!r}", place="response_template.tool_calls")
    arguments: Mapping[str, Any] = field.get("content_args", {})
    parts: Sequence[str] = _literals(str(arguments.get("tag_pattern", "")))
    if len(parts) != 3:
        raise DialectError("no key and value", place="response_template.tool_calls.tag_pattern")
    types: dict[JsonType, Written] = {
        kind: Written(parts[1], Raw() if kind == "string" else JsonText(), parts[2])
        for kind in _TYPES
    }
    return CallBlock(pattern, Pairs("", parts[0], "", "", "", types)), "", "", ""
