"""Extremal pairs: the directions (u, q) of (w, v) that neurons with several outputs can align with.

With frozen forces f_k in R^K let Gamma(w) = sum_k s(<w, x_k>) f_k. Directions u of w and q of v climb <q, Gamma(u)> on
the product of two spheres. Its critical points with a positive value are those of |Gamma| on the sphere, with q the
direction of Gamma(u). On a face of the activation cones Gamma is linear, w -> D^T w with D tangent to the face, so the
candidates of a face are the singular pairs of D that lie in it and for which the walls' multipliers are in their range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.budget import Budget
from reluflow.data.dataset import Dataset
from reluflow.data.in_memory import as_dataset
from reluflow.geometry.arrangement import (
    NEAR,
    TIE,
    arrangement_faces,
    distinct_directions,
    num_faces,
)
from reluflow.geometry.cones import DEFAULT_MAX_CONES
from reluflow.geometry.extremal import rounded_count
from reluflow.geometry.face_pairs import FacePair, PairKind, PairLines
from reluflow.geometry.landscape import check_leak
from reluflow.geometry.output_walls import check_output_forces
from reluflow.losses import AbstractLoss, loss_named
from reluflow.tables import RowsToFrame, html_table


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
        `saddle`, where it grows in some direction; `open`, where neither order decides. As q is always the best
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
        Called with the share that is done.

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
    lines = PairLines(directions, pulls, leak)
    if lines.scale == 0.0:
        note = "every force is zero, so Gamma is zero everywhere"
        return replace(_collect(lines, [], exact=True, notes=[note]), d_max=0.0)
    count = num_faces(*directions.U.shape)
    if count > max_cones:
        from reluflow.geometry.pair_search import pairs_by_search

        return pairs_by_search(samples, pulls, leak, rounded_count(count), max_cones, max_seconds, progress)
    faces = arrangement_faces(directions.U)
    visit = lines.visit(faces, Budget(max_seconds), progress)
    if missed := visit.num_faces - visit.num_done:
        why = f"{missed:,} of {visit.num_faces:,} cones were not visited, for the time was spent"
        return _collect(lines, visit.pairs, exact=False, notes=visit.notes, why=why)
    nonzero = visit.rates[visit.rates > TIE * lines.scale]
    return replace(
        _collect(lines, visit.pairs, exact=True, notes=visit.notes),
        d_max=float(np.max(visit.rates)),
        d_min=float(np.min(nonzero)) if nonzero.size else None,
    )


def _collect(lines: PairLines, pairs: list[FacePair], *, exact: bool, notes: list[str], why: str = "") -> ExtremalPairs:
    """Lift to R^d and sort, fastest first, then by pattern."""
    d, directions = lines.directions.basis.shape[1], lines.directions
    pairs = sorted(pairs, key=lambda pair: (-round(pair.rate / lines.scale, 9), tuple(-pair.signs), tuple(-pair.q)))
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
        notes.append(f"{num} pairs have a multiplier at an end of its range, which leaves their kind open")
    return ExtremalPairs(
        vectors=np.array([pair.rate * pair.u @ directions.basis for pair in pairs]).reshape(-1, d),
        outputs=np.array([pair.q for pair in pairs]).reshape(-1, lines.plus.shape[1]),
        kinds=tuple(pair.kind for pair in pairs),
        patterns=directions.sample_signs(signs),
        dimensions=np.array([d - pair.rank for pair in pairs], dtype=np.int64),
        has_equals=tuple(pair.has_equals for pair in pairs),
        exact=exact,
        degenerate=tuple(dict.fromkeys(notes)),
        why=why,
    )


def _least_cosine(U: FloatArray, pair: FacePair) -> float:
    return float(np.min(np.abs(U[pair.signs != 0] @ pair.u), initial=np.inf))
