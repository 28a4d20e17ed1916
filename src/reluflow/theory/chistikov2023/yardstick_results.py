"""Propositions 2, 13 and 14 on the yardsticks, Propositions 16 to 18 on their constants; no run is needed."""

from __future__ import annotations

import numpy as np

from reluflow.geometry.alignment import AlignedState, align_until
from reluflow.theory.chistikov2023.scene import Scene, scene
from reluflow.theory.chistikov2023.yardsticks import Yardstick
from reluflow.theory.comparison import Comparison, at_least, at_most, none_of, nothing
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import Constants

SAME = 1e-9  # relative; two closed forms of one number, seen: 6e-14


@computed_once
def boosted(evidence: Evidence) -> AlignedState:
    """The same neurons at T_0 by `geometry.align_until`, with every crossing on the way."""
    here = scene(evidence)
    norms = np.linalg.norm(here.z, axis=1)
    return align_until(here.X, here.y / len(here.y), here.z, here.signs * norms, here.alignment_time)


@computed_once
def crossings(evidence: Evidence) -> dict[int, tuple[list[int], list[float]]]:
    """Samples and times of every active neuron, in order, as `align_until` has them."""
    events, active = boosted(evidence).events, scene(evidence).yardsticks
    found = {}
    for j in active:
        rows = np.flatnonzero(events.neurons == j)
        rows = rows[np.argsort(events.times[rows], kind="stable")]
        found[j] = ([int(i) for i in events.samples[rows]], [float(t) for t in events.times[rows]])
    return found


def _paths(evidence: Evidence) -> dict[int, Yardstick]:
    return scene(evidence).yardsticks


def _one_way(evidence: Evidence) -> Comparison:
    """Crossings that are not the first meeting with a sample of I_{-s}(z), or samples of it that are never met."""
    here, wrong, total = scene(evidence), 0, 0
    for j, (samples, _) in crossings(evidence).items():
        waiting = set(np.flatnonzero(np.sign(here.X @ here.z[j]) == -here.signs[j]).tolist())
        wrong += len(samples) - len(set(samples)) + len(waiting ^ set(samples))
        total += len(waiting)
    return none_of(wrong, total=total, detail=f"{wrong} of {total} crossings are not one each of I_-s(z)")


def _one_at_a_time(evidence: Evidence) -> Comparison:
    """The shortest time between two crossings of one neuron, the start included."""
    gaps = [np.diff([0.0, *times]) for _, times in crossings(evidence).values() if times]
    if not gaps:
        return nothing("no neuron meets a sample")
    return at_least(float(np.min(np.concatenate(gaps))), 1e-14)


# Propositions 13 and 14 -----------------------------------------------------------------------------------------------


def _order(evidence: Evidence) -> Comparison:
    found, paths = crossings(evidence), _paths(evidence)
    wrong = sum(found[j][0] != path.samples.tolist() for j, path in paths.items())
    return none_of(wrong, total=len(paths), detail=f"{wrong} of {len(paths)} neurons meet samples in another order")


def _times(evidence: Evidence) -> Comparison:
    found, paths = crossings(evidence), _paths(evidence)
    pairs = [(t, tau) for j, path in paths.items() for t, tau in zip(found[j][1], path.times[1:], strict=False)]
    if not pairs:
        return nothing("no neuron meets a sample")
    worst = max(abs(t - tau) / tau for t, tau in pairs)
    return at_most(worst, SAME, detail=f"{len(pairs)} crossings agree to {worst:.2g}, relative")


def _direction(evidence: Evidence) -> Comparison:
    state, time = boosted(evidence), scene(evidence).alignment_time
    worst = -np.inf
    for j, path in _paths(evidence).items():
        unit = state.w[j] / np.linalg.norm(state.w[j])
        worst = max(worst, float(np.linalg.norm(unit - path.direction_at(time))))
    return at_most(worst, 1e-8, detail=f"unit vectors at T_0 agree to {worst:.2g}")


def _norm(evidence: Evidence) -> Comparison:
    state, time = boosted(evidence), scene(evidence).alignment_time
    worst = -np.inf
    for j, path in _paths(evidence).items():
        log_norm = float(state.log_norms[j] + np.log(np.linalg.norm(state.w[j])))
        worst = max(worst, abs(log_norm - path.log_norm_at(time)))
    return at_most(worst, 1e-8, detail=f"ln|alpha| at T_0 agrees to {worst:.2g}")


