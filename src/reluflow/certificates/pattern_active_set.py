"""The best direction in fixed patterns by an active set, from a direction that is near it.

The problem is min sum_g |v_g| with every margin at least 1. A vector that takes part is v_g = rho_g P_g with |P_g| = 1,
where the pull P_g = sum_k lambda_k p_gk is taken tangent to the boundaries that the vector stands on. So for given sets
(which samples are active, which vectors take part, which boundaries each stands on) the multipliers lambda and the
lengths rho are the only unknowns, and |P_g|^2 = 1 and margins of 1 are as many equations. Newton's method solves them;
whatever then breaks an inequality changes its set, until nothing does.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.budget import count
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.walls import orthonormal_rows

_MOST_ROUNDS = 60
_ALL_AT_ONCE = 30  # rounds in which every set changes as it must; then one change at a time, lest they go in circles
_NEWTON_STEPS = 30
_LARGEST_TABLE = 2**23  # products of samples with samples, vector by vector, that are still worth it
_HALVINGS = 6
_ROUNDED = 1e-15  # times the root of their number: a residual of equations that is rounding
_LARGEST_STEP = 1e6  # beyond this the matrix is as good as singular
_NEARLY = 1e-9  # residual, whose terms are of size 1, of equations that are solved; rounding is well below
_UNSOLVED = 12  # rounds without a solution after which the sets are given up
_SLACK = 1e-10  # a multiplier, margin or pull beyond its bound by less than this is at it
_AT_BOUNDARY = 1e-9  # cosine below which a vector that is given stands on a boundary
_BESIDE = 1e-11  # cosine by which a vector that was solved for may be on the wrong side
_BOX_TOLERANCE = 1e-13
_FIRST_LENGTH = 1e-3  # of a vector that is taken in, as a share of the longest
_ON, _OFF, _PRESSED = 1, -1, 0


class PatternProgram(NamedTuple):
    """The samples, the slopes and the walls of the vectors.

    Parameters
    ----------
    X, y
        Samples (n, d) and labels.
    signs
        Sign of each vector's output, shape (G,).
    slopes
        Slopes on the samples that pull a vector, nan on those that push it, shape (G, n).
    walls, wall_signs
        Further samples as rows, shape (p, d), that vectors of the other sign must not be active on.
    leak
        Negative slope of the activation.
    """

    X: FloatArray
    y: FloatArray
    signs: FloatArray
    slopes: FloatArray
    walls: FloatArray
    wall_signs: FloatArray
    leak: float

    @property
    def barriers(self) -> FloatArray:
        """Samples and walls as unit rows: what a vector may stand on the boundary of."""
        rows = np.vstack([self.X, self.walls])
        return np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])

    @property
    def is_pushing(self) -> BoolArray:
        """Which of them push which vector, shape (G, n + p)."""
        return np.hstack([np.isnan(self.slopes), self.signs[:, None] != self.wall_signs])

    def margins(self, vectors: FloatArray) -> FloatArray:
        """y_k sum_g sign_g slope_gk <v_g, x_k>, shape (n,)."""
        heights = vectors @ self.X.T
        free = np.maximum(heights, self.leak * heights)
        answers = np.where(np.isnan(self.slopes), free, np.nan_to_num(self.slopes) * heights)
        return np.asarray(self.y * (self.signs @ answers))

    def shortest_pull(self, g: int, multipliers: FloatArray) -> float:
        """|P_g| with the slopes at its boundaries that make it shortest."""
        slopes, is_pushing = self.slopes[g], np.isnan(self.slopes[g]) & (multipliers > 0.0)
        base = (np.nan_to_num(slopes) * multipliers) @ self.X
        held, walls = multipliers[is_pushing], self.walls[self.wall_signs != self.signs[g]]
        against = np.ascontiguousarray(-np.vstack([self.X[is_pushing], walls]))
        lower = np.concatenate([self.leak * held, np.zeros(len(walls))])
        upper = np.concatenate([held, np.full(len(walls), np.inf)])
        shortest, _ = box_minimum_norm(base, against, lower, upper, _BOX_TOLERANCE * float(np.linalg.norm(base)))
        return float(np.linalg.norm(shortest))


@dataclass(frozen=True, eq=False)
class _Held:
    """A vector on its boundaries.

    Parameters
    ----------
    active, slopes
        The active samples, and what a unit of each multiplier adds to its pull along them, 0 for those it stands on.
    pressed
        The boundaries it stands on, among samples and walls.
    basis
        Orthonormal rows that these span.
    table
        Products of what is left of the active samples across them, with their slopes, shape (A, A).
    """

    active: IntArray
    slopes: FloatArray
    pressed: IntArray
    basis: FloatArray
    table: FloatArray

    def pull(self, weight: FloatArray, samples: FloatArray) -> FloatArray:
        """The pull of multipliers of the active samples, tangent to the boundaries."""
        free = (weight * self.slopes) @ samples
        return np.asarray(free - (self.basis @ free) @ self.basis)


class _ActiveSet:
    """The sets: `is_active` samples, vectors `taking` part, and the side of every boundary each vector is on."""

    def __init__(self, program: PatternProgram, vectors: FloatArray, multipliers: FloatArray, negligible: float):
        self.program = program
        self.is_pushing, self.barriers = program.is_pushing, program.barriers
        lengths = np.linalg.norm(vectors, axis=1)
        self.taking = lengths > negligible * lengths.max()
        self.is_active = multipliers > negligible * multipliers.max()
        self.weight = np.where(self.is_active, multipliers / multipliers.max(), 0.0)
        self.rho = np.where(self.taking, lengths / lengths.max(), 0.0)
        cosines = vectors @ self.barriers.T / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        self.side = np.where(np.abs(cosines) <= _AT_BOUNDARY, _PRESSED, np.sign(cosines)).astype(np.int8)
        self.side[:, program.X.shape[0] :][self.side[:, program.X.shape[0] :] == _ON] = _PRESSED
        self.residual = np.inf
        self.held: dict[int, _Held] = {}

    def copy(self) -> _ActiveSet:
        """Sets that change on their own."""
        twin = copy(self)
        twin.taking, twin.is_active, twin.side = self.taking.copy(), self.is_active.copy(), self.side.copy()
        twin.weight, twin.rho, twin.held = self.weight.copy(), self.rho.copy(), dict(self.held)
        return twin

    def hold(self, g: int, active: IntArray, products: FloatArray) -> _Held:
        """A vector as the sets have it, from the active samples and their products; as before where nothing changed."""
        program, n = self.program, len(self.program.X)
        on_active = np.where(self.side[g, active] == _ON, 1.0, program.leak)
        slopes = np.where(self.is_pushing[g, active], -on_active, program.slopes[g, active])
        slopes[self.is_pushing[g, active] & (self.side[g, active] == _PRESSED)] = 0.0
        counts = np.append(self.is_active, np.ones(len(self.barriers) - n, dtype=bool))
        pressed = np.flatnonzero(self.is_pushing[g] & counts & (self.side[g] == _PRESSED))
        before = self.held.get(g)
        basis = None
        if before is not None and np.array_equal(before.pressed, pressed):
            if np.array_equal(before.active, active) and np.array_equal(before.slopes, slopes):
                return before
            basis = before.basis
        basis = orthonormal_rows(self.barriers[pressed]) if basis is None else basis
        along = (basis @ program.X[active].T) * slopes
        return _Held(active, slopes, pressed, basis, np.outer(slopes, slopes) * products - along.T @ along)

    def solve(self) -> FloatArray | None:
        """Vectors, shape (G, d), from `weight` and `rho`, which are set to the solution for the present sets."""
        taking, active = np.flatnonzero(self.taking), np.flatnonzero(self.is_active)
        if not 0 < taking.size * active.size**2 <= _LARGEST_TABLE:
            return None
        samples = self.program.X[active]
        products = samples @ samples.T
        self.held = {int(g): self.hold(int(g), active, products) for g in taking}
        table = np.array([one.table for one in self.held.values()])  # (G', A, A)
        found = _newton(table, self.weight[active], self.rho[taking])
        if found is None:
            return None
        weight, rho, self.residual = found
        self.weight, self.rho = np.zeros(len(self.is_active)), np.zeros(len(self.taking))
        self.weight[active], self.rho[taking] = weight, rho
        vectors = np.zeros((len(self.taking), self.program.X.shape[1]))
        for g, one in self.held.items():
            vectors[g] = self.rho[g] * one.pull(weight, samples)
        return vectors

    def broken(self, vectors: FloatArray, *, lets_in: bool) -> list[_Change]:
        """Every inequality that the solution breaks, with the change of a set that answers it.

        Unless it `lets_in` vectors that take no part, those are not asked.
        """
        largest = float(self.weight.max())
        margins = self.program.margins(vectors)
        by = np.where(self.is_active, -self.weight / largest, 1.0 - margins)
        changes = [_Change(float(by[k]), -1, int(k), 0) for k in np.flatnonzero(by > _SLACK)]
        weight = np.maximum(self.weight, 0.0)
        for g in range(len(self.taking)):
            if not self.taking[g] and not lets_in:
                continue
            if not self.taking[g]:
                excess = self.program.shortest_pull(g, weight) - 1.0
                if excess > _SLACK:
                    changes.append(_Change(excess, g, -1, 0))
            elif self.rho[g] <= 0.0 or not np.any(vectors[g]):
                changes.append(_Change(1.0 - float(self.rho[g]), g, -1, 0))
            else:
                changes += self._broken_at_boundaries(g, vectors[g], weight, largest)
        return changes

    def _broken_at_boundaries(self, g: int, vector: FloatArray, weight: FloatArray, largest: float) -> list[_Change]:
        """Boundaries that cannot hold a vector, and those on whose wrong side it is."""
        program, one, n = self.program, self.held[g], len(self.program.X)
        changes = []
        if one.pressed.size:
            rows = np.vstack([program.X, program.walls])[one.pressed]
            pull = (self.weight[self.is_active] * one.slopes) @ program.X[self.is_active]
            strength = np.linalg.lstsq(one.basis @ rows.T, one.basis @ pull, rcond=1e-12)[0]
            most = np.append(weight, np.full(len(self.barriers) - n, np.inf))[one.pressed]
            least = np.where(one.pressed < n, program.leak * np.where(np.isinf(most), 0.0, most), 0.0)
            for k, below, above in zip(one.pressed, least - strength, strength - most, strict=True):
                if max(below, above) > _SLACK * largest:
                    side = _OFF if below > above else _ON
                    changes.append(_Change(float(max(below, above)) / largest, g, int(k), side))
        cosines = self.barriers @ vector / np.linalg.norm(vector)
        counts = np.append(self.is_active, np.ones(len(self.barriers) - n, dtype=bool))
        free = self.is_pushing[g] & (self.side[g] != _PRESSED)
        self.side[g][free & ~counts] = np.where(cosines[free & ~counts] > 0.0, _ON, _OFF)
        beyond = np.where(self.side[g] == _ON, -cosines, cosines)
        return changes + [
            _Change(float(beyond[k]), g, int(k), _PRESSED) for k in np.flatnonzero(free & counts & (beyond > _BESIDE))
        ]

    def apply(self, change: _Change, vectors: FloatArray) -> None:
        """Change a set."""
        _, g, k, side = change
        if g < 0:
            self.is_active[k] ^= True
            if self.is_active[k]:
                self.side[:, k] = np.where(vectors @ self.barriers[k] > 0.0, _ON, _OFF)
        elif k < 0:
            self.taking[g] ^= True
            self.rho[g] = _FIRST_LENGTH * float(self.rho.max()) if self.taking[g] else 0.0
        else:
            self.side[g, k] = side


class _Change(NamedTuple):
    """By how much an inequality is broken, and what answers it.

    A sample is taken in or left out (`vector` -1), a vector is (`boundary` -1), or a vector gets another `side`.
    """

    by: float
    vector: int
    boundary: int
    side: int


def solve_active_set(
    program: PatternProgram, vectors: FloatArray, multipliers: FloatArray, *, negligible: float
) -> FloatArray | None:
    """The vectors of the best direction, shape (G, d), from a guess; None where they are not found.

    Parameters
    ----------
    program
        The problem.
    vectors
        A guess of the vectors, up to a common factor.
    multipliers
        A guess of the multipliers, up to a common factor, shape (n,).
    negligible
        Multipliers and lengths below this share of the largest are taken for zeros at first.
    """
    return next(solve_active_sets(program, vectors, multipliers, negligible=negligible))


def solve_active_sets(
    program: PatternProgram, vectors: FloatArray, multipliers: FloatArray, *, negligible: float
) -> Iterator[FloatArray | None]:
    """The best direction, and then the best in which vectors that are taken for zeros at first stay zero.

    Both begin with the same sets, which are solved for once.
    """
    if not np.any(vectors) or not multipliers.max() > 0.0:
        yield from (None, None)
        return
    sets = _ActiveSet(program, vectors, multipliers, negligible)
    first = sets.solve()
    for lets_in in (True, False):
        yield _search(sets.copy(), first, lets_in=lets_in)


def _search(sets: _ActiveSet, solved: FloatArray | None, *, lets_in: bool) -> FloatArray | None:
    """Change sets, solved for as they are, until their solution breaks no inequality; None where that fails."""
    num_unsolved = 0
    for number in range(_MOST_ROUNDS):
        if solved is None:
            return None
        num_unsolved += sets.residual > _NEARLY
        if num_unsolved > _UNSOLVED:
            return None
        changes = sorted(sets.broken(solved, lets_in=lets_in), reverse=True)
        if not changes:
            return solved if sets.residual <= _NEARLY else None
        for change in changes if number < _ALL_AT_ONCE else changes[:1]:
            sets.apply(change, solved)
        solved = sets.solve()
    return None


def _newton(table: FloatArray, weight: FloatArray, rho: FloatArray) -> tuple[FloatArray, FloatArray, float] | None:
    """Multipliers and lengths with |P_g|^2 = 1 and margins 1 in given sets, and what they miss of that.

    `table` has <p_gk, p_gl>, shape (G', A, A).
    """
    answers = table @ weight  # (G', A): <p_gk, P_g>
    strength, margin = float(np.mean(answers @ weight)), float(np.median(rho @ answers))
    if not (strength > 0.0 and margin > 0.0):
        return None
    weight, rho = weight / np.sqrt(strength), rho * np.sqrt(strength) / margin
    nothing = np.zeros((len(rho), len(rho)))
    answers, residual = _residual(table, weight, rho)
    for _ in range(_NEWTON_STEPS):
        size = float(np.linalg.norm(residual))
        if size <= _ROUNDED * np.sqrt(len(residual)):
            break
        step = _solved(np.block([[2.0 * answers, nothing], [np.tensordot(rho, table, 1), answers.T]]), -residual)
        for halving in range(_HALVINGS):
            moved = weight + 0.5**halving * step[: len(weight)], rho + 0.5**halving * step[len(weight) :]
            there = _residual(table, *moved)
            missed = float(np.linalg.norm(there[1]))
            if missed <= (1.0 - 0.1 * 0.5**halving) * size:
                break
        else:
            break  # rounding, or equations that contradict each other
        (weight, rho), (answers, residual) = moved, there
    return weight, rho, float(np.linalg.norm(residual))


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """The solution, or the shortest of the nearest ones where multipliers are not unique."""
    try:
        found = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        found = np.full(len(right), np.inf)
    count(1e5 + 0.05 * len(right) ** 3)  # and what is made around it
    if np.linalg.norm(found) <= _LARGEST_STEP:
        return np.asarray(found)
    count(75.0 * len(right) ** 2)
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0])


def _residual(table: FloatArray, weight: FloatArray, rho: FloatArray) -> tuple[FloatArray, FloatArray]:
    answers = table @ weight
    return answers, np.concatenate([answers @ weight - 1.0, rho @ answers - 1.0])
