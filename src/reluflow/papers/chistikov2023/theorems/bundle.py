"""The bundle V = sum of a_j w_j over J_+: its state and velocity, the invariant set S, its path as lambda -> 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Snapshot
from reluflow.papers.chistikov2023.theorems.scene import Scene, scene
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once

_START = 1e-8  # length of the bundle where the limit path begins; the path is right up to this, relative
_STIFF = 1e3  # quotient of the fastest and the slowest rate from which on explicit steps crawl
_NEAR = 1e-6  # distance of the bundle and the teacher where it ends: below it coordinates lose their digits


@dataclass(frozen=True, eq=False)
class Bundle:
    """V = exp(log_factor) v at one time, which may be far below the range of a double.

    Parameters
    ----------
    here
        The problem.
    time
        When.
    log_factor, v
        ln of the factor, and the vector, shape (d,).
    per_length
        dV/dt divided by |V|, from the neurons, shape (d,).
    squares
        sum of a_j^2 |g|^2 + <w_j, g>^2 over J_+, divided by exp(log_factor): |grad L|^2.
    """

    here: Scene
    time: float
    log_factor: float
    v: FloatArray
    per_length: FloatArray
    squares: float

    @property
    def V(self) -> FloatArray:
        """V itself; 0 where it underflows."""
        return np.asarray(np.exp(self.log_factor) * self.v)

    @property
    def length(self) -> float:
        """|V|."""
        return float(np.linalg.norm(self.V))

    @property
    def unit(self) -> FloatArray:
        """V/|V|."""
        return np.asarray(self.v / np.linalg.norm(self.v))

    @property
    def g(self) -> FloatArray:
        """H (v* - V)."""
        return np.asarray(self.here.H @ (self.here.teacher - self.V))

    @property
    def ratios(self) -> FloatArray:
        """r_k = nu_k/nu_k*, shape (d,)."""
        return np.asarray(np.exp(self.log_factor) * self._shape)

    @property
    def _shape(self) -> FloatArray:
        return np.asarray(self.here.spectrum[1].T @ self.v / self.here.nu)

    @property
    def flow_per_length(self) -> FloatArray:
        """f/|V| = g + unit V <unit V, g>, the velocity of a perfectly aligned bundle."""
        return np.asarray(self.g + self.unit * (self.unit @ self.g))

    @property
    def cosine(self) -> float:
        """cos(V, g)."""
        return float(self.unit @ self.g / np.linalg.norm(self.g))

    @property
    def part(self) -> int:
        """The l of S_l: one more than the number of leading coordinates beyond the teacher's."""
        beyond = self.ratios > 1.0
        return int(np.argmin(beyond)) + 1 if not np.all(beyond) else len(beyond) + 1

    def slack(self, least_cosine: float) -> float:
        """How far inside S: the least slack of Phi, Psi_down, Psi_up (over r_k) and Xi; negative outside.

        Psi_up is evaluated as -expm1(p log1p(-r_k)) - r_k', and as (p - r_k'/r_k) r_k where r_k is tiny.
        """
        eta, r, shape = self.here.eta, self.ratios, self._shape
        first, d = self.part - 1, len(eta)
        if first == d:
            return -1.0
        slacks = [self.cosine - least_cosine]
        slacks.append(r[first] - eta[first] / (2.0 * eta[first - 1]) if first else float(np.sign(shape[0])))
        for k in range(first, d):
            for other in range(k + 1, d):
                quotient = shape[other] / shape[k] if shape[k] != 0.0 else np.inf  # then outside, by Psi_up
                slacks.append(quotient - eta[other] / (2.0 * eta[k]))
                power = 0.5 + eta[other] / (2.0 * eta[k])
                with np.errstate(divide="ignore"):
                    most = power if r[k] < 1e-12 else -np.expm1(power * np.log1p(-r[k])) / r[k]
                slacks.append(most - quotient)
        return float(min(slacks))


def bundle_of(here: Scene, snapshot: Snapshot) -> Bundle:
    """The bundle of a snapshot."""
    network, members = snapshot.network, here.positive
    w, a, count = network.w[members], network.a[members], here.multiplicity[members]
    v, log_factor = (count * a) @ w, 2.0 * network.log_scale
    g = here.H @ (here.teacher - np.exp(log_factor) * v)
    pulls = w @ g
    velocity = (count * pulls) @ w + float(count @ a**2) * g
    squares = float(count @ (a**2 * (g @ g) + pulls**2))
    return Bundle(here, snapshot.time, log_factor, v, velocity / np.linalg.norm(v), squares)


