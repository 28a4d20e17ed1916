"""The largest margin any two-layer network has on a dataset, from both sides.

With unit total norm, max over networks of min_i y_i f(x_i) equals half the minimum over multipliers in the simplex of
the best neuron's gain (minimax). A cone program over a growing set of activation patterns gives the multipliers and
the neurons; the margin of the explicit network and the gain under the explicit multipliers are then recomputed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.budget import Budget
from reluflow.certificates.backends.clarabel import RateColumn, SmallestRate, smallest_rate
from reluflow.certificates.best_neuron import MAX_PATTERNS, NeuronOracle
from reluflow.certificates.hard_margin import require_labels
from reluflow.certificates.one_class import leaky_margins
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.arrangement import num_cells
from reluflow.network.network import Network, checked_leak

_SMALL_PROBLEM = 600  # n d up to which local search takes a few seconds
_LARGEST_DATA = 3_000_000  # numbers in the samples: some four thousand images of MNIST

_PROGRAM_ENTRIES = 60_000  # n d times columns of a cone program: beyond, one takes many seconds and the bracket stays
_SEARCH_ROUNDS = 12  # cone programs when patterns are searched and not enumerated: the bracket stays open anyway


@dataclass(frozen=True, eq=False)
class NetworkMargin:
    """A bracket around the largest normalised margin q_min(theta) / |theta|^2 over all widths.

    Parameters
    ----------
    margin
        Margin of `network`, recomputed from its outputs; 0 when no network was found that classifies every sample.
    upper
        No network of the allowed signs, of any width, has a larger margin; recomputed from `multipliers`.
    is_exact
        Whether `upper` comes from all activation patterns. If not it is a valid relaxation and may be loose.
    multipliers
        lambda in the simplex, shape (n,).
    network
        The network that attains `margin`, of norm 1; None when `margin` is 0.
    rounds
        Cone programs solved.
    """

    margin: float
    upper: float
    is_exact: bool
    multipliers: FloatArray
    network: Network | None
    rounds: int

    def __repr__(self) -> str:
        neurons = 0 if self.network is None else self.network.num_neurons
        return f"NetworkMargin({self.margin:.8g} of at most {self.upper:.8g}, {neurons} neurons)"

    @property
    def gap(self) -> float:
        """(upper - margin) / upper; 0 when both vanish."""
        return (self.upper - self.margin) / self.upper if self.upper > 0.0 else 0.0


def network_margin(
    dataset: Dataset,
    leak: float = 0.0,
    *,
    signs: tuple[int, ...] = (1, -1),
    tol: float = 1e-9,
    max_patterns: int = MAX_PATTERNS,
    max_rounds: int = 60,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> NetworkMargin:
    """The global max margin of the two-layer network, with a dual upper bound.

    Linear separability is not needed: a network may separate what no half-space does.

    Parameters
    ----------
    dataset
        Samples with labels -1 and 1.
    leak
        Negative slope of the activation.
    signs
        Output signs the neurons may have; (-1,) is the restricted problem of Lyu et al., Assumption A.5.
    tol
        Stop when (upper - margin) / upper is at most this.
    max_patterns
        Up to this many activation patterns of a class are enumerated; beyond, local search finds neurons and `upper`
        comes from a relaxation.
    max_rounds
        Cone programs at most.
    max_seconds
        Processor time allowed; the bracket is valid wherever it ends.
    progress
        Called with the share of the work that is done, or of the time that is spent.

    Examples
    --------
    >>> xor = Dataset([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1])
    >>> result = network_margin(xor)
    >>> print(round(result.margin, 9), round(result.upper, 9))
    0.176776695 0.176776695

    References
    ----------
    Lyu et al. (2021), problem (M) and Lemma G.10 [lyu2021].
    """
    require_labels(dataset)
    if not signs or not set(signs) <= {1, -1}:
        raise InvalidInputError(f"`signs` must name one or both of 1 and -1, got {signs}.")
    slope = checked_leak(leak)
    scale = float(np.max(np.linalg.norm(dataset.X, axis=1)))
    uniform = np.full(dataset.n, 1.0 / dataset.n)
    if scale == 0.0:
        return NetworkMargin(0.0, 0.0, True, uniform, None, 0)
    X, allowed = dataset.X / scale, Budget(max_seconds)
    program = _ColumnProgram(X, dataset.y, slope, signs, max_patterns)
    most_columns = max(_PROGRAM_ENTRIES // X.size, 2)
    multipliers, best_multipliers, upper = uniform, uniform, np.inf
    margin, network, rounds = 0.0, None, 0
    budget = max_rounds if program.oracle.is_exact else min(max_rounds, _SEARCH_ROUNDS)
    while True:
        bound, progressed = program.price(multipliers, most=min(8, most_columns))
        if bound < upper:
            upper, best_multipliers = bound, multipliers
        closed = upper - margin <= tol * upper or upper <= 1e-13
        if not closed and not progressed and not program.oracle.is_exact and not program.oracle.searches_acute:
            program.oracle.searches_acute = True
            bound, progressed = program.price(multipliers)
        if progress is not None:
            progress(max(rounds / budget, allowed.share))
        is_spent = allowed.is_spent or rounds == budget or (rounds > 0 and program.num_columns > most_columns)
        if closed or not progressed or is_spent:
            break
        solved = program.solve(max_seconds=max(allowed.left, 1.0))
        rounds += 1
        multipliers = solved.multipliers
        candidate = program.network(solved)
        value = float(np.min(dataset.y * candidate.outputs(X))) if candidate is not None else 0.0
        if value > margin:
            margin, network = value, candidate
        if not program.oracle.is_exact:
            program.drop_idle_columns(solved)
    return NetworkMargin(margin * scale, upper * scale, program.oracle.is_exact, best_multipliers, network, rounds)


def is_tractable(dataset: Dataset, leak: float) -> bool:
    """Whether `network_margin` can be expected within seconds, certified where the data allow it.

    Either the patterns of each class can be enumerated, or the class is acute and needs none, or the data are small.
    With very many numbers even two columns make a program that takes minutes and gigabytes.
    """
    if dataset.X.size > _LARGEST_DATA:
        return False
    if leak == 1.0 or dataset.X.size <= _SMALL_PROBLEM:
        return True
    for label in (1.0, -1.0):
        rows = dataset.X[dataset.y == label]
        rows = rows[np.any(rows != 0.0, axis=1)]
        if len(rows) and not (leak == 0.0 and np.all(rows @ rows.T >= 0.0)):
            rank = int(np.linalg.matrix_rank(rows))
            if min(len(rows), rank) > 16 or num_cells(len(rows), rank) > MAX_PATTERNS:  # 2^16 exceeds MAX_PATTERNS
                return False
    return True


def linear_network_margin(margin: float, leak: float) -> float:
    """Largest q_min / |theta|^2 of a network that computes <w, x>: (1 + leak)/4 times the margin of the unit vector w.

    Two opposite neurons do it: s(z) - s(-z) = (1 + leak) z.

    References
    ----------
    Lyu et al. (2021), Thm 4.2 [lyu2021].

    >>> linear_network_margin(1.0, 0.0)
    0.25
    """
    return (1.0 + leak) / 4.0 * margin


@dataclass(frozen=True, eq=False)
class OppositeSignMargin:
    """How far neurons of the other sign could get on the samples that bind one sign's best neuron.

    Parameters
    ----------
    sign
        Sign of the binding neuron: 1 for Assumption A.5, -1 for A.9.
    threshold
        gamma^+/2 (or gamma^-/2), what the other sign must stay below.
    any_multipliers
        V of Assumption A.5: the best margin of networks of the other sign on S^+ (or S^-).
    dual_multipliers
        V* of the repaired assumption A.5*: half the best other-sign gain under multipliers of the separator itself,
        the smallest over all of them.
    multipliers
        The multipliers that give V*, shape (n,).
    """

    sign: int
    threshold: float
    any_multipliers: float
    dual_multipliers: float
    multipliers: FloatArray


def opposite_sign_margin(dataset: Dataset, leak: float, *, sign: int = 1, rtol: float = 1e-9) -> OppositeSignMargin:
    """V of Assumption A.5 and V* of its repair A.5* (A.9 with sign = -1).

    References
    ----------
    Lyu et al. (2021), Assumptions A.5 and A.9, with errata E4 and E5: Theorem A.7 needs V*, not V [lyu2021].
    """
    if sign not in (1, -1):
        raise InvalidInputError(f"`sign` must be 1 or -1, got {sign}.")
    margins = leaky_margins(dataset, leak, rtol=rtol)
    side = margins.positive if sign == 1 else margins.negative
    if not side.separator.separable:
        raise InvalidInputError("`dataset` must be linearly separable for Assumption A.5 to make sense.")
    binding = np.union1d(side.closest, side.separator.support)  # a tiny margin may leave support rows off `closest`
    closest = dataset.subset(binding)
    restricted = network_margin(closest, leak, signs=(-sign,))
    face = np.vstack([np.ones(closest.n), side.rows[binding].T / side.margin])
    target = np.concatenate([[1.0], side.w])
    left, singular, _ = np.linalg.svd(face, full_matrices=False)
    rank = int(np.sum(singular > 1e-9 * singular[0]))
    scale = float(np.max(np.linalg.norm(closest.X, axis=1)))
    program = _ColumnProgram(closest.X / scale, closest.y, leak, (-sign,), MAX_PATTERNS)
    multipliers = side.separator.multipliers[binding]
    multipliers = best = multipliers / multipliers.sum()
    value, progressed = program.price(multipliers)
    while rank < closest.n and progressed:
        equations, values = left[:, :rank].T @ face, left[:, :rank].T @ target
        multipliers = program.solve(equations=equations, values=values).multipliers
        bound, progressed = program.price(multipliers)
        if bound < value:
            value, best = bound, multipliers
    full = np.zeros(dataset.n)
    full[binding] = best
    return OppositeSignMargin(sign, 0.5 * side.margin, restricted.upper, value * scale, full)


class _ColumnProgram:
    """The cone program over the patterns priced so far, for samples no longer than 1."""

    def __init__(
        self, X: FloatArray, labels: FloatArray, leak: float, signs: tuple[int, ...], max_patterns: int
    ) -> None:
        self.X, self.labels, self.leak = X, labels, leak
        self.oracle = NeuronOracle(X, labels, leak, signs=signs, max_patterns=max_patterns)
        self._columns: list[RateColumn] = []
        self._signs: list[int] = []
        self._known: set[tuple[int, bytes]] = set()
        self._rate = 0.0

    @property
    def num_columns(self) -> int:
        """Columns held."""
        return len(self._columns)

    def price(self, multipliers: FloatArray, *, most: int = 8) -> tuple[float, bool]:
        """Half the best gain under these multipliers, and whether new columns with a larger gain came in."""
        gains = self.oracle.gains(multipliers * self.labels)
        added = 0
        for k in np.argsort(-gains.values):
            if gains.values[k] <= self._rate * (1.0 + 1e-12) or added == most:
                break
            side = self.oracle.sides[gains.sides[k]]
            slopes = side.slopes[gains.rows[k]]
            key = (side.sign, slopes.tobytes())
            if key not in self._known:
                self._known.add(key)
                self._columns.append(RateColumn(side.pulling, side.pushing, slopes))
                self._signs.append(side.sign)
                added += 1
        return 0.5 * gains.upper, added > 0

    def solve(
        self,
        *,
        equations: FloatArray | None = None,
        values: FloatArray | None = None,
        max_seconds: float = np.inf,
    ) -> SmallestRate:
        """Multipliers and neurons for the columns held."""
        solved = smallest_rate(
            self.X, self.leak, self._columns, equations=equations, values=values, max_seconds=max_seconds
        )
        self._rate = solved.rate
        return solved

    def drop_idle_columns(self, solved: SmallestRate) -> None:
        """Forget the columns whose neuron vanished; they may come back."""
        lengths = np.linalg.norm(solved.vectors, axis=1)
        kept = [bool(length > 1e-9 * lengths.sum()) for length in lengths]
        self._columns = [column for column, keep in zip(self._columns, kept, strict=True) if keep]
        self._signs = [sign for sign, keep in zip(self._signs, kept, strict=True) if keep]
        self._known = {(s, c.slopes.tobytes()) for s, c in zip(self._signs, self._columns, strict=True)}

    def network(self, solved: SmallestRate) -> Network | None:
        """The balanced network of norm 1, one neuron per sign and direction, small ones left out where that is free.

        None if all vectors vanish.
        """
        vectors, signs = merge_parallel(solved.vectors, np.asarray(self._signs, dtype=np.float64))
        lengths = np.linalg.norm(vectors, axis=1)
        best: Network | None = None
        value = -np.inf
        for cutoff in (1e-12, 1e-9, 1e-7, 1e-5):  # an interior-point method leaves a little in every column
            kept = lengths > cutoff * max(float(lengths.sum()), 1e-300)
            if not np.any(kept):
                break
            size = np.sqrt(lengths[kept] / (2.0 * lengths[kept].sum()))
            units = vectors[kept] / lengths[kept, None]
            candidate = Network(units * size[:, None], signs[kept] * size, leak=self.leak)
            margin = float(np.min(self.labels * candidate.outputs(self.X)))
            if margin >= value - 1e-11 * abs(value):
                best, value = candidate, margin
        return best


def merge_parallel(vectors: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add up vectors of one sign and direction (to 1e-4): a neuron each, with the same outputs in total.

    Columns that differ only in patterns their vectors do not need come out parallel, to the accuracy of the solver.
    Within one activation cone adding up keeps the outputs and only shortens the total length; the margin is
    recomputed from the merged neurons in any case.
    """
    lengths = np.linalg.norm(vectors, axis=1)
    merged: list[tuple[float, FloatArray]] = []
    for k in np.argsort(-lengths):
        if lengths[k] == 0.0:
            continue
        for place, (sign, total) in enumerate(merged):
            gap = np.linalg.norm(total / np.linalg.norm(total) - vectors[k] / lengths[k])
            if sign == signs[k] and gap <= 1e-4:
                merged[place] = (sign, total + vectors[k])
                break
        else:
            merged.append((float(signs[k]), vectors[k]))
    if not merged:
        return np.zeros((0, vectors.shape[1])), np.zeros(0)
    return np.array([total for _, total in merged]), np.array([sign for sign, _ in merged])
