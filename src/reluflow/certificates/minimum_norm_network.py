"""The network of least norm that fits a dataset, from both sides.

With v = |a| w a network is a sum of s phi(<v, x>), s = 1 or -1, and its norm sum_j |a_j| |w_j| is the total length of
the v (half of |theta|^2 where the network is balanced, less elsewhere). The dual: the largest <nu, y> such that no
neuron gains more than its length, |sum_k nu_k phi(<w, x_k>)| <= |w| for all w. A cone program over a growing set of
activation patterns gives both; the outputs of the explicit network and the best gain under the explicit nu are then
recomputed. Where that program is too large, a linear program over a growing set of directions takes its place: its
network fits as well, and is the shortest for these directions only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.budget import Budget
from reluflow.certificates.backends.clarabel import shortest_sum
from reluflow.certificates.backends.highs import smallest_coefficients
from reluflow.certificates.best_neuron import MAX_PATTERNS, Gains, NeuronOracle
from reluflow.certificates.network_margin import merge_parallel
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.arrangement import num_cells
from reluflow.network.network import Network, checked_leak, row_norms

MOST_ROUNDS = 200
_PER_ROUND = 12  # columns that enter at most per cone program
_CONE_ENTRIES = 500_000  # n d times columns of a cone program: beyond, one takes a minute and more
_MOST_SAMPLES = 2_000  # whose linear program, of 4 n directions, takes minutes and a gigabyte
_ROUNDS_WITHOUT_FIT = 3  # cone programs that do not fit, after which directions are taken instead
_SMALL = 2_000  # cells up to which `certify` looks for the least norm unasked


@dataclass(frozen=True, eq=False)
class MinimumNorm:
    """A bracket around the least norm sum_j |a_j| |w_j| of a network, of any width, that fits the labels.

    Parameters
    ----------
    norm
        Norm of `network`, which fits to `misfit`; inf where no network fits, or none was found.
    lower
        No network that fits has a smaller norm; recomputed from `multipliers`.
    is_exact
        Whether the best gain under the multipliers comes from all activation patterns. If not `lower` is valid and may
        be loose.
    multipliers
        nu, shape (n,), scaled so that no neuron gains more than its length. Where no network fits: nu under which no
        neuron gains anything, and <nu, y> > 0.
    network
        The network that attains `norm`, balanced; None where no network fits, none was found, or the labels are 0.
    misfit
        |h - y| of `network`, recomputed.
    rounds
        Cone programs, or linear programs, solved.
    why
        Why the two numbers are apart; empty where they agree, or where no network fits.
    """

    norm: float
    lower: float
    is_exact: bool
    multipliers: FloatArray
    network: Network | None
    misfit: float
    rounds: int
    why: str = ""

    def __repr__(self) -> str:
        if self.can_fit is None:
            return f"MinimumNorm(at least {self.lower:.10g}; no fit was found)"
        if not self.can_fit:
            return "MinimumNorm(no network fits these labels)"
        neurons = 0 if self.network is None else self.network.num_neurons
        return f"MinimumNorm({self.norm:.10g}, at least {self.lower:.10g}, {neurons} neurons)"

    @property
    def can_fit(self) -> bool | None:
        """Whether some network fits the labels; None where that was not decided."""
        if np.isfinite(self.norm):
            return True
        return None if np.isfinite(self.lower) else False

    @property
    def gap(self) -> float:
        """(norm - lower) / norm; 0 when both vanish."""
        return (self.norm - self.lower) / self.norm if 0.0 < self.norm < np.inf else 0.0


def network_norm(network: Network) -> float:
    """sum_j weight_j |a_j| |w_j|, the scale included: what is least at a minimum-norm network.

    >>> network_norm(Network([[3.0, 4.0]], [-2.0]))
    10.0
    """
    return float(np.exp(2.0 * network.log_scale) * np.sum(network.weight * np.abs(network.a) * row_norms(network.w)))


def minimum_norm_network(
    dataset: Dataset,
    leak: float = 0.0,
    *,
    misfit: float = 0.0,
    tol: float = 1e-9,
    max_patterns: int = MAX_PATTERNS,
    max_rounds: int = MOST_ROUNDS,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> MinimumNorm:
    r"""The network of least $\sum_j |a_j| |w_j|$ that fits the labels, with a dual lower bound.

    Parameters
    ----------
    dataset
        Samples and labels of any kind.
    leak
        Negative slope of the activation.
    misfit
        Largest |h - y| (Euclidean) that counts as a fit; 0 asks for an interpolation.
    tol
        Stop when (norm - lower) / norm is at most this.
    max_patterns
        Up to this many activation patterns of the samples that pull are enumerated; beyond, local search finds neurons
        and `lower` comes from a relaxation.
    max_rounds
        Cone programs at most.
    max_seconds, progress
        Processor time allowed, and a function called with the share of it that is spent.

    Returns
    -------
    MinimumNorm
        Both numbers are valid wherever the search stops; `why` says what keeps them apart.

    Examples
    --------
    >>> data = Dataset([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [3.0, 8.0, 0.0])
    >>> print(round(minimum_norm_network(data).norm, 9))
    5.0

    Notes
    -----
    For orthogonal inputs and no leak: $\sqrt{\sum_{y_k>0} (y_k/|x_k|)^2} + \sqrt{\sum_{y_k<0} (y_k/|x_k|)^2}$.

    References
    ----------
    Boursier, Pillaud-Vivien & Flammarion (2022), Thm 1: the limit for orthogonal inputs [boursier2022].
    """
    slope = checked_leak(leak)
    dataset.refuse_several_outputs("the least norm of a fit")
    if not (np.isfinite(misfit) and misfit >= 0.0):
        raise InvalidInputError(f"`misfit` must be finite and not negative, got {misfit}.")
    size, top = float(np.max(np.linalg.norm(dataset.X, axis=1))), float(np.max(np.abs(dataset.y)))
    if float(np.linalg.norm(dataset.y)) <= misfit or top == 0.0:
        return MinimumNorm(0.0, 0.0, True, np.zeros(dataset.n), None, float(np.linalg.norm(dataset.y)), 0)
    X, y = dataset.X / (size or 1.0), dataset.y / top
    allowed = Budget(max_seconds)
    unit = top / (size or 1.0)
    if dataset.n > _MOST_SAMPLES and slope < 1.0:
        bound, scaled = _bound_of_labels(X, y, slope, misfit / top, max_patterns)
        why = f"no fit is sought of {dataset.n:,} samples, more than {_MOST_SAMPLES:,}; the bound is that of nu ~ y"
        return MinimumNorm(np.inf, bound * unit, False, scaled / size, None, np.inf, 0, why)
    program = _Columns(X, y, slope, misfit / top, max_patterns, allowed)
    if misfit == 0.0 and (obstacle := program.obstacle()) is not None:
        return MinimumNorm(np.inf, np.inf, program.is_exact, obstacle, None, np.inf, 0)
    norm, lower, network, best, rounds = np.inf, 0.0, None, np.zeros(dataset.n), 0
    while True:
        multipliers, candidate = program.solve()
        rounds += 1
        if candidate is not None and (value := network_norm(candidate)) < norm:
            norm, network = value, candidate
        bound, scaled, has_grown = program.price(multipliers)
        if bound > lower:
            lower, best = bound, scaled
        if progress is not None:
            progress(max(allowed.share, rounds / max_rounds))
        is_closed = network is not None and norm - lower <= tol * norm
        if is_closed or rounds >= max_rounds or allowed.is_spent:
            break
        if not has_grown and (network is not None or program.takes_rays):
            break
        if network is None and (not has_grown or rounds == _ROUNDS_WITHOUT_FIT):
            program.takes_rays = True  # a cone program does not come to a fit of samples that nearly coincide
    why = "" if is_closed else program.why(rounds, has_grown=has_grown)
    if network is None:
        why = f"no fit to 1e-9 was found; {why}"
        return MinimumNorm(np.inf, lower * unit, False, best / size, None, np.inf, rounds, why)
    network = network.scaled(0.5 * float(np.log(unit))).materialized()
    missed = float(np.linalg.norm(network.outputs(dataset.X) - dataset.y))
    return MinimumNorm(norm * unit, lower * unit, program.is_exact, best / size, network, missed, rounds, why)


def _bound_of_labels(
    X: FloatArray, y: FloatArray, leak: float, misfit: float, max_patterns: int
) -> tuple[float, FloatArray]:
    """What nu along y proves, without any program: the bound and nu, scaled."""
    gains = NeuronOracle(X, np.sign(y), leak, max_patterns=max_patterns).gains(y)
    worth = float(y @ y) - misfit * float(np.linalg.norm(y))
    return max(worth, 0.0) / gains.upper, y / gains.upper


def is_quick(dataset: Dataset) -> bool:
    """Whether the least norm can be expected within a second or two, certified."""
    rank = int(np.linalg.matrix_rank(dataset.X))
    return min(dataset.n, rank) <= 11 and num_cells(dataset.n, rank) <= _SMALL and dataset.n <= 40


class _Columns:
    """The program over the cones, or the rays, held so far, for samples no longer than 1 and labels at most 1."""

    def __init__(
        self,
        X: FloatArray,
        y: FloatArray,
        leak: float,
        misfit: float,
        max_patterns: int,
        allowed: Budget,
    ) -> None:
        self.X, self.y, self.leak, self.misfit, self.max_patterns = X, y, leak, misfit, max_patterns
        self._allowed = allowed
        self._rays: list[FloatArray] = []
        self._signs: list[float] = []
        self._patterns: list[FloatArray] = []
        self._known: set[tuple[float, bytes]] = set()
        self._oracle: NeuronOracle | None = None
        self._oracle_signs = np.zeros(0)
        self.is_exact = True
        rng = np.random.default_rng(0)
        # enough cones to fit something: those of the samples themselves, and random ones
        units = X / np.maximum(np.linalg.norm(X, axis=1), 1e-300)[:, None]
        self._starts = np.vstack([units, -units, rng.standard_normal((2 * len(y) + 8, X.shape[1]))])
        for direction in self._starts:
            for sign in (1.0, -1.0):
                self._add(sign, direction)
        self.takes_rays = X.size * len(self._signs) > _CONE_ENTRIES

    def why(self, rounds: int, *, has_grown: bool) -> str:
        """Why the search ended with a gap."""
        kind = "linear" if self.takes_rays else "cone"
        reasons = []
        if self._allowed.is_spent:
            reasons.append(f"the time was spent after {rounds} {kind} program{'s' if rounds != 1 else ''}")
        elif has_grown:
            reasons.append(f"{rounds} {kind} programs were solved, the most allowed")
        else:
            reasons.append("no neuron was found that shortens the network")
        if self.takes_rays:
            reasons.append("the network is the shortest for the directions tried only")
        if not self.is_exact:
            reasons.append("the bound below is a relaxation, for the activation patterns are too many to enumerate")
        return "; ".join(reasons)

    def _add(self, sign: float, direction: FloatArray) -> bool:
        pattern = np.where(self.X @ direction > 0.0, 1.0, -1.0)
        key = (sign, pattern.tobytes())
        if key in self._known:
            return False
        self._known.add(key)
        self._signs.append(sign)
        self._patterns.append(pattern)
        self._rays.append(direction / max(float(np.linalg.norm(direction)), 1e-300))
        return True

    def obstacle(self) -> FloatArray | None:
        """Multipliers that no neuron feels but the labels do; None where some network fits.

        The outputs of all networks form a linear space: the span of phi(X w).
        """
        rng = np.random.default_rng(1)
        tried = self._starts
        for _ in range(8):
            z = tried @ self.X.T
            features = np.maximum(z, self.leak * z)
            left = np.linalg.svd(features.T, full_matrices=False)
            rank = int(np.sum(left[1] > 1e-10 * left[1][0]))
            basis = left[0][:, :rank]
            rest = self.y - basis @ (basis.T @ self.y)
            if np.linalg.norm(rest) <= 1e-9 * np.linalg.norm(self.y):
                return None
            gains = self._gains(rest)
            if gains.upper <= 1e-9 * np.linalg.norm(rest):
                return np.asarray(rest)
            tried = np.vstack([tried, gains.vectors, rng.standard_normal((4 * len(self.y), self.X.shape[1]))])
            for k in np.argsort(-gains.values)[:_PER_ROUND]:
                self._add(float(self._sign_of(gains, int(k))), gains.vectors[k])
        return None

    def _gains(self, multipliers: FloatArray) -> Gains:
        signs = np.sign(multipliers)
        if self._oracle is None or not np.array_equal(signs, self._oracle_signs):
            self._oracle = NeuronOracle(self.X, signs, self.leak, max_patterns=self.max_patterns)
            self._oracle_signs = signs
        gains = self._oracle.gains(multipliers)
        self.is_exact = gains.is_exact
        return gains

    def _sign_of(self, gains: Gains, k: int) -> int:
        assert self._oracle is not None
        return int(self._oracle.sides[gains.sides[k]].sign)

    def price(self, multipliers: FloatArray) -> tuple[float, FloatArray, bool]:
        """The bound that these multipliers prove, they themselves scaled, and whether columns came in."""
        gains = self._gains(multipliers)
        worth = float(multipliers @ self.y) - self.misfit * float(np.linalg.norm(multipliers))
        has_grown, added = False, 0
        for k in np.argsort(-gains.values):
            if gains.values[k] <= 1.0 + 1e-12 or added == _PER_ROUND:
                break
            if self._add(float(self._sign_of(gains, int(k))), gains.vectors[k]):
                has_grown, added = True, added + 1
        if gains.upper <= 0.0:
            return 0.0, multipliers, has_grown
        return worth / gains.upper, multipliers / gains.upper, has_grown

    def solve(self) -> tuple[FloatArray, Network | None]:
        """Multipliers and a network for the columns held; no network where it does not fit to 1e-9."""
        if self.takes_rays:
            return self._solve_on_rays()
        signs, patterns = np.array(self._signs), np.array(self._patterns)
        left = max(self._allowed.left, 1.0)
        solved = shortest_sum(self.X, self.y, self.leak, signs, patterns, misfit=self.misfit, max_seconds=left)
        lengths = np.linalg.norm(solved.vectors, axis=1)
        for cutoff in (1e-5, 1e-7, 1e-9, 0.0):  # an interior-point method leaves a little in every column
            kept = lengths > cutoff * float(lengths.sum())
            vectors = self._fitted(solved.vectors[kept], signs[kept], patterns[kept])
            if vectors is not None:
                return solved.multipliers, self._network(*self._merged(vectors, signs[kept]))
        return solved.multipliers, None

    def _solve_on_rays(self) -> tuple[FloatArray, Network | None]:
        """The same with every neuron on a direction held; an exact fit, made smaller where some misfit is allowed."""
        rays = np.unique(np.array(self._rays), axis=0)
        heights = rays @ self.X.T
        features = np.maximum(heights, self.leak * heights).T  # (n, k)
        found = smallest_coefficients(features, self.y, max_seconds=max(self._allowed.left, 1.0))
        if found is None:
            return self.y, None
        coefficients, multipliers = found
        used = np.flatnonzero(coefficients)
        for _ in range(2):  # a linear program fits to its tolerance, a linear system to rounding
            missed = self.y - features[:, used] @ coefficients[used]
            coefficients[used] += np.linalg.lstsq(features[:, used], missed, rcond=1e-12)[0]
        missed = self.y - features[:, used] @ coefficients[used]
        if np.linalg.norm(missed) > 1e-9:
            return multipliers, None
        shrunk = 1.0 - self.misfit / float(np.linalg.norm(self.y))
        vectors = shrunk * np.abs(coefficients[used])[:, None] * rays[used]
        return multipliers, self._network(vectors, np.sign(coefficients[used]))

    def _merged(self, vectors: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """One vector per sign and direction, where that fits as well at no greater length."""
        merged, merged_signs = merge_parallel(vectors, signs)
        fitted = self._fitted(merged, merged_signs, np.where(merged @ self.X.T > 0.0, 1.0, -1.0))
        length = float(np.sum(np.linalg.norm(vectors, axis=1)))
        if fitted is None or float(np.sum(np.linalg.norm(fitted, axis=1))) > length * (1.0 + 1e-11):
            return vectors, signs
        return fitted, merged_signs

    def _fitted(self, vectors: FloatArray, signs: FloatArray, patterns: FloatArray) -> FloatArray | None:
        """Vectors moved a little so that they fit to rounding; None where that is not little."""
        X, d = self.X, self.X.shape[1]
        scale = float(np.linalg.norm(vectors))
        for _ in range(4):
            heights = vectors @ X.T
            outputs = signs @ np.maximum(heights, self.leak * heights)
            missed = self.y - outputs
            if self.misfit > 0.0:
                excess = 1.0 - self.misfit / max(float(np.linalg.norm(missed)), 1e-300)
                missed = missed * max(excess, 0.0)
            if np.linalg.norm(missed) <= 1e-14 * np.sqrt(len(self.y)):
                return vectors
            lengths = np.linalg.norm(vectors, axis=1)[:, None] * np.linalg.norm(X, axis=1)
            on = np.abs(heights) <= 1e-6 * lengths  # it stays on the wall it touches
            slopes = np.where(patterns > 0, 1.0, self.leak) * signs[:, None] * ~on
            rows = [(slopes[:, k, None] * X[k]).reshape(1, -1) for k in range(len(self.y))]
            values = [*missed]
            for c, k in zip(*np.nonzero(on), strict=True):
                row = np.zeros(vectors.size)
                row[c * d : (c + 1) * d] = X[k]
                rows.append(row[None])
                values.append(-heights[c, k])
            step = np.linalg.lstsq(np.vstack(rows), np.array(values), rcond=1e-12)[0].reshape(vectors.shape)
            if np.linalg.norm(step) > 1e-3 * scale:
                return None
            vectors = vectors + step
        heights = vectors @ X.T
        missed = self.y - signs @ np.maximum(heights, self.leak * heights)
        return vectors if np.linalg.norm(missed) <= self.misfit + 1e-9 else None

    def _network(self, vectors: FloatArray, signs: FloatArray) -> Network | None:
        lengths = np.linalg.norm(vectors, axis=1)
        kept = lengths > 0.0
        if not np.any(kept):
            return None
        root = np.sqrt(lengths[kept])
        return Network(vectors[kept] / root[:, None], signs[kept] * root, leak=self.leak)
