"""The KKT direction nearest to a network with several outputs that grows for ever: what it seems to tend to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.certificates.limits.class_ascent import OFF, ON, PRESSED, ClassProgram, ascend
from reluflow.certificates.limits.class_traps import is_trapped
from reluflow.certificates.limits.directions import direction_distance
from reluflow.certificates.limits.nearest_direction import IS_KKT
from reluflow.certificates.limits.pattern_newton import MOST_UNKNOWNS, Bundles, solve_in_patterns
from reluflow.certificates.pair_gradients import Pairs, UnitNetwork
from reluflow.certificates.pair_kkt import PairKKT, pair_kkt
from reluflow.certificates.several_outputs import ignored_class_samples
from reluflow.data.dataset import Dataset
from reluflow.dynamics.collocation.tuning import RESCALED_MARGIN
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.network.network import Network, row_norms

_ON_BOUNDARY = 1e-9  # cosine below which a neuron counts as standing on the boundary of a sample
_LEADS = np.array([4.0, 10.0, 25.0])  # pairs ahead of the smallest margin by up to this have forces, which are e^-lead,
_CARRIES = 1e-6  # they are tried as those that carry the direction if their multiplier over the largest exceeds this
_PARALLEL = 0.3  # second singular value of a bundle over its first, above which its neurons are not taken as one
_MOST_WALLS = 12  # of boundaries that bundles are put on or let go from
_SLOPE_ATOL = 1e-9  # by which a slope may be outside its interval
_WORTH_FOLLOWING = 0.03  # residual of the KKT conditions from which on a network of smaller outputs is followed
_FARTHEST = 0.5  # distance from a direction that is one of several at which the run is not near it
_SHARE_PATTERNS, _SPAN = 1.2, 2.0  # times the smallest margin: samples up to it tell patterns apart, span the vectors
_STRIDES, _SAME = (5e-3, 2.5e-3), 1e-6  # of a way that is followed twice, and how far apart its two ends may be
_LIGHT = 1e-9  # size of a neuron of the limit, relative to the largest, that counts as 0


@dataclass(frozen=True, eq=False)
class ClassDirection:
    """A KKT direction near a network that classifies every sample on which a neuron is active.

    Parameters
    ----------
    last
        The network at unit norm, without a bias.
    solved
        The direction.
    kkt
        Its certificate, on the samples that are not ignored.
    ignored
        The samples on which no neuron of the network is active, counted from 0.
    is_only
        Whether every neuron is trapped by one class (see `is_trapped`), so that the flow tends to no other direction.
    is_followed
        Whether the network is that of outputs so large that its way is the one of infinite outputs, and the direction
        is where that way ends.
    """

    last: Network
    solved: Network
    kkt: PairKKT
    ignored: IndexArray
    is_only: bool
    is_followed: bool = False

    @property
    def is_known(self) -> bool:
        """Whether this is taken for the limit however far the network still is from it."""
        return self.is_only or self.is_followed

    @property
    def distance(self) -> float:
        """Between the two unit directions."""
        return direction_distance(self.last, self.solved)

    def open_points(self) -> tuple[str, ...]:
        """What is not shown of the run's own limit."""
        if self.is_only:
            return ()
        sizes = np.sqrt(np.sum(self.solved.w**2, axis=1) + np.sum(self.solved.v**2, axis=1))
        light = int(np.sum(sizes <= _LIGHT * np.max(sizes)))
        of_light = f" {light} of {len(sizes)} neurons vanish beside the others in it." if light else ""
        return (
            "That the run tends to this KKT direction and to no other is not shown for several outputs or an output "
            f"bias, unless every neuron is active on the samples of one class alone.{of_light}",
        )


