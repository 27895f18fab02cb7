r"""The turn around the values: literals, free text, calls and the end, as sets of positions.

A state is the set of places in the grammar where the text so far may stand, and each byte moves all
of them (subset construction). In content before a call:

    {text, end of turn, "<tool_call>\n{..."}    any byte keeps `text`; the token <tool_call>, if the
                                                vocabulary has it, moves the third on

A marker that is one token of the vocabulary is written by its id only; its bytes stay forbidden in
text. Calls are expanded per tool when their names are reached. A position before a value hands over
to the value, and the set of positions after it waits on the stack.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from untemplate.constrain.beside import Reading, begin_beside
from untemplate.constrain.characters import Arrival, arrive
from untemplate.constrain.positions import (
    AfterEnd,
    AtByte,
    AtEnd,
    AtSymbol,
    AtValue,
    InLiteral,
    InRaw,
    InText,
    Position,
)
from untemplate.constrain.state import Action, Edges, Enter, Go, Result, Set, Spell, State
from untemplate.constrain.text import UTF8_COST, Avoid, utf8_step
from untemplate.constrain.turn import TurnMachine
from untemplate.constrain.words import LAST
from untemplate.errors import LimitError
from untemplate.grammar import nodes
from untemplate.grammar.answer import ANSWER

__all__ = ["Envelope", "Finished"]


@dataclass(slots=True, unsafe_hash=True)
class Envelope(State):
    """A set of positions; as a frame, those after a value."""

    machine: TurnMachine
    positions: tuple[Position, ...]

    @property
    def _counted(self) -> InRaw | None:
        """The raw string whose characters are counted here."""
        found = [p for p in self.positions if isinstance(p, InRaw) and p.is_counted]
        if len(found) > 1:
            raise LimitError("two counted strings may stand at one place")
        return found[0] if found else None

    @property
    def slope(self) -> int:
        match self.positions:
            case (InRaw() as only,) if only.is_counted:
                return only.raw.machine.slope(only.place, only.region)
            case _:
                return 0

    def cost(self) -> int | None:
        if len(self.positions) == 1:
            return self.machine.cost(self.positions[0])
        costs = [
            self.machine.cost(p)
            for p in self.positions
            # One that has to be counted on costs more than it says; there is a cheaper one.
            if not (isinstance(p, InRaw) and _slope(p))
        ]
        return min(costs, default=None)

    def at_zero(self) -> State:
        if self._counted is None:
            return self
        found: dict[Position, None] = {}
        for position in self.positions:
            if isinstance(position, InRaw) and position.is_counted:
                found.update(dict.fromkeys(self.machine.inside(replace(position, is_zero=True))))
            else:
                found[position] = None
        return Envelope(self.machine, tuple(found))

    @property
    def leaving(self) -> bytes | None:
        if isinstance(self.positions[0], InLiteral) and len(self.positions) == 1:
            return None
        texts = [p for p in self.positions if isinstance(p, InText | InRaw)]
        if len(texts) != 1 or self.positions != self.machine.inside(texts[0]):
            return None  # at the start of a turn more is possible than in its middle
        text = texts[0]
        if isinstance(text, InText):
            avoid, is_free = self.machine.avoid(text.text), not text.utf8
        else:
            is_free = text.raw.machine.is_free and not text.pending and not text.is_zero
            avoid = text.raw.avoid
        if text.avoid or not is_free:
            return None
        others = {b for p in self.positions for b in _first_bytes(p)}
        return bytes(sorted(others | set(avoid.first_bytes)))

    def symbols(self) -> Mapping[int, Action]:
        behind: dict[int, list[Position]] = {}
        ends: dict[int, Action] = {}
        for position in self.positions:
            match position:
                case AtSymbol(token_id, rest):
                    behind.setdefault(token_id, []).extend(self.machine.after(rest))
                case AtEnd(token_ids):
                    ends.update((i, self._enter_positions((AfterEnd(),))) for i in token_ids)
                case _:
                    pass
        return ends | {
            token_id: self._enter_positions(tuple(dict.fromkeys(positions)))
            for token_id, positions in behind.items()
            # Whoever generates stops at such a token, whatever else might follow it.
            if token_id not in ends or token_id not in self.machine.ends
        }

    def edges(self, out: Edges) -> None:
        machine = self.machine
        single: dict[int, list[Position]] = {}
        texts: list[tuple[bytes, tuple[Position, ...], Arrival | None]] = []
        values: list[AtValue] = []
        for position in self.positions:
            match position:
                case InLiteral(data, rest):
                    targets = (InLiteral(data[1:], rest),) if data[1:] else machine.after(rest)
                    single.setdefault(data[0], []).extend(targets)
                case AtByte(members, rest):
                    for byte in members:
                        single.setdefault(byte, []).extend(machine.after(rest))
                case InText():
                    for group, text in _text_moves(machine.avoid(position.text), position):
                        texts.append((group, machine.inside(text), None))
                case InRaw():
                    for group, raw, arrival in _raw_moves(position):
                        texts.append((group, machine.inside(raw), arrival))
                case AtValue():
                    values.append(position)
                case _:
                    pass
        self._tell(out, single, texts)
        if values:
            self._enter(out, values, single, texts)

    def _tell(
        self,
        out: Edges,
        single: dict[int, list[Position]],
        texts: list[tuple[bytes, tuple[Position, ...], Arrival | None]],
    ) -> None:
        is_one = len({p for p in self.positions if isinstance(p, InText | InRaw)}) < 2
        mixed: dict[int, tuple[list[Position], Arrival | None]] = {}
        for group, targets, arrival in texts:
            alone = bytes(b for b in group if b not in single) if is_one else b""
            if alone:
                out.do(alone, self._enter_positions(targets, arrival))
            for byte in group:
                if byte in single or not is_one:
                    found, _ = mixed.get(byte, ([], None))
                    mixed[byte] = ([*found, *targets], arrival)
        for byte, positions in single.items():
            found, arrival = mixed.get(byte, ([], None))
            mixed[byte] = ([*found, *positions], arrival)
        for byte, (positions, arrival) in mixed.items():
            out.do(byte, self._enter_positions(tuple(dict.fromkeys(positions)), arrival))

    def _enter_positions(
        self, positions: tuple[Position, ...], arrival: Arrival | None = None
    ) -> Action:
        """To a set of positions; `arrival` when a raw string goes on in it."""
        if positions == (AfterEnd(),):
            return Go(Finished())
        if len(positions) == 1 and isinstance(positions[0], InLiteral):
            action = self._spell(positions[0])
            return Set(action.state, 0) if self._counted is not None else action
        state = Envelope(self.machine, positions)
        if arrival is not None:
            return arrive(arrival, state)
        # A counted string begins here, if there is one.
        counted = state._counted
        begin = counted.raw.machine.begin() if counted else Arrival(0, 0)
        return arrive(begin, state, was_counted=self._counted is not None)

    def _spell(self, position: InLiteral) -> Go:
        """To bytes of which nothing but the next is allowed."""
        found = self.machine.spelt.get(position)
        if found is None:
            found = self.machine.spelt[position] = self._make_spell(position)
        return found

    def _make_spell(self, position: InLiteral) -> Go:
        data, rest = position.data, position.rest
        if rest is not None and not isinstance(rest.step, nodes.Literal) and len(data) > 1:
            # What follows is looked at when the last byte is: it may be the schemas of all tools.
            last = Envelope(self.machine, (InLiteral(data[-1:], rest),))
            return Go(Spell(data[:-1], Go(last)))
        following = Envelope(self.machine, (position,))
        return Go(Spell(data, following._enter_positions(self.machine.after(rest))))

    def _enter(
        self,
        out: Edges,
        values: list[AtValue],
        single: dict[int, list[Position]],
        texts: list[tuple[bytes, tuple[Position, ...], Arrival | None]],
    ) -> None:
        # What may be text or a literal is that; of several values the first that may begin so.
        taken = set(single) | {b for group, _, _ in texts for b in group}
        if len({v.value.origin for v in values}) > 1:
            first, enter = self.machine.enter_together(values, partial(Envelope, self.machine))
            out.do(bytes(b for b in first if b not in taken), enter)
            return
        for position in values:
            if position.value.origin == ANSWER:
                self._answer_beside(out, position, single)
            first = bytes(b for b in position.value.first if b not in taken)
            taken |= set(first)
            if first:
                frame = Envelope(self.machine, self.machine.after(position.rest))
                out.do(first, Enter(frame, position.value.state))

    def _answer_beside(
        self, out: Edges, position: AtValue, single: dict[int, list[Position]]
    ) -> None:
        """Calls that are written as bare JSON may begin like an answer: both are followed."""
        frame = Envelope(self.machine, self.machine.after(position.rest))
        value = Reading((frame,), position.value.state)
        for byte in set(position.value.first) & single.keys():
            text = self._enter_positions(tuple(dict.fromkeys(single[byte])))
            out.do(byte, begin_beside(text, value, byte))

    def resume(self, result: Result) -> State | None:  # noqa: ARG002  values are always good
        return self


@dataclass(slots=True, unsafe_hash=True)
class Finished(State):
    """Behind the end of the turn; nothing follows."""

    def cost(self) -> int | None:
        return 0

    def edges(self, out: Edges) -> None:
        """None."""


def _slope(position: InRaw) -> int:
    machine = position.raw.machine
    return 0 if position.is_zero else machine.slope(position.place, position.region)


def _first_bytes(position: Position) -> Iterable[int]:
    """Bytes that move a position other than free text."""
    match position:
        case InLiteral(data, _):
            return data[:1]
        case AtByte(members, _):
            return members
        case AtValue(value, _):
            return value.first
        case _:
            return b""


def _text_moves(avoid: Avoid, at: InText) -> Iterable[tuple[bytes, InText]]:
    """Where bytes lead inside free text."""
    for group, search, utf8 in avoid.moves(at.avoid, at.utf8):
        yield group, InText(at.text, search, utf8)


def _raw_moves(at: InRaw) -> Iterable[tuple[bytes, InRaw, Arrival]]:
    """Where bytes lead inside a raw string."""
    machine = at.raw.machine
    utf8 = 0
    for byte in at.pending:
        utf8 = utf8_step(utf8, byte)
    for group, search, left in at.raw.avoid.moves(at.avoid, utf8):
        if at.is_decided or machine.is_free:
            places = [(group, at.place, True)]
        else:
            places = list(_places(at, group, left))
        for part, place, is_decided in places:
            if left:
                pending = _ANY_PENDING[left] if is_decided else at.pending + part
                inside = replace(
                    at, place=place, avoid=search, pending=pending, is_decided=is_decided
                )
                # Inside a character the count stays as it is.
                yield part, inside, Arrival(place, at.region)
                continue
            arrival = machine.arrival(place, at.region, is_zero=at.is_zero)
            if arrival is not None:
                zero = at.is_zero and arrival.region == at.region
                raw = InRaw(
                    at.raw, arrival.place, arrival.region, zero, search, b"", False, at.rest
                )
                yield part, raw, arrival


_ANY_PENDING = (b"", b"\xc2", b"\xe1", b"\xf1", b"\xe0", b"\xed", b"\xf0", b"\xf4")
"""The beginning of a character in each state of UTF-8."""


def _places(at: InRaw, group: bytes, utf8: int) -> Iterable[tuple[bytes, int, bool]]:
    """Where the bytes of a group lead in the words, and whether that is decided."""
    spans = at.raw.machine.spans(at.place)
    size = UTF8_COST[utf8]
    decided: dict[int, bytearray] = {}
    for byte in group:
        low, high = _range(at.pending + bytes((byte,)), size)
        inside = [s for s in spans if s[0] <= high and s[1] >= low]
        if not inside:
            continue
        if inside[0][0] <= low and inside[0][1] >= high:
            decided.setdefault(inside[0][2], bytearray()).append(byte)
        else:
            yield bytes((byte,)), at.place, False
    for place, found in decided.items():
        yield bytes(found), place, True


def _range(data: bytes, size: int) -> tuple[int, int]:
    """First and last code point of the characters that begin so, `size` bytes before their end."""
    total = len(data) + size
    if total == 1:
        return data[0], data[0]
    code = data[0] & (0xFF >> (total + 1))
    for byte in data[1:]:
        code = code << 6 | byte & 0x3F
    least = (0, 0, 0x80, 0x800, 0x10000)[total]
    return max(code << 6 * size, least), min(((code + 1) << 6 * size) - 1, LAST)