# Propositions 16 and 17 -----------------------------------------------------------------------------------------------


def _gamma(evidence: Evidence) -> Comparison:
    here = scene(evidence)
    eta, basis = here.spectrum
    gap = float(np.linalg.norm(here.gamma - basis @ (eta * here.nu)) / here.speed)
    return at_most(gap, 1e-12, detail=f"relative distance {gap:.2g}")


def _ratio(evidence: Evidence) -> Comparison:
    here = scene(evidence)
    d = here.X.shape[1]
    bound = (1.0 - here.delta / ((d - 1) * here.Delta)) ** 2
    return at_most(float(np.max(here.eta[1:] / here.eta[:-1])), bound)


def _pulls(evidence: Evidence) -> Comparison:
    """Least of |gamma_I|/lower bound and upper bound/|gamma_I| over the sets I of the yardsticks, in logarithms."""
    here, n = scene(evidence), len(evidence.dataset.y)
    slack = float(np.log(here.speed / here.delta**2))
    for path in here.yardsticks.values():
        for inside, speed in zip(path.inside, path.speeds, strict=True):
            size = float(inside.sum())
            if size == 0.0:
                continue
            slack = min(slack, float(np.log(speed * np.sqrt(2.0) * n / (here.delta**2.5 * size))))
            slack = min(slack, float(np.log(here.Delta**2 * size / (n * speed))))
    return at_least(slack, 0.0, allowance=1e-12, detail=f"the nearest bound is a factor {np.exp(slack):.4g} away")


def _angles(here: Scene, sign: int) -> Comparison:
    """Largest artanh cos phi at the ends of stages (s = 1) or at their starts (s = -1) against ln(2/delta)."""
    paths = [path for path in here.yardsticks.values() if path.sign == sign and len(path.samples)]
    if not paths:
        return nothing("no such neuron meets a sample")
    angles = np.concatenate([path.ends if sign > 0 else path.starts[: len(path.samples)] for path in paths])
    return at_most(float(np.max(-np.log(np.tan(0.5 * angles)))), float(np.log(2.0 / here.delta)))


def _last_crossing(evidence: Evidence) -> Comparison:
    here, n = scene(evidence), len(evidence.dataset.y)
    return at_most(here.alignment_time - 1.0, 4.0 * n * np.log(n) / here.delta**3)


def _approach(evidence: Evidence) -> Comparison:
    """Least |<alpha, x_i>|/(tau - t) over the stage that ends at the sample, against 2 delta^4/(3n)."""
    here, least = scene(evidence), np.inf
    unit = here.X / np.linalg.norm(here.X, axis=1)[:, None]
    for path in here.yardsticks.values():
        for stage, sample in enumerate(path.samples):
            for share in (0.0, 0.25, 0.5, 0.75, 0.9):
                left = (1.0 - share) * path.lengths[stage]
                direction = path.direction_at(path.times[stage + 1] - left) if share else path.directions[stage]
                least = min(least, abs(float(unit[sample] @ direction)) / left)
    if not np.isfinite(least):
        return nothing("no neuron meets a sample")
    return at_least(least, 2.0 * here.delta**4 / (3.0 * len(here.y)))


def _data_constants(evidence: Evidence) -> Constants:
    here = scene(evidence)
    return {"delta": here.delta, "Delta": here.Delta, "delta_terms": list(here.delta_terms)}


def _early(evidence: Evidence) -> Comparison:
    here = scene(evidence)
    return at_most(here.alignment_time, here.phase_time(evidence.parameter("epsilon")) / 3.0)


def _prop14_predictions(evidence: Evidence) -> Constants:
    return {
        f"neuron {j}": [[int(i), float(t)] for i, t in zip(path.samples, path.times[1:], strict=True)]
        for j, path in _paths(evidence).items()
    }


def _prop17_largest(evidence: Evidence) -> Comparison:
    return at_most(float(scene(evidence).eta[0]), scene(evidence).Delta ** 2)


def _prop17_positive(evidence: Evidence) -> Comparison:
    return _angles(scene(evidence), 1)


def _prop17_negative(evidence: Evidence) -> Comparison:
    return _angles(scene(evidence), -1)
