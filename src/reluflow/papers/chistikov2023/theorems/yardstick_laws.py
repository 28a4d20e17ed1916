"""Propositions 11 and 12, Corollary 15: elementary laws of the yardsticks, moved by boosts [chistikov2023]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.geometry.alignment import align_until
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import DATA_AND_START
from reluflow.papers.chistikov2023.theorems.scene import scene
from reluflow.papers.chistikov2023.theorems.yardsticks import Yardstick, yardstick
from reluflow.theory.comparison import Level, Values
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import Above, AtLeast, AtMost
from reluflow.theory.theorem import Conclusion, Reference, Theorem

NUM_TIMES, NUM_SUBSETS, NUM_STARTS = 25, 200, 200
ON_WALL = 1e-9  # cosine of a neuron and the sample it is meeting; seen: 1e-15
ROUNDING = 1e-11  # of products of neurons and samples, relative to their lengths


@dataclass(frozen=True, eq=False)
class MovedNeurons:
    """The neurons of J_+ and J_- in the limit of vanishing scale, as Lorentz boosts move them.

    Parameters
    ----------
    X, y
        The samples and labels.
    signs
        s_j, shape (m,).
    times
        When, shape (k,): even times up to T_0, and every crossing.
    w, log_norms
        alpha_j = exp(log_norms) w, shapes (k, m, d) and (k, m).
    meets
        Of each time the neuron and the sample that meet then, or -1, shape (k, 2).
    """

    X: FloatArray
    y: FloatArray
    signs: FloatArray
    times: FloatArray
    w: FloatArray
    log_norms: FloatArray
    meets: IndexArray

    def pulls(self, step: int) -> FloatArray:
        """gamma_I of every neuron, I the samples inside it, shape (m, d)."""
        return np.asarray((self.inside(step) * self.y) @ self.X / len(self.y))

    def inside(self, step: int) -> FloatArray:
        """Which samples are inside which neuron, shape (m, n); one that is being met is not."""
        sizes = np.linalg.norm(self.w[step], axis=1)[:, None] * np.linalg.norm(self.X, axis=1)
        return np.asarray(self.w[step] @ self.X.T > ON_WALL * sizes)

    def heights(self, step: int) -> FloatArray:
        """<alpha_j, x_i>, shape (m, n)."""
        return np.asarray(np.exp(self.log_norms[step])[:, None] * (self.w[step] @ self.X.T))


def moved_neurons(evidence: Evidence) -> MovedNeurons:
    """The draw at even times and at every crossing, by `geometry.align_until`."""
    here = scene(evidence)
    active = np.array(sorted(here.yardsticks), dtype=np.intp)
    z, signs, forces = here.z[active], here.signs[active], here.y / len(here.y)
    move = partial(align_until, here.X, forces, z, signs * np.linalg.norm(z, axis=1))
    events = move(here.alignment_time).events
    met = dict(zip(events.times.tolist(), zip(events.neurons, events.samples, strict=True), strict=True))
    times = np.unique([*np.linspace(0.0, here.alignment_time, NUM_TIMES), *met])
    states = [move(float(time)) for time in times]
    return MovedNeurons(
        here.X,
        here.y,
        signs,
        times,
        np.array([state.w for state in states]),
        np.array([state.log_norms for state in states]),
        np.array([met.get(float(time), (-1, -1)) for time in times], dtype=np.intp),
    )


def _record(evidence: Evidence) -> MovedNeurons:
    return evidence.recorded(MovedNeurons)


# Proposition 11 -------------------------------------------------------------------------------------------------------


def _subset_pulls(evidence: Evidence) -> FloatArray:
    """|gamma_I| over the largest y_i |x_i|/n, for each sample alone, all together and random subsets."""
    found, n = _record(evidence), len(_record(evidence).y)
    drawn = np.random.default_rng(0).random((NUM_SUBSETS, n)) < 0.5
    subsets = np.vstack([np.eye(n, dtype=bool), np.ones((1, n), dtype=bool), drawn[np.any(drawn, axis=1)]])
    size = np.max(np.abs(found.y) * np.linalg.norm(found.X, axis=1)) / n
    return np.asarray(np.linalg.norm((subsets * found.y) @ found.X / n, axis=1) / size)


def _products(evidence: Evidence) -> Values:
    """cos(alpha, gamma_I) of neurons with a sample inside."""
    found = _record(evidence)
    for step in range(len(found.times)):
        alive = np.any(found.inside(step), axis=1)
        w, pulls = found.w[step][alive], found.pulls(step)[alive]
        yield np.sum(w * pulls, axis=1) / (np.linalg.norm(w, axis=1) * np.linalg.norm(pulls, axis=1))


def _sines(evidence: Evidence) -> Values:
    """sin of the angle of alpha and gamma_I where some samples are inside and some are not."""
    found = _record(evidence)
    for step in range(len(found.times)):
        inside = found.inside(step)
        some = np.any(inside, axis=1) & ~np.all(inside, axis=1)
        unit = found.w[step][some] / np.linalg.norm(found.w[step][some], axis=1)[:, None]
        pulls = found.pulls(step)[some]
        pulls = pulls / np.linalg.norm(pulls, axis=1)[:, None]
        yield np.linalg.norm(unit - pulls * np.sum(unit * pulls, axis=1)[:, None], axis=1)


def _lengths(evidence: Evidence) -> Values:
    """ln |alpha(t)| - ln |z| + |gamma| t."""
    found = _record(evidence)
    speed = float(np.linalg.norm(found.y @ found.X / len(found.y)))
    start = found.log_norms[0] + np.log(np.linalg.norm(found.w[0], axis=1))
    for step, time in enumerate(found.times):
        yield found.log_norms[step] + np.log(np.linalg.norm(found.w[step], axis=1)) - start + speed * time


PROP_11 = Theorem(
    "chistikov2023:prop11",
    Reference("chistikov2023", "Prop. 11"),
    r"$\gamma_I = 0$ only for $I = \emptyset$; $\langle\alpha, \gamma_{I_+(\alpha)}\rangle > 0$ where a sample is "
    r"inside; $\alpha$ is parallel to $\gamma_{I_+(\alpha)}$ only where none or all are; "
    r"$|\alpha(t)| \ge |z| e^{-|\gamma| t}$.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion(
            "pull",
            r"$\gamma_I \ne 0$",
            Above(
                _subset_pulls,
                1e-12,
                words=r"least $|\gamma_I|$ "
                r"{measured:.4g}",
            ),
        ),
        Conclusion(
            "towards",
            r"$\langle\alpha, \gamma_{I_+(\alpha)}\rangle > 0$ where a sample is inside",
            Above(_products, 0.0, words="least cosine {measured:.4g}", empty="no neuron has a sample inside"),
        ),
        Conclusion(
            "not-along",
            r"$\alpha$ is not parallel to $\gamma_{I_+(\alpha)}$ where some samples are inside and some are not",
            Above(_sines, 1e-12, words="least sine {measured:.4g}", empty="no neuron has only some samples inside"),
        ),
        Conclusion(
            "length",
            r"$|\alpha(t)| \ge |z| e^{-|\gamma| t}$",
            AtLeast(
                _lengths,
                0.0,
                allowance=1e-10,
                words=r"$\ln|\alpha|$ is at least {measured:.4g} above the "
                r"bound",
            ),
        ),
    ),
    record=moved_neurons,
    setting=SETTING,
    example=EXAMPLE,
    departs="Of the subsets I, each sample alone, all together and 200 random ones are taken.",
)

# Proposition 12 -------------------------------------------------------------------------------------------------------


def _jumps(evidence: Evidence) -> Values:
    """|cos(alpha, x)| of a neuron and the sample it meets: by so much would <alpha, gamma_I> jump there."""
    found = _record(evidence)
    for step, (neuron, sample) in enumerate(found.meets):
        if neuron >= 0:
            w, x = found.w[step, neuron], found.X[sample]
            yield abs(float(w @ x)) / float(np.linalg.norm(w) * np.linalg.norm(x))


def _rises(evidence: Evidence) -> Values:
    """Rises of s <alpha, x_i> from one time to the next until death, over the larger |alpha| |x_i|."""
    found = _record(evidence)
    lengths = np.linalg.norm(found.X, axis=1)
    for step in range(len(found.times) - 1):
        alive = np.any(found.inside(step), axis=1)
        sizes = [np.exp(found.log_norms[k]) * np.linalg.norm(found.w[k], axis=1) for k in (step, step + 1)]
        rise = found.signs[:, None] * (found.heights(step + 1) - found.heights(step))
        yield (rise / (np.maximum(*sizes)[:, None] * lengths))[alive]


def _starts_of_negative(evidence: Evidence) -> Values:
    """sin of the angle of alpha and gamma_I of neurons with s = -1 after each crossing that leaves samples inside."""
    found = _record(evidence)
    for step in (0, *np.flatnonzero(found.meets[:, 0] >= 0)):
        chosen = (found.signs < 0) & np.any(found.inside(step), axis=1)
        unit = found.w[step][chosen] / np.linalg.norm(found.w[step][chosen], axis=1)[:, None]
        pulls = found.pulls(step)[chosen]
        pulls = pulls / np.linalg.norm(pulls, axis=1)[:, None]
        yield np.linalg.norm(unit - pulls * np.sum(unit * pulls, axis=1)[:, None], axis=1)


PROP_12 = Theorem(
    "chistikov2023:prop12",
    Reference("chistikov2023", "Prop. 12"),
    r"$\langle\alpha, \gamma_{I_+(\alpha)}\rangle$ is continuous in time; $s \langle\alpha, x_i\rangle$ grows strictly "
    r"for every sample until the neuron dies; for $s = -1$ no stage starts with $\alpha$ along $\gamma_{I_+(\alpha)}$.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion(
            "continuous",
            r"$\langle\alpha, \gamma_{I_+(\alpha)}\rangle$ does not jump at a crossing",
            AtMost(_jumps, ON_WALL, words="largest cosine {measured:.2g}", empty="no neuron meets a sample"),
            Level.EXACT,
        ),
        Conclusion(
            "rises",
            r"$s \langle\alpha, x_i\rangle$ grows until death",
            AtLeast(_rises, 0.0, allowance=ROUNDING, words="least rise {measured:.3g}, relative"),
            Level.EXACT,
        ),
        Conclusion(
            "negative-start",
            r"for $s = -1$ the angle with $\gamma_{I_+(\alpha)}$ is not 0 where a stage starts",
            Above(_starts_of_negative, 1e-12, words="least sine {measured:.4g}", empty="$J_-$ is empty"),
        ),
    ),
    record=moved_neurons,
    setting=SETTING,
    example=EXAMPLE,
    departs=r"One-sided limits of $\gamma_I$ are those of its definition; growth is looked at between recorded "
    r"times.",
)

# Corollary 15 ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RandomYardsticks:
    """Yardsticks of random starts of both signs."""

    paths: tuple[Yardstick, ...]


def random_yardsticks(evidence: Evidence) -> RandomYardsticks:
    """200 Gaussian starts, every other one with s = -1."""
    here, rng = scene(evidence), np.random.default_rng(0)
    starts = rng.standard_normal((NUM_STARTS, here.X.shape[1]))
    return RandomYardsticks(tuple(yardstick(here.X, here.y, z, 1 - 2 * (k % 2)) for k, z in enumerate(starts)))


def _times_apart(evidence: Evidence) -> Iterator[float]:
    """Times between two crossings of one neuron."""
    for path in evidence.recorded(RandomYardsticks).paths:
        yield from (later - earlier for earlier, later in pairwise(path.times[1:]))


def _gaps(evidence: Evidence) -> Values:
    return list(_times_apart(evidence))


COR_15 = Theorem(
    "chistikov2023:cor15",
    Reference("chistikov2023", "Cor. 15"),
    "The starts $z_j$ whose yardstick meets two samples at once, so that Assumption 1(iv) fails, are a null set.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion(
            "alone",
            "no random start meets two samples at once",
            Above(_gaps, 0.0, words="least time between two of {count} crossings {measured:.3g}", empty="one sample"),
        ),
    ),
    record=random_yardsticks,
    setting=SETTING,
    example="chistikov-plane",
    departs="200 random starts are taken; that they avoid a set is what can be seen of its measure 0.",
)
