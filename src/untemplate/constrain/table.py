r"""States as numbers: the table `next[state, byte]`, grown as far as it is looked at.

    table = Table(limit)
    start = table.state_id(state)
    table.step(start, ctx, 0x7B)        # -> (state id, ctx), or (0, 0) when the byte is not allowed

An entry of the table is 0 (not allowed), a state id, a state id plus `COUNT` (one character less),
or the negative number of an action. Most states allow few bytes, so the entries of a state are a
dictionary; `columns` holds them as arrays for the states that walks take many at a time.

A stack is a number too: equal stacks, one number, so going back costs nothing. `ctx` is stack
number and count in one integer; walks carry it per node.

All that grows does so under one lock; what exists never changes.
"""

import threading
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from untemplate.constrain.columns import Columns
from untemplate.constrain.state import (
    Action,
    Count,
    Enter,
    Go,
    Leave,
    Pop,
    Push,
    Result,
    Selector,
    Set,
    State,
    Unfold,
)
from untemplate.errors import LimitError

__all__ = ["COUNT", "COUNT_BITS", "COUNT_MASK", "GROWTH", "Limits", "Table"]

GROWTH = threading.RLock()
"""Held by whoever makes a table grow. One for all, since grammars share the machines of values."""

COUNT = 1 << 24
COUNT_BITS = 20
COUNT_MASK = (1 << COUNT_BITS) - 1


