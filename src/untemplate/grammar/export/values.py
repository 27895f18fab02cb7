r"""Values of a schema -> rules, in the notation that the dialect writes them in.

    {"type": "object", "properties": {"to": {"type": "string"}, "days": {"type": "integer"}},
     "required": ["to"]}

    tool-pay   "{" space "\"to\"" colon json-string (comma "\"days\"" colon json-integer)? space "}"

Keys stand in declared order. What a keyword asks beyond what rules can say is left out, and named
in `notes`: the export is then wider than the grammar, never narrower, but for the order of keys.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from untemplate.dialect import Encoding, JsonText, Pairs, Raw, Written
from untemplate.dialect.pattern import KEY_IN_LITERAL, JsonType, json_type
from untemplate.grammar import nodes
from untemplate.grammar.build import GrammarOptions
from untemplate.grammar.export.integers import between
from untemplate.grammar.export.json_text import JSON_RULES, SPACE, separated, space_rules
from untemplate.grammar.export.rules import (
    ANY,
    EMPTY,
    NEVER,
    Exit,
    Lexeme,
    Literal,
    Node,
    Reference,
    Text,
    choice,
    optional,
    repeat,
    sequence,
)
from untemplate.message import JSON

__all__ = ["Note", "ValueWriter"]


@dataclass(frozen=True, slots=True)
class Note:
    """A part of a schema that the export says differently from the grammar."""

    origin: str
    """`tool pay`, or `response_schema`."""
    pointer: str
    """JSON pointer into its schema."""
    effect: OneOf["wider", "narrower"]
    message: str


_SILENT = frozenset({"title", "description", "default", "examples", "deprecated", "$schema", "$id"})
_COMPOUND = frozenset(
    {"anyOf", "enum", "const", "$ref", "$defs", "definitions", "type", "nullable"}
)
_BY_TYPE: Mapping[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength"}),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "number": frozenset(),
    "boolean": frozenset(),
    "null": frozenset(),
}
_KNOWN = _SILENT.union(_COMPOUND, *_BY_TYPE.values())


class ValueWriter:
    """Writes the rules of values, each schema once, and keeps notes on what they leave out."""

    def __init__(self, options: GrammarOptions, *, most_repeats: int) -> None:
        self.notes: list[Note] = []
        self.rules: dict[str, Node] = dict(JSON_RULES)
        self._options = options
        self._most = most_repeats

    def value(self, node: nodes.Value) -> Node:
        """The value that stands at one place of the turn."""
        self.rules |= space_rules(_separators(node.encoding), bounded=True)
        json_writer = _JsonWriter(self, node.origin)
        match node.encoding:
            case JsonText():
                return json_writer.value(node.schema, ())
            case Pairs() as pairs if isinstance(node.schema, dict):
                return _PairWriter(json_writer, pairs).object(node.schema)
            case _:
                self.note(
                    node.origin, "#", "wider", "its notation can't be said, any text is taken"
                )
                return repeat(ANY, 0, None)

    def note(
        self, origin: str, pointer: str, effect: OneOf["wider", "narrower"], message: str
    ) -> None:
        note = Note(origin, pointer, effect, message)
        if note not in self.notes:
            self.notes.append(note)

    def fits(self, count: int | None) -> bool:
        """Whether the target can count so far."""
        return count is None or count <= self._most

    def named(self, stem: str, node: Node) -> Reference:
        """The node as a rule; equal nodes share one, others never share a name."""
        name, count = stem, 1
        while self.rules.setdefault(name, node) != node:
            count += 1
            name = f"{stem}-{count}"
        return Reference(name)

    @property
    def any_order(self) -> bool:
        return self._options.key_order == "any"


def _separators(encoding: Encoding) -> tuple[str, ...]:
    return (" ",) if isinstance(encoding, JsonText) else ()


class _JsonWriter:
    """Values of one root schema as JSON text."""

    def __init__(self, writer: ValueWriter, origin: str) -> None:
        self._writer = writer
        self._origin = origin

    def value(self, schema: JSON, path: tuple[str, ...]) -> Node:
        """The value of a schema, as a rule named after its place."""
        node = self._value(schema, path)
        if isinstance(node, Reference | Literal) or node == NEVER:
            return node
        return self._writer.named("-".join((self._origin, *path)), node)

    def _value(self, schema: JSON, path: tuple[str, ...]) -> Node:
        if schema is False:
            return NEVER
        if not isinstance(schema, dict):
            return Reference("json-value")
        for key in schema.keys() - _KNOWN:
            self._wider((*path, key), "is left out")
        if "const" in schema:
            return _constant(schema["const"])
        if isinstance(enum := schema.get("enum"), list):
            return choice(*map(_constant, enum))
        if isinstance(options := schema.get("anyOf"), list):
            return choice(*(self.value(o, (*path, "anyOf", str(n))) for n, o in enumerate(options)))
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        return choice(
            *(self._typed(str(k), schema, path) if k else Reference("json-value") for k in kinds)
        )

    def _typed(self, kind: str, schema: Mapping[str, JSON], path: tuple[str, ...]) -> Node:
        match kind:
            case "object":
                return self._object(schema, path)
            case "array":
                return self._array(schema, path)
            case "string":
                least, most = _bounds(schema, "minLength", "maxLength")
                if (least, most) == (0, None):
                    return Reference("json-string")
                least, most = self._counted(least, most, (*path, "maxLength"))
                inner = repeat(Reference("json-character"), least, most)
                return Lexeme(sequence(Literal('"'), inner, Literal('"')))
            case "integer":
                low, high = _range(schema)
                whole = low is None and high is None
                return Reference("json-integer") if whole else Lexeme(between(low, high))
            case "number":
                return Reference("json-number")
            case "boolean":
                return choice(Literal("true"), Literal("false"))
            case "null":
                return Literal("null")
            case _:
                return NEVER

    def _counted(
        self, least: int, most: int | None, path: tuple[str, ...]
    ) -> tuple[int, int | None]:
        if self._writer.fits(least) and self._writer.fits(most):
            return least, most
        self._wider(path, "the target can't count so far")
        return (least if self._writer.fits(least) else 0), None

    def _array(self, schema: Mapping[str, JSON], path: tuple[str, ...]) -> Node:
        least, most = self._counted(*_bounds(schema, "minItems", "maxItems"), (*path, "maxItems"))
        item = self.value(schema.get("items", True), (*path, "items"))
        if item == NEVER:
            least, most = (0, 0) if not least else (1, 0)
        inner = sequence(separated(item, item, least, most), SPACE)
        return sequence(Literal("["), SPACE, inner, Literal("]"))

    def _object(self, schema: Mapping[str, JSON], path: tuple[str, ...]) -> Node:
        properties = schema.get("properties")
        required = schema.get("required")
        names = {str(r) for r in required} if isinstance(required, list) else set[str]()
        pairs: list[tuple[Node, bool]] = []
        for key, inner in properties.items() if isinstance(properties, dict) else ():
            value = self.value(inner, (*path, "properties", key))
            spelt = json.dumps(key, ensure_ascii=False)
            pair = sequence(Literal(spelt), SPACE, Literal(":"), SPACE, value)
            pairs.append((pair, key in names))
        if len(pairs) > 1 and self._writer.any_order:
            self._writer.note(
                self._origin, _pointer((*path, "properties")), "narrower", "keys in declared order"
            )
        members = _members(pairs, sequence(SPACE, Literal(","), SPACE))
        return sequence(Literal("{"), SPACE, members, SPACE, Literal("}"))

    def _wider(self, path: Sequence[str], message: str) -> None:
        self._writer.note(self._origin, _pointer(path), "wider", message)


class _PairWriter:
    """An object pair by pair, in the notation of a dialect."""

    def __init__(self, json_writer: _JsonWriter, pairs: Pairs) -> None:
        self._json = json_writer
        self._pairs = pairs

    def object(self, schema: Mapping[str, JSON]) -> Node:
        properties = schema.get("properties")
        required = schema.get("required")
        names = {str(r) for r in required} if isinstance(required, list) else set[str]()
        pairs = [
            (sequence(Literal(self._pairs.open + key), self._value(key, inner)), key in names)
            for key, inner in (properties.items() if isinstance(properties, dict) else ())
        ]
        some = sequence(
            Literal(self._pairs.head),
            _members(pairs, Literal(self._pairs.separator)),
            Literal(self._pairs.tail),
        )
        return choice(some, Literal(self._pairs.none)) if not names else some

    def _value(self, key: str, schema: JSON) -> Node:
        kinds = schema.get("type") if isinstance(schema, dict) else None
        return choice(
            *(
                self._written(self._pairs.types[kind], key, kind, schema)
                for kind in _JSON_TYPES
                if kind in self._pairs.types
                and (kinds is None or kind == kinds or (isinstance(kinds, list) and kind in kinds))
            )
        )

    def _written(self, written: Written, key: str, kind: JsonType, schema: JSON) -> Node:
        before = written.before.replace(KEY_IN_LITERAL, key)
        after = written.after.replace(KEY_IN_LITERAL, key)
        inner: dict[str, JSON] = {**schema} if isinstance(schema, dict) else {}
        inner["type"] = kind
        if isinstance(enum := inner.get("enum"), list):
            members = [v for v in enum if json_type(v) == kind]
            inner["enum"] = members
            if isinstance(written.encoding, Raw):
                value = choice(*(Literal(str(v)) for v in members))
                return sequence(Literal(before), value, Literal(after))
        if isinstance(written.encoding, Raw):
            closer = after.lstrip() or after
            mark = closer.rstrip() or closer
            return sequence(Literal(before.rstrip()), Text((mark,), (Exit(closer, EMPTY),), NEVER))
        value = self._json.value(inner, ("properties", key))
        return sequence(Literal(before), value, Literal(after))


_JSON_TYPES: tuple[JsonType, ...] = (
    "string",
    "integer",
    "number",
    "boolean",
    "null",
    "array",
    "object",
)


def _members(pairs: Sequence[tuple[Node, bool]], comma: Node) -> Node:
    """The pairs (node, whether required) in order, with commas between those that are there."""
    first: Node = EMPTY
    following: Node = EMPTY
    for node, required in reversed(pairs):
        if required:
            first = sequence(node, following)
            following = sequence(comma, node, following)
        else:
            first = choice(sequence(node, following), first)
            following = sequence(optional(sequence(comma, node)), following)
    return first


def _constant(value: JSON) -> Node:
    return Literal(json.dumps(value, ensure_ascii=False))


def _bounds(schema: Mapping[str, JSON], least: str, most: str) -> tuple[int, int | None]:
    low, high = schema.get(least, 0), schema.get(most)
    return int(low) if isinstance(low, int) else 0, int(high) if isinstance(high, int) else None


def _range(schema: Mapping[str, JSON]) -> tuple[int | None, int | None]:
    low, high = schema.get("minimum"), schema.get("maximum")
    return (low if isinstance(low, int) else None, high if isinstance(high, int) else None)


def _pointer(path: Sequence[str]) -> str:
    return "#" + "".join("/" + p.replace("~", "~0").replace("/", "~1") for p in path)