@dataclass(frozen=True, eq=False)
class LimitPath:
    """The bundle from the saddle at 0 to the teacher as lambda -> 0, time counted from r_1 = 1/2.

    Parameters
    ----------
    times
        Increasing, 0 where r_1 = 1/2, shape (k,).
    V
        The bundle, shape (k, d).
    offset
        c of T_2 = (ln(1/lambda) - 1/2 ln sum R^2)/|gamma| + c + o(1).
    handovers
        When r_1, ..., r_{d-1} pass 1; infinite where the path ends before.
    """

    times: FloatArray
    V: FloatArray
    offset: float
    handovers: tuple[float, ...]


def limit_path(here: Scene, *, num_times: int = 60) -> LimitPath:
    """Solve dV/dt = |V| (g + unit V <unit V, g>) from an infinitesimal multiple of gamma.

    In V until r_1 = 1/2 and in v* - V from there on: each keeps its digits where it is small.
    """
    from scipy.integrate import solve_ivp

    solve: Callable[..., Any] = solve_ivp  # its results are typed too widely

    eta, basis = here.spectrum
    nu = here.nu

    def velocity(position: FloatArray, pull: FloatArray) -> FloatArray:
        size = float(np.linalg.norm(position))
        return np.asarray(size * pull + position * (position @ pull) / size)

    def half(_: float, position: FloatArray) -> float:
        return float(position[0] / nu[0] - 0.5)

    def near(_: float, gap: FloatArray) -> float:
        return float(np.log(np.linalg.norm(gap) / _NEAR))

    half.terminal = near.terminal = True  # type: ignore[attr-defined]  # SciPy reads it off the function
    passes = [lambda _, gap, k=k: float(gap[k]) for k in range(len(nu) - 1)]
    slowest = float(np.min(np.linalg.eigvals(here.H + np.outer(here.teacher, here.gamma)).real))
    method = "DOP853" if eta[0] < _STIFF * slowest else "LSODA"
    settings: dict[str, Any] = {"method": method, "rtol": 1e-12, "dense_output": True}
    start = _START * (basis.T @ here.gamma) / here.speed
    growth = solve(
        lambda _, position: velocity(position, eta * (nu - position)),
        (0.0, -20.0 * np.log(_START) / here.speed),
        start,
        atol=1e-14 * _START,
        events=[half],
        **settings,
    )
    middle = float(growth.t[-1])
    fitting = solve(
        lambda _, gap: -velocity(nu - gap, eta * gap),
        (0.0, -20.0 * np.log(_NEAR) / slowest),
        nu - growth.y[:, -1],
        atol=1e-14,
        events=[near, *passes],
        **settings,
    )
    handovers = tuple(float(times[0]) if len(times) else np.inf for times in fitting.t_events[1:])
    times = np.linspace(-middle, float(fitting.t[-1]), num_times)
    early = times < 0.0
    positions = np.hstack([growth.sol(times[early] + middle), nu[:, None] - fitting.sol(times[~early])])
    return LimitPath(times, (basis @ positions).T, middle + np.log(_START) / (2.0 * here.speed), handovers)


def escape_time(here: Scene, path: LimitPath) -> float:
    """T_2 of the law above; ours, the paper has a bound."""
    top = float(np.max(here.log_growths))
    weights = here.multiplicity[here.positive] * np.exp(2.0 * (here.log_growths - top))
    half_log = top + 0.5 * float(np.log(np.sum(weights)))
    return (-here.log_scale - half_log) / here.speed + path.offset


@computed_once
def path_of(evidence: Evidence) -> LimitPath:
    """The limit path of the problem."""
    return limit_path(scene(evidence))


def second_phase_times(evidence: Evidence) -> tuple[float, ...]:
    """From T_1 through the growth to near the teacher."""
    here, path = scene(evidence), path_of(evidence)
    start, escape = max(here.phase_time(evidence.parameter("epsilon")), 0.0), escape_time(here, path_of(evidence))
    growth = {start + share * (escape - start) for share in (0.25, 0.5, 0.75)}
    around = {escape + float(t) for t in path.times} | {escape + x for x in (-0.02, -0.01, 0.01, 0.02)}
    return tuple(sorted(t for t in {start, *growth, *around} if t >= start))


@computed_once
def bundles(evidence: Evidence) -> list[Bundle]:
    """The bundle at every snapshot from T_1 on."""
    here = scene(evidence)
    start = here.phase_time(evidence.parameter("epsilon"))
    return [bundle_of(here, s) for s in evidence.run.snapshots if s.time >= start]


SET_S = definition("chistikov2023:S", "Sec. 5", Bundle.slack, "the set $S$, with the slack of its constraints")
