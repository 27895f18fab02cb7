"""From a row of logits to one token id, in numpy, the same for the same seed.

In: `Sampling` (what a request asks for), a row of float32 logits, and a mask of allowed tokens.
Out: an id. The order is that of Hugging Face and vLLM: penalties and biases, mask, temperature,
top-k, min-p, top-p, draw. Temperature 0 takes the greatest logit; ties go to the lowest id.

    sampler = Sampler(Sampling(temperature=0.7, seed=1), size=vocabulary.size, prompt=prompt)
    sampler.adjust(row)
    apply_mask(row, mask)
    token_id = sampler.choose(row, index=0)
    sampler.accept(token_id)

The draw for token n of a turn depends on the seed and on n alone, not on how often anything was
drawn before. So a turn that was cut and resumed goes on with the numbers it would have had, and
forced tokens, for which nothing is drawn, don't shift the later ones.
"""

import math
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from untemplate.errors import EngineError, RequestError

__all__ = ["Sampler", "Sampling", "uniform"]

_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0.0, 100.0),
    "top_p": (0.0, 1.0),
    "top_k": (0, 1 << 31),
    "min_p": (0.0, 1.0),
    "repetition_penalty": (0.01, 100.0),
    "frequency_penalty": (-100.0, 100.0),
    "presence_penalty": (-100.0, 100.0),
}
_MASK64 = (1 << 64) - 1
_LEAST = float(np.finfo(np.float32).min)
_BLOCK = 64
_HEAD = 256
"""top-p sorts this many of the best tokens first; that is nearly always enough."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a request wants its tokens chosen. The defaults change nothing."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    """0: no limit."""
    min_p: float = 0.0
    """Least probability of a token, as a share of that of the best one."""
    repetition_penalty: float = 1.0
    """Divides the logits of everything that stands in the prompt or the reply."""
    frequency_penalty: float = 0.0
    """Taken off for each time that a token stands in the reply."""
    presence_penalty: float = 0.0
    """Taken off once if a token stands in the reply."""
    seed: int | None = None
    """None: a new one for each turn; `Finished.seed` says which."""
    logit_bias: Mapping[int, float] = field(default_factory=dict[int, float])
    """Token id to what is added to its logit."""

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value: float = getattr(self, name)
            if not low <= value <= high:  # NaN is in no range
                raise RequestError(f"must be {low:g} to {high:g}, not {value!r}", place=name)
        for token_id, bias in self.logit_bias.items():
            if token_id < 0 or not math.isfinite(bias):
                raise RequestError(
                    "needs token ids and finite numbers", place=f"logit_bias[{token_id}]"
                )

    @property
    def is_plain(self) -> bool:
        """Whether `Sampler.adjust` has nothing to do."""
        changing = ("repetition_penalty", "frequency_penalty", "presence_penalty")
        defaults = {f.name: f.default for f in fields(self)}
        return not self.logit_bias and all(getattr(self, n) == defaults[n] for n in changing)


class Sampler:
    """Chooses the tokens of one turn."""

    def __init__(
        self,
        sampling: Sampling,
        *,
        size: int,
        prompt: Iterable[int] = (),
        written: Iterable[int] = (),
    ) -> None:
        outside = [i for i in sampling.logit_bias if i >= size]
        if outside:
            raise RequestError(
                f"the vocabulary has {size} tokens", place=f"logit_bias[{outside[0]}]"
            )
        self.sampling = sampling
        self.seed = secrets.randbits(63) if sampling.seed is None else sampling.seed
        self._is_plain = sampling.is_plain
        self._bias_ids = np.fromiter(sampling.logit_bias.keys(), np.intp)
        self._biases = np.fromiter(sampling.logit_bias.values(), np.float32)
        self._counts: Counter[int] = Counter(written)
        self._seen = set(prompt) | set(self._counts)

    def accept(self, token_id: int) -> None:
        """Counts a token that was written, chosen or forced."""
        if not self._is_plain:
            self._counts[token_id] += 1
            self._seen.add(token_id)

    def adjust(self, row: NDArray[np.float32]) -> None:
        """Applies penalties and biases in place. O(tokens written)."""
        if self._is_plain:
            return
        sampling = self.sampling
        if sampling.repetition_penalty != 1.0:
            ids = np.fromiter(self._seen, np.intp, len(self._seen))
            values = row[ids]
            penalty = np.float32(sampling.repetition_penalty)
            row[ids] = np.where(values > 0, values / penalty, values * penalty)
        if self._counts and (sampling.frequency_penalty or sampling.presence_penalty):
            ids = np.fromiter(self._counts.keys(), np.intp, len(self._counts))
            counts = np.fromiter(self._counts.values(), np.float32, len(self._counts))
            row[ids] -= counts * sampling.frequency_penalty + sampling.presence_penalty
        if self._bias_ids.size:
            row[self._bias_ids] += self._biases

    def choose(self, row: NDArray[np.float32], *, index: int) -> int:
        """The id of token number `index` of the turn. Keeps the row as it is."""
        best = int(row.argmax())
        if not math.isfinite(row[best]):
            raise EngineError("no token can be chosen: every logit is masked, or not a number")
        if self.sampling.temperature == 0 or self.sampling.top_k == 1:
            return best
        # Masked tokens weigh exactly 0, as does what is e^104 times less probable than the best.
        weights = np.exp((row - row[best]) / np.float32(self.sampling.temperature))
        ids = _filtered(row, weights, self.sampling)
        point = uniform(self.seed, index)
        return _drawn(weights, point) if ids is None else int(ids[_drawn(weights[ids], point)])


def uniform(seed: int, index: int) -> float:
    """Number `index` of a seed's sequence in [0, 1): SplitMix64, the same on every machine."""
    state = _mix(seed & _MASK64) + (index + 1) * 0x9E3779B97F4A7C15
    return (_mix(state & _MASK64) >> 11) * 2.0**-53


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK64
    return x ^ (x >> 31)


