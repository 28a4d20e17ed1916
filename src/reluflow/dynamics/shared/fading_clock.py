"""The clock of a fading loss: how much time passes while the rescaled time s, ds = R dt, runs through a step."""

from __future__ import annotations

import math

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.shared.tuning import FALL_PER_PANEL, MOST_PANELS, MOST_UNEVEN, SEEN

ORDINARY = 700.0  # |ln| up to which a number and its inverse are ordinary doubles
LARGEST_LOG = float(np.log(np.finfo(np.float64).max)) - 1.0  # of a time that a double holds
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(16)
_COARSE = np.linspace(0.0, 1.0, 65)


def duration_of(log_elapsed: float) -> float:
    """A time from its logarithm; infinite beyond what doubles hold."""
    return float(np.exp(log_elapsed)) if log_elapsed < LARGEST_LOG else np.inf


def log_of_sum(one: float, other: float) -> float:
    """ln(e^one + e^other) of two numbers: `np.logaddexp` to the last bit, which takes a microsecond longer.

    >>> log_of_sum(-math.inf, 2.0), log_of_sum(0.0, 0.0) == math.log(2.0)
    (2.0, True)
    """
    top, low = max(one, other), min(one, other)
    return top if low == -math.inf else top + math.log1p(math.exp(low - top))


class FadingClock:
    """ln of the time elapsed since the start of a step, in units of 1/R there.

    ln R is interpolated between the start and the nodes; dt/ds = 1/R is then integrated on panels that shrink towards
    the end, where almost all of the time passes once R has fallen by many orders of magnitude.

    Parameters
    ----------
    nodes
        Places in (0, 1].
    log_rates
        ln R at 0 and at the nodes, relative to the start.
    length
        The step in rescaled time.
    """

    def __init__(self, nodes: FloatArray, log_rates: FloatArray, length: float) -> None:
        places = np.concatenate([[0.0], nodes])
        self._powers = np.linalg.solve(places[:, None] ** np.arange(len(places)), -log_rates)
        self._log_length = float(np.log(length))

    def log_elapsed(self, taus: FloatArray) -> FloatArray:
        """ln of the integral of R(0)/R from 0 to each tau (above 0), in rescaled time.

        >>> clock = FadingClock(np.array([0.5, 1.0]), np.array([0.0, -1.0, -2.0]), 1.0)
        >>> clock.log_elapsed(np.array([1.0])).round(6)
        array([1.161439])
        """
        last = float(np.max(taus))
        fall = abs(float(self._at(np.array([last]))[0]))
        halvings = last * (1.0 - 0.5 ** np.arange(1, 2 + int(np.ceil(np.log2(1.0 + fall)))))
        edges = np.unique(np.concatenate([self._even_panels(taus, last, fall), halvings, np.ravel(taus)]))
        widths = np.diff(edges)
        values = self._at(edges[:-1, None] + 0.5 * widths[:, None] * (1.0 + _GAUSS_NODES))
        tops = np.max(values, axis=1)
        sums = np.sum(_GAUSS_WEIGHTS * np.exp(values - tops[:, None]), axis=1)
        so_far = np.logaddexp.accumulate(tops + np.log(0.5 * widths * sums))
        return np.asarray(self._log_length + so_far[np.searchsorted(edges[1:], taus)])

    def _even_panels(self, taus: FloatArray, last: float, fall: float) -> FloatArray:
        """Edges between which ln R falls by little, wherever the time that passes there can be seen at one of `taus`.

        Where R only falls, all but e^-40 of the time up to tau passes while it falls by the last 40 of its logarithm.
        """
        slopes = np.polynomial.polynomial.polyval(_COARSE * last, np.arange(1, len(self._powers)) * self._powers[1:])
        steepest, flattest = float(np.max(slopes)), float(np.min(slopes))
        if flattest <= 0.0 or steepest * last <= 4.0 * SEEN or steepest > MOST_UNEVEN * flattest:
            return np.linspace(0.0, last, min(MOST_PANELS, 2 + int(fall / FALL_PER_PANEL)))
        num_panels = int(np.ceil(MOST_UNEVEN * SEEN / FALL_PER_PANEL))
        before = np.minimum(SEEN / flattest, taus)[:, None] * np.linspace(1.0, 0.0, num_panels)
        return np.ravel(taus[:, None] - before)

    def place_of(self, log_elapsed: float) -> float:
        """The tau at which so much time has passed, to rounding, by Newton's method in logarithms within a bracket."""
        low, high, tau = 0.0, 1.0, 1.0
        for _ in range(60):
            found = float(self.log_elapsed(np.array([tau]))[0])
            ahead = log_elapsed - found
            low, high = (tau, high) if ahead > 0.0 else (low, tau)
            log_speed = float(self._at(np.array([tau]))[0]) + self._log_length - found  # d ln(elapsed)/d tau
            step = ahead * math.exp(min(-log_speed, LARGEST_LOG)) / tau
            proposal = tau * math.exp(max(-3.0, min(step, 3.0)))
            if abs(step) <= 1e-15 or high - low <= 1e-15 * high:
                break
            tau = proposal if low < proposal < high else 0.5 * (low + high)
        return tau

    def _at(self, taus: FloatArray) -> FloatArray:
        return np.asarray(np.polynomial.polynomial.polyval(taus, self._powers))
