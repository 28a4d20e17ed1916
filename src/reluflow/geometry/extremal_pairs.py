"""Extremal pairs: the directions (u, q) of (w, v) that neurons with several outputs can align with.

With frozen forces f_k in R^K let Gamma(w) = sum_k s(<w, x_k>) f_k. Directions u of w and q of v climb <q, Gamma(u)> on
the product of two spheres. Its critical points with a positive value are those of |Gamma| on the sphere, with q the
direction of Gamma(u). On a face of the activation cones Gamma is linear, w -> D^T w with D tangent to the face, so the
candidates of a face are the singular pairs of D that lie in it and for which the walls' multipliers are in their range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.data.dataset import Dataset
from reluflow.data.given import as_dataset
from reluflow.geometry.arrangement import (
    NEAR,
    TIE,
    DistinctDirections,
    Faces,
    arrangement_faces,
    distinct_directions,
    num_faces,
)
from reluflow.geometry.cones import DEFAULT_MAX_CONES
from reluflow.geometry.extremal import Landing, landing_on, rounded_count
from reluflow.geometry.landscape import check_leak
from reluflow.geometry.output_walls import check_output_forces
from reluflow.geometry.pair_limit import EQUAL
from reluflow.geometry.subgradient import LineCoefficients, line_coefficients
from reluflow.losses import AbstractLoss, loss_named
from reluflow.processor_time import ProcessorTime
from reluflow.tables import RowsToFrame, html_table

PairKind = Literal["maximum", "saddle", "open"]


@dataclass(frozen=True, eq=False)
class ExtremalPairs(RowsToFrame):
    """The extremal pairs of a dataset with several outputs, fastest first.

    Parameters
    ----------
    vectors
        Rate times u, shape (k, d).
    outputs
        q, shape (k, K), of length 1.
    kinds
        What (u, q) is for <q, Gamma(u)> on the product of the spheres: `maximum`, where |Gamma| is locally largest;
        `saddle`, where it grows in some direction; `open`, where first order does not decide. As q is always the best
        for its u there is no minimum: that of G for one output is a maximum here, with the other q.
    patterns
        Signs of <u, x_k>, shape (k, n).
    dimensions
        Dimension of the cone of that pattern, shape (k,).
    has_equals
        Whether other pairs of the same cone have the same rate, so that (u, q) is one of a sphere of pairs.
    exact
        Whether the list is complete: every cone was visited. Otherwise it holds attractors found by search.
    degenerate
        What is not in general position, as sentences.
    why
        Why the list may not be complete; empty where `exact`.
    d_max, d_min
        The largest and the smallest nonzero leading singular value of D over all cones, on faces of D tangent to them:
        no neuron grows faster than `d_max`. None where the cones were not visited.
    """

    vectors: FloatArray
    outputs: FloatArray
    kinds: tuple[PairKind, ...]
    patterns: SignArray
    dimensions: IntArray
    has_equals: tuple[bool, ...]
    exact: bool
    degenerate: tuple[str, ...]
    why: str = ""
    d_max: float | None = None
    d_min: float | None = None

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def norms(self) -> FloatArray:
        """The rates, shape (k,): how fast a neuron at the pair grows."""
        return np.asarray(np.linalg.norm(self.vectors, axis=1))

    @property
    def sides(self) -> SignArray:
        """+1 for every pair: u lies in its own cone, and q carries the sign that a has for one output."""
        return np.ones(len(self), dtype=np.int8)

    @property
    def directions(self) -> FloatArray:
        """u, shape (k, d)."""
        return np.asarray(self.vectors / self.norms[:, None])

    @property
    def has_saddle(self) -> bool:
        """Whether a pair is a saddle."""
        return "saddle" in self.kinds

    def table(self) -> list[dict[str, Any]]:
        """One row per pair, ready for a data frame."""
        return [
            {
                "vector": tuple(map(float, vector)),
                "output": tuple(map(float, output)),
                "rate": float(rate),
                "kind": kind,
                "pattern": "".join("-0+"[int(u) + 1] for u in pattern),
            }
            for vector, output, rate, kind, pattern in zip(
                self.vectors, self.outputs, self.norms, self.kinds, self.patterns, strict=True
            )
        ]

    def __repr__(self) -> str:
        counts = [f"{self.kinds.count(kind)} {kind}" for kind in ("maximum", "saddle", "open") if kind in self.kinds]
        fastest = f", largest rate {self.norms[0]:.6g}" if len(self) else ""
        return f"ExtremalPairs({', '.join(counts) or 'none'}{fastest}{'' if self.exact else ', found by search'})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())


@dataclass(frozen=True, eq=False)
class _Pair:
    """A pair in coordinates of the row space, with the signs of the lines."""

    rate: float
    u: FloatArray
    q: FloatArray
    kind: PairKind
    signs: SignArray
    rank: int
    has_equals: bool


def extremal_pairs(
    dataset: Dataset,
    loss: AbstractLoss | str,
    *,
    leak: float = 0.0,
    max_cones: int = DEFAULT_MAX_CONES,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> ExtremalPairs:
    """The extremal pairs of a dataset with several classes or several targets.

    Parameters
    ----------
    dataset
        n samples in dimension d, none of them zero.
    loss
        Gives the forces at h = 0; a name, as "softmax", will do.
    leak
        Negative slope of the activation, in [0, 1].
    max_cones
        Visit every cone if there are at most this many; otherwise follow neurons and return `exact` False.
    max_seconds
        Processor time for visiting cones or following neurons; `why` says how much was done.
    progress
        Told the share that is done.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(3), [0, 1, 2], classes=("x", "y", "z"))
    >>> found = extremal_pairs(data, "softmax")
    >>> found.kinds.count("maximum"), found.outputs[0].round(4)
    (3, array([ 0.8165, -0.4082, -0.4082]))
    """
    dataset = as_dataset(dataset)
    chosen = loss_named(loss) if isinstance(loss, str) else loss
    chosen.check_labels(dataset.y, dataset.classes)
    forces = chosen.label_forces(dataset.y, dataset.num_outputs)
    return extremal_pairs_of(dataset.X, forces, leak, max_cones=max_cones, max_seconds=max_seconds, progress=progress)


def extremal_pairs_of(
    X: ArrayLike,
    forces: ArrayLike,
    leak: float = 0.0,
    *,
    max_cones: int = DEFAULT_MAX_CONES,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> ExtremalPairs:
    """Extremal pairs for given forces, shape (n, K). See `extremal_pairs`."""
    samples = np.asarray(X, dtype=np.float64)
    directions = distinct_directions(samples)
    pulls = check_output_forces(forces, directions.line.size)
    check_leak(leak)
    lines = _Lines(directions, pulls, leak)
    if lines.scale == 0.0:
        note = "every force is zero, so Gamma is zero everywhere"
        return replace(lines.collect([], exact=True, notes=[note]), d_max=0.0)
    count = num_faces(*directions.U.shape)
    if count > max_cones:
        from reluflow.geometry.pair_search import pairs_by_search

        return pairs_by_search(samples, pulls, leak, rounded_count(count), max_cones, max_seconds, progress)
    faces = arrangement_faces(directions.U)
    return lines.visit(faces, ProcessorTime(max_seconds), progress)


class _Lines:
    """The lines of the samples with what they pull along them for every output."""

    def __init__(self, directions: DistinctDirections, forces: FloatArray, leak: float) -> None:
        self.directions, self.forces, self.leak = directions, forces, leak
        of_outputs = [line_coefficients(directions, column, leak) for column in forces.T]
        self.plus = np.stack([one.plus for one in of_outputs], axis=1)  # (m, K)
        self.minus = np.stack([one.minus for one in of_outputs], axis=1)
        self.scale = float(np.sum(np.linalg.norm(forces, axis=1) * directions.lengths))
        self.has_kink = np.linalg.norm(self.plus - self.minus, axis=1) > TIE * self.scale

    def visit(self, faces: Faces, allowed: ProcessorTime, progress: Callable[[float], None] | None) -> ExtremalPairs:
        """All faces, those with the same walls at a time."""
        is_wall = (faces.signs == 0) & self.has_kink
        _, group = np.unique(is_wall, axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(group.ravel()[order])) + 1)
        found: list[_Pair] = []
        notes, done, leading = list(faces.notes), 0, []
        for block in blocks:
            if allowed.is_spent:
                break
            rates, pairs = self._visit_block(faces.signs[block], is_wall[block[0]], faces.witnesses[block], notes)
            found += pairs
            leading.append(rates)
            done += len(block)
            if progress is not None:
                progress(max(done / len(order), allowed.share))
        why = ""
        if done < len(order):
            why = f"{len(order) - done:,} of {len(order):,} cones were not visited, for the time was spent"
        result = self.collect(found, exact=not why, notes=notes, why=why)
        if why:
            return result
        rates = np.concatenate(leading)
        nonzero = rates[rates > TIE * self.scale]
        least = float(np.min(nonzero)) if nonzero.size else None
        return replace(result, d_max=float(np.max(rates)), d_min=least)

    def _visit_block(
        self, signs: SignArray, is_wall: np.ndarray[Any, Any], witnesses: FloatArray, notes: list[str]
    ) -> tuple[FloatArray, list[_Pair]]:
        """Faces that lie on the same walls: the leading singular value of each, and their pairs."""
        U = self.directions.U
        zeros = np.flatnonzero(is_wall)
        strengths = np.where((signs >= 0)[:, :, None], self.plus, self.minus) * ~is_wall[:, None]
        pull = np.einsum("fmk,mr->frk", strengths, U)
        inverse = np.linalg.pinv(U[zeros], rcond=TIE).T if zeros.size else np.zeros((0, U.shape[1]))
        rank = int(np.linalg.matrix_rank(U[zeros], tol=TIE)) if zeros.size else 0
        tangent = pull - np.einsum("mr,ms,fsk->frk", U[zeros], inverse, pull)
        left, rates, right = np.linalg.svd(tangent, full_matrices=False)
        pairs: list[_Pair] = []
        is_off = signs != 0
        heights = np.einsum("frp,mr->fpm", left, U) * signs[:, None, :]
        lies_in = [np.all(np.where(is_off[:, None], side * heights, 1.0) > TIE, axis=2) for side in (1, -1)]
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
    ) -> list[_Pair]:  # fmt: skip
        """One pair of a sphere of them, where it meets its cone."""
        shares = u_of @ witness
        if np.linalg.norm(shares) <= TIE:
            return []
        u, q = shares @ u_of / np.linalg.norm(shares), shares @ q_of / np.linalg.norm(shares)
        if not np.all(((self.directions.U @ u) * signs)[signs != 0] > TIE):
            notes.append(
                f"a cone has {len(places)} equal singular values {rates[places[0]]:.6g}; whether their sphere of "
                "directions meets it was tried at one point only"
            )
            return []
        return self._checked(signs, rates, int(places[0]), u, q, pull, inverse, zeros, rank)

    def _checked(
        self, signs: SignArray, rates: FloatArray, place: int, u: FloatArray, q: FloatArray, pull: FloatArray,
        inverse: FloatArray, zeros: IntArray, rank: int,
    ) -> list[_Pair]:  # fmt: skip
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
        return [_Pair(rate, u, q, kind, signs, rank, bool(np.sum(equals) > 1))]

    def landing(self, signs: SignArray, q: FloatArray) -> Landing:
        """The single-output problem that a neuron with output direction q sees: forces <f_k, q>."""
        seen: LineCoefficients = line_coefficients(self.directions, self.forces @ q, self.leak)
        through = np.where((signs == 0) & ~self.has_kink, 1, signs).astype(np.int8)  # a line without a kink is no wall
        return landing_on(self.directions, seen, through, side=1)

    def collect(self, pairs: list[_Pair], *, exact: bool, notes: list[str], why: str = "") -> ExtremalPairs:
        """Lift to R^d and sort, fastest first, then by pattern."""
        d, directions = self.directions.basis.shape[1], self.directions
        pairs = sorted(pairs, key=lambda pair: (-round(pair.rate / self.scale, 9), tuple(-pair.signs), tuple(-pair.q)))
        signs = np.array([pair.signs for pair in pairs], dtype=np.int8).reshape(-1, directions.U.shape[0])
        notes = [*directions.notes, *notes]
        closest = min((_least_cosine(directions.U, pair) for pair in pairs), default=np.inf)
        if closest < NEAR:
            notes.append(f"an extremal pair is within {closest:.1e} of a sample's hyperplane that it is not on")
        if num := sum(pair.has_equals and pair.kind == "maximum" for pair in pairs):
            notes.append(
                f"{num} maxim{'a have' if num > 1 else 'um has'} equal leading singular values: a sphere of directions "
                "around each grows as fast, and one of them is listed"
            )
        if num := sum(pair.kind == "open" for pair in pairs):
            notes.append(f"{num} pairs have a multiplier at an end of its range: first order leaves their kind open")
        return ExtremalPairs(
            vectors=np.array([pair.rate * pair.u @ directions.basis for pair in pairs]).reshape(-1, d),
            outputs=np.array([pair.q for pair in pairs]).reshape(-1, self.plus.shape[1]),
            kinds=tuple(pair.kind for pair in pairs),
            patterns=directions.sample_signs(signs),
            dimensions=np.array([d - pair.rank for pair in pairs], dtype=np.int64),
            has_equals=tuple(pair.has_equals for pair in pairs),
            exact=exact,
            degenerate=tuple(dict.fromkeys(notes)),
            why=why,
        )


def _least_cosine(U: FloatArray, pair: _Pair) -> float:
    return float(np.min(np.abs(U[pair.signs != 0] @ pair.u), initial=np.inf))


def _kind(landing: Landing, is_leading: bool, slack: float) -> PairKind:
    """What the pair is: along its cone the singular values decide, off it the slopes of <q, Gamma>, to first order."""
    if not is_leading or np.any(landing.normal_slopes > slack):
        return "saddle"
    return "maximum" if np.all(landing.normal_slopes < -slack) else "open"
