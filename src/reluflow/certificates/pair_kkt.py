"""KKT directions of the margin between classes, for any number of outputs and with an output bias.

The problem minimises |(w, v)|^2 / 2 subject to h_y - h_c >= 1 for every sample and rival class; b is free and not in
the norm. With f_k = sum_c lambda_kc (e_y - e_c), lambda >= 0 and 0 off the smallest margins, a KKT point has

    w_j = sum_k eta_jk <f_k, v_j> x_k,     v_j = sum_k eta_jk <w_j, x_k> f_k,     and sum_k f_k = 0 where b is trained.

A network with a trained bias is not homogeneous, and the flow need not tend to such a direction: b moves by the forces,
w and v by the forces times their own norm, which grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.certificates.backends.active_set_kernel import nonnegative_least_squares
from reluflow.certificates.pair_gradients import PairGradients, Pairs, UnitNetwork
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.network.network import Network

_MOST_INSIDE = 1000  # pairs that may have a multiplier at a time
_MOST_ROUNDS = 100
KINK_ROUNDS = 200  # of multipliers and slopes at kinks in turn
_DOUBTED = 1e-9  # residual from which both are looked for at once,
_MOST_NUMBERS = 2_000_000  # in a table of at most so many,
_MOST_SIGNS = 6  # and with so many choices of signs
_EXPLAINS = 1e-12  # cosine of a gradient with what is left, as a share of the network, that is not rounding


@dataclass(frozen=True, eq=False)
class PairKKT:
    """The best multipliers found for a direction, and what they leave unexplained.

    Parameters
    ----------
    margin
        Smallest margin over |(w, v)|^2.
    residual
        |theta - sum lambda grad| / |theta|, the gradient along a trained b included in units of the longest sample;
        recomputed from the multipliers and slopes.
    multipliers
        lambda, shape (n, K) with 0 in the column of the own class, or (n,) for one output.
    complementarity
        sum lambda (margin - smallest) / (smallest sum lambda).
    balance
        max_j ||v_j| - |w_j|| / max_j |(w_j, v_j)|.
    multiplier_sum_error
        |2 margin sum lambda - 1|, 0 at a KKT point by Euler's identity.
    bias
        |sum_k f_k| / sum_k |f_k|; 0 where b is not trained.
    delta
        max lambda (q - 1) at smallest margin 1.
    """

    margin: float
    residual: float
    multipliers: FloatArray
    complementarity: float
    balance: float
    multiplier_sum_error: float
    bias: float
    delta: float

    @property
    def epsilon(self) -> float:
        """Of the (epsilon, delta)-KKT point, at smallest margin 1."""
        return self.residual / float(np.sqrt(self.margin))

    def residuals(self) -> dict[str, float]:
        """Named numbers, each 0 at a KKT point."""
        named = {
            "kkt": self.residual,
            "complementarity": self.complementarity,
            "balance": self.balance,
            "multiplier_sum": self.multiplier_sum_error,
        }
        return named | ({"bias": self.bias} if self.bias > 0.0 else {})


def smallest_margin(network: Network, dataset: Dataset) -> float:
    """The smallest margin over |(w, v)|^2, whatever the scale of the network."""
    unit = UnitNetwork.of(network)
    return float(np.min(Pairs.of(dataset).margins(_outputs(unit, dataset.X, network.leak))))


def pair_kkt(
    network: Network,
    dataset: Dataset,
    *,
    trains_output_bias: bool = True,
    active_rtol: float = np.inf,
    kink_rtol: float = 1e-9,
    kink_rounds: int = KINK_ROUNDS,
    walls: Dataset | None = None,
) -> PairKKT:
    """Test a direction of positive margin for the KKT conditions.

    Parameters
    ----------
    network
        Any scale, any `weight`: only the direction matters.
    dataset
        Samples with labels -1 and 1, or with classes.
    trains_output_bias
        Whether an output bias is free; a fixed one is nothing beside weights that grow, and is left out.
    active_rtol
        Pairs within this of the smallest margin may carry a multiplier; infinite for the nearest multipliers of all.
    kink_rtol
        |<w_j, x_k>| <= kink_rtol |w_j| |x_k| counts as a kink, where the slope is free in [leak, 1].
    kink_rounds
        How often multipliers and slopes at kinks are found in turn; the residual is that of the last in any case.
    walls
        Further samples that no neuron may be active on: a neuron that lies on the boundary of one whose force on it
        points away is held there by any pressure.

    Examples
    --------
    >>> dataset = Dataset([[1.0, 0.0], [0.0, 1.0]], [0, 1], classes=("a", "b"))
    >>> side = 0.5**0.5
    >>> network = Network(w=[[1.0, 0.0], [0.0, 1.0]], v=[[side, -side], [-side, side]])
    >>> found = pair_kkt(network, dataset)
    >>> found.residual < 1e-12, found.multipliers.round(6).tolist()
    (True, [[0.0, 0.707107], [0.707107, 0.0]])
    """
    has_bias = network.b is not None and trains_output_bias
    judged = network if has_bias else network.replace(b=None)
    unit, pairs = UnitNetwork.of(judged), Pairs.of(dataset)
    margins = pairs.margins(_outputs(unit, dataset.X, network.leak))
    margin = float(np.min(margins))
    products = unit.w @ dataset.X.T
    lengths = np.linalg.norm(unit.w, axis=1)[:, None] * np.linalg.norm(dataset.X, axis=1)
    kinks = (np.abs(products) <= kink_rtol * lengths) & (lengths > 0.0) & np.any(unit.v != 0.0, axis=1)[:, None]
    longest = float(np.max(np.linalg.norm(dataset.X, axis=1)))
    slopes = np.where(products > 0.0, 1.0, network.leak)
    pressed = () if walls is None else _pressed_walls(unit, walls, kink_rtol)
    gradients = PairGradients(unit, dataset.X, pairs, slopes, longest if has_bias else 0.0, pressed=pressed)
    balance = float(
        np.max(np.abs(np.linalg.norm(unit.v, axis=1) - np.linalg.norm(unit.w, axis=1))) / np.max(unit.sizes)
    )
    none = np.zeros(len(margins))
    if not margin > 0.0:
        return PairKKT(margin, np.inf, pairs.by_class(none, dataset.n), np.inf, balance, np.inf, np.inf, np.inf)
    active = np.flatnonzero(margins <= margin * (1.0 + active_rtol))
    multipliers, gradients = _with_kinks(gradients, margins, active, kinks, network.leak, kink_rounds)
    total = float(multipliers.sum())
    forces = pairs.forces(multipliers, dataset.n)
    pulled = float(np.sum(np.linalg.norm(forces, axis=1))) or 1.0
    return PairKKT(
        margin=margin,
        residual=gradients.residual(multipliers),
        multipliers=pairs.by_class(multipliers, dataset.n),
        complementarity=float(multipliers @ (margins - margin)) / (margin * total) if total > 0.0 else np.inf,
        balance=balance,
        multiplier_sum_error=abs(2.0 * margin * total - 1.0),
        bias=float(np.linalg.norm(forces.sum(axis=0))) / pulled if has_bias else 0.0,
        delta=float(np.max(multipliers * (margins / margin - 1.0))),
    )


def _pressed_walls(unit: UnitNetwork, walls: Dataset, kink_rtol: float) -> tuple[tuple[int, FloatArray], ...]:
    """Neurons that stand on boundaries they are pushed back from, each with these samples."""
    lengths = np.linalg.norm(unit.w, axis=1)[:, None] * np.linalg.norm(walls.X, axis=1)
    touching = (np.abs(unit.w @ walls.X.T) <= kink_rtol * lengths) & (lengths > 0.0)
    touching &= unit.v @ Pairs.of(walls).unanswered(walls.n).T < 0.0
    return tuple((int(j), np.asarray(walls.X[touching[j]])) for j in np.flatnonzero(touching.any(axis=1)))


def _outputs(unit: UnitNetwork, X: FloatArray, leak: float) -> FloatArray:
    products = unit.w @ X.T
    return np.asarray(np.maximum(products, leak * products).T @ (unit.weight[:, None] * unit.v) + unit.b)


def _with_kinks(
    gradients: PairGradients,
    margins: FloatArray,
    active: IndexArray,
    kinks: BoolArray,
    leak: float,
    rounds: int,
) -> tuple[FloatArray, PairGradients]:
    """The multipliers and the slopes at kinks that leave least.

    First the multipliers with all that lies along the samples of kinks left out, then the slopes that account for it:
    both at once where every slope is inside [leak, 1]. Then each in turn with the other held, as long as that helps.
    """
    if not kinks.any():
        return _nearest(gradients, margins, active), gradients
    best = _nearest(gradients.off_walls(kinks), margins, active)
    gradients = gradients.with_slopes(_slopes_at_kinks(gradients, best, kinks, leak))
    for _ in range(rounds):
        before = gradients.residual(best)
        found = _nearest(gradients, margins, active)
        moved = gradients.with_slopes(_slopes_at_kinks(gradients, found, kinks, leak))
        if not moved.residual(found) < before * (1.0 - 1e-6):
            break
        best, gradients = found, moved
    if gradients.residual(best) > _DOUBTED:
        found, moved = _jointly(gradients, best, active, kinks, leak)
        if moved.residual(found) < gradients.residual(best):
            return found, moved
    return best, gradients


def _jointly(
    gradients: PairGradients, multipliers: FloatArray, active: IndexArray, kinks: BoolArray, leak: float
) -> tuple[FloatArray, PairGradients]:
    """Multipliers and slopes at kinks at once, next to some multipliers.

    What the slope eta of neuron j at sample k adds to w_j is mu x_k with mu = eta <f_k, v_j>. While <f_k, v_j> keeps
    its sign, mu between leak <f_k, v_j> and <f_k, v_j> is linear in mu and the multipliers: nonnegative least squares
    in these and in the distances of mu from its two ends, which is exact where nothing is left. Where <f_k, v_j> comes
    to 0 the other sign is tried.
    """
    network, X, pairs = gradients.network, gradients.X, gradients.pairs
    neurons, samples = np.nonzero(kinks)
    (m, d), K = network.w.shape, network.v.shape[1]
    size, count = m * (d + K) + K, neurons.size
    pressures = [(j, row) for j, rows in gradients.pressed for row in rows]
    if (size + count) * (active.size + 2 * count + len(pressures)) > _MOST_NUMBERS:
        return multipliers, gradients
    whole = np.zeros((size + count, active.size + 2 * count + len(pressures)))
    root, u, k_of = np.sqrt(network.weight)[:, None], pairs.directions[active], pairs.samples[active]
    at_leak = gradients.with_slopes(np.where(kinks, leak, gradients.slopes))
    levers = network.v @ u.T  # (m, num_active)
    along_w = (root * levers * at_leak.slopes[:, k_of]).T[:, :, None] * X[k_of][:, None]
    along_v = (root * at_leak.activated[:, k_of]).T[:, :, None] * u[:, None]
    whole[: m * d, : active.size] = along_w.reshape(active.size, -1).T
    whole[m * d : m * (d + K), : active.size] = along_v.reshape(active.size, -1).T
    whole[m * (d + K) : size, : active.size] = gradients.bias_unit * u.T
    whole[size:, active.size : active.size + 2 * count] = np.hstack([np.eye(count), np.eye(count)])
    for column, (neuron, row) in enumerate(pressures, active.size + 2 * count):
        whole[neuron * d : (neuron + 1) * d, column] = -root[neuron] * row
    target = np.concatenate([(root * network.w).ravel(), (root * network.v).ravel(), np.zeros(K + count)])
    pulled = np.where(k_of == samples[:, None], levers[neurons], 0.0)  # <u, v_j> of the pairs of a kink's sample
    signs = np.where(pulled @ multipliers[active] < 0.0, -1.0, 1.0)
    best, best_gradients = multipliers, gradients
    for _ in range(_MOST_SIGNS):
        for i, (j, k) in enumerate(zip(neurons, samples, strict=True)):
            whole[j * d : (j + 1) * d, active.size + i] = root[j] * signs[i] * X[k]
        whole[size:, : active.size] = -(1.0 - leak) * signs[:, None] * pulled
        lengths = np.linalg.norm(whole, axis=0)
        lengths[lengths == 0.0] = 1.0
        try:
            found = nnls(whole / lengths, target)[0] / lengths
        except RuntimeError:  # it does not come to an end
            break
        moved = np.zeros_like(multipliers)
        moved[active] = found[: active.size]
        low, high = np.split(found[active.size : active.size + 2 * count], 2)
        slopes = gradients.slopes.copy()
        slopes[neurons, samples] = leak + (1.0 - leak) * low / np.where(low + high > 0.0, low + high, 1.0)
        there = gradients.with_slopes(slopes)
        if there.residual(moved) < best_gradients.residual(best):
            best, best_gradients = moved, there
        is_at_zero = low + high <= _DOUBTED * np.max(found, initial=0.0)
        if best_gradients.residual(best) <= _DOUBTED or not is_at_zero.any():
            break
        signs = np.where(is_at_zero, -signs, signs)
    return best, best_gradients


def _slopes_at_kinks(gradients: PairGradients, multipliers: FloatArray, kinks: BoolArray, leak: float) -> FloatArray:
    """The slopes in [leak, 1] at the kinks of every neuron that leave least of its w."""
    network, X = gradients.network, gradients.X
    pulls = network.v @ gradients.pairs.forces(multipliers, len(X)).T  # <f_k, v_j>
    slopes, pressed = gradients.slopes.copy(), dict(gradients.pressed)
    for j in np.flatnonzero(kinks.any(axis=1)):
        on, against = kinks[j], pressed.get(int(j), X[:0])
        rest = (slopes[j] * ~on * pulls[j]) @ X - network.w[j]
        rows, count = np.vstack([pulls[j, on, None] * X[on], -against]), int(np.sum(on))
        lower = np.append(np.full(count, leak), np.zeros(len(against)))
        upper = np.append(np.ones(count), np.full(len(against), np.inf))
        tolerance = ROUNDING * float(np.linalg.norm(network.w[j]))
        slopes[j, on] = box_minimum_norm(rest, rows, lower, upper, tolerance)[1][:count]
    return slopes


def _nearest(gradients: PairGradients, margins: FloatArray, active: IndexArray) -> FloatArray:
    """The multipliers of active pairs that leave least of the network, those of smallest margin tried first."""
    lengths, targets = gradients.lengths(), gradients.targets(margins)
    inside = np.sort(active[np.argsort(margins[active], kind="stable")[:_MOST_INSIDE]])
    multipliers = np.zeros(margins.size)
    for _ in range(_MOST_ROUNDS):
        size = lengths[inside]
        gram = np.ascontiguousarray(gradients.gram(inside) / np.outer(size, size))
        target, start = targets[inside] / size, multipliers[inside] * size
        found, _, _ = nonnegative_least_squares(gram, target, start, 1e-13, 1e-13, 50 * inside.size)
        multipliers = np.zeros(margins.size)
        multipliers[inside] = np.maximum(found, 0.0) / size
        if inside.size == active.size:
            break
        explains = np.full(margins.size, -np.inf)
        explains[active] = (gradients.along(multipliers) / lengths)[active]
        explains[inside] = 0.0
        helpful = np.flatnonzero(explains > _EXPLAINS)
        if not helpful.size:
            break
        helpful = helpful[np.argsort(-explains[helpful], kind="stable")[: _MOST_INSIDE // 2]]
        inside = np.union1d(np.flatnonzero(multipliers), helpful)
    return multipliers