class Limits:
    """Bounds of one compiled grammar."""

    __slots__ = ("mask_bytes", "places", "should_stop", "stacks", "states")

    def __init__(
        self,
        *,
        states: int = 100_000,
        stacks: int = 1_000_000,
        places: int = 100_000,
        mask_bytes: int = 64 << 20,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        self.states = states
        self.stacks = stacks
        self.places = places
        self.mask_bytes = mask_bytes
        """Places and masks are dropped when there are more, and found again when they are met."""
        self.should_stop = should_stop
        """Asked for every new state; once it says yes, what goes on is given up."""


class Table:
    """States, their edges, and stacks."""

    def __init__(self, limits: Limits, base: "Table | None" = None) -> None:
        """`base`: a table to begin as a copy of; its states are not counted."""
        self._limits = limits
        self.states: list[State | None] = [None]
        self._ids: dict[State, int] = {}
        self._rows: list[dict[int, int] | None] = [{}]
        """For each state its entries that are not 0; None: not asked for yet."""
        self.remembers: list[bool] = [False]
        self.has_memory = False
        """Whether any state remembers what was written."""
        self._zero: list[int] = [0]
        """State at count zero, or -1 when it was not asked for."""
        self.has_texts: list[bool] = [False]
        self.columns = Columns(self)
        self._symbols: dict[int, tuple[Mapping[int, int], int]] = {}
        self._texts: dict[int, tuple[tuple[bytes, int], ...]] = {}
        self.leaving: list[bytes | None] = [None]
        self.is_shared: list[bool] = [False]
        self._shadows: list[int] = [0]
        self._differing: dict[tuple[int, int], list[tuple[int, int, bool]]] = {}
        self.cost: list[int] = [0]
        self.slope: list[int] = [0]
        self._actions: list[Action | None] = [None]
        self._action_ids: dict[Action, int] = {}
        self._resumed: dict[tuple[int, Result], int] = {}
        self.frames: list[int] = [0]
        self.parents: list[int] = [0]
        self.depths: list[int] = [0]
        self.after: list[int] = [0]
        """For each stack: bytes from where its top is gone back to, to the very end."""
        self._stack_ids: dict[tuple[int, int], int] = {}
        self._done: dict[tuple[int, int], tuple[int, int, bool]] = {}
        self._row: dict[int, int] = {}
        self._given = 1
        if base is not None:
            for name, found in vars(base).items():
                if isinstance(found, list | dict):
                    setattr(self, name, found.copy())  # pyright: ignore[reportUnknownMemberType]
            self._given = len(self.states)

    @property
    def size(self) -> int:
        """States of its own."""
        return len(self.states) - self._given

    # ------------------------------------------------------------------------------------- states

    def state_id(self, state: State | None) -> int:
        """The number of a state; 0 when it is dead."""
        if state is None:
            return 0
        found = self._ids.get(state)
        if found is None:
            found = self._add(state)
        return found

    def _add(self, state: State) -> int:
        cost = state.cost()
        if cost is None:
            self._ids[state] = 0
            return 0
        number = len(self.states)
        if self.size >= self._limits.states:
            raise LimitError(f"needs more than {self._limits.states} states")
        if self._limits.should_stop is not None and self._limits.should_stop():
            raise LimitError(f"was stopped after {self.size} states")
        self._ids[state] = number
        self.states.append(state)
        self.cost.append(cost)
        self.slope.append(state.slope)
        self.remembers.append(state.remembers)
        self.has_memory = self.has_memory or state.remembers
        self._rows.append(None)
        self.leaving.append(state.leaving)
        self.is_shared.append(state.is_shared)
        self._shadows.append(-1)
        self.has_texts.append(state.has_texts)
        self._zero.append(-1)
        return number

    def row(self, number: int) -> Mapping[int, int]:
        """The entries of a state, by byte; those that are 0 are left out."""
        found = self._rows[number]
        if found is None:
            state = self.states[number]
            assert state is not None
            self._row = {}
            state.edges(self)
            found = self._rows[number] = self._row
        return found

    def go(self, on: Selector, state: State | None) -> None:
        self._tell(on, self.state_id(state))

    def do(self, on: Selector, action: Action) -> None:
        self._tell(on, self.entry(action))

    def like(self, state: State) -> None:
        self._row = dict(self.row(self.state_id(state)))

    def _tell(self, on: Selector, entry: int) -> None:
        row = self._row
        if isinstance(on, int):
            if entry:
                row[on] = entry
            else:
                row.pop(on, None)
            return
        members = on if isinstance(on, bytes) else on.tolist()
        if entry and not row:
            self._row = dict.fromkeys(members, entry)
        elif entry:
            row.update(dict.fromkeys(members, entry))
        else:
            for byte in members:
                row.pop(byte, None)

    def entry(self, action: Action) -> int:
        """What stands in the table for an action; 0 when it leads to a dead state."""
        match action:
            case Go(state):
                return self.state_id(state)
            case Count(state):
                number = self.state_id(state)
                return number + COUNT if number else 0
            case Set(state) | Push(_, state) | Enter(_, state) | Unfold(_, state):
                if not self.state_id(state):
                    return 0
            case Pop() | Leave():
                pass
        found = self._action_ids.get(action)
        if found is None:
            found = self._action_ids[action] = len(self._actions)
            self._actions.append(action)
        return -found

    def shadow(self, number: int) -> int:
        """The number of `State.shadow`, 0 where there is none."""
        found = self._shadows[number]
        if found < 0:
            state = self.states[number]
            assert state is not None
            found = self._shadows[number] = self.state_id(state.shadow)
        return found

    def shadow_count(self, number: int) -> int | None:
        """See `State.shadow_count`."""
        state = self.states[number]
        return None if state is None else state.shadow_count

    def differing(self, number: int, loop: int) -> list[tuple[int, int, bool]]:
        """Bytes that lead elsewhere than from a loop, to where, and whether they stay in that."""
        found = self._differing.get((number, loop))
        if found is None and self.shadow_count(number) is not None:
            row, other = self.row(number), self.row(loop)
            apart = row.keys() ^ other.keys()
            found = self._differing[number, loop] = [(b, row.get(b, 0), False) for b in apart]
        elif found is None:
            row, other = self.row(number), self.row(loop)
            found = self._differing[number, loop] = [
                (byte, row.get(byte, 0), other.get(byte) == loop)
                for byte in row.keys() | other.keys()
                if row.get(byte) != other.get(byte)
            ]
        return found

    def texts(self, number: int) -> tuple[tuple[bytes, int], ...]:
        """See `State.texts`; with the entries of their last bytes."""
        found = self._texts.get(number)
        if found is None:
            state = self.states[number]
            assert state is not None
            ways = ((data, 0 if then is None else self.entry(then)) for data, then in state.texts())
            found = self._texts[number] = tuple(ways)
        return found

    def rise(self, number: int) -> int:
        """See `State.rise`."""
        state = self.states[number]
        return 0 if state is None else state.rise

    def look(self, number: int, byte: int) -> int:
        """The entry of one byte. Where few texts may follow no other is found for it."""
        row = self._rows[number]
        if row is not None or not self.has_texts[number]:
            return (self.row(number) if row is None else row).get(byte, 0)
        state = self.states[number]
        assert state is not None
        size, inner = state.inside(bytes((byte,)))
        if size:
            return self.state_id(inner)
        for data, entry in self.texts(number):
            if data[0] == byte:
                return entry
        shadow = self.shadow(number)
        return self.look(shadow, byte) if shadow else 0

    def run(self, number: int) -> bytes:
        """Bytes that must follow, one after the other, as far as the state alone says."""
        if not self.has_texts[number]:
            row = self.row(number)
            return bytes(row) if len(row) == 1 else b""
        texts = [data for data, entry in self.texts(number) if entry]
        if self.shadow(number) or not texts:
            return b""
        first, last = min(texts), max(texts)
        size = next((n for n, byte in enumerate(first) if last[n] != byte), len(first))
        return first[:size]

    def at_zero(self, number: int) -> int:
        """The state in place of this one when its count is used up."""
        found = self._zero[number]
        if found < 0:
            state = self.states[number]
            assert state is not None
            found = self._zero[number] = self.state_id(state.at_zero())
        return found

    # ------------------------------------------------------------------------------------- stacks

    def push(self, frame: int, stack: int) -> int:
        """The stack with a frame on top."""
        key = (frame, stack)
        found = self._stack_ids.get(key)
        if found is None:
            if len(self.frames) > self._limits.stacks:
                raise LimitError(f"needs more than {self._limits.stacks} stacks")
            state = self.states[frame]
            assert state is not None
            found = self._stack_ids[key] = len(self.frames)
            self.frames.append(frame)
            self.parents.append(stack)
            self.depths.append(self.depths[stack] + 1)
            self.after.append(self.after[stack] + state.after())
        return found

    def resume(self, frame: int, result: Result) -> int:
        """The state after an inner value of a frame."""
        key = (frame, result)
        found = self._resumed.get(key)
        if found is None:
            state = self.states[frame]
            assert state is not None
            found = self._resumed[key] = self.state_id(state.resume(result))
        return found

    def act(self, entry: int, ctx: int) -> tuple[int, int, bool]:
        """Does a negative entry: the state, the ctx, and whether the byte is still to be read."""
        stack = ctx >> COUNT_BITS
        key = (entry, stack)
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = self._act(entry, stack)
        return found

    def _act(self, entry: int, stack: int) -> tuple[int, int, bool]:
        action = self._actions[-entry]
        match action:
            case Set(state, count):
                count = min(count, COUNT_MASK)
                number = self.state_id(state)
                if not count:
                    number = self.at_zero(number)
                return number, stack << COUNT_BITS | count, False
            case Push(frame, state) | Enter(frame, state):
                number = self.state_id(state)
                stack = self.push(self.state_id(frame), stack)
                return number, stack << COUNT_BITS, isinstance(action, Enter)
            case Pop(result) | Leave(result):
                if not stack:
                    return 0, 0, False
                number = self.resume(self.frames[stack], result)
                parent = self.parents[stack]
                return number, parent << COUNT_BITS, isinstance(action, Leave)
            case Unfold(frames, state, count):
                for frame in frames:
                    stack = self.push(self.state_id(frame), stack)
                return self.state_id(state), stack << COUNT_BITS | min(count, COUNT_MASK), False
            case _:
                raise AssertionError(action)

    def settle(self, entry: int, ctx: int) -> tuple[int, int, bool]:
        """Does any entry but 0."""
        if entry < 0:
            return self.act(entry, ctx)
        if entry < COUNT:
            return entry, ctx, False
        number, ctx = entry - COUNT, ctx - 1
        if not ctx & COUNT_MASK:
            number = self.at_zero(number)
        return number, ctx, False

    # -------------------------------------------------------------------------------------- steps

    def step(self, number: int, ctx: int, byte: int) -> tuple[int, int]:
        """One byte; (0, 0) when it is not allowed."""
        while number:
            row = self._rows[number]
            entry = self.look(number, byte) if row is None else row.get(byte)
            if not entry:
                break
            number, ctx, again = self.settle(entry, ctx)
            if not again:
                return (number, ctx) if number else (0, 0)
        return 0, 0

    def read(self, number: int, ctx: int, data: bytes) -> tuple[int, int]:
        """Several bytes; (0, 0) when they are not allowed. What is inside of texts is one step."""
        at = 0
        while at < len(data) and number:
            size = 0
            if self.has_texts[number]:
                state = self.states[number]
                assert state is not None
                size, inner = state.inside(data[at:] if at else data)
                if size:
                    number = self.state_id(inner)
            if not size:
                number, ctx = self.step(number, ctx, data[at])
            at += size or 1
        return number, ctx

    def step_symbol(self, number: int, ctx: int, token_id: int) -> tuple[int, int]:
        """One special token; (0, 0) when it is not allowed."""
        while number:
            found, other = self._symbols_of(number)
            entry = found.get(token_id, other)
            if not entry:
                break
            number, ctx, again = self.settle(entry, ctx)
            if not again:
                return (number, ctx) if number else (0, 0)
        return 0, 0

    def symbols(self, number: int, ctx: int) -> Mapping[int, int]:
        """Special tokens that are allowed here."""
        while number:
            found, entry = self._symbols_of(number)
            if found:
                return found
            if not entry:
                break
            number, ctx, _ = self.settle(entry, ctx)
        return {}

    def _symbols_of(self, number: int) -> tuple[Mapping[int, int], int]:
        """The entries of special tokens in a state, and that of any other."""
        found = self._symbols.get(number)
        if found is None:
            state = self.states[number]
            assert state is not None
            entries = {t: e for t, a in state.symbols().items() if (e := self.entry(a))}
            action = state.on_symbol()
            found = self._symbols[number] = (entries, self.entry(action) if action else 0)
        return found

    def counts(self, number: int) -> bool:
        """Whether characters are counted in a state that is a loop."""
        row = self.row(number)
        # No loop is left by both of these.
        return row.get(0x61, 0) >= COUNT or row.get(0x41, 0) >= COUNT

    def goes_on(self, number: int) -> bool:
        """Whether characters may follow in a loop when none is left of its count."""
        row = self.row(self.at_zero(number))
        return 0x61 in row or 0x41 in row

    def distinct_bytes(self, number: int, preferred: AbstractSet[int]) -> list[int]:
        """Bytes that are allowed; of those that lead to the same place the smallest preferred."""
        found: dict[int, int] = {}
        rest: list[int] = []
        for byte, entry in sorted(self.row(number).items()):
            # A byte that leaves is still to be read by the frame, so each may lead elsewhere.
            if entry < 0 and isinstance(self._actions[-entry], Enter | Leave):
                rest.append(byte)
            elif entry not in found or (byte in preferred and found[entry] not in preferred):
                found[entry] = byte
        return sorted([*found.values(), *rest])

    def origin(self, number: int, ctx: int) -> str:
        """The tool whose schema a configuration is inside of, as far as its states know."""
        stack = ctx >> COUNT_BITS
        while True:
            state = self.states[number]
            if state is not None and state.origin:
                return state.origin
            if not stack:
                return ""
            number, stack = self.frames[stack], self.parents[stack]

    def total(self, number: int, ctx: int) -> int:
        """Bytes of the shortest way to the very end."""
        count = ctx & COUNT_MASK
        return self.cost[number] + self.slope[number] * count + self.after[ctx >> COUNT_BITS]
