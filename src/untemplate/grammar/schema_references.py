r"""Where references of a schema lead: resources by their `$id`, anchors, dynamic anchors.

    schema = {"$id": "http://a/b", "$defs": {"x": {"$id": "c", "$anchor": "d"}}, "$ref": "c#d"}
    found = References(schema, "tool f")
    found.targets(schema, found.root)     -> Place("#/$defs/x")

A subschema with an `$id` of its own is a resource: references in it are relative to that address,
and anchors belong to it. A `$dynamicRef` (in 2019-09 a `$recursiveRef`) leads to the outermost
resource on the way here that has the anchor, so the way is part of a `Place`, as far as it matters:
in a schema without such references all ways are one. Nothing is ever fetched.

Where an address is not that of a resource, the rest of its path or the root of the whole schema is
tried: many schemas carry an `$id` that their own references do not mind.
"""

import json
from collections.abc import Iterator
from urllib.parse import unquote, urljoin

from untemplate.errors import SchemaError
from untemplate.grammar.schema_atoms import Place
from untemplate.grammar.schema_check import Draft, check, draft_of, subschemas
from untemplate.message import JSON, pointer_key

__all__ = ["References"]

_RECURSIVE = ""
"""The dynamic anchor that `$recursiveAnchor` is, which has no name."""


class References:
    """The places of one root schema."""

    def __init__(self, schema: JSON, origin: str) -> None:
        self.draft = draft_of(schema)
        self._root = schema
        self._origin = origin
        self._nodes: dict[str, JSON] = {}
        self._resources: dict[str, str] = {}
        """Pointers by address."""
        self._bases: dict[str, str] = {"#": ""}
        """Addresses by pointer."""
        self._anchors: dict[tuple[str, str], str] = {}
        """Pointers by address and name."""
        self._dynamic: dict[str, dict[str, str]] = {}
        """By address: pointers of dynamic anchors by name."""
        text = json.dumps(schema)
        self._is_dynamic = '"$dynamicRef"' in text or '"$recursiveRef"' in text
        self._index(schema, "#", "")
        self.root = self._entered("#", ())

    def at(self, place: Place) -> JSON:
        """A subschema as it is written."""
        node = self._nodes.get(place.pointer)
        if node is None:
            node = self._node(place.pointer, place.pointer)
        return node

    def inner(self, place: Place, step: str) -> Place:
        """A subschema below another: `/properties/a`."""
        pointer = place.pointer + step
        if not self._is_dynamic:
            return Place(pointer)
        return self._entered(pointer, place.scope)

    def targets(self, schema: dict[str, JSON], place: Place) -> Iterator[Place]:
        """The places that the references of a subschema lead to.

        Raises:
            SchemaError: one leads nowhere, or outside the schema.
        """
        keywords = ["$ref"]
        if self.draft >= Draft.V2019:
            keywords.append("$recursiveRef" if self.draft == Draft.V2019 else "$dynamicRef")
        for keyword in keywords:
            if isinstance(reference := schema.get(keyword), str):
                yield self._target(reference, place, keyword)

    def _target(self, reference: str, place: Place, keyword: str) -> Place:
        named_at = f"{place.pointer}/{keyword}"
        address, _, fragment = reference.partition("#")
        base = self._base(place.pointer)
        if address:
            base = self._resource(_joined(base, address), address, named_at)
        if fragment and not fragment.startswith("/"):
            pointer = self._anchor(base, unquote(fragment), named_at)
        else:
            pointer = self._below(base, unquote(fragment), named_at)
        if keyword != "$ref":
            name = _RECURSIVE if keyword == "$recursiveRef" else fragment
            if self._dynamic.get(self._base(pointer), {}).get(name) == pointer:
                pointer = dict(place.scope).get(name, pointer)
        if self._is_dynamic:
            return self._entered(pointer, place.scope)
        return Place(pointer)

    # ------------------------------------------------------------------------------------ the index

    def _index(self, schema: JSON, pointer: str, base: str) -> None:
        """Finds every `$id` and anchor below."""
        self._nodes[pointer] = schema
        if not isinstance(schema, dict):
            return
        own = schema.get("id" if self.draft == Draft.V4 else "$id")
        if "$ref" in schema and self.draft < Draft.V2019:
            own = None  # beside `$ref` older drafts ask nothing
        if isinstance(own, str):
            address, _, name = own.partition("#")
            if address:
                base = _joined(base, address)
                self._resources.setdefault(base, pointer)
                self._bases[pointer] = base
            if name:
                self._anchors.setdefault((base, name), pointer)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := schema.get(keyword), str):
                self._anchors.setdefault((base, anchor), pointer)
                if keyword == "$dynamicAnchor":
                    self._dynamic.setdefault(base, {}).setdefault(anchor, pointer)
        if schema.get("$recursiveAnchor") is True:
            self._dynamic.setdefault(base, {}).setdefault(_RECURSIVE, pointer)
        for step, inner in subschemas(schema):
            self._index(inner, pointer + step, base)

    def _base(self, pointer: str) -> str:
        """The address of the resource that a place is in."""
        if len(self._bases) > 1:
            while pointer not in self._bases:
                pointer = pointer.rpartition("/")[0] or "#"
        else:
            pointer = "#"
        return self._bases[pointer]

    def _entered(self, pointer: str, scope: tuple[tuple[str, str], ...]) -> Place:
        """A place, and the anchors of its resource beside those met on the way; the first stand."""
        own = self._dynamic.get(self._base(pointer)) if self._is_dynamic else None
        if own:
            scope = tuple(sorted({**own, **dict(scope)}.items()))
        return Place(pointer, scope)

    # -------------------------------------------------------------------------------- what is named

    def _resource(self, address: str, written: str, named_at: str) -> str:
        if address in self._resources or address == self._bases["#"]:
            return address
        endings = [a for a in self._resources if a.rpartition("/")[2] == written]
        if len(endings) == 1:
            return endings[0]
        raise self._error(named_at, f"leads outside the schema: {written}; nothing is fetched")

    def _anchor(self, base: str, name: str, named_at: str) -> str:
        found = self._anchors.get((base, name))
        if found is None:
            others = [p for (_, n), p in self._anchors.items() if n == name]
            if len(others) != 1:
                raise self._error(named_at, f"names no anchor: #{name}")
            found = others[0]
        return found

    def _below(self, base: str, path: str, named_at: str) -> str:
        start = self._resources.get(base, "#")
        if start != "#" and not self._has(start + path) and self._has("#" + path):
            start = "#"
        pointer = start + path
        self._node(pointer, named_at)
        return pointer

    def _has(self, pointer: str) -> bool:
        return isinstance(_follow(self._root, pointer), dict | bool)

    def _node(self, pointer: str, named_at: str) -> JSON:
        if pointer not in self._nodes:
            node = _follow(self._root, pointer)
            if node is None:
                raise self._error(named_at, f"leads to {pointer}, which is not there")
            if not isinstance(node, dict | bool):
                raise self._error(named_at, f"leads to {pointer}, which is not a schema")
            # It stands under a keyword that holds no schemas, and was not looked at before.
            check(node, self._origin, pointer)
            self._nodes[pointer] = node
        return self._nodes[pointer]

    def _error(self, pointer: str, message: str) -> SchemaError:
        return SchemaError(message, place=f"{self._origin} {pointer}")


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:
        return address  # not an address at all


def _follow(node: JSON, pointer: str) -> JSON:
    """What a pointer leads to; None: nothing."""
    for step in pointer[1:].split("/")[1:]:
        key = pointer_key(step)
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node