def nearest_class_direction(
    network: Network, problem: TrainingProblem, *, largest_residual: float = np.inf
) -> ClassDirection | None:
    """Solve for the KKT direction a classifier is near.

    It is sought by Newton's method in the present patterns where these are small and every sample is classified, else
    by following the network uphill (see `class_ascent`), where neurons cross boundaries and are held at those of
    ignored samples. That is done twice, in steps of two lengths, which must come to the same end.

    Where a run may tend to several, none is solved for while the network itself misses the KKT conditions by more than
    `largest_residual`: a direction that is nearer than that leaves less. From outputs beyond `RESCALED_MARGIN` on a
    network is followed in any case.

    An output bias is left out: a fixed one is nothing beside weights that grow, and one that is trained grows like the
    logarithm of the squared norm. None where a sample on which a neuron is active is not classified without it, and
    where no direction is found.
    """
    dataset = problem.dataset
    network = network.replace(b=None)
    unit = UnitNetwork.of(network)
    last = network.replace(w=unit.w, v=unit.v, log_scale=0.0)
    margins = Pairs.of(dataset).margins(_outputs(unit, dataset, network.leak))
    ignored = np.empty(0, dtype=np.intp)
    if not np.min(margins) > 0.0:
        ignored = ignored_class_samples(last, dataset)
        if not ignored.size:
            return None
    kept = dataset.subset(np.setdiff1d(np.arange(dataset.n), ignored)) if ignored.size else dataset
    walls = dataset.subset(ignored) if ignored.size else None
    margins = Pairs.of(kept).margins(_outputs(unit, kept, network.leak))
    if not np.min(margins) > 0.0:
        return None
    log_square = 2.0 * network.log_scale + np.log(network.replace(log_scale=0.0).squared_norm())
    leads = _LEADS / np.exp(min(np.log(np.min(margins)) + log_square, np.log(RESCALED_MARGIN)))
    is_only = has_only_one_direction(network, problem)
    if walls is None:
        start = _Start.of(unit, dataset, network.leak, np.inf if is_only else _FARTHEST)
        if start.bundles.size <= MOST_UNKNOWNS:
            allowed = np.inf if is_only else largest_residual
            return _by_newton(last, unit, start, dataset, leads, allowed, is_only=is_only)
    is_large = np.log(np.min(margins)) + log_square >= np.log(RESCALED_MARGIN)
    if not (is_large or is_only):
        lead = float(leads[0])
        left = pair_kkt(last, kept, active_rtol=lead, kink_rtol=_ON_BOUNDARY, kink_rounds=0, walls=walls)
        if left.residual > min(largest_residual, _WORTH_FOLLOWING):
            return None
    solved = _followed(last, unit, kept, walls)
    if solved is None or (walls is not None and not np.array_equal(ignored_class_samples(solved, dataset), ignored)):
        return None
    kkt = pair_kkt(solved, kept, active_rtol=1e-6, kink_rtol=_ON_BOUNDARY, walls=walls)
    return ClassDirection(last, solved, kkt, ignored, is_only, is_followed=is_large)


def _outputs(unit: UnitNetwork, dataset: Dataset, leak: float) -> FloatArray:
    """Of the neurons alone, those on a boundary left out."""
    products, kinks = unit.w @ dataset.X.T, _kinks(unit, dataset.X)
    slopes = np.where(kinks, 0.0, np.where(products > 0.0, 1.0, leak))
    return np.asarray((products * slopes).T @ (unit.weight[:, None] * unit.v))


def _kinks(unit: UnitNetwork, X: FloatArray) -> BoolArray:
    lengths = np.linalg.norm(unit.w, axis=1)[:, None] * np.linalg.norm(X, axis=1)
    return np.asarray(np.abs(unit.w @ X.T) <= _ON_BOUNDARY * lengths)


def _by_newton(
    last: Network,
    unit: UnitNetwork,
    start: _Start,
    dataset: Dataset,
    leads: FloatArray,
    largest_residual: float,
    *,
    is_only: bool,
) -> ClassDirection | None:
    """The KKT direction in the present patterns, from the pairs that carry most of the network."""
    best, tried = None, set[bytes]()
    for share in leads:
        near = pair_kkt(last, dataset, active_rtol=float(share), kink_rtol=_ON_BOUNDARY)
        if near.residual > largest_residual:
            continue
        active = Pairs.of(dataset).carrying(near.multipliers, _CARRIES)
        if not active.size or active.tobytes() in tried:
            continue
        tried.add(active.tobytes())
        for found in _candidates(start, dataset, active):
            solved = _shared_out(last, unit, start.group, found.w, found.v)
            kkt = pair_kkt(solved, dataset, active_rtol=1e-6, kink_rtol=_ON_BOUNDARY)
            if best is None or kkt.residual < best.kkt.residual:
                best = ClassDirection(last, solved, kkt, np.empty(0, dtype=np.intp), is_only)
            if kkt.residual <= IS_KKT:
                return best
    return best


