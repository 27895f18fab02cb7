r"""Inside a key of an object that names keys in plain ASCII.

    {"na    ->  me"  -> `name`      kind"  -> nothing, if it was written before
                any other key, where the object takes some: as from the shadow, a key without names

An object has such a state for each set of keys seen, so its edges are found only where a text comes
there byte by byte; a walk goes down the trie along the names themselves, O(bytes of the names).
"""

from dataclasses import dataclass

from untemplate.constrain.keys import KeyMachine
from untemplate.constrain.state import Edges, Push, State, Text
from untemplate.constrain.strings import Chars, Lane

__all__ = ["start_of_key"]


@dataclass(slots=True, unsafe_hash=True)
class Naming(State):
    """Between two characters of a key that may still become a name."""

    machine: KeyMachine
    place: int
    """In the tree of the names."""

    @property
    def has_texts(self) -> bool:
        return True

    @property
    def shadow(self) -> State | None:
        return _free(self.machine)

    def cost(self) -> int | None:
        cost = self.machine.cost(self.place, 0)
        return None if cost is None else cost + self.machine.close_cost()

    @property
    def rise(self) -> int:
        cost = self.cost()
        assert cost is not None
        return self.machine.farthest(self.place) - cost

    def texts(self) -> tuple[Text, ...]:
        return self.machine.texts(self.place)

    def inside(self, data: bytes) -> tuple[int, State]:
        tree, place = self.machine.tree, self.place
        for size, byte in enumerate(data):
            following = tree.after(place, byte)
            if following is None:
                return size, Naming(self.machine, place)
            place = following
        return len(data), Naming(self.machine, place)

    def edges(self, out: Edges) -> None:
        machine, free = self.machine, self.shadow
        if free is not None:
            out.like(free)
        for data, then in machine.texts(self.place):
            if len(data) > 1:
                out.go(data[0], self.inside(data[:1])[1])
            elif then is None:
                out.go(data, None)
            else:
                out.do(data, then)


def _free(machine: KeyMachine) -> State | None:
    keys = machine.others()
    return None if keys is None else Chars(Lane(keys, keys.quote), 0)


def start_of_key(machine: KeyMachine, frame: State) -> Push:
    """What the opening quote of a key does."""
    if not machine.has_texts:
        return Push(frame, Chars(Lane(machine, machine.quote), 0))
    free = None if machine.tree.names else _free(machine)
    return Push(frame, free or Naming(machine, 0))
