"""Whether a network lies along a KKT direction of the margin problem: multipliers, slopes, residuals.

theta is along a KKT-margin direction when, for some lambda >= 0 that vanishes off the samples of smallest margin and
slopes h in [leak, 1] at the kinks, every neuron satisfies

    w_k = a_k sum_i lambda_i y_i h_ki x_i,     a_k = sum_i lambda_i y_i phi(<w_k, x_i>).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.backends.highs import smallest_largest_residual
from reluflow.certificates.hard_margin import require_labels
from reluflow.certificates.multipliers import least_squares_multipliers
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network

_LARGEST_PROGRAM = 2**22  # numbers in the matrix of a linear program that is still worth it


@dataclass(frozen=True, eq=False)
class KKTCertificate:
    """The best multipliers found for a network's direction and what they leave unexplained.

    Parameters
    ----------
    margin
        Normalised margin q_min / |theta|^2; the certificate exists only if it is positive.
    residual
        |theta - sum_i lambda_i grad q_i| / |theta|, recomputed from `multipliers` and `slopes`; infinite when
        `margin` is not positive. Does not change when theta or the samples are rescaled.
    multipliers
        lambda, shape (n,), zero off `active`; in the scale of theta / sqrt(q_min), whose own scale drops out.
    active
        Samples whose margin is the smallest one to `active_rtol`.
    slopes
        h_ki, shape (num_neurons, n).
    complementarity
        sum_i lambda_i (q_i - q_min) / (q_min sum_i lambda_i).
    balance
        max_k ||a_k| - |w_k|| / max_k |(w_k, a_k)|: zero at a KKT point.
    multiplier_sum_error
        |2 margin sum_i lambda_i - 1|: zero at a KKT point by Euler's identity.
    is_unique
        Whether no other multipliers (with their slopes at kinks) fit as well: the forces at the limit are then known.
    """

    margin: float
    residual: float
    multipliers: FloatArray
    active: IndexArray
    slopes: FloatArray
    complementarity: float
    balance: float
    multiplier_sum_error: float
    is_unique: bool = False


def kkt_certificate(
    network: Network,
    dataset: Dataset,
    *,
    active_rtol: float = 1e-9,
    kink_rtol: float = 1e-9,
    walls: Dataset | None = None,
) -> KKTCertificate:
    r"""Test a network's direction for the KKT conditions of the margin problem.

    Parameters
    ----------
    network
        Any scale, any `weight`: only the direction matters.
    dataset
        Samples with labels -1 and 1.
    active_rtol
        Samples with $q_i \le q_{\min}$ times 1 + `active_rtol` may carry a multiplier.
    kink_rtol
        $|\langle w_k, x_i\rangle|$ up to `kink_rtol` times $|w_k| |x_i|$ counts as a kink, where the slope is free.
    walls
        Further samples that no neuron may be active on: a neuron of the other sign that lies on the boundary of one is
        held there by any pressure.

    Returns
    -------
    KKTCertificate
        With the numbers that prove it, recomputed.

    Examples
    --------
    >>> dataset = Dataset([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    >>> kkt_certificate(Network(w=[[1.0, 0.0], [-1.0, 0.0]], a=[1.0, -1.0]), dataset).residual
    0.0

    References
    ----------
    Lyu et al. (2021), Def. B.8 and Lemma B.9 [lyu2021].
    """
    require_labels(dataset)
    w, a, size = normalized(network)
    products = w @ dataset.X.T  # (num_neurons, n)
    activated = np.maximum(products, network.leak * products)
    q = dataset.y * ((network.weight * a) @ activated)
    margin = float(np.min(q))
    balance = float(np.max(np.abs(np.abs(a) - np.linalg.norm(w, axis=1))) / np.max(size))
    slopes = np.where(products > 0.0, 1.0, network.leak)
    if margin <= 0.0:
        nothing, none = np.zeros(dataset.n), np.empty(0, dtype=np.intp)
        return KKTCertificate(margin, np.inf, nothing, none, slopes, np.inf, balance, np.inf)
    active = np.flatnonzero(q <= margin * (1.0 + active_rtol))
    lengths = np.linalg.norm(w, axis=1)[:, None] * np.linalg.norm(dataset.X, axis=1)
    is_kink = (np.abs(products) <= kink_rtol * lengths) & (a != 0.0)[:, None]  # a slope times an output of 0 is free
    kinks = np.argwhere((is_kink & (lengths > 0.0))[:, active])
    pressed = _pressed_walls(w, a, walls, kink_rtol)
    found, at_kinks, pressure, is_unique = _multipliers(
        w, a, activated, dataset, active, kinks, slopes, network.leak, pressed
    )
    multipliers = np.zeros(dataset.n)
    multipliers[active] = found
    for (neuron, place), value in zip(kinks, at_kinks, strict=True):
        if found[place] > 0.0:
            slopes[neuron, active[place]] = np.clip(value / found[place], network.leak, 1.0)
    pull = multipliers * dataset.y
    left_w = w - a[:, None] * ((slopes * pull) @ dataset.X)
    for (neuron, row), value in zip(pressed, pressure, strict=True):
        left_w[neuron] -= value * a[neuron] * row
    left_a = a - activated @ pull
    squared = network.weight @ (np.sum(left_w**2, axis=1) + left_a**2)
    total = float(multipliers.sum())
    return KKTCertificate(
        margin=margin,
        residual=float(np.sqrt(squared)),
        multipliers=multipliers,
        active=active,
        slopes=slopes,
        complementarity=float(multipliers @ (q - margin)) / (margin * total) if total > 0.0 else np.inf,
        balance=balance,
        multiplier_sum_error=abs(2.0 * margin * total - 1.0),
        is_unique=is_unique,
    )


def normalized_margin(network: Network, dataset: Dataset) -> float:
    """q_min(theta) / |theta|^2, whatever the scale of the network."""
    w, a, _ = normalized(network)
    return float(np.min(dataset.y * network.replace(w=w, a=a, log_scale=0.0).outputs(dataset.X)))


def normalized(network: Network) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(w, a) scaled to norm 1 with the weights counted, and the size of each neuron."""
    size = np.sqrt(network.a**2 + np.sum(network.w**2, axis=1))
    largest = float(size.max())
    if largest == 0.0:
        raise InvalidInputError("`network` must have a neuron that is not zero; the zero network has no direction.")
    total = largest * float(np.sqrt(network.weight @ (size / largest) ** 2))
    return network.w / total, network.a / total, size / total


def _pressed_walls(
    w: FloatArray, a: FloatArray, walls: Dataset | None, kink_rtol: float
) -> list[tuple[int, FloatArray]]:
    """Neurons that lie on a boundary they are pushed back from, each with its row y x."""
    if walls is None:
        return []
    lengths = np.linalg.norm(w, axis=1)[:, None] * np.linalg.norm(walls.X, axis=1)
    touching = (np.abs(w @ walls.X.T) <= kink_rtol * lengths) & (lengths > 0.0)
    touching &= np.sign(a)[:, None] * walls.y < 0.0
    return [(int(j), walls.y[k] * walls.X[k]) for j, k in np.argwhere(touching)]


def _multipliers(
    w: FloatArray,
    a: FloatArray,
    activated: FloatArray,
    dataset: Dataset,
    active: IndexArray,
    kinks: IndexArray,
    slopes: FloatArray,
    leak: float,
    pressed: list[tuple[int, FloatArray]],
) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    """lambda on the active samples, nu = lambda h at the kinks, pressures of walls, whether they are unique.

    Where the least-squares multipliers are unique and allowed they are the ones; else a linear program finds some.
    """
    found = least_squares_multipliers(w, a, activated, dataset, active, kinks, slopes, pressed)
    is_allowed = found.is_unique and found.obeys(kinks[:, 1], leak)
    if is_allowed or w.size * (active.size + len(kinks) + len(pressed)) > _LARGEST_PROGRAM:
        return found.multipliers, found.at_kinks, found.pressures, found.is_unique
    num_neurons, d = w.shape
    k, p = active.size, len(pressed)
    X, y = dataset.X[active], dataset.y[active]
    scale = float(np.max(np.linalg.norm(X, axis=1)))  # lambda is of the order of 1/(scale of X)
    fixed = slopes[:, active].copy()
    fixed[kinks[:, 0], kinks[:, 1]] = 0.0
    by_sample = (a[:, None, None] * (fixed * y)[:, :, None] * X[None]).transpose(0, 2, 1).reshape(num_neurons * d, k)
    dense = np.vstack([by_sample, activated[:, active] * y]) / scale
    against = np.zeros((dense.shape[0], p))
    for column, (j, row) in enumerate(pressed):
        against[j * d : (j + 1) * d, column] = a[j] * row / scale
    dense = np.hstack([dense, against])
    count = len(kinks)
    neuron, place = (kinks[:, 0], kinks[:, 1]) if count else (np.empty(0, int), np.empty(0, int))
    entries = (a[neuron] * y[place])[:, None] * X[place] / scale  # (count, d)
    rows = (neuron[:, None] * d + np.arange(d)).ravel()
    cols = np.repeat(np.arange(count), d)
    at_kinks = coo_matrix((entries.ravel(), (rows, cols)), shape=(dense.shape[0], count))
    matrix = csr_matrix(np.hstack([dense, at_kinks.toarray()])) if count else csr_matrix(dense)
    target = np.concatenate([w.ravel(), a])
    order = np.arange(count)
    above = coo_matrix((np.full(count, leak), (order, place)), shape=(count, k + p)).toarray()
    below = coo_matrix((np.ones(count), (order, place)), shape=(count, k + p)).toarray()
    inequalities = np.vstack([np.hstack([above, -np.eye(count)]), np.hstack([-below, np.eye(count)])])
    solution = smallest_largest_residual(matrix, target, csr_matrix(inequalities), num_nonnegative=k + p)
    pressures = np.maximum(solution[k : k + p], 0.0) / scale
    return np.maximum(solution[:k], 0.0) / scale, solution[k + p :] / scale, pressures, _is_injective(matrix)


def _is_injective(matrix: csr_matrix) -> bool:
    """Whether the columns are independent beyond rounding, each taken at unit length."""
    gram = np.asarray((matrix.T @ matrix).todense())
    lengths = np.sqrt(np.diag(gram))
    if not gram.size or np.min(lengths) == 0.0:
        return not gram.size
    return bool(np.linalg.eigvalsh(gram / np.outer(lengths, lengths))[0] > 1e-10)