def _followed(last: Network, unit: UnitNetwork, kept: Dataset, walls: Dataset | None) -> Network | None:
    """The KKT direction uphill from a network; None where steps of two lengths do not come to the same."""
    ends = []
    for stride in _STRIDES:
        found = _uphill(last, unit, kept, walls, stride)
        if found is None:
            return None
        ends.append(found)
    return ends[-1] if direction_distance(*ends) <= _SAME else None


def _uphill(last: Network, unit: UnitNetwork, kept: Dataset, walls: Dataset | None, stride: float) -> Network | None:
    """The KKT direction uphill from a network; neurons of one pattern on the samples of small margin go as one."""
    pairs, leak = Pairs.of(kept), last.leak
    rows, forces = np.zeros((0, kept.d)), np.zeros((0, last.num_outputs))
    if walls is not None:
        rows, forces = np.asarray(walls.X), Pairs.of(walls).unanswered(walls.n)
    margins = pairs.margins(_outputs(unit, kept, leak))
    barriers = np.vstack([kept.X, rows])
    sides = np.where(_kinks(unit, barriers), PRESSED, np.where(unit.w @ barriers.T > 0.0, ON, OFF))
    sides[:, kept.n :][sides[:, kept.n :] == ON] = OFF
    held = kept.n + np.arange(len(rows))
    telling = np.append(np.unique(pairs.samples[margins <= _SHARE_PATTERNS * np.min(margins)]), held)
    group = _bundled(unit, sides[:, telling].astype(np.float64), sides[:, telling] == PRESSED)
    bundles = _bundles(unit, group)
    firsts = [int(np.flatnonzero(group == g)[0]) for g in range(len(bundles))]
    spanning = np.append(np.unique(pairs.samples[margins <= _SPAN * np.min(margins)]), held)
    basis = orthonormal_rows(barriers[spanning]) if spanning.size < kept.d else np.eye(kept.d)
    program = ClassProgram(kept.X @ basis.T, pairs, rows @ basis.T, forces, leak)
    found = ascend(program, bundles[:, : kept.d] @ basis.T, bundles[:, kept.d :], sides[firsts], stride=stride)
    return None if found is None else _shared_out(last, unit, found.bundle_of[group], found.w @ basis, found.v)


def has_only_one_direction(network: Network, problem: TrainingProblem) -> bool:
    """Whether every neuron is trapped by one class (see `is_trapped`), so that the flow tends to no other direction."""
    return is_trapped(network.replace(b=None), problem.dataset) and not problem.moves_output_bias


class _Start(NamedTuple):
    """Bundles (num_bundles, d + K), their slopes (num_bundles, n), where these are free, how far a direction may be.

    `group` is the bundle of every neuron.
    """

    bundles: FloatArray
    slopes: FloatArray
    kinks: BoolArray
    leak: float
    farthest: float
    group: IndexArray

    @classmethod
    def of(cls, unit: UnitNetwork, dataset: Dataset, leak: float, farthest: float) -> _Start:
        """The bundles of a network."""
        slopes, kinks = np.where(unit.w @ dataset.X.T > 0.0, 1.0, leak), _kinks(unit, dataset.X)
        group = _bundled(unit, slopes, kinks)
        bundles = _bundles(unit, group)
        firsts = [int(np.flatnonzero(group == g)[0]) for g in range(len(bundles))]
        return cls(bundles, slopes[firsts], kinks[firsts], leak, farthest, group)


def _candidates(start: _Start, dataset: Dataset, active: IndexArray) -> Iterator[Bundles]:
    """Directions near the start that meet the KKT conditions in patterns in which their bundles are.

    Bundles that would cross a boundary are let across; where they would come back they are put on it. One that stands
    on a boundary and would be pushed off it, by a slope outside [leak, 1], is let go to that side.
    """
    X, (here, slopes, kinks, leak, farthest, _) = dataset.X, start
    slopes, kinks, has_crossed = slopes.copy(), kinks.copy(), np.zeros(kinks.shape, dtype=bool)
    lengths = np.linalg.norm(X, axis=1)
    for _ in range(_MOST_WALLS):
        w, v = here[:, : dataset.d], here[:, dataset.d :]
        found = solve_in_patterns(Bundles.with_kinks(w, v, slopes, kinks, X), dataset, active, farthest=farthest)
        if found is None:
            return
        bundles, forces = found
        sides = np.where(slopes == 1.0, 1.0, -1.0)
        cosines = sides * (bundles.w @ X.T) / (row_norms(bundles.w)[:, None] * lengths + 1e-300)
        is_across = (cosines < -_ON_BOUNDARY) & ~kinks & ~_is_light(bundles)[:, None]
        if is_across.any():
            kinks |= is_across & has_crossed
            slopes = np.where(is_across & ~has_crossed, 1.0 + leak - slopes, slopes)
            has_crossed |= is_across
            continue
        yield bundles
        g, k, slope = _farthest_slope(bundles, forces, X, kinks, leak)
        if g < 0:
            return
        kinks[g, k], slopes[g, k] = False, slope


