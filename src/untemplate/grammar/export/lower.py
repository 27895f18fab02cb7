r"""Says free text and long counts with plain rules, for notations that have no other way.

Free text becomes one rule for each state of the search:

    root        Text(("<a>",), (Exit("<a>", Reference("call")),), EMPTY)
    becomes     root         root-text
                root-text    [^<] root-text | "<" root-text-1 | ""
                root-text-1  [^<a] root-text | "<" root-text-1 | "a" root-text-2 | ""
                root-text-2  [^<>] root-text | "<" root-text-1 | ">" call | ""

These rules are right-linear and, but for `rest`, one character decides: an engine that keeps a set
of stacks keeps one of them in the middle of a text. A count of 2,500 becomes two chunks of 1,000
and the rest, unless it may end sooner.
"""

from collections.abc import Callable, Iterator
from functools import partial

from untemplate.grammar.export.automaton import Found, State, search
from untemplate.grammar.export.rules import (
    NEVER,
    Choice,
    Lexeme,
    Literal,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    Text,
    characters,
    choice,
    complement,
    free_name,
    one_of,
    repeat,
    sequence,
)

__all__ = ["CHUNK", "plain"]

CHUNK = 1000
"""How far a repetition counts by itself; llama.cpp refuses one that makes 2,000 rules or more."""


def plain(rules: Rules) -> dict[str, Node]:
    """The same rules without `Text`, `Lexeme`, and repetitions above `CHUNK`."""
    return _Lowering(rules).rules


class _Lowering:
    """Collects the rules that free text becomes."""

    def __init__(self, rules: Rules) -> None:
        self._rule = ""
        self._known: dict[Text, Reference] = {}
        self.rules: dict[str, Node] = dict(rules)
        for self._rule, node in rules.items():
            self.rules[self._rule] = self._lowered(node)

    def _lowered(self, node: Node) -> Node:
        match node:
            case Sequence(items):
                return sequence(*map(self._lowered, items))
            case Choice(options):
                return choice(*map(self._lowered, options))
            case Repeat(item, least, most):
                return self._repeat(self._lowered(item), least, most)
            case Lexeme(item):
                return self._lowered(item)
            case Text():
                if node not in self._known:
                    self._known[node] = self._text(node)
                return self._known[node]
            case _:
                return node

    def _repeat(self, item: Node, least: int, most: int | None) -> Node:
        """The repetition; beyond `CHUNK` as repetitions of chunks."""
        if max(least, most or 0) <= CHUNK:
            return repeat(item, least, most)
        item = self._shared(item, f"{self._rule}-item")
        chunk = self._shared(repeat(item, CHUNK, CHUNK), f"{self._rule}-chunk")
        fixed = sequence(
            repeat(chunk, least // CHUNK, least // CHUNK),
            repeat(item, least % CHUNK, least % CHUNK),
        )
        if most is None:
            return sequence(fixed, repeat(item, 0, None))
        chunks, rest = divmod(most - least, CHUNK)
        full = sequence(repeat(chunk, chunks, chunks), repeat(item, 0, rest))
        if not chunks:
            return sequence(fixed, full)
        less = sequence(repeat(chunk, 0, chunks - 1), repeat(item, 0, CHUNK - 1))
        return sequence(fixed, choice(less, full))

    def _name(self, stem: str) -> str:
        """A name that is still free: `stem`, `stem-2`, ..."""
        name = free_name(stem, self.rules)
        self.rules[name] = NEVER
        return name

    def _shared(self, node: Node, stem: str) -> Node:
        """The node, as a rule of its own if repeating it would repeat much."""
        node = self._lowered(node)
        if isinstance(node, Literal | Reference) or node == NEVER:
            return node
        name = self._name(stem)
        self.rules[name] = node
        return Reference(name)

    def _text(self, text: Text) -> Reference:
        if (text.least, text.most) != (0, None):
            return self._counted(text)
        states = search(text.avoid)
        names = [self._name(f"{self._rule}-text") for _ in states]
        rest = self._shared(text.rest, f"{self._rule}-rest")
        exits = [(e.closer, self._shared(e.node, f"{self._rule}-exit")) for e in text.exits]

        def move(target: int | Found) -> Node:
            if not isinstance(target, Found):
                return Reference(names[target])
            return choice(
                *(
                    sequence(Literal(closer.removeprefix(text.avoid[number])), node)
                    for number in target.strings
                    for closer, node in exits
                    if closer.startswith(text.avoid[number])
                )
            )

        for name, state in zip(names, states, strict=True):
            self.rules[name] = choice(*_moves(state, move), rest)
        return Reference(names[0])

    def _counted(self, text: Text) -> Reference:
        """One rule for each state and each number of characters, as far as the number matters."""
        states = search(text.avoid)
        enough = text.least if text.most is None else text.most
        rest = self._shared(text.rest, f"{self._rule}-rest")
        names = {
            (state, count): self._name(f"{self._rule}-text")
            for count in range(enough + 1)
            for state in range(len(states))
        }

        def move(target: int | Found, count: int) -> Node:
            if isinstance(target, Found) or count == text.most:
                return NEVER
            return Reference(names[target, min(count + 1, enough)])

        for (state, count), name in names.items():
            moves = _moves(states[state], partial(move, count=count))
            self.rules[name] = choice(*moves, *([rest] if count >= text.least else []))
        return Reference(names[0, 0])


def _moves(state: State, move: Callable[[int | Found], Node]) -> Iterator[Node]:
    """One option for each place where a character leads, the most common first."""
    by_target: dict[int | Found, list[str]] = {0: []}
    for character, target in state.moves:
        by_target.setdefault(target, []).append(character)
    for target, members in by_target.items():
        found = characters(members)
        if target == 0:
            found = complement(characters(c for c, to in state.moves if to != 0))
        yield sequence(one_of(found), move(target))
