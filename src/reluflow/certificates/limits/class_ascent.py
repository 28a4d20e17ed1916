"""The KKT direction of the margin between classes, by quadratic programs that follow a network uphill.

A bundle is some neurons of one activation pattern, taken as one neuron (w, v). With slopes and boundaries as they are,
the margin of a pair is bilinear in (w, v), and

    minimise |theta + d|^2 / 2 - sum_p lambda_p d^T H_p d / 2 + c |d|^2 / 2
    subject to g_p + <grad g_p, d> >= 1 for the pairs, and no bundle beyond a boundary that holds it

is solved for the step d and the next multipliers lambda, as nonnegative least squares in the multipliers. The larger c,
the more is the step one of the flow at infinite outputs, up the smallest margin as steeply as it can, made
implicitly, of length 1/c in units of the logarithm of the norm; with c = 0 it is Newton's. A step counts only if it
raises the smallest margin of all pairs over |theta|^2, with the slopes they then have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray, IntArray
from reluflow.budget import operations_done
from reluflow.certificates.limits.class_step import BundleCurvature, BundleGradients, StepProgram
from reluflow.certificates.pair_gradients import Pairs
from reluflow.geometry.boundary.walls import orthonormal_rows

_MOST_STEPS = 1_000
_NEAR = 0.02  # pairs ahead of the smallest margin by up to this share of it are in the program from the start
_MOST_TAKEN_IN = 100  # at a time, of those that a step would break
_MOST_ROUNDS = 8  # of one step, with what it would break taken in
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 10.0, 1e-9, 1e6
_RELAXED, _TIGHTENED = 0.3, 3.0  # factors of the damping from one step to the next, at most
_BROKEN = 1e-9  # by how much a margin may be off after a step, relative
_BESIDE = 1e-11  # cosine by which a bundle may be on the wrong side
_SLACK = 1e-10  # a slope beyond its bounds by less than this share of the largest force is at them
_LEVEL, _SMALL = 1e-11, 1e-3  # a loss of margin, relative, that is rounding in a step that is so small
_SETTLED, _ROUNDED = 1e-12, 1e-10  # residual of a direction that is found, and of one when it falls no further,
_PATIENCE = 10  # which is so when this many steps have not halved it
_TAKES_OVER = 1e-6  # growth rate of a light bundle, beyond that of the norm, with which it takes over one day
_PARALLEL = 1e-5  # 1 - cos of bundles that are taken together
_MOST_ROWS, _MOST_WORK = 3_000, 6e10  # of a program that takes seconds; operations of a way that takes a minute
ON, OFF, PRESSED = 1, -1, 0


class ClassProgram(NamedTuple):
    """The samples, their pairs, and what no neuron is active on.

    Parameters
    ----------
    X
        The samples, shape (n, d).
    pairs
        Of each with its rival classes.
    walls, wall_forces
        Further samples, shape (p, d), and the forces on the outputs there, shape (p, K), which do not fade: a neuron
        that they push back does not cross them.
    leak
        Negative slope of the activation.
    """

    X: FloatArray
    pairs: Pairs
    walls: FloatArray
    wall_forces: FloatArray
    leak: float

    @property
    def barriers(self) -> FloatArray:
        """Samples and walls: what a bundle may stand on the boundary of."""
        return np.vstack([self.X, self.walls])

    def margins(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """Of all pairs for one neuron per bundle, shape (num_pairs,)."""
        heights = w @ self.X.T
        return self.pairs.margins(np.maximum(heights, self.leak * heights).T @ v)


@dataclass(frozen=True, eq=False)
class Ascent:
    """A direction at smallest margin 1.

    Parameters
    ----------
    w, v
        A neuron for each bundle, shapes (G, d), (G, K).
    sides
        Of all samples and walls for each: `ON`, `OFF`, or `PRESSED` where it stands on the boundary, shape (G, n + p).
    multipliers
        lambda, shape (num_pairs,).
    residual
        |theta - sum lambda grad| / |theta|, tangent to the boundaries.
    bundle_of
        The bundle that each of those at the start has become part of: parallel ones are taken together on the way.
    """

    w: FloatArray
    v: FloatArray
    sides: IntArray
    multipliers: FloatArray
    residual: float
    bundle_of: IndexArray


def ascend(
    program: ClassProgram, w: FloatArray, v: FloatArray, sides: IntArray, *, stride: float = np.inf
) -> Ascent | None:
    """The KKT direction uphill from some bundles; None where it is not found.

    Parameters
    ----------
    program
        Whose margins.
    w, v, sides
        As in `Ascent`, at any norm, every margin positive.
    stride
        Longest step of the unit direction. With short ones the way is that of the flow at infinite outputs, with an
        error in proportion to them.
    """
    smallest = float(np.min(program.margins(w, v)))
    if not smallest > 0.0:
        return None
    climb = _Climb(program, w / np.sqrt(smallest), v / np.sqrt(smallest), sides.copy(), stride)
    least, waited, began = np.inf, 0, operations_done()
    for _ in range(_MOST_STEPS):
        if operations_done() - began > _MOST_WORK or not climb.advance():
            return None
        waited = 0 if climb.residual < 0.5 * least else waited + 1
        least = min(least, climb.residual)
        is_found = climb.residual <= _SETTLED or (climb.residual <= _ROUNDED and waited > _PATIENCE)
        if is_found and not (climb.has_changed or climb.has_takeover):
            return Ascent(climb.w, climb.v, climb.sides, climb.multipliers, climb.residual, climb.bundle_of)
    return None


class _Climb:
    """The bundles on their way, at smallest margin 1."""

    def __init__(self, program: ClassProgram, w: FloatArray, v: FloatArray, sides: IntArray, stride: float) -> None:
        self.program, self.w, self.v, self.sides, self.stride = program, w, v, sides, stride
        self.barriers = program.barriers
        self.lengths = np.linalg.norm(self.barriers, axis=1)
        self.lengths[self.lengths == 0.0] = 1.0
        self.multipliers = np.zeros(len(program.pairs.samples))
        self.damping = _FIRST_DAMPING
        self.residual, self.has_changed, self.has_takeover = np.inf, True, True
        self.guarded = set[tuple[int, int]]()  # bundles and boundaries that they must not be led across
        self.bundle_of = np.arange(len(w))

    @property
    def square(self) -> float:
        """|theta|^2."""
        return float(np.sum(self.w**2) + np.sum(self.v**2))

    def advance(self) -> bool:
        """Make one step, or learn that it must be shorter; False where none is short enough."""
        bases = [self._basis(g) for g in range(len(self.w))]
        self.w = np.array([w - (basis @ w) @ basis for w, basis in zip(self.w, bases, strict=True)])
        found = self._step(bases)
        if found is None:
            return False
        step_w, step_v, multipliers, at_boundary = found
        w, v = self.w + step_w, self.v + step_v
        smallest, square = float(np.min(self.program.margins(w, v))), float(np.sum(w**2) + np.sum(v**2))
        size = float(np.sqrt((np.sum(step_w**2) + np.sum(step_v**2)) / self.square))
        gain = smallest / square * self.square - 1.0
        if not (gain > 0.0 or (gain > -_LEVEL and size < _SMALL)) or size > 2.0 * self.stride:
            self.damping *= _TIGHTENED
            return self.damping <= _MOST_DAMPING
        self.w, self.v, self.multipliers = w / np.sqrt(smallest), v / np.sqrt(smallest), multipliers
        self.has_changed = self._update_sides(at_boundary)
        self._take_together()
        self._judge()
        self.damping = max(self.damping * np.clip(size / self.stride, _RELAXED, _TIGHTENED), _LEAST_DAMPING)
        return True

    def _step(self, bases: list[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray, list[tuple[int, int]]] | None:
        """The step, the multipliers of all pairs, and the boundaries that it leads onto."""
        program, slopes = self.program, self._slopes()
        models = self._models(bases, slopes)
        margins = program.margins(self.w, self.v)
        chosen = np.union1d(np.flatnonzero(margins <= 1.0 + _NEAR), np.flatnonzero(self.multipliers))
        for _ in range(_MOST_ROUNDS):
            guarded = sorted(self.guarded)
            if chosen.size + len(guarded) > _MOST_ROWS:
                return None
            one = self._program_of(chosen, guarded, bases, slopes, models)
            heights = [self.sides[g, k] * float(self.w[g] @ self.barriers[k]) / self.lengths[k] for g, k in guarded]
            values = np.concatenate([margins[chosen] - 1.0, np.array(heights)])
            start = np.concatenate([self.multipliers[chosen], np.zeros(len(guarded))])
            step_w, step_v, found = one.solve(values, start)
            # margins bend: what they gain beyond the first order is put into the program
            there = program.margins(self.w + step_w, self.v + step_v)[chosen]
            values[: chosen.size] = there - 1.0 - one.slopes(step_w, step_v)[: chosen.size]
            step_w, step_v, found = one.solve(values, found)
            w, v = self.w + step_w, self.v + step_v
            there = program.margins(w, v)
            multipliers = np.zeros(len(self.multipliers))
            multipliers[chosen] = found[: chosen.size]
            reached = [place for place, value in zip(guarded, found[chosen.size :], strict=True) if value > 0.0]
            broken = np.setdiff1d(np.flatnonzero(there < 1.0 - _BROKEN), chosen)
            held = np.argwhere(self._is_beyond(w) & (self._pulls(v, multipliers) < 0.0))
            crossed = {(int(g), int(k)) for g, k in held}
            if not broken.size and crossed <= self.guarded:
                break
            chosen = np.union1d(chosen, broken[np.argsort(there[broken])[:_MOST_TAKEN_IN]])
            self.guarded |= crossed
        return step_w, step_v, multipliers, reached

    def _basis(self, g: int) -> FloatArray:
        on = np.flatnonzero(self.sides[g] == PRESSED)
        return orthonormal_rows(self.barriers[on] / self.lengths[on, None])

    def _slopes(self) -> FloatArray:
        """Of every bundle on the samples, 0 where it stands on the boundary."""
        sides = self.sides[:, : len(self.program.X)]
        return np.where(sides == PRESSED, 0.0, np.where(sides == ON, 1.0, self.program.leak))

    def _forces(self) -> FloatArray:
        return self.program.pairs.forces(self.multipliers, len(self.program.X))

    def _models(self, bases: list[FloatArray], slopes: FloatArray) -> list[BundleCurvature]:
        """The quadratic parts under the forces of the last step."""
        forces = self._forces()
        on = np.flatnonzero(np.any(forces != 0.0, axis=1))
        found = []
        for basis, slope in zip(bases, slopes, strict=True):
            pull = self.program.X[on].T @ (slope[on, None] * forces[on])
            found.append(BundleCurvature.of(pull - basis.T @ (basis @ pull), self.damping))
        return found

    def _program_of(
        self,
        chosen: IndexArray,
        guarded: list[tuple[int, int]],
        bases: list[FloatArray],
        slopes: FloatArray,
        models: list[BundleCurvature],
    ) -> StepProgram:
        """The program with the constraints of some pairs and boundaries."""
        pairs, X = self.program.pairs, self.program.X
        k, directions = pairs.samples[chosen], pairs.directions[chosen]
        bundles = np.array([g for g, _ in guarded], dtype=np.intp)
        places = np.array([k for _, k in guarded], dtype=np.intp)
        units = self.barriers[places] / self.lengths[places, None]
        nothing = np.zeros((len(guarded), pairs.directions.shape[1]))
        gradients = []
        for g, basis in enumerate(bases):
            own = np.where(bundles == g, self.sides[g, places], 0.0)
            heights = (X[k] @ self.w[g]) * slopes[g, k]
            levers = np.append((directions @ self.v[g]) * slopes[g, k], own)
            gradients.append(BundleGradients(levers, basis, np.vstack([heights[:, None] * directions, nothing])))
        return StepProgram(np.vstack([X[k], units]), gradients, models, self.w, self.v)

    def _pulls(self, v: FloatArray, multipliers: FloatArray) -> FloatArray:
        """<f_k, v_g> of samples and walls, 0 for samples without a force."""
        forces = self.program.pairs.forces(multipliers, len(self.program.X))
        return np.asarray(v @ np.vstack([forces, self.program.wall_forces]).T)

    def _is_beyond(self, w: FloatArray) -> BoolArray:
        """Which bundles at `w` are not on the side of a boundary that the sets have them on."""
        lengths = np.linalg.norm(w, axis=1)
        cosines = (w @ self.barriers.T) / (np.where(lengths > 0.0, lengths, 1.0)[:, None] * self.lengths)
        return np.asarray((cosines * self.sides < -_BESIDE) & (self.sides != PRESSED))

    def _update_sides(self, at_boundary: list[tuple[int, int]]) -> bool:
        """Let bundles onto boundaries, off them, and across those that do not hold them; whether any force changed."""
        program, n = self.program, len(self.program.X)
        pulls = self._pulls(self.v, self.multipliers)
        has_force = np.append(np.any(self._forces() != 0.0, axis=1), np.ones(len(program.walls), dtype=bool))
        wrong = self._is_beyond(self.w)
        held = wrong & has_force & (pulls < 0.0)
        changed = bool(np.any(wrong & has_force)) or bool(at_boundary)
        self.sides = np.where(held, PRESSED, np.where(wrong, -self.sides, self.sides))
        for g, k in at_boundary:
            self.sides[g, k] = PRESSED
            self.guarded.discard((g, k))
        slopes, largest = self._slopes(), float(self.multipliers.max())
        for g in range(len(self.w)):
            on = np.flatnonzero(self.sides[g] == PRESSED)
            if not on.size:
                continue
            free = (slopes[g] * pulls[g, :n]) @ program.X
            strength = np.linalg.lstsq(self.barriers[on].T, free, rcond=1e-12)[0]
            against = np.maximum(-pulls[g, on], 0.0)
            most = np.where(on < n, against, np.where(against > 0.0, np.inf, 0.0))
            least = np.where(on < n, program.leak * against, 0.0)
            unit = largest * float(np.linalg.norm(self.v[g])) or 1.0
            by = np.maximum(least - strength, strength - most) / unit
            for i in np.flatnonzero(by > _SLACK):
                self.sides[g, on[i]] = OFF if least[i] > strength[i] else ON
                changed = True
        self.guarded = {(g, k) for g, k in self.guarded if self.sides[g, k] != PRESSED}
        return changed

    def _take_together(self) -> None:
        """Make one bundle of those that have become parallel in the same pattern, which the flow never parts again."""
        has_force = np.append(np.any(self._forces() != 0.0, axis=1), np.ones(len(self.program.walls), dtype=bool))
        patterns, whole = self.sides[:, has_force], np.hstack([self.w, self.v])
        lengths = np.linalg.norm(whole, axis=1)
        lengths[lengths == 0.0] = 1.0
        is_same = (whole @ whole.T) / np.outer(lengths, lengths) > 1.0 - _PARALLEL
        leader = np.arange(len(whole))
        for g in np.argsort(-lengths, kind="stable"):
            for h in np.flatnonzero(is_same[g] & (leader == np.arange(len(whole))) & (lengths < lengths[g])):
                if leader[g] == g and np.array_equal(patterns[g], patterns[h]):
                    leader[h] = g
        if np.array_equal(leader, np.arange(len(whole))):
            return
        kept = np.unique(leader)
        for g in kept:
            _, values, right = np.linalg.svd(whole[leader == g], full_matrices=False)
            whole[g] = values[0] * right[0] * (1.0 if right[0] @ whole[g] > 0.0 else -1.0)
        self.w, self.v, self.sides = whole[kept, : self.w.shape[1]], whole[kept, self.w.shape[1] :], self.sides[kept]
        self.bundle_of = np.searchsorted(kept, leader)[self.bundle_of]
        renamed = {int(g): place for place, g in enumerate(kept)}
        self.guarded = {(renamed[g], k) for g, k in self.guarded if g in renamed}
        root = np.sqrt(np.min(self.program.margins(self.w, self.v)))
        self.w, self.v, self.has_changed = self.w / root, self.v / root, True

    def _judge(self) -> None:
        """Measure what the multipliers leave, and whether a bundle grows faster than the norm."""
        slopes, forces = self._slopes(), self._forces()
        on, left, fastest = np.flatnonzero(np.any(forces != 0.0, axis=1)), 0.0, 0.0
        for g, slope in enumerate(slopes):
            basis = self._basis(g)
            pull = self.program.X[on].T @ (slope[on, None] * forces[on])
            pull -= basis.T @ (basis @ pull)
            left += float(np.sum((self.w[g] - pull @ self.v[g]) ** 2) + np.sum((self.v[g] - pull.T @ self.w[g]) ** 2))
            if np.any(self.w[g]):
                fastest = max(fastest, float(np.linalg.norm(pull, 2)))
        self.residual = float(np.sqrt(left / self.square))
        self.has_takeover = fastest > 1.0 + _TAKES_OVER
