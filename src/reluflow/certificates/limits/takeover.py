"""Light neurons at a limiting direction: which of them can still change it.

At a KKT direction with multipliers lambda the forces are lambda_i y_i up to a common factor, and in the time in which
the network's norm grows e-fold so does every neuron that carries it. Under these forces a light neuron turns to an
extremal direction with pull D and then grows e^|D|-fold in the same time. So it takes over, however light it is, if
|D| > 1, and falls behind for ever if |D| < 1. While it turns it never grows faster than at the end of its way, since
its rate G(w)/|w| increases along the flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.kkt import KKTCertificate, normalized
from reluflow.data.dataset import Dataset
from reluflow.geometry import alignment_kernels as kernels
from reluflow.geometry.alignment import Alignment, align
from reluflow.network.network import Network, row_norms

EQUAL_GAIN = 1e-6  # growth rates closer than this, relative, are not distinguished
SAME_DIRECTION = 1e-6  # 1 - cos of two directions that count as one
ON_BOUNDARY = 1e-12  # |cos| of a neuron that stands on the boundary of a sample
SLACK = 1e-6  # a margin that exceeds the smallest by less than this, relative, is not distinguished from it
MOST_SENTENCES = 3
_FEW_PULL = 0.5  # share of the samples that pull up to which it is worth following neurons under these alone first
NO_PULL = "No sample pulls at this direction, so that what the neurons do near it is not known."
UNFADING = 1e6  # pull of an ignored sample against that of the others, whose own tends to 0


@dataclass(frozen=True)
class Takeover:
    """A light neuron that grows faster than the network, or any that meets an ignored sample of its own sign.

    Parameters
    ----------
    neuron
        Its index.
    share
        Its size over that of the network now.
    gain
        How many times as fast as the network it grows once it has turned; `UNFADING` at an ignored sample.
    """

    neuron: int
    share: float
    gain: float

    @property
    def log_growth(self) -> float:
        """ln of the factor by which |theta|^2 grows until the neuron is as heavy as the network."""
        return 2.0 * float(-np.log(self.share)) / (self.gain - 1.0) if self.share > 0.0 else np.inf

    def sentence(self) -> str:
        """What it will do."""
        if self.gain == UNFADING:
            return (
                f"Neuron {self.neuron + 1}, now {self.share:.3g} of the norm, meets an ignored sample of its own sign "
                "on its way to this direction, and turns to that."
            )
        return (
            f"Neuron {self.neuron + 1}, now {self.share:.3g} of the norm, grows {self.gain:.4g} times as fast as the "
            "network under the forces of this direction and takes over later."
        )


@dataclass(frozen=True)
class Prospects:
    """What the neurons of a run do at the direction it is near.

    Parameters
    ----------
    takeovers
        Those that change the limit, the first to do so first.
    open_points
        Sentences on those for which no inequality decides.
    keeps_patterns
        False where a neuron takes over, else whether every pattern that is met on the way, under the forces of the
        direction and under those of the run now, has this direction as its best. Within fixed patterns of the samples
        that pull each neuron the margin problem is convex, and the flow has no other limit than its solution, however
        slowly it gets there. So a neuron may cross or slide along the boundary of a sample that pushes it, and cross
        that of one that pulls it if the sample is not among those of smallest margin on either side.
    """

    takeovers: tuple[Takeover, ...]
    open_points: tuple[str, ...]
    keeps_patterns: bool

    @property
    def is_final(self) -> bool:
        """Whether no neuron can change the limit."""
        return not self.takeovers and not self.open_points

    def sentences(self) -> list[str]:
        """What stands against the limit, in words."""
        sentences = [takeover.sentence() for takeover in self.takeovers] + list(self.open_points)
        return sentences[:MOST_SENTENCES]


def prospects(
    last: Network, limit: Network, dataset: Dataset, kkt: KKTCertificate, forces: FloatArray, walls: Dataset | None
) -> Prospects:
    """Follow every neuron of a run under the forces of the direction it is near.

    Parameters
    ----------
    last
        The run's last network; its scale does not matter.
    limit
        The KKT direction, neuron by neuron.
    dataset
        The samples that are not ignored.
    kkt
        The certificate of `limit` on them.
    forces
        The run's own forces now, up to a factor, shape (n,): the way of a light neuron must not depend on which of the
        two are taken.
    walls
        The ignored samples. They pull far harder than the others, whose forces fade: a neuron that meets one of its own
        sign turns to it and takes over, one of the other sign is held at its boundary.
    """
    if not np.any(kkt.multipliers):  # under no forces no neuron moves: nothing is learnt of the way ahead
        return Prospects((), (NO_PULL,), False)
    length = row_norms(last.w)
    moving = np.flatnonzero(length > 0.0)
    size = row_norms(np.column_stack([last.w, last.a])) * np.sqrt(last.weight)
    share = size / float(np.linalg.norm(size / size.max())) / float(size.max())
    carrying = np.flatnonzero(row_norms(limit.w) > 0.0)
    heavy = limit.w[carrying] / row_norms(limit.w)[carrying, None] * np.sign(limit.a[carrying])[:, None]
    samples = dataset.X if walls is None else np.vstack([dataset.X, walls.X])
    unfading = np.empty(0) if walls is None else UNFADING * walls.y / np.max(np.linalg.norm(walls.X, axis=1))

    if walls is not None:
        met = _own_walls_met(last, moving, dataset, kkt, walls)
        if met.size:  # no need to follow them any further, which may take long
            return Prospects(tuple(Takeover(int(j), float(share[j]), UNFADING) for j in met), (), False)

    def follow(pulls: FloatArray) -> Alignment:
        return align(samples, np.append(pulls, unfading), last.w[moving], last.a[moving], leak=last.leak)

    pulling = np.flatnonzero(np.append(kkt.multipliers, unfading))
    if pulling.size < _FEW_PULL * len(samples):  # the others move no neuron, so who takes over is seen without them
        pulls = np.append(kkt.multipliers * dataset.y, unfading)[pulling]
        ways = align(samples[pulling], pulls, last.w[moving], last.a[moving], leak=last.leak)
        if takeovers := _takeovers(_gains(ways), moving, share):
            return Prospects(takeovers, (), False)
    paths, now = follow(kkt.multipliers * dataset.y), follow(forces / np.max(np.abs(forces @ dataset.X)))
    gains, gains_now = _gains(paths), _gains(now)
    is_heavy = np.isin(moving, carrying)
    largest_now = float(np.max(gains_now[is_heavy], initial=0.0))
    open_points = []
    is_guessed = False
    for j in np.flatnonzero((length == 0.0) & (last.a != 0.0)):
        open_points.append(f"Neuron {int(j) + 1} has input weight 0, where every way is open to it.")
    for place, j in enumerate(moving):
        gain, name = gains[place], f"Neuron {int(j) + 1}, now {share[j]:.3g} of the norm,"
        if np.isnan(gain):
            open_points.append(f"{name} meets a point where its way under the forces of this direction is not unique.")
        elif 1.0 - EQUAL_GAIN <= gain <= 1.0 + EQUAL_GAIN:
            signed = paths.directions[place] * np.sign(paths.a[place])
            if not np.any(heavy @ signed >= 1.0 - SAME_DIRECTION):
                open_points.append(f"{name} grows as fast as the network, in another direction.")
        elif gain < 1.0:
            is_guessed |= gain > 0.0
            if not gains_now[place] < largest_now:
                open_points.append(f"{name} grows as fast as the network under the forces of the run as they are now.")
    if is_guessed and not kkt.is_unique:
        open_points.append(
            "The multipliers of this direction are not unique, so that the forces on its light neurons are not known."
        )
    keeps_patterns = all(_keeps_best(way, last, limit, moving, dataset, kkt) for way in (paths, now))
    return Prospects(_takeovers(gains, moving, share), tuple(open_points), keeps_patterns)


def _takeovers(gains: FloatArray, moving: IndexArray, share: FloatArray) -> tuple[Takeover, ...]:
    """Those of the moving neurons that grow faster than the network, the first to take over first."""
    faster = [
        Takeover(int(j), float(share[j]), float(gain))
        for j, gain in zip(moving, gains, strict=True)
        if gain > 1.0 + EQUAL_GAIN
    ]
    return tuple(sorted(faster, key=lambda takeover: takeover.log_growth))


def _own_walls_met(
    last: Network, moving: IndexArray, dataset: Dataset, kkt: KKTCertificate, walls: Dataset
) -> IndexArray:
    """Neurons that the forces of the direction alone bring to the active side of an ignored sample of their sign."""
    pulling = np.flatnonzero(kkt.multipliers)  # the others move no neuron
    pulls = (kkt.multipliers * dataset.y)[pulling]
    ways = align(dataset.X[pulling], pulls, last.w[moving], last.a[moving], leak=last.leak)
    is_own = np.sign(ways.a)[:, None] == walls.y
    cosines = ways.directions @ walls.X.T / row_norms(np.asarray(walls.X))
    return np.asarray(moving[np.any(is_own & (cosines > SAME_DIRECTION), axis=1)])


def _keeps_best(
    way: Alignment, last: Network, limit: Network, moving: IndexArray, dataset: Dataset, kkt: KKTCertificate
) -> bool:
    """Whether the direction is the best in every pattern that the neurons meet on their way."""
    samples = np.asarray(dataset.X)
    cosines = last.w[moving] @ samples.T / np.outer(row_norms(last.w[moving]), row_norms(samples))
    before = np.where(np.abs(cosines) <= ON_BOUNDARY, 0.0, np.sign(cosines))
    after = way.patterns[:, : dataset.n]
    is_crossed = before * after < 0.0
    if np.any(way.crossings != np.sum(is_crossed, axis=1)):  # another sample, or one boundary more than once
        return False
    is_pulling = np.sign(last.a[moving])[:, None] == dataset.y
    unit_w, unit_a, _ = normalized(limit)
    lost = (1.0 - limit.leak) * np.abs((limit.weight * unit_a)[moving, None] * (unit_w[moving] @ samples.T))
    lost = np.sum(np.where(is_crossed & is_pulling, lost, 0.0), axis=0)  # by the margins, with the other slopes
    margins = dataset.y * limit.replace(w=unit_w, a=unit_a, log_scale=0.0).outputs(samples)
    at_stake = np.any(is_crossed & is_pulling, axis=0)
    return bool(np.all((margins - lost)[at_stake] > kkt.margin * (1.0 + SLACK)))


def _gains(paths: Alignment) -> FloatArray:
    """Growth rate of each neuron at the end of its way; 0 where it is dead or shrinks, nan where that is not known."""
    gains = np.full(len(paths.statuses), np.nan)
    gains[np.isin(paths.statuses, (kernels.DEAD, kernels.SHRINKING))] = 0.0
    is_final = paths.statuses == kernels.FINAL
    gains[is_final] = np.linalg.norm(paths.vectors[is_final], axis=1)
    return gains
