"""PairPath: one neuron with several outputs under frozen forces, event by event, to its end or a horizon."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.geometry import pair_path_kernels as kernels
from reluflow.geometry.alignment_kernels import (
    AT_RIDGE,
    DEAD,
    EVENT_LIMIT,
    FINAL,
    HORIZON,
    ORIGIN,
    SHRINKING,
    STATIONARY,
    UNDECIDED,
)
from reluflow.geometry.boundary.decision import resolve
from reluflow.geometry.boundary.events import DEATH, REFRACTION, RIDGE, SLIDE_ENTRY, SLIDE_EXIT
from reluflow.geometry.boundary.tolerance import GIVEN, ROUNDING
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.geometry.output_walls import OutputWalls
from reluflow.geometry.pair_limit import PairLimit, PairMotion, SingularPairs, is_largest_beside

_MOST_EVEN = 6  # walls through a limit that are felt to second order only: 2^6 sides are looked at
_LOG = 256  # crossings between two returns of the kernel
_MOST_LOOKS = 400  # at where a neuron that meets no wall tends to; it is undecided if none of them shows it
_FIRST_QUIET, _QUIET = 6, 64  # steps before the first of them, and at most between two


@dataclass(frozen=True, eq=False)
class PathEnd:
    """How a path stopped: a status of `alignment_statuses`, and the pair that the neuron tends to, if any.

    `is_maximum` is whether |Gamma| is locally largest there, None where that is not decided.
    """

    status: int
    limit: PairLimit | None = None
    is_maximum: bool | None = None


class PairPath:
    """A neuron exp(log_norm) (w, v) with its time, sides and events so far; `follow` carries it on.

    Parameters
    ----------
    pulled
        The walls with the forces.
    w, v
        Where it starts, of any size; w is not 0.
    """

    def __init__(self, pulled: OutputWalls, w: FloatArray, v: FloatArray) -> None:
        self._pulled = pulled
        self._walls = kernels.PairWalls(pulled.normals, pulled.plus, pulled.minus, pulled.scale)
        num_walls, d = pulled.normals.shape
        size = max(float(np.max(np.abs(w))), float(np.max(np.abs(v))))
        norm = float(np.sqrt(np.sum((w / size) ** 2) + np.sum((v / size) ** 2)))
        heights = pulled.normals @ (w / size / norm)
        on = np.abs(heights) <= GIVEN * np.linalg.norm(w / size / norm)
        self._state = kernels.PairState(
            np.ascontiguousarray(w / size / norm),
            np.ascontiguousarray(v / size / norm),
            np.where(on, 0, np.sign(heights)).astype(np.int8),
            np.zeros((pulled.num_outputs, d)),
            np.zeros((num_walls, pulled.num_outputs)),
            np.array([0.0, np.log(size) + np.log(norm), 0.25]),
        )
        self.events: list[tuple[int, float, int]] = []  # wall, time, kind
        self._stopped: PathEnd | None = None
        if np.any(on):
            self._decide(np.flatnonzero(on), is_start=True)
        else:
            self._prepare()

    @property
    def w(self) -> FloatArray:
        """Input weights, shape (d,), of (w, v) at norm 1."""
        return self._state.w

    @property
    def v(self) -> FloatArray:
        """Output weights, shape (K,), of (w, v) at norm 1."""
        return self._state.v

    @property
    def sides(self) -> SignArray:
        """Of the walls; 0 where it slides or has died."""
        return self._state.sides

    @property
    def time(self) -> float:
        """The time it is at."""
        return float(self._state.numbers[kernels.TIME])

    @property
    def log_norm(self) -> float:
        """Logarithm of |(w, v)|."""
        return float(self._state.numbers[kernels.LOG_NORM])

    @property
    def sliding(self) -> IntArray:
        """The walls it slides on."""
        return np.flatnonzero((self.sides == 0) & self._pulled.has_kink)

    def follow(self, horizon: float, max_events: int) -> PathEnd:
        """Carry it to its end, or to the horizon."""
        quiet, looks, since = _FIRST_QUIET, 0, 0
        while self._stopped is None:
            log = kernels.PairLog(np.zeros(_LOG, np.int64), np.zeros(_LOG), np.zeros(1, np.int64))
            code, which = kernels.advance(self._walls, self._slide, self._state, log, horizon, quiet)
            done = int(log.num_written[0])
            self.events += [(int(b), float(t), REFRACTION) for b, t in zip(log.walls[:done], log.times, strict=False)]
            if code == kernels.AT_HORIZON:
                return PathEnd(HORIZON)
            if len(self.events) > max_events:
                return PathEnd(EVENT_LIMIT)
            if code == kernels.QUIET:
                looks += 1
                self._look()
                if looks > _MOST_LOOKS and self._stopped is None:
                    return PathEnd(UNDECIDED)
                quiet = min(2 * quiet, _QUIET)
            elif code == kernels.AT_WALL:
                self._arrive(int(which))
            elif code != kernels.LOG_IS_FULL:
                self._leave(int(which), 1 if code == kernels.LEAVES_UPWARD else -1)
            if len(self.events) > since:
                quiet, looks, since = _FIRST_QUIET, 0, len(self.events)
        return self._stopped

    def carry_stopped(self, horizon: float) -> None:
        """Put a neuron that has stopped where it is at the horizon, if it goes on at all."""
        if self._stopped is None or self._stopped.limit is None or self.time >= horizon:
            return
        motion = self._motion()
        w, v, gained = motion.at(horizon - self.time)
        self._place(w, v, horizon, gained)

    # What happens at walls ------------------------------------------------------------------------------------------

    def _arrive(self, wall: int) -> None:
        """At a wall that is not simply crossed: with all others that it stands on there."""
        length = float(np.linalg.norm(self.w))
        if length <= ROUNDING:
            self.sides[:] = 0
            self._stopped = PathEnd(ORIGIN)
            return
        is_on = (np.abs(self._pulled.normals @ self.w) <= ROUNDING * length) | (self.sides == 0)
        is_on[wall] = True
        self._decide(np.flatnonzero(is_on), is_start=False)

    def _decide(self, on: IntArray, *, is_start: bool) -> None:
        """Where a neuron that stands on walls goes: it slides, passes, dies, or there is no unique way."""
        direction = self._direction(on)
        plus, minus = self._pulled.plus @ direction, self._pulled.minus @ direction
        before = self.sides.copy()
        found = resolve(self._pulled.normals, plus, minus, on, before, 1.0 if np.any(direction) else 0.0, "stop")
        if found.is_ridge or found.is_undecided:
            self.events += [(int(b), self.time, RIDGE) for b in on if found.is_ridge and plus[b] > minus[b]]
            self.sides[on] = 0
            self._stopped = PathEnd(AT_RIDGE if found.is_ridge else UNDECIDED)
            return
        self.sides[on] = found.sides
        self._prepare()
        is_dead = float(np.linalg.norm(self._state.pull)) <= ROUNDING * self._pulled.scale
        for b in on:
            new, old = int(self.sides[b]), int(before[b])
            if is_dead and new != old and self._pulled.has_kink[b]:
                self.events.append((int(b), self.time, DEATH))
                self.sides[b] = 0
            elif new == 0 and (old != 0 or is_start) and self._pulled.has_kink[b]:
                self.events.append((int(b), self.time, SLIDE_ENTRY))
            elif old != 0 and new == -old:
                self.events.append((int(b), self.time, REFRACTION))
            elif old == 0 and new != 0 and not is_start:
                self.events.append((int(b), self.time, SLIDE_EXIT))

    def _direction(self, on: IntArray) -> FloatArray:
        """The unit direction of v, or the one it is about to take where it is 0."""
        v = self.v
        if not np.any(v):
            sides = self.sides.copy()
            sides[on] = 0
            v = self.w @ (self._pulled.normals.T @ self._pulled.strengths(sides))
        length = float(np.linalg.norm(v))
        return np.asarray(v / length) if length > 0.0 else np.zeros_like(v)

    def _leave(self, place: int, side: int) -> None:
        """A slide ends: the multiplier has come to the strength of a side, and what else it slides on stays."""
        wall = int(self.sliding[place])
        self.sides[wall] = side
        self.events.append((wall, self.time, SLIDE_EXIT))
        self._prepare()

    def _prepare(self) -> None:
        """D, its products with the normals and the slide, from the sides."""
        pulled, state = self._pulled, self._state
        strengths = pulled.strengths(self.sides)
        pull = pulled.normals.T @ strengths
        on = self.sliding
        basis = orthonormal_rows(pulled.normals[on])
        inverse = np.linalg.pinv(pulled.normals[on]).T  # (s, d)
        multipliers = -inverse @ pull  # (s, K)
        self._slide = kernels.PairSlide(
            np.ascontiguousarray(basis),
            np.ascontiguousarray(inverse),
            np.ascontiguousarray(multipliers - pulled.plus[on]),
            np.ascontiguousarray(pulled.minus[on] - multipliers),
        )
        pull -= basis.T @ (basis @ pull)
        state.pull[:] = pull.T
        state.slopes[:] = pulled.normals @ pull

    # Where it ends --------------------------------------------------------------------------------------------------

    def _motion(self) -> PairMotion:
        self._prepare()
        pairs = SingularPairs.of(self._state.pull.T, self._pulled.scale)
        return PairMotion.of(pairs, self.w, self.v)

    def _look(self) -> None:
        """Find out whether the neuron stays in its cone for ever; else jump over the time in which it does."""
        motion = self._motion()
        if not motion.pairs.rates.size:
            self._stopped = PathEnd(DEAD)
            return
        if not motion.leading.size:
            is_still = max(np.linalg.norm(motion.rest_w), np.linalg.norm(motion.rest_v)) > ROUNDING
            self._stopped = PathEnd(STATIONARY if is_still else SHRINKING)
            return
        exits = np.vstack([self._slide.above, self._slide.below])
        step = 1.0 / float(np.linalg.norm(self._state.pull))
        stays, jump = motion.keeps_signs(self._pulled.normals, self.sides, exits, ROUNDING * self._pulled.scale, step)
        if stays:
            limit = motion.limit()
            self._stopped = PathEnd(FINAL, limit, self._is_maximum(limit))
        elif jump > 0.0:
            w, v, gained = motion.at(jump)
            self._place(w, v, self.time + jump, gained)

    def _is_maximum(self, limit: PairLimit) -> bool | None:
        """Whether |Gamma| is locally largest at a limit; None where walls through it leave it open."""
        pulled = self._pulled
        on = np.flatnonzero((np.abs(pulled.normals @ limit.w) <= ROUNDING) & (self.sides != 0) & pulled.has_kink)
        bends = (pulled.plus - pulled.minus)[on] @ limit.v
        tolerance = ROUNDING * pulled.scale
        if not limit.is_leading or np.any(bends > tolerance):
            return False
        even = on[bends >= -tolerance]
        if not even.size or even.size > _MOST_EVEN:
            return None if even.size else True
        beside = np.repeat(self.sides[None], 2**even.size, axis=0)
        beside[:, even] = list(product((1, -1), repeat=even.size))
        beside[:, np.setdiff1d(on, even)] = 0
        return is_largest_beside(limit.rate, [pulled.pull(sides) for sides in beside], int(even.size))

    def _place(self, w: FloatArray, v: FloatArray, time: float, gained: float) -> None:
        norm = float(np.sqrt(w @ w + v @ v))
        self._state.w[:], self._state.v[:] = w / norm, v / norm
        self._state.numbers[kernels.TIME] = time
        self._state.numbers[kernels.LOG_NORM] += gained + np.log(norm)