def _is_light(bundles: Bundles) -> BoolArray:
    """Which bundles are 0 up to rounding, so that their patterns mean nothing."""
    sizes = np.hypot(row_norms(bundles.w), row_norms(bundles.v))
    return np.asarray(sizes <= _LIGHT * np.max(sizes))


def _farthest_slope(
    bundles: Bundles, forces: FloatArray, X: FloatArray, kinks: BoolArray, leak: float
) -> tuple[int, int, float]:
    """The bundle and sample whose slope is farthest outside [leak, 1], and the end it is beyond; -1 without one."""
    worst, found = _SLOPE_ATOL, (-1, -1, 0.0)
    for g in np.flatnonzero(kinks.any(axis=1) & ~_is_light(bundles)):
        on = np.flatnonzero(kinks[g])
        pulls = forces @ bundles.v[g]
        rest = bundles.w[g] - (bundles.slopes[g] * pulls) @ X
        needed = np.linalg.lstsq(X[on].T, rest, rcond=None)[0]
        for k, part in zip(on, needed, strict=True):
            slope = part / pulls[k] if pulls[k] != 0.0 else 0.5 * (1.0 + leak)
            if slope - 1.0 > worst:
                worst, found = slope - 1.0, (int(g), int(k), 1.0)
            elif leak - slope > worst:
                worst, found = leak - slope, (int(g), int(k), leak)
    return found


def _bundled(unit: UnitNetwork, slopes: FloatArray, kinks: BoolArray) -> IndexArray:
    """Which bundle each neuron belongs to: those of one pattern, where they are nearly parallel."""
    group = np.full(len(unit.w), -1, dtype=np.intp)
    names: dict[bytes, list[int]] = {}
    for j in range(len(unit.w)):
        off = np.where(kinks[j], 0.0, slopes[j])  # on a boundary the sign of the product is rounding
        names.setdefault(off.tobytes() + kinks[j].tobytes(), []).append(j)
    count = 0
    for members in names.values():
        rows = np.sqrt(unit.weight[members])[:, None] * np.hstack([unit.w[members], unit.v[members]])
        values = np.linalg.svd(rows, compute_uv=False)
        together = len(values) < 2 or values[1] <= _PARALLEL * values[0]
        for place, j in enumerate(members):
            group[j] = count if together else count + place
        count += 1 if together else len(members)
    return group


def _bundles(unit: UnitNetwork, group: IndexArray) -> FloatArray:
    """(w, v) of one neuron for each bundle, with the size of all its members, shape (num_bundles, d + K)."""
    found = []
    for g in range(int(np.max(group)) + 1):
        members = np.flatnonzero(group == g)
        rows = np.sqrt(unit.weight[members])[:, None] * np.hstack([unit.w[members], unit.v[members]])
        _, values, right = np.linalg.svd(rows, full_matrices=False)
        found.append(values[0] * right[0] * (1.0 if np.sum(rows @ right[0]) >= 0.0 else -1.0))
    return np.array(found)


def _shared_out(last: Network, unit: UnitNetwork, group: IndexArray, w: FloatArray, v: FloatArray) -> Network:
    """The solved direction at unit norm, each neuron with the share of its bundle that it has now."""
    whole = np.hstack([w, v])
    lengths = row_norms(whole)
    along = np.einsum("ji,ji->j", np.hstack([unit.w, unit.v]), whole[group]) / np.where(
        lengths[group] > 0.0, lengths[group], 1.0
    )
    along = np.maximum(along, 0.0)
    squares = np.bincount(group, weights=unit.weight * along**2, minlength=len(whole))
    shares = along / np.where(squares[group] > 0.0, np.sqrt(squares[group]), 1.0)
    norm = float(np.linalg.norm(whole))
    return last.replace(w=shares[:, None] * w[group] / norm, v=shares[:, None] * v[group] / norm)
