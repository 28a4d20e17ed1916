"""Hinted datasets of Lyu et al. (2021), Sec. 6: three extra points that trap training at a suboptimal margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class HintConditions:
    """What Theorem 6.2 asks of the hints, made explicit, with the numbers of one dataset.

    Parameters
    ----------
    separator, linear_margin
        w* and gamma* of the base set: the unit vector with the largest min_i y_i <w*, x_i>, and that minimum.
    eps, eps_limit
        The hints' margin along w* and alpha times the smallest base margin along w*; eps must be below it.
    H, H_0, H_3
        The size of the first hint and the two bounds it must exceed, next to eps itself.
    K, K_min
        The reach of the other two hints, and the value above which the limit is suboptimal at every width m >= 2;
        infinite when eps is not below its limit.
    K_exact
        eps sqrt((3 + alpha)/(1 - alpha)): for K up to this the limit is globally optimal, above it suboptimal for
        every m >= 3.
    tau
        The tilt of the two-neuron network behind K_min; nan when eps is not below its limit.

    References
    ----------
    Lyu et al. (2021), Def. 6.1, Theorem 6.2, App. A.2, with errata E6 and E11 [lyu2021].
    """

    separator: FloatArray
    linear_margin: float
    eps: float
    eps_limit: float
    H: float
    H_0: float
    H_3: float
    K: float
    K_min: float
    K_exact: float
    tau: float

    @property
    def is_admissible(self) -> bool:
        """Whether H, K and eps meet the hypotheses, so that the flow ends at margin eps/2."""
        return 0 < self.eps < self.eps_limit and max(self.eps, self.H_0, self.H_3) < self.H and self.K > 0

    @property
    def is_suboptimal(self) -> bool:
        """Whether the margin eps/2 is provably below the best at every width m >= 2."""
        return self.is_admissible and self.K_min < self.K


@dataclass(frozen=True, eq=False)
class HintedDataset:
    """A hinted dataset, the hints first, with its conditions."""

    dataset: Dataset
    conditions: HintConditions


def hinted(
    base: Dataset, *, H: float, K: float, eps: float, leak: float, w_perp: ArrayLike | None = None
) -> HintedDataset:
    """Add the hints H w*, eps w* + K w_perp, eps w* - K w_perp, all with label 1, in front of a separable set.

    Parameters
    ----------
    base
        A linearly separable dataset with labels -1 and 1 in dimension at least 2.
    H, K, eps
        Positive sizes of the hints. Values the theorem does not allow are accepted and reported in the conditions.
    leak
        alpha of the leaky ReLU, in (0, 1); it enters the conditions only.
    w_perp
        A direction; its part orthogonal to w* is normalised. By default, in the plane w* turned by 90 degrees, beyond
        it the coordinate axis farthest from w*.

    Returns
    -------
    HintedDataset
        The dataset and the admissibility of its hints.

    References
    ----------
    Lyu et al. (2021), Def. 6.1 and Theorem 6.2 [lyu2021].
    """
    _check_hints(base, H, K, eps, leak)
    separator, margin = max_margin_separator(base)
    sideways = _sideways(separator, w_perp)
    hints = np.vstack([H * separator, eps * separator + K * sideways, eps * separator - K * sideways])
    dataset = Dataset(
        np.vstack([hints, base.X]),
        np.concatenate([np.ones(3), base.y]),
        name=f"{base.name}-hinted",
        provenance=f"{base.provenance}; hints of Lyu et al. (2021), Def. 6.1, H={H:g}, K={K:g}, eps={eps:g} [lyu2021]",
    )
    conditions = _conditions(dataset, separator, margin, sideways, H=H, K=K, eps=eps, leak=leak)
    return HintedDataset(dataset, conditions)


def figure1_right(*, leak: float = 0.5) -> HintedDataset:
    """Our instance of Fig. 1 (right): four base points and three hints.

    eps = 0.3 alpha gamma*, K = 0.4, H = 1.05 max(H_0, H_3).

    References
    ----------
    Lyu et al. (2021), Fig. 1 right [lyu2021], which prints no coordinates.
    """
    base = Dataset(
        [[0.5, 0.3], [0.6, -0.2], [-0.4, 0.1], [-0.5, -0.25]],
        [1.0, 1.0, -1.0, -1.0],
        name="lyu",
        provenance="base set for Lyu et al. (2021), Sec. 6",
    )
    _check_leak(leak)
    eps, reach = 0.3 * leak * max_margin_separator(base)[1], 0.4
    # H_0 and H_3 do not depend on H, so a first call with any H gives them.
    bounds = hinted(base, H=1.0, K=reach, eps=eps, leak=leak).conditions
    return hinted(base, H=1.05 * max(bounds.H_0, bounds.H_3), K=reach, eps=eps, leak=leak)


def max_margin_separator(dataset: Dataset) -> tuple[FloatArray, float]:
    """The unit vector w* with the largest min_i y_i <w*, x_i>, and that margin.

    gamma* w* is the point of smallest norm in the convex hull of the y_i x_i, found by non-negative least squares:
    minimise |Z^T l|^2 + (1 - sum l)^2 over l >= 0, then scale l to sum 1. The answer is checked: its smallest margin
    must reach the norm of that point.
    """
    from scipy.optimize import nnls

    signed = dataset.y[:, None] * dataset.X
    size = float(np.max(np.linalg.norm(signed, axis=1)))
    if size == 0:
        raise InvalidInputError("`base` must be linearly separable, got only zero samples.")
    matrix = np.vstack([signed.T / size, np.ones(dataset.n)])
    target = np.zeros(dataset.d + 1)
    target[-1] = 1.0
    weights, _ = nnls(matrix, target, maxiter=100 * dataset.n)
    point = signed.T @ (weights / weights.sum())
    margin = float(np.linalg.norm(point))
    if margin <= 1e-12 * size or np.min(signed @ point) < margin**2 * (1 - 1e-8):
        raise InvalidInputError(
            "`base` must be linearly separable through 0: no w has y <w, x> > 0 for all its samples."
        )
    return point / margin, margin


def _conditions(
    dataset: Dataset,
    separator: FloatArray,
    margin: float,
    sideways: FloatArray,
    *,
    H: float,
    K: float,
    eps: float,
    leak: float,
) -> HintConditions:
    signed = dataset.y[:, None] * dataset.X
    along = signed @ separator  # <z_i, w*>, hints first
    across = np.linalg.norm(signed - along[:, None] * separator, axis=1)
    across[0] = 0.0  # the first hint is a multiple of w*
    H_0 = across.max() * across.sum() / (leak * along[1:].min()) - along[1:].sum()
    up = np.where(dataset.y > 0, 1.0, leak)[1:, None]  # z^+ of the paper, without the first hint
    down = np.where(dataset.y > 0, leak, 1.0)[1:, None]
    pulls = [np.linalg.norm(np.sum(slope * signed[1:], axis=0)) for slope in (up, down)]
    eps_limit = leak * float(along[3:].min())
    tau, K_min = np.nan, np.inf
    if eps < eps_limit:
        with np.errstate(divide="ignore"):
            tilts = along[3:] / np.abs(signed[3:] @ sideways)
        tau = 0.5 * min(float(tilts.min()), float(np.sqrt((eps_limit / eps) ** 2 - 1.0)))
        K_min = eps * (2.0 * np.sqrt(1.0 + tau**2) - 1.0 - leak) / ((1.0 - leak) * tau)
    return HintConditions(
        separator=separator,
        linear_margin=margin,
        eps=eps,
        eps_limit=eps_limit,
        H=H,
        H_0=float(H_0),
        H_3=float(sum(pulls)) / (1.0 - leak),
        K=K,
        K_min=float(K_min),
        K_exact=float(eps * np.sqrt((3.0 + leak) / (1.0 - leak))),
        tau=float(tau),
    )


def _sideways(separator: FloatArray, direction: ArrayLike | None) -> FloatArray:
    """A unit vector orthogonal to the separator."""
    if direction is None:
        if separator.size == 2:
            return np.array([-separator[1], separator[0]])
        direction = np.eye(separator.size)[np.argmin(np.abs(separator))]
    given = np.asarray(direction, dtype=np.float64)
    if given.shape != separator.shape or not np.all(np.isfinite(given)):
        raise InvalidInputError(
            f"`w_perp` must be a finite vector of shape {separator.shape}, got shape {given.shape}."
        )
    rest = given - (given @ separator) * separator
    if np.linalg.norm(rest) <= 1e-8 * np.linalg.norm(given):
        raise InvalidInputError("`w_perp` must not be parallel to the max-margin separator of `base`.")
    return np.asarray(rest / np.linalg.norm(rest))


def _check_hints(base: Dataset, H: float, K: float, eps: float, leak: float) -> None:
    if base.d < 2:
        raise InvalidInputError(f"`base` must have dimension at least 2, got {base.d}.")
    if not base.is_binary:
        raise InvalidInputError("`base` must hold only the labels -1 and 1.")
    for name, value in (("H", H), ("K", K), ("eps", eps)):
        if not (value > 0 and np.isfinite(value)):
            raise InvalidInputError(f"`{name}` must be positive and finite, got {value:g}.")
    _check_leak(leak)


def _check_leak(leak: float) -> None:
    if not 0.0 < leak < 1.0:
        raise InvalidInputError(f"`leak` must be in (0, 1), got {leak:g}.")
