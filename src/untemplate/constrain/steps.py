r"""How the digits of a number stand against `multipleOf`, and against `integer`.

tracker = Steps(Multiple(Decimal("0.5")))                       see `digits`
"""

from untemplate.constrain.digits import LARGE, SMALL, Form, Place
from untemplate.grammar.schema_atoms import MOST_DIGITS, Multiple

__all__ = ["IsWhole", "Steps"]


class IsWhole:
    """Without a fraction. A place is whether there was none so far, and whether a point was."""

    tail = 0
    far_exponent = LARGE

    def first(self, *, negative: bool) -> Place:  # noqa: ARG002  as for all trackers
        return (1, 0)

    def digit(self, place: Place, digit: int, size: int) -> Place:  # noqa: ARG002
        return (0, 1) if place[1] and digit else place

    def point(self, place: Place) -> Place:
        return (place[0], 1)

    def scaled(self, place: Place, size: int) -> Place:  # noqa: ARG002
        return (1, 1)

    def holds(self, place: Place, exponent: int | None = None) -> bool:
        # With so many places as an exponent takes, all that is large is whole.
        return place[0] == 1 if exponent is None else exponent > 0

    def needs(self, place: Place, form: Form) -> int | None:
        return 0 if place[0] or form != "plain" else None

    def takes(self, place: Place) -> int:  # noqa: ARG002
        return MOST_DIGITS


class Steps:
    """Against `multipleOf`: the remainder of the digits, scaled so that the step is whole.

    A place is (remainder, digits after the point, mantissa). The second is -1 before the point;
    once all digits that count are there the remainder is only 0 or not, which is -1. The mantissa
    is the remainder of the digits as if no point were among them, which counts where an exponent
    follows; it is -1 where none can. With an exponent begun all that matters is which exponents
    are large enough: a place is the first of these.

    An exponent makes of the mantissa a multiple by its 2s and 5s. So of the mantissa's own only
    those matter that the smallest large exponent would not bring, and none but near the last place.
    """

    def __init__(self, atom: Multiple) -> None:
        self.step, self._places = atom.scaled
        self.tail = len(str(self.step)) + self._places
        self.odd = self.step
        self._twos = self._fives = 0
        while self.odd % 2 == 0:
            self.odd, self._twos = self.odd // 2, self._twos + 1
        while self.odd % 5 == 0:
            self.odd, self._fives = self.odd // 5, self._fives + 1
        more = max(self._twos, self._fives)
        self.far_exponent = max(LARGE + more, self._places) + 1
        self._is_fine = self._places >= SMALL
        """Whether numbers with an exponent below zero may be multiples."""

    @property
    def most_small(self) -> int:
        """Most digits behind the point of a multiple with an exponent below zero."""
        return self._places - SMALL

    def first(self, *, negative: bool) -> Place:  # noqa: ARG002  as for all trackers
        return (0, -1, 0)

    def digit(self, place: Place, digit: int, size: int) -> Place:
        rest, after, mantissa = place
        mantissa = (mantissa * 10 + digit) % self._modulus(size) if size >= 0 else -1
        if after < 0:
            return ((rest * 10 + digit * int(10**self._places)) % self.step, -1, mantissa)
        if rest < 0 or (after >= self._places and digit):
            return (-1, 0, mantissa)
        if after >= self._places:
            return (rest, after, mantissa)
        weight = int(10 ** (self._places - after - 1))
        rest = (rest + digit * weight) % self.step
        return (self._ended(rest, after + 1), after + 1, mantissa)

    def _ended(self, rest: int, after: int) -> int:
        return -1 if rest and after == self._places else rest

    def _modulus(self, size: int) -> int:
        if self._is_fine:
            return self.step
        late = size - LARGE - self._places
        twos = max(0, min(self._twos, self._twos + late))
        fives = max(0, min(self._fives, self._fives + late))
        return self.odd * int(2**twos) * int(5**fives)

    def point(self, place: Place) -> Place:
        return (self._ended(place[0], 0), 0, place[2])

    def scaled(self, place: Place, size: int) -> Place | None:
        mantissa = place[2]
        if mantissa % self.odd:
            return None
        zeros = 0 if self._is_fine else LARGE - size + self._places
        while mantissa % 2 ** max(0, self._twos - zeros) or mantissa % 5 ** max(
            0, self._fives - zeros
        ):
            zeros += 1
        least = zeros + size - self._places
        return (least if least <= -SMALL else max(least, LARGE),)

    def holds(self, place: Place, exponent: int | None = None) -> bool:
        return place[0] == 0 if exponent is None else exponent >= place[0]

    def needs(self, place: Place, form: Form) -> int | None:
        if form == "scaled":
            return 0
        rest, after, mantissa = place
        if form == "either" and mantissa >= 0:
            return 0
        if rest < 0:
            return None
        if self._places or after >= 0:
            return 0
        # The multiples within the numbers that so many digits more may make.
        return next(n for n in range(self.tail + 1) if -rest * 10**n % self.step < 10**n)

    def takes(self, place: Place) -> int:  # noqa: ARG002
        return MOST_DIGITS
