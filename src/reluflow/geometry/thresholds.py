"""Constants of early alignment: how small the scale must be, how long alignment takes, how well it ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.arrangement import TIE, arrangement_faces, distinct_directions, num_faces
from reluflow.geometry.cones import DEFAULT_MAX_CONES
from reluflow.geometry.extremal import ExtremalVectors, extremal_vectors
from reluflow.geometry.landscape import check_leak
from reluflow.geometry.subgradient import line_coefficients
from reluflow.losses import AbstractLoss


@dataclass(frozen=True)
class AlignmentConstants:
    """The data-only constants of Boursier & Flammarion (2024), App. D.1, and the bounds built on them.

    Scales are returned as natural logarithms: the bounds are far outside the range of a double on ordinary data.

    Parameters
    ----------
    d_max
        Largest |D_u| over all cones.
    d_min
        Smallest |D_u| over the cones where 0 is no subgradient; infinite if there are none.
    delta_interior
        min over extremal vectors of sigma_min(Z_u) min_k(eta_k - leak, 1 - eta_k); infinite if all are in open cones.
    delta_distance
        min over extremal vectors of |<D, x_k>| / |x_k| over the samples off their hyperplane.
    alpha_min_plus
        Sine of the smallest angle between a D_u and its cone, over the cones that do not hold D_u (Eq. 24).
    alpha_min_minus
        The same for -D_u (Eq. 25, corrected by erratum E5).
    mean_square
        S = c sum_k |x_k|^2, the mean square length of the samples under the mean reduction.
    label_bound
        min_k |l'(0, y_k)| / |x_k|.
    """

    d_max: float
    d_min: float
    delta_interior: float
    delta_distance: float
    alpha_min_plus: float
    alpha_min_minus: float
    mean_square: float
    label_bound: float

    @property
    def delta_0(self) -> float:
        """Eq. (21): how far a perturbation of the forces may go before an extremal vector leaves its cone."""
        return min(self.delta_interior, self.delta_distance)

    @property
    def alpha_min(self) -> float:
        """Eq. (23)."""
        return min(self.alpha_min_plus, self.alpha_min_minus)

    def lambda_base(self, alpha_0: float) -> float:
        """The bracket of Eq. (22), whose power 1/(2 - 4 eps) is the threshold."""
        _check_alpha(alpha_0)
        inner = min(self.alpha_min**2 * self.d_min / 8, alpha_0**2 * self.d_min / 4, self.delta_0)
        return min(inner / self.mean_square, self.label_bound)

    def log_lambda_star(self, eps: float, alpha_0: float) -> float:
        """ln of the scale threshold of Eq. (22), capped at ln 1 = 0; -inf if the threshold is 0."""
        _check_eps(eps)
        base = self.lambda_base(alpha_0)
        return min(float(np.log(base)) / (2 - 4 * eps), 0.0) if base > 0 else -np.inf

    def log_lambda_corrected(self, eps: float, alpha_0: float) -> float:
        """ln of the threshold below which the conclusion does follow: also t_2 <= tau (erratum E2)."""
        return min(self.log_lambda_star(eps, alpha_0), -self.t2_bound(alpha_0) * self.d_max / eps)

    def tau(self, log_lambda: float, eps: float) -> float:
        """End of the alignment phase, -eps ln(lambda) / D_max."""
        _check_eps(eps)
        return -eps * log_lambda / self.d_max

    def t2_bound(self, alpha_0: float) -> float:
        """Time by which a neuron has reached its final cone, 4 D_max / (D_min min(alpha_min, alpha_0))^2."""
        _check_alpha(alpha_0)
        speed = (self.d_min * min(self.alpha_min, alpha_0)) ** 2
        return 4 * self.d_max / speed if speed > 0 else float("inf")

    def log_c(self, alpha_0: float) -> float:
        """ln of the constant of Eq. (37) in front of the alignment error."""
        alpha = min(self.alpha_min, alpha_0)
        if alpha <= 0:
            return float("inf")
        exponent = self.t2_bound(alpha_0) * self.d_max + np.sqrt(2 * self.mean_square / self.d_max) / np.e
        first = np.log(4 * self.d_max) - 2 * np.log(alpha) + exponent
        return float(np.logaddexp(first, 0.5 * np.log(2 * self.d_max * self.mean_square)))


def alignment_constants(
    dataset: Dataset,
    loss: AbstractLoss,
    *,
    leak: float = 0.0,
    extremal: ExtremalVectors | None = None,
    max_cones: int = DEFAULT_MAX_CONES,
) -> AlignmentConstants:
    """Compute the constants by visiting every activation cone.

    Parameters
    ----------
    dataset
        n samples in dimension d, none of them zero.
    loss
        Gives the forces at h = 0 and the weight c of a sample.
    leak
        Negative slope of the activation, in [0, 1].
    extremal
        The extremal vectors, if they are at hand.
    max_cones
        Refuse to start when there may be more cones than this.

    Notes
    -----
    Cosines that are negative for every cone are taken as 0 in alpha_min: the proof needs them bounded above only,
    and the printed square would give alpha_min = 0 where nothing is close.

    References
    ----------
    Boursier & Flammarion (2024), App. D.1, Eqs. (20) to (25), with errata E5 and E6 [boursier2024].

    Examples
    --------
    >>> from reluflow.losses import SquareLoss
    >>> dataset = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8])
    >>> constants = alignment_constants(dataset, SquareLoss())
    >>> round(constants.d_max, 7), round(constants.alpha_min_plus, 7)
    (0.7149689, 0.7286902)
    """
    from reluflow.geometry.subgradient_kernels import face_constants

    dataset.refuse_several_outputs("the scales of alignment")
    loss.check_labels(dataset.y, dataset.classes)
    check_leak(leak)
    directions = distinct_directions(dataset.X)
    expected = num_faces(*directions.U.shape)
    if expected > max_cones:
        raise InvalidInputError(
            f"`dataset` has up to {expected} cones, more than `max_cones` = {max_cones}: the constants are minima over "
            "all of them; raise `max_cones`, or take fewer samples or dimensions."
        )
    forces = loss.label_forces(dataset.y)
    lengths = np.linalg.norm(dataset.X, axis=1)
    coefficients = line_coefficients(directions, forces, leak)
    if coefficients.scale == 0:
        raise InvalidInputError("`dataset` must have a label the loss pulls on, got labels with zero force only.")
    faces = arrangement_faces(directions.U)
    d_max, d_min, cosine_plus, cosine_minus = face_constants(
        directions.U,
        faces.signs,
        faces.facets,
        faces.witnesses,
        faces.dimensions,
        coefficients.table,
        TIE,
        coefficients.scale,
    )
    if extremal is None:
        extremal = extremal_vectors(dataset, loss, leak=leak, max_cones=max_cones)
    delta_interior, delta_distance = _stability_margins(dataset.X, forces, extremal, leak)
    return AlignmentConstants(
        d_max=float(d_max),
        d_min=float(d_min),
        delta_interior=delta_interior,
        delta_distance=delta_distance,
        alpha_min_plus=_sine(float(cosine_plus)),
        alpha_min_minus=_sine(float(cosine_minus)),
        mean_square=float(loss.sample_weight(dataset.n) * np.sum(lengths**2)),
        label_bound=float(np.min(np.abs(loss.force_at_zero(dataset.y)) / lengths)),
    )


def subgradient_range(
    dataset: Dataset, loss: AbstractLoss, *, leak: float = 0.0, max_cones: int = DEFAULT_MAX_CONES
) -> tuple[float, float] | None:
    """(D_max, D_min) alone: the largest and smallest nonzero |D_u| over all cones; None beyond `max_cones`.

    >>> from reluflow.losses import SquareLoss
    >>> subgradient_range(Dataset([[1.0, 0.0], [0.0, 1.0]], [3.0, -1.0]), SquareLoss(reduction="sum"))
    (3.1622776601683795, 1.0)
    """
    from reluflow.geometry.subgradient_kernels import gradient_range

    dataset.refuse_several_outputs("the scales of alignment")
    loss.check_labels(dataset.y, dataset.classes)
    check_leak(leak)
    directions = distinct_directions(dataset.X)
    if num_faces(*directions.U.shape) > max_cones:
        return None
    coefficients = line_coefficients(directions, loss.label_forces(dataset.y), leak)
    if coefficients.scale == 0:
        return 0.0, np.inf
    faces = arrangement_faces(directions.U)
    d_max, d_min = gradient_range(directions.U, faces.signs, coefficients.table, TIE, coefficients.scale)
    return float(d_max), float(d_min)


def _stability_margins(
    X: FloatArray, forces: FloatArray, extremal: ExtremalVectors, leak: float
) -> tuple[float, float]:
    """The two parts of delta_0."""
    lengths = np.linalg.norm(X, axis=1)
    interior = distance = np.inf
    for vector, pattern, eta in zip(extremal.vectors, extremal.patterns, extremal.etas, strict=True):
        zeros = pattern == 0
        if np.any(zeros):
            columns = (forces[:, None] * X)[zeros]
            singular = np.linalg.svd(columns, compute_uv=False)
            smallest = float(singular[-1]) if columns.shape[0] <= columns.shape[1] else 0.0
            inside = float(np.min(np.minimum(eta[zeros] - leak, 1 - eta[zeros])))
            interior = min(interior, smallest * max(inside, 0.0))
        if not np.all(zeros):
            distance = min(distance, float(np.min(np.abs(X[~zeros] @ vector) / lengths[~zeros])))
    return float(interior), float(distance)


def _sine(cosine: float) -> float:
    """sqrt(1 - cosine^2), without cancellation near 1."""
    return float(np.sqrt(max((1 - cosine) * (1 + cosine), 0.0)))


def _check_eps(eps: float) -> None:
    if not 0 < eps < 0.5:
        raise InvalidInputError(f"`eps` must lie in (0, 1/2) (Theorem 1 asks for eps < 1/3), got {eps}.")


def _check_alpha(alpha_0: float) -> None:
    if not 0 < alpha_0 <= 1:
        raise InvalidInputError(f"`alpha_0` must lie in (0, 1], got {alpha_0}.")