def _filtered(
    row: NDArray[np.float32], weights: NDArray[np.float32], sampling: Sampling
) -> NDArray[np.intp] | None:
    """Ids that top-k, min-p and top-p leave; None: all."""
    ids: NDArray[np.intp] | None = None
    if 0 < sampling.top_k < row.size:
        ids = _at_least(row, sampling.top_k)
        order = np.argsort(-row[ids], kind="stable")  # of equal ones the lowest ids
        ids = ids[order[: sampling.top_k]]
    if sampling.min_p > 0:
        kept = weights >= sampling.min_p if ids is None else weights[ids] >= sampling.min_p
        ids = np.flatnonzero(kept) if ids is None else ids[kept]
    if sampling.top_p < 1:
        wanted = sampling.top_p * _total(weights if ids is None else weights[ids])
        if ids is None:
            ids = _at_least(weights, _HEAD)
            if _total(weights[ids]) < wanted:
                ids = np.flatnonzero(weights)
        order = np.argsort(-weights[ids], kind="stable")
        reached = np.cumsum(weights[ids[order]], dtype=np.float64)
        ids = ids[order[: int(np.searchsorted(reached, wanted)) + 1]]
    return ids


def _at_least(values: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Ids, in order, of all values from some value on: `count` of the greatest, or somewhat more.

    The greatest of each block of 64 are found first. At least `count` values reach the `count`-th
    greatest of those, and seldom many more; that takes a tenth of the time of a partition.
    """
    maxima = np.maximum.reduceat(values, np.arange(0, values.size, _BLOCK))
    if count >= maxima.size:
        return np.flatnonzero(values > -np.inf)
    least = np.partition(maxima, maxima.size - count)[maxima.size - count]
    return np.flatnonzero(values >= max(least, _LEAST))


def _drawn(weights: NDArray[np.float32], point: float) -> int:
    """Where a point in [0, 1) falls if each index has a share of the line as its weight.

    In two steps, first a block and then an index in it: summing is ten times faster than summing
    up. An index whose weight is 0 has no share.
    """
    starts = np.arange(0, weights.size, _BLOCK)
    sums = np.add.reduceat(weights, starts, dtype=np.float64)
    ends = np.cumsum(sums)
    place = min(point * float(ends[-1]), float(np.nextafter(ends[-1], 0)))
    block = int(np.searchsorted(ends, place, side="right"))
    inside = weights[block * _BLOCK : (block + 1) * _BLOCK]
    rest = place - float(ends[block] - sums[block])
    at = int(np.searchsorted(np.cumsum(inside, dtype=np.float64), rest, side="right"))
    if at == inside.size:  # by rounding; the last that has a share
        at = int(np.flatnonzero(inside)[-1])
    return block * _BLOCK + at


def _total(weights: NDArray[np.float32]) -> float:
    return float(weights.sum(dtype=np.float64))
