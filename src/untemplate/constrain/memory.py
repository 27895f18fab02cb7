r"""What was written in the containers that must not repeat themselves: keys, and unique items.

    memory = None                       # outside of such containers nothing is kept
    {"a": 1, "b      ->                 # one open object, its key "a", and `b` of a key so far

The automaton tells names that a schema lists apart, but not all keys and strings there are. Where
an object takes other keys, or an array asks for unique items, this follows the text beside the
automaton and keeps the other keys, and the items. It is a value: taking a step gives a new one.
What does not matter is left out, so places inside of values that are not kept are one place.

An element is a text: `"` and its characters for a string, `=` and its normal form for a number or a
word, `[` or `{` and its parts, each behind its length, for what holds others; the parts of an
object are sorted, so two elements are equal where their texts are.
"""

import json
import re
from collections.abc import Iterator
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from functools import lru_cache
from typing import NamedTuple

from untemplate.constrain.arrays import Array
from untemplate.constrain.objects import Object
from untemplate.constrain.state import State
from untemplate.grammar.schema_atoms import MOST_DIGITS

__all__ = ["Container", "Memory", "remember"]

_EXACT = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)


class Container(NamedTuple):
    """An array or an object that is open."""

    outer: "Container | None"
    is_object: bool
    keeps: bool
    """Whether its keys or items are kept."""
    seen: frozenset[str]
    parts: tuple[str, ...] | None = None
    """What was written in it, where it is an item that is kept or stands inside of one."""
    key: str = ""
    """Whose value comes next, in an object with parts."""
    rivals: tuple[str, ...] = ()
    """Of an item that is kept: those written before that it may still become."""


class Memory(NamedTuple):
    """Where the text stands inside the innermost container."""

    inner: Container
    wants: str
    """What comes next: `key`, `colon`, `value`, or `comma`."""
    quote: int = 0
    """The quote that a string stands in; 0 outside of one."""
    text: bytes = b""
    """What was written of an element that is kept: a string without its quotes, or a scalar."""
    is_escaped: bool = False
    """The last byte was a backslash that escapes."""
    closed: str | None = None
    """The key or item that the last byte ended, if it is kept."""
    is_repeated: bool = False
    """That one had been written before."""

    @property
    def is_element(self) -> bool:
        """Whether a key or item that is kept is being written, or comes next."""
        wanted = "key" if self.inner.is_object else "value"
        return self.inner.keeps and self.wants == wanted

    @property
    def is_recorded(self) -> bool:
        """Whether the text of the key or value is kept."""
        return self.is_element or (self.inner.parts is not None and self.wants in ("key", "value"))

    def written(self, text: bytes) -> "Memory":
        """After some of a string that holds no escape and not its quote."""
        text = self.text + text if self.is_recorded else b""
        return Memory(self.inner, self.wants, self.quote, text)

    @property
    def so_far(self) -> str:
        """What is known of the key or item."""
        return _known(self.text, self.quote) if self.quote else "=" + self.text.decode("ascii")

    @property
    def may_repeat(self) -> bool:
        """Whether the key or item may still become one that was written before."""
        if not self.quote and not self.text:
            return True
        so_far = self.so_far
        if any(s.startswith(so_far) for s in self.inner.seen):
            return True
        return not self.quote and self.nearest in self.inner.seen

    @property
    def may_become(self) -> bool:
        """Whether an array or object that is kept may still become one that was written before.

        O(depth); a scalar inside is held against all scalars of those that are left.
        """
        container: Container | None = self.inner
        while container is not None:
            if container.rivals and (not (self.quote or self.text) or self._is_in(container)):
                return True
            container = container.outer
        return False

    def _is_in(self, container: Container) -> bool:
        so_far = self.so_far
        return any(word.startswith(so_far) for word in self.words(container)) or (
            not self.quote and self.nearest in self.words(container)
        )

    @staticmethod
    def words(container: Container) -> Iterator[str]:
        """All keys and scalars in what an item may still become."""
        for rival in container.rivals:
            yield from _words(rival)

    @property
    def rounded(self) -> "Memory":
        """The same for all ways to write a number so far."""
        is_number = self.text and not self.quote
        return self._replace(text=self.nearest.encode()) if is_number else self

    @property
    def nearest(self) -> str:
        """What a number would be with nothing but zeros to come: `1.` and `1e` are 1, `-` is 0."""
        if self.text == b"-":
            return "=0"
        if self.quote or b"." not in self.text:
            return _scalar(self.text.rstrip(b"eE+-"))
        return _scalar(self.text.partition(b"e")[0].rstrip(b".eE+-"))


def remember(memory: Memory | None, byte: int, state: State) -> Memory | None:
    """One byte more; `state` is the state after it."""
    state = state.as_value
    if memory is None:
        opens = isinstance(state, Object | Array) and state.phase == "open" and state.remembers
        return _opened(None, state) if opens and byte in b"{[" else None
    memory = memory._replace(closed=None, is_repeated=False)
    if memory.quote:
        return _in_string(memory, byte, state)
    if memory.text:
        if byte not in b",]} \t\r\n":
            return memory._replace(text=memory.text + bytes((byte,)))
        memory = _ended(memory, _scalar(memory.text))
    return _between(memory, byte, state)


