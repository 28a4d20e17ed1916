"""Where a neuron with several outputs tends to in a cone that it does not leave, and a proof that it does not.

Under constant D = sum_i sigma_i u_i q_i^T a neuron is a sum of exponentials: along (u_i, q_i) it grows like
exp(sigma_i t), along (u_i, -q_i) it falls like exp(-sigma_i t), and the rest of (w, v) stays. A height over a wall is
such a sum too. Order its terms by their rates, fastest growth first: if no partial sum is negative now, the height is
never negative later, since every term gains on those after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray, SignArray
from reluflow.geometry.boundary.tolerance import ROUNDING

EQUAL = 1e-9  # singular values this close, relative to the largest, count as equal
_HEIGHT = 1e-14  # a height this small is rounding, of the neuron's norm
_LONGEST_JUMP = 60  # doublings of a step that a jump over a quiet stretch may have


@dataclass(frozen=True, eq=False)
class SingularPairs:
    """D = sum_i rates[i] u_i q_i^T without what is rounding, rates falling: `inputs` u (p, d), `outputs` q (p, K)."""

    rates: FloatArray
    inputs: FloatArray
    outputs: FloatArray

    @classmethod
    def of(cls, pull: FloatArray, scale: float) -> SingularPairs:
        """Of D, shape (d, K); singular values up to `ROUNDING` times `scale` are none."""
        left, values, right = np.linalg.svd(pull, full_matrices=False)
        count = int(np.sum(values > ROUNDING * scale))
        return cls(values[:count], np.ascontiguousarray(left.T[:count]), np.ascontiguousarray(right[:count]))

    def equal_to(self, index: int) -> IndexArray:
        """The places of all rates that equal one of them."""
        return np.flatnonzero(np.abs(self.rates - self.rates[index]) <= EQUAL * self.rates[0])


def is_largest_beside(rate: float, pulls: Sequence[FloatArray], num_walls: int) -> bool | None:
    """Whether |Gamma| is locally largest at a pair that is on walls which <q, Gamma> does not feel to first order.

    `pulls` are D on all sides of these walls. On each the pair is a singular pair; if it leads on all, |Gamma| is
    nowhere larger beside it. If it does not, |Gamma| grows both ways along a line, one of which is on that side of a
    single wall; of several that is left open (None).
    """
    if all(float(np.linalg.norm(pull, 2)) <= rate * (1.0 + EQUAL) for pull in pulls):
        return True
    return False if num_walls == 1 else None


@dataclass(frozen=True, eq=False)
class PairLimit:
    """The pair that a neuron tends to.

    Parameters
    ----------
    rate, w, v
        Its rate of growth and the two unit directions.
    is_leading
        Whether no other pair of the cone grows faster, so that neurons of the cone beside it tend to it too.
    is_one_of_many
        Whether pairs of the same rate surround it, so that nearby neurons tend to others of them.
    """

    rate: float
    w: FloatArray
    v: FloatArray
    is_leading: bool
    is_one_of_many: bool


@dataclass(frozen=True, eq=False)
class PairMotion:
    """A neuron (w, v) under constant D for all later times, in the frame of the pairs of D."""

    pairs: SingularPairs
    rising: FloatArray  # of (u_i, q_i)
    falling: FloatArray  # of (u_i, -q_i)
    rest_w: FloatArray
    rest_v: FloatArray

    @classmethod
    def of(cls, pairs: SingularPairs, w: FloatArray, v: FloatArray) -> PairMotion:
        """Split a neuron; what it has of a pair up to rounding is none."""
        along_w, along_v = pairs.inputs @ w, pairs.outputs @ v
        rising = 0.5 * (along_w + along_v)
        rising[np.abs(rising) <= ROUNDING * np.sqrt(w @ w + v @ v)] = 0.0
        return cls(pairs, rising, 0.5 * (along_w - along_v), w - along_w @ pairs.inputs, v - along_v @ pairs.outputs)

    @property
    def leading(self) -> IndexArray:
        """The fastest pairs that it has a growing part of; none where it has none."""
        present = np.flatnonzero(self.rising)
        return self.pairs.equal_to(int(present[0])) if present.size else present

    def limit(self) -> PairLimit:
        """What its direction tends to, where it has a growing part."""
        chosen = self.leading
        w, v = self.rising[chosen] @ self.pairs.inputs[chosen], self.rising[chosen] @ self.pairs.outputs[chosen]
        rate = float(self.pairs.rates[chosen[0]])
        unit_w, unit_v = w / np.linalg.norm(w), v / np.linalg.norm(v)
        return PairLimit(rate, unit_w, unit_v, is_leading=bool(chosen[0] == 0), is_one_of_many=chosen.size > 1)

    def at(self, time: float) -> tuple[FloatArray, FloatArray, float]:
        """Its w and v at a later time, both divided by exp(rate time), and rate time."""
        rate = float(self.pairs.rates[self.leading[0]])
        up = self.rising * np.exp((self.pairs.rates - rate) * time * (self.rising != 0.0))
        down = self.falling * np.exp(-(self.pairs.rates + rate) * time)
        still = np.exp(-rate * time)
        w = (up + down) @ self.pairs.inputs + still * self.rest_w
        return w, (up - down) @ self.pairs.outputs + still * self.rest_v, rate * time

    def keeps_signs(
        self, normals: FloatArray, sides: SignArray, exits: FloatArray, tolerance: float, step: float
    ) -> tuple[bool, float]:
        """Whether no height <w, normal> over a wall that it is on a side of, and no exit <row, v>, ever changes sign.

        If so is not proved, also for how long none does for certain, a power of 2 times `step` or 0. `tolerance` is
        what rounding leaves of the exits; heights are of unit normals.
        """
        rate, chosen = float(self.pairs.rates[self.leading[0]]), self.leading
        is_off = sides != 0
        on_inputs = sides[is_off, None] * normals[is_off]
        of_inputs, of_outputs = on_inputs @ self.pairs.inputs.T, exits @ self.pairs.outputs.T
        of_inputs[np.abs(of_inputs) <= ROUNDING] = 0.0
        of_outputs[np.abs(of_outputs) <= tolerance] = 0.0
        up = np.vstack([of_inputs, of_outputs]) * self.rising
        down = np.vstack([of_inputs, -of_outputs]) * self.falling
        still = np.concatenate([on_inputs @ self.rest_w, exits @ self.rest_v])[:, None]
        smallest = np.concatenate([np.full(len(on_inputs), ROUNDING), np.full(len(exits), tolerance)])[:, None]
        constant = np.sum(up[:, chosen], axis=1, keepdims=True)
        constant[np.abs(constant) <= smallest * np.linalg.norm(self.rising[chosen])] = 0.0
        terms = np.hstack([constant, np.delete(up, chosen, axis=1), down, still])
        rates = self.pairs.rates
        speeds = np.concatenate([[0.0], rate - np.delete(rates, chosen), rate + rates, [rate]])
        speeds = np.maximum(speeds, 0.0)  # a faster pair that it has no part of
        # Sums that begin with the terms that fall slowest: if none is negative, neither is the whole (Abel's summation)
        sums = np.cumsum(terms[:, np.argsort(speeds, kind="stable")], axis=1)
        if np.all(constant >= 0.0) and np.all(sums >= -_HEIGHT * smallest / ROUNDING):
            return True, np.inf
        against, helping = np.sum(np.minimum(terms, 0.0), axis=1), np.maximum(terms, 0.0)
        longest = 0.0
        for doublings in range(3, _LONGEST_JUMP):
            time = step * 2.0**doublings
            if not np.all(against + helping @ np.exp(-speeds * time) > smallest[:, 0]):
                break
            longest = time
        return False, longest
