"""Singular pairs of D on every face of the activation cones, with the range of multipliers and the kind of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.budget import Budget, count
from reluflow.geometry.arrangement import TIE, DistinctDirections, Faces
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.geometry.extremal import Landing, landing_on
from reluflow.geometry.pair_limit import EQUAL, is_largest_beside
from reluflow.geometry.subgradient import LineCoefficients, line_coefficients

_OPERATIONS_A_FACE = 2e5  # of 1e9 a second, besides the products
_MOST_EVEN = 6  # walls of a pair that are felt to second order only: up to 2^6 sides are looked at
PairKind = Literal["maximum", "saddle", "open"]


@dataclass(frozen=True, eq=False)
class FacePair:
    """A pair in coordinates of the row space, with the signs of the lines."""

    rate: float
    u: FloatArray
    q: FloatArray
    kind: PairKind
    signs: SignArray
    rank: int
    has_equals: bool


@dataclass(frozen=True, eq=False)
class Visit:
    """What a visit to faces found: pairs, the leading singular value of each face, notes, and how many were visited."""

    pairs: list[FacePair]
    rates: FloatArray
    notes: list[str]
    num_done: int
    num_faces: int


class PairLines:
    """The lines of the samples with what they pull along them for every output."""

    def __init__(self, directions: DistinctDirections, forces: FloatArray, leak: float) -> None:
        self.directions, self.forces, self.leak = directions, forces, leak
        of_outputs = [line_coefficients(directions, column, leak) for column in forces.T]
        self.plus = np.stack([one.plus for one in of_outputs], axis=1)  # (m, K)
        self.minus = np.stack([one.minus for one in of_outputs], axis=1)
        self.scale = float(np.sum(np.linalg.norm(forces, axis=1) * directions.lengths))
        self.has_kink = np.linalg.norm(self.plus - self.minus, axis=1) > TIE * self.scale

    def visit(self, faces: Faces, allowed: Budget, progress: Callable[[float], None] | None) -> Visit:
        """All faces, those with the same walls at a time."""
        is_wall = (faces.signs == 0) & self.has_kink
        _, group = np.unique(is_wall, axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(group.ravel()[order])) + 1)
        found: list[FacePair] = []
        notes, done, leading = list(faces.notes), 0, []
        for block in blocks:
            if allowed.is_spent:
                break
            rates, pairs = self._visit_block(faces.signs[block], is_wall[block[0]], faces.witnesses[block], notes)
            found += pairs
            count(len(block) * (_OPERATIONS_A_FACE + self.directions.U.size * self.forces.shape[1]))
            leading.append(rates)
            done += len(block)
            if progress is not None:
                progress(max(done / len(order), allowed.share))
        return Visit(found, np.concatenate(leading) if leading else np.empty(0), notes, done, len(order))

    def _visit_block(
        self, signs: SignArray, is_wall: BoolArray, witnesses: FloatArray, notes: list[str]
    ) -> tuple[FloatArray, list[FacePair]]:
        """Faces that lie on the same walls: the leading singular value of each, and their pairs."""
        U = self.directions.U
        zeros = np.flatnonzero(is_wall)
        strengths = np.where((signs >= 0)[:, :, None], self.plus, self.minus) * ~is_wall[:, None]
        pull = np.einsum("fmk,mr->frk", strengths, U)
        inverse = np.zeros((0, U.shape[1]))
        if zeros.size:
            inverse = np.asarray(np.linalg.pinv(U[zeros], rcond=TIE).T, dtype=np.float64)
        rank = int(np.linalg.matrix_rank(U[zeros], tol=TIE)) if zeros.size else 0
        tangent = pull - np.einsum("mr,ms,fsk->frk", U[zeros], inverse, pull)
        left, rates, right = np.linalg.svd(tangent, full_matrices=False)
        pairs: list[FacePair] = []
        is_off = signs != 0
        heights = np.einsum("frp,mr->fpm", left, U)
        is_even = (np.abs(heights) <= TIE) | is_wall  # on a line without a kink too, where the face is
        lies_in = [
            np.all(np.where(is_off[:, None], side * heights * signs[:, None] > TIE, is_even), axis=2)
            for side in (1, -1)
        ]
        for side, inside in zip((1, -1), lies_in, strict=True):
            for face, place in np.argwhere(inside & (rates > TIE * self.scale)):
                u, q = side * left[face, :, place], side * right[face, place]
                pairs += self._checked(signs[face], rates[face], int(place), u, q, pull[face], inverse, zeros, rank)
        for face, places in self._equal_rates(rates):
            u_of, q_of = left[face][:, places].T, right[face][places]
            if not np.any(lies_in[0][face, places] | lies_in[1][face, places]):
                pairs += self._among_equals(
                    signs[face],
                    rates[face],
                    places,
                    u_of,
                    q_of,
                    witnesses[face],
                    pull[face],
                    inverse,
                    zeros,
                    rank,
                    notes,
                )
        return rates[:, 0], pairs

    def _equal_rates(self, rates: FloatArray) -> Iterator[tuple[int, IntArray]]:
        """Faces of which several singular values are equal, with their places."""
        is_equal = (np.abs(np.diff(rates, axis=1)) <= EQUAL * rates[:, :1]) & (rates[:, 1:] > TIE * self.scale)
        for face in np.flatnonzero(np.any(is_equal, axis=1)):
            ends = np.flatnonzero(~np.append(is_equal[face], False)) + 1
            for places in np.split(np.arange(rates.shape[1]), ends):
                if len(places) > 1:
                    yield int(face), places

    def _among_equals(
        self, signs: SignArray, rates: FloatArray, places: IntArray, u_of: FloatArray, q_of: FloatArray,
        witness: FloatArray, pull: FloatArray, inverse: FloatArray, zeros: IntArray, rank: int, notes: list[str],
    ) -> list[FacePair]:  # fmt: skip
        """One pair of a sphere of them, where it meets its cone."""
        shares = u_of @ witness
        if np.linalg.norm(shares) <= TIE:
            return []
        u, q = shares @ u_of / np.linalg.norm(shares), shares @ q_of / np.linalg.norm(shares)
        heights = self.directions.U @ u
        is_even = np.abs(heights[(signs == 0) & ~self.has_kink]) <= TIE
        if not (np.all((heights * signs)[signs != 0] > TIE) and np.all(is_even)):
            notes.append(
                f"a cone has {len(places)} equal singular values {rates[places[0]]:.6g}; whether their sphere of "
                "directions meets it was tried at one point only"
            )
            return []
        return self._checked(signs, rates, int(places[0]), u, q, pull, inverse, zeros, rank)

    def _checked(
        self, signs: SignArray, rates: FloatArray, place: int, u: FloatArray, q: FloatArray, pull: FloatArray,
        inverse: FloatArray, zeros: IntArray, rank: int,
    ) -> list[FacePair]:  # fmt: skip
        """The pair, if the multipliers of its walls are in their range."""
        slack, rate = TIE * self.scale, float(rates[place])
        ends = np.stack([self.plus[zeros] @ q, self.minus[zeros] @ q])
        if rank == zeros.size:
            values = -inverse @ (pull @ q)
            if np.any(values < ends.min(axis=0) - slack) or np.any(values > ends.max(axis=0) + slack):
                return []
        landing = self.landing(signs, q)
        if not landing.is_critical or np.linalg.norm(landing.projection - rate * u) > 10.0 * slack:
            return []
        equals = np.abs(rates - rate) <= EQUAL * rates[0]
        kind = _kind(landing, rate >= rates[0] * (1.0 - EQUAL), slack)
        if kind == "open" and rank == zeros.size:
            kind = self._kind_beside(signs, rate, ends - values, zeros, slack)
        return [FacePair(rate, u, q, kind, signs, rank, bool(np.sum(equals) > 1))]

    def _kind_beside(
        self, signs: SignArray, rate: float, slopes: FloatArray, zeros: IntArray, slack: float
    ) -> PairKind:
        """The kind of a pair with multipliers at ends of their ranges: `slopes` are plus and minus less them."""
        sides = [
            [side for side, slope in ((1, above), (-1, -below)) if abs(slope) <= slack] or [0]
            for above, below in slopes.T
        ]
        num_even = sum(options != [0] for options in sides)
        if num_even > _MOST_EVEN:
            return "open"
        pulls = []
        for chosen in product(*sides):
            beside = signs.copy()
            beside[zeros] = chosen
            is_wall = (beside == 0) & self.has_kink
            strengths = np.where((beside >= 0)[:, None], self.plus, self.minus) * ~is_wall[:, None]
            basis = orthonormal_rows(self.directions.U[is_wall])
            pull = self.directions.U.T @ strengths
            pulls.append(pull - basis.T @ (basis @ pull))
        is_largest = is_largest_beside(rate, pulls, num_even)
        return "open" if is_largest is None else "maximum" if is_largest else "saddle"

    def landing(self, signs: SignArray, q: FloatArray) -> Landing:
        """The single-output problem that a neuron with output direction q sees: forces <f_k, q>."""
        seen: LineCoefficients = line_coefficients(self.directions, self.forces @ q, self.leak)
        through = np.where((signs == 0) & ~self.has_kink, 1, signs).astype(np.int8)  # a line without a kink is no wall
        return landing_on(self.directions, seen, through, side=1)


def _kind(landing: Landing, is_leading: bool, slack: float) -> PairKind:
    """What the pair is: along its cone the singular values decide, off it the slopes of <q, Gamma>, to first order."""
    if not is_leading or np.any(landing.normal_slopes > slack):
        return "saddle"
    return "maximum" if np.all(landing.normal_slopes < -slack) else "open"