def _opened(outer: Container | None, state: State) -> Memory:
    is_object = isinstance(state, Object)
    is_item = outer is not None and outer.keeps and not outer.is_object
    is_recorded = is_item or (outer is not None and outer.parts is not None)
    mark = "{" if is_object else "["
    rivals = tuple(s for s in outer.seen if s[0] == mark) if outer and is_item else ()
    parts = () if is_recorded else None
    inner = Container(outer, is_object, state.remembers, frozenset(), parts, rivals=rivals)
    return Memory(inner, "key" if is_object else "value")


def _in_string(memory: Memory, byte: int, state: State) -> Memory:
    if memory.is_escaped or byte != memory.quote:
        escapes = byte == 0x5C and not memory.is_escaped
        return memory.written(bytes((byte,)))._replace(is_escaped=escapes)
    element = _known(memory.text, memory.quote)
    if memory.wants == "key" and isinstance(state, Object) and state.key >= 0:
        # The automaton itself takes no name twice.
        return Memory(_with_key(memory.inner, element), "colon")
    return _ended(memory, element)


def _ended(memory: Memory, element: str) -> Memory:
    """After a key, or a value."""
    inner = memory.inner
    is_key = memory.wants == "key"
    following = "colon" if is_key else "comma"
    after = _with_key(inner, element) if is_key else _with_value(inner, element)
    if not inner.keeps or is_key != inner.is_object:
        return Memory(after, following)
    kept = after._replace(seen=inner.seen | {element})
    return Memory(kept, following, closed=element, is_repeated=element in inner.seen)


def _with_key(inner: Container, key: str) -> Container:
    if inner.parts is None:
        return inner
    begin = _behind_length(key)
    rivals = tuple(r for r in inner.rivals if any(p.startswith(begin) for p in _parts_of(r)))
    return inner._replace(key=key, rivals=rivals)


def _with_value(inner: Container, element: str) -> Container:
    if inner.parts is None:
        return inner
    part = _behind_length(inner.key) + element if inner.is_object else element
    at = len(inner.parts)
    rivals = tuple(
        rival
        for rival in inner.rivals
        if part in (_parts_of(rival) if inner.is_object else _parts_of(rival)[at : at + 1])
    )
    return inner._replace(parts=(*inner.parts, part), rivals=rivals)


def _whole(container: Container, parts: tuple[str, ...]) -> str:
    """An array or object as an element."""
    if container.is_object:
        return "{" + "".join(map(_behind_length, sorted(parts)))
    return "[" + "".join(map(_behind_length, parts))


def _behind_length(text: str) -> str:
    return f"{len(text)}:{text}"


_LENGTH = re.compile(r"(\d+):")


def _split(texts: str, at: int) -> Iterator[str]:
    while found := _LENGTH.match(texts, at):
        at = found.end() + int(found[1])
        yield texts[found.end() : at]


@lru_cache(maxsize=4096)
def _parts_of(element: str) -> tuple[str, ...]:
    """The parts of an array or object."""
    return tuple(_split(element, 1))


@lru_cache(maxsize=4096)
def _words(element: str) -> frozenset[str]:
    """The keys and scalars in an element, itself if it is one."""
    if element[0] == "[":
        inner = list(_parts_of(element))
    elif element[0] == "{":
        pairs = [(next(_split(part, 0)), part) for part in _parts_of(element)]
        inner = [key for key, _ in pairs]
        inner += [part[len(_behind_length(key)) :] for key, part in pairs]
    else:
        return frozenset((element,))
    return frozenset[str]().union(*map(_words, inner))


def _between(memory: Memory, byte: int, state: State) -> Memory | None:
    inner = memory.inner
    if byte in b" \t\r\n":
        return memory
    if byte == 0x3A:
        return memory._replace(wants="value")
    if byte == 0x2C:
        return memory._replace(wants="key" if inner.is_object else "value")
    if byte in b"}]":
        return _closed(memory)
    if byte in b"{[":
        return _opened(inner, state)
    if byte in b"\"'":
        return memory._replace(quote=byte)
    return memory._replace(text=bytes((byte,))) if memory.is_recorded else memory


def _closed(memory: Memory) -> Memory | None:
    """After the bracket that ends the innermost container."""
    inner, outer = memory.inner, memory.inner.outer
    if outer is None:
        # Whether the last item was repeated is still asked.
        return memory if memory.is_repeated else None
    after = Memory(outer, "comma", closed=memory.closed)
    if inner.parts is not None:
        after = _ended(Memory(outer, "value"), _whole(inner, inner.parts))
    return after._replace(is_repeated=after.is_repeated or memory.is_repeated)


def _known(text: bytes, quote: int) -> str:
    """A mark, and the characters of a string so far without one that is not complete."""
    if 0x5C not in text:
        return '"' + text.decode("utf-8", "ignore")
    for cut in range(13):
        try:
            return '"' + _decoded(text[: len(text) - cut], quote)
        except ValueError:
            continue
    return '"' + text.decode("utf-8", "ignore")


def _decoded(text: bytes, quote: int) -> str:
    if quote == 0x22:
        try:
            found = json.loads(b'"' + text + b'"')
        except RecursionError:
            raise ValueError from None
        assert isinstance(found, str)
        return found
    return text.decode().encode("latin-1", "backslashreplace").decode("unicode_escape")


def _scalar(text: bytes) -> str:
    """A number or a word, so that equal ones are the same; whole numbers digit by digit."""
    try:
        number = Decimal(text.decode()).normalize(_EXACT)
    except (InvalidOperation, UnicodeDecodeError):
        return "=" + text.decode("ascii", "replace")
    if not number:
        return "=0"
    return f"={number:f}" if abs(number.adjusted()) <= MOST_DIGITS else f"={number}"
