"""The KKT direction nearest to a network that grows for ever: what its direction seems to tend to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.direction import ignored_samples
from reluflow.certificates.kkt import KKTCertificate, kkt_certificate
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.certificates.limits.takeover import Prospects, prospects
from reluflow.certificates.pattern_margin import max_margin_in_patterns, max_margin_nearby, max_margins_nearby
from reluflow.certificates.steepest_ascent import steepest_multipliers
from reluflow.data.dataset import Dataset
from reluflow.dynamics.collocation.tuning import FADED_LEAD, RESCALED_MARGIN
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network

_MANY_SAMPLES, _FIRST_SAMPLES, _MOST_ROUNDS = 1_000, 250, 6  # from how many on few are tried first, which, how often
IS_KKT, _ROUNDING = 1e-9, 1e-9  # residual of a KKT direction, and by how much a margin may be off, relative


@dataclass(frozen=True, eq=False)
class NearestDirection:
    """The best direction in the present patterns of a classifier, on the samples that it does not ignore.

    Parameters
    ----------
    last
        The classifier at unit norm.
    solved
        The direction.
    kept
        The samples on which some neuron is active, all of them classified.
    ignored
        The others, counted from 0; none in the ordinary case.
    kkt
        The certificate of `solved` on `kept`.
    forces
        Those of the classifier on `kept`, up to a factor.
    walls
        The ignored samples; None where there are none.
    """

    last: Network
    solved: Network
    kept: Dataset
    ignored: IndexArray
    kkt: KKTCertificate
    forces: FloatArray
    walls: Dataset | None

    @property
    def distance(self) -> float:
        """Between the two unit directions."""
        return direction_distance(self.last, self.solved)

    def prospects(self) -> Prospects:
        """Which neurons can still change the limit."""
        return prospects(self.last, self.solved, self.kept, self.kkt, self.forces, self.walls)


def nearest_direction(network: Network, problem: TrainingProblem, *, is_hasty: bool = False) -> NearestDirection | None:
    """Solve for the direction a classifier is near; None where it does not classify what it acts on.

    Also None where no solver finds a direction with a margin and samples that pull it. With `is_hasty` no cone program
    is solved: then None as well where a direction cannot be found at once from the forces as they are. Where it can be
    found only for the heavy neurons, it is that; `prospects` then knows which others grow.
    """
    dataset, outputs = problem.dataset, network.outputs(problem.dataset.X)
    ignored, kept, walls = np.empty(0, dtype=np.intp), dataset, None
    if not np.all(outputs * dataset.y > 0.0):
        ignored = ignored_samples(network, dataset)
        if not ignored.size:
            return None
        rest = np.setdiff1d(np.arange(dataset.n), ignored)
        kept, walls, outputs = dataset.subset(rest), dataset.subset(ignored), outputs[rest]
    last = unit_norm(network)
    strengths = _strengths(last, kept, outputs, problem.loss, walls)

    def solutions() -> Iterator[Network | None]:
        if is_hasty and kept.n > _MANY_SAMPLES:
            yield _on_few_samples(last, kept, outputs * kept.y, strengths, walls)
        nearby = max_margins_nearby(last, kept, strengths, walls=walls)
        yield next(nearby)
        yield next(nearby) if is_hasty else max_margin_in_patterns(last, kept, walls=walls)

    best = None
    for solved in solutions():
        if solved is None:
            continue
        kkt = kkt_certificate(solved, kept, walls=walls)
        if not np.any(kkt.multipliers):  # a solver too inexact for the margin: no flow tends to such a direction
            continue
        if best is None or kkt.residual < best.kkt.residual:
            best = NearestDirection(last, solved, kept, ignored, kkt, kept.y * strengths, walls)
        if best.kkt.residual <= IS_KKT or not is_hasty:
            break
    return best


def _strengths(
    last: Network, kept: Dataset, outputs: FloatArray, loss: AbstractLoss, walls: Dataset | None
) -> FloatArray:
    """Forces |dl/dh| of a classifier as shares of the strongest, shape (n,); at large margins, their limit."""
    if np.min(outputs * kept.y) > RESCALED_MARGIN:
        return steepest_multipliers(last, kept, close=2.0 * FADED_LEAD / RESCALED_MARGIN, walls=walls)
    log_force = loss.log_force(outputs, kept.y)
    return np.asarray(np.exp(log_force - np.max(log_force)))


def _on_few_samples(
    last: Network, kept: Dataset, margins: FloatArray, strengths: FloatArray, walls: Dataset | None
) -> Network | None:
    """The best direction near a classifier from the samples of smallest margin, those taken in that it breaks.

    On very many samples hardly two neurons have the same pattern, and few samples carry the direction: among these the
    neurons are a handful of groups.
    """
    chosen = np.argsort(margins)[:_FIRST_SAMPLES]
    for _ in range(_MOST_ROUNDS):
        solved = max_margin_nearby(last, kept.subset(chosen), strengths[chosen], walls=walls)
        if solved is None:
            return None
        found = kept.y * solved.outputs(kept.X)
        broken = np.flatnonzero(found < (1.0 - _ROUNDING) * np.min(found[chosen]))
        if not broken.size:
            return solved
        chosen = np.union1d(chosen, broken)
    return None


def program_size(problem: TrainingProblem) -> int:
    """Numbers in the cone program for the best direction in given patterns."""
    n, d = problem.dataset.n, problem.dataset.d
    return n * min(n, d) * problem.network.num_neurons
