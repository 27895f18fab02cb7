r"""What was written in the containers that must not repeat themselves: keys, and unique items.

    memory = None                       # outside of such containers nothing is kept
    {"a": 1, "b      ->                 # one open object, its key "a", and `b` of a key so far

The automaton tells names that a schema lists apart, but not all keys and strings there are. Where
an object takes other keys, or an array asks for unique items, this follows the text beside the
automaton and keeps the other keys, and the items. It is a value: taking a step gives a new one.
What does not matter is left out, so places inside of values that are not kept are one place.

Items that are arrays or objects themselves are not kept.
"""

import json
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from untemplate.constrain.arrays import Array
from untemplate.constrain.objects import Object
from untemplate.constrain.state import State

__all__ = ["Container", "Memory", "remember"]


class Container(NamedTuple):
    """An array or an object that is open."""

    outer: "Container | None"
    is_object: bool
    keeps: bool
    """Whether its keys or items are kept."""
    seen: frozenset[str]


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

    def written(self, text: bytes) -> "Memory":
        """After some of a string that holds no escape and not its quote."""
        text = self.text + text if self.is_element else b""
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
    inner = Container(outer, is_object, state.remembers, frozenset())
    return Memory(inner, "key" if is_object else "value")


def _in_string(memory: Memory, byte: int, state: State) -> Memory:
    if memory.is_escaped or byte != memory.quote:
        escapes = byte == 0x5C and not memory.is_escaped
        return memory.written(bytes((byte,)))._replace(is_escaped=escapes)
    if memory.wants == "key" and isinstance(state, Object) and state.key >= 0:
        # The automaton itself takes no name twice.
        return Memory(memory.inner, "colon")
    return _ended(memory, _known(memory.text, memory.quote))


def _ended(memory: Memory, element: str) -> Memory:
    """After a key, a string, a number or a word."""
    inner = memory.inner
    is_key = memory.wants == "key"
    following = "colon" if is_key else "comma"
    if not inner.keeps or is_key != inner.is_object:
        return Memory(inner, following)
    kept = inner._replace(seen=inner.seen | {element})
    return Memory(kept, following, closed=element, is_repeated=element in inner.seen)


def _between(memory: Memory, byte: int, state: State) -> Memory | None:
    inner = memory.inner
    if byte in b" \t\r\n":
        return memory
    if byte == 0x3A:
        return memory._replace(wants="value")
    if byte == 0x2C:
        return memory._replace(wants="key" if inner.is_object else "value")
    if byte in b"}]":
        if inner.outer is None:
            # Whether the last item was repeated is still asked.
            return memory if memory.is_repeated else None
        return Memory(inner.outer, "comma", closed=memory.closed, is_repeated=memory.is_repeated)
    if byte in b"{[":
        return _opened(inner, state)
    if byte in b"\"'":
        return memory._replace(quote=byte)
    return memory._replace(text=bytes((byte,))) if memory.is_element else memory


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
    """A number or a word, so that equal ones are the same."""
    try:
        number = Decimal(text.decode()).normalize()
    except (InvalidOperation, UnicodeDecodeError):
        return "=" + text.decode("ascii", "replace")
    return f"={number}" if number else "=0"
