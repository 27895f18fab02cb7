r"""Rules over characters: the one form between our grammar and every notation that we print.

GBNF, Lark and EBNF speak of characters, know no tags and no dialects, and differ only in spelling
and in how they say free text. So a grammar is first turned into these few nodes, then printed.

    {"root": Text(("<tool_call>",), exits=(Exit("<tool_call>", Reference("call")),), rest=EMPTY)}

`Text` is the one node that no notation has: characters up to the first occurrence of a string.
Each printer says it in its own way, as rules of an Aho-Corasick automaton or as a regex.

`sequence` and `choice` build the tidy form: nested ones are flattened, neighbouring literals are
joined, and what can't be written (`NEVER`) takes with it whatever needs it.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

__all__ = [
    "ANY",
    "EMPTY",
    "MOST_REPEATS",
    "NEVER",
    "Characters",
    "Choice",
    "Exit",
    "Lexeme",
    "Literal",
    "Node",
    "Reference",
    "Repeat",
    "Rules",
    "Sequence",
    "Text",
    "characters",
    "choice",
    "complement",
    "free_name",
    "one_of",
    "optional",
    "prune",
    "references",
    "repeat",
    "sequence",
    "times",
]


@dataclass(frozen=True, slots=True)
class Literal:
    """Some text, as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Characters:
    """One character out of these ranges: sorted, apart, both ends included."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """All items, in order."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options; without any, nothing can be written."""

    options: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` items; `most` None: any number."""

    item: "Node"
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Reference:
    """The rule of this name."""

    rule: str


@dataclass(frozen=True, slots=True)
class Exit:
    """Where free text goes on: the closer, which begins with a string to avoid, then the node."""

    closer: str
    node: "Node"


@dataclass(frozen=True, slots=True)
class Text:
    """Any characters up to the first occurrence of a string to avoid.

    There an exit whose closer begins so goes on; without such an exit the text can't be written.
    Text in which none occurs is followed by `rest`. A text without exits may have a length: `least`
    to `most` characters before `rest`.
    """

    avoid: tuple[str, ...]
    exits: tuple[Exit, ...]
    rest: "Node"
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Lexeme:
    """The item, which no text that may follow it could prolong, as a number before a comma.

    A notation with a lexer may read it by longest match; to others it is just the item.
    """

    item: "Node"


Node = Literal | Characters | Sequence | Choice | Repeat | Reference | Text | Lexeme

Rules = Mapping[str, Node]
"""Rules by name; `root` is what the whole output is."""

MOST_REPEATS = 100_000
"""How far exports count characters and items."""

EMPTY = Literal("")
NEVER = Choice(())
ANY = Characters(((0, 0xD7FF), (0xE000, 0x10FFFF)))
"""Every character that UTF-8 can spell; surrogates are none."""


def characters(text: Iterable[str]) -> Characters:
    """These characters: `characters("cab")` is `[a-c]`."""
    ranges: list[tuple[int, int]] = []
    for point in sorted({ord(c) for c in text}):
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1] = (ranges[-1][0], point)
        else:
            ranges.append((point, point))
    return Characters(tuple(ranges))


def one_of(members: Characters) -> Node:
    """One of the characters; a literal where there is just one, NEVER where there is none."""
    match members.ranges:
        case ():
            return NEVER
        case ((first, last),) if first == last:
            return Literal(chr(first))
        case _:
            return members


def complement(members: Characters, within: Characters = ANY) -> Characters:
    """The characters of `within` that are not among `members`."""
    out: list[tuple[int, int]] = []
    for first, last in within.ranges:
        at = first
        for low, high in members.ranges:
            if high < at or low > last:
                continue
            if low > at:
                out.append((at, low - 1))
            at = high + 1
        if at <= last:
            out.append((at, last))
    return Characters(tuple(out))


def sequence(*nodes: Node) -> Node:
    """The nodes in order, flattened."""
    out: list[Node] = []
    for node in nodes:
        if node == NEVER:
            return NEVER
        for item in node.items if isinstance(node, Sequence) else (node,):
            last = out[-1] if out else None
            if isinstance(item, Literal) and isinstance(last, Literal):
                out[-1] = Literal(last.text + item.text)
            elif item != EMPTY:
                out.append(item)
    if not out:
        return EMPTY
    return out[0] if len(out) == 1 else Sequence(tuple(out))


def choice(*nodes: Node) -> Node:
    """One of the nodes, flattened, each once."""
    out: dict[Node, None] = {}
    for node in nodes:
        out.update(dict.fromkeys(node.options if isinstance(node, Choice) else (node,)))
    return next(iter(out)) if len(out) == 1 else Choice(tuple(out))


def optional(node: Node) -> Node:
    return repeat(node, 0, 1)


def repeat(node: Node, least: int, most: int | None) -> Node:
    """`least` to `most` of the node; NEVER when it takes more of them than there can be."""
    if most is not None and most < least:
        return NEVER
    if node == NEVER:
        return NEVER if least else EMPTY
    if most == 0 or node == EMPTY:
        return EMPTY
    return node if (least, most) == (1, 1) else Repeat(node, least, most)


def prune(rules: Rules) -> dict[str, Node]:
    """The rules that `root` leads to, in the order in which it does, without what can't end.

    Rules that only name another rule, or one text, are replaced by it.
    """
    productive: set[str] = set()
    while True:
        more = {n for n, node in rules.items() if n not in productive and _ends(node, productive)}
        if not more:
            break
        productive |= more
    kept = {n: _without(rules[n], productive) for n in rules if n in productive}
    short = {n: node for n, node in kept.items() if isinstance(node, Reference | Literal)}
    reached: dict[str, Node] = {}
    pending = ["root"]
    while pending:
        name = pending.pop()
        if name not in reached:
            reached[name] = _inlined(kept.get(name, NEVER), short)
            pending.extend(reversed(list(references(reached[name]))))
    return reached


def _inlined(node: Node, short: Rules) -> Node:
    """The node with references to short rules replaced by what stands there."""
    match node:
        case Reference(rule) if rule in short:
            return _inlined(short[rule], short)
        case Sequence(items):
            return sequence(*(_inlined(i, short) for i in items))
        case Choice(options):
            return choice(*(_inlined(o, short) for o in options))
        case Repeat(item, least, most):
            return repeat(_inlined(item, short), least, most)
        case Lexeme(item):
            return Lexeme(_inlined(item, short))
        case Text(_, exits, rest):
            ways = tuple(Exit(e.closer, _inlined(e.node, short)) for e in exits)
            return replace(node, exits=ways, rest=_inlined(rest, short))
        case _:
            return node


def _ends(node: Node, productive: set[str]) -> bool:
    """Whether some finite text can be written for the node."""
    match node:
        case Literal():
            return True
        case Characters(ranges):
            return bool(ranges)
        case Sequence(items):
            return all(_ends(i, productive) for i in items)
        case Choice(options):
            return any(_ends(o, productive) for o in options)
        case Repeat():
            return node.least == 0 or _ends(node.item, productive)
        case Reference(rule):
            return rule in productive
        case Text():
            return any(_ends(n, productive) for n in (node.rest, *(e.node for e in node.exits)))
        case Lexeme(item):
            return _ends(item, productive)
        case _:
            assert_never(node)


def _without(node: Node, productive: set[str]) -> Node:
    """The node without what can't end; for nodes that can."""
    match node:
        case Sequence(items):
            return sequence(*(_without(i, productive) for i in items))
        case Choice(options):
            return choice(*(_without(o, productive) for o in options if _ends(o, productive)))
        case Repeat(item, least, most):
            if not _ends(item, productive):
                return EMPTY
            return repeat(_without(item, productive), least, most)
        case Text(_, exits, rest):
            kept = tuple(
                Exit(e.closer, _without(e.node, productive))
                for e in exits
                if _ends(e.node, productive)
            )
            rest = _without(rest, productive) if _ends(rest, productive) else NEVER
            return replace(node, exits=kept, rest=rest)
        case Lexeme(item):
            return Lexeme(_without(item, productive))
        case _:
            return node


def times(least: int, most: int | None) -> str:
    """How often something may stand, in the signs that all notations share."""
    match least, most:
        case 0, 1:
            return "?"
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case _ if least == most:
            return f"{{{least}}}"
        case _:
            return f"{{{least},{'' if most is None else most}}}"


def free_name(stem: str, taken: Container[str], *, joint: str = "-") -> str:
    """The stem, or the first of `stem-2`, `stem-3` and so on that is not taken."""
    name, count = stem, 1
    while name in taken:
        count += 1
        name = f"{stem}{joint}{count}"
    return name


def references(node: Node) -> Iterator[str]:
    """Names of the rules that the node leads to, in order."""
    match node:
        case Reference(rule):
            yield rule
        case Sequence(items) | Choice(items):
            for item in items:
                yield from references(item)
        case Repeat() | Lexeme():
            yield from references(node.item)
        case Text():
            yield from references(node.rest)
            for way in node.exits:
                yield from references(way.node)
        case _:
            return
