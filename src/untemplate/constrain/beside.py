r"""A value and a text of the grammar that begin alike, followed side by side.

    {"name": "       an answer by its schema, or the call '{"name": "ping", "parameters": {}}'
    {"name": "pi     still both
    {"name": "pip    an answer: what the value had pushed so far is put on the stack
    {"name": "ping", "parameters": {     a call: the text has come to a value of its own

The automaton knows one stack, so while there are two readings the frames of the value are kept in
the state. That is bounded: the text is a literal, and only as much of the value as it spells.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from untemplate.constrain.state import (
    Action,
    Count,
    Edges,
    Enter,
    Go,
    Leave,
    Pop,
    Push,
    Selector,
    Set,
    State,
    Unfold,
)

__all__ = ["Reading", "begin_beside"]


class Reading(NamedTuple):
    """Where a value is that has no stack of its own."""

    frames: tuple[State, ...]
    state: State
    left: int = 0
    """The count of the configuration."""

    def cost(self) -> int:
        """Fewest bytes to the end of the turn."""
        cost = self.state.cost()
        assert cost is not None
        return cost + self.state.slope * self.left + sum(f.after() for f in self.frames)

    def step(self, byte: int) -> "Reading | None":
        """After one byte; None where it is not allowed."""
        reading, is_read = self, False
        while not is_read:
            action = _edges_of(reading.state).get(byte)
            if action is None:
                return None
            following = reading.after(action)
            if following is None:
                return None
            reading, is_read = following, not isinstance(action, Enter | Leave)
        return reading

    def after(self, action: Action) -> "Reading | None":
        """After what a byte does, as `table` does it."""
        frames, _, left = self
        match action:
            case Go(state):
                return Reading(frames, state, left)
            case Count(state):
                return _counted(frames, state, left - 1)
            case Set(state, count):
                return _counted(frames, state, count)
            case Push(frame, state) | Enter(frame, state):
                return Reading((*frames, frame), state)
            case Pop(result) | Leave(result):
                resumed = frames[-1].resume(result) if frames else None
                return None if resumed is None else Reading(frames[:-1], resumed)
            case Unfold(more, state, count):
                return Reading((*frames, *more), state, count)


def _counted(frames: tuple[State, ...], state: State, count: int) -> Reading | None:
    following = state if count else state.at_zero()
    return None if following is None else Reading(frames, following, count)


@dataclass(slots=True, unsafe_hash=True)
class Beside(State):
    """Both readings."""

    text: State
    value: Reading

    @property
    def remembers(self) -> bool:
        return any(state.remembers for state in (*self.value.frames, self.value.state))

    @property
    def as_value(self) -> State:
        return self.value.state

    def cost(self) -> int | None:
        cost = self.text.cost()
        return self.value.cost() if cost is None else min(cost, self.value.cost())

    def symbols(self) -> Mapping[int, Action]:
        return self.text.symbols()

    def edges(self, out: Edges) -> None:
        texts = _edges_of(self.text)
        known: dict[Action, Action] = {}
        for byte, action in _edges_of(self.value.state).items():
            if byte in texts:
                continue
            following = known.get(action)
            if following is None:
                value = self.value.step(byte)
                if value is None:
                    continue
                following = Unfold(*value)
                if not isinstance(action, Enter | Leave):
                    known[action] = following
            out.do(byte, following)
        for byte, action in texts.items():
            out.do(byte, begin_beside(action, self.value, byte))


def begin_beside(text: Action, value: Reading, byte: int) -> Action:
    """Both readings after a byte, given what it does to the text; the text's own if it is alone."""
    following = value.step(byte) if isinstance(text, Go) else None
    if following is None or not isinstance(text, Go):
        return text
    return Go(Beside(text.state, following))


class _Recorder:
    """Takes the edges of one state by byte, without those to dead states."""

    def __init__(self) -> None:
        self.actions: dict[int, Action] = {}

    def go(self, on: Selector, state: State | None) -> None:
        self.do(on, None if state is None else Go(state))

    def do(self, on: Selector, action: Action | None) -> None:
        members = (on,) if isinstance(on, int) else on if isinstance(on, bytes) else on.tolist()
        if action is not None and (isinstance(action, Pop | Leave) or _lives(action.state)):
            self.actions.update(dict.fromkeys(members, action))
            return
        for byte in members:
            self.actions.pop(byte, None)

    def like(self, state: State) -> None:
        self.actions = dict(_edges_of(state))


def _lives(state: State) -> bool:
    return state.cost() is not None


def _edges_of(state: State) -> Mapping[int, Action]:
    recorder = _Recorder()
    state.edges(recorder)
    return recorder.actions
