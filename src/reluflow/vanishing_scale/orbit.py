"""The orbit from one saddle to the next: what a bundle of neurons that wakes does to the network, and to the sleepers.

The exact flow from the saddle with the bundle released at a tiny size, in stretches short enough that neurons that
sleep, carried along without weight, neither wake nor lose their rays to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.budget import Budget
from reluflow.data.dataset import Dataset
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AbstractStoppingRule, Check, is_acted_on
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network, row_norms
from reluflow.vanishing_scale.dormant import ON_WALL

RELEASE = 1e-8  # size of the bundle at the start, of that of a neuron that fits: the orbit is then exact to its square
SLEEPING = -300.0  # ln of the size at which a sleeping neuron is carried
LEFT = 30.0  # the gradient must have grown by this before its smallness means arrival
ARRIVED = 1e-8  # share of its largest value at which the gradient says that the next saddle is reached,
NEARLY = 1e-5  # or this where a neuron that comes to rest on a wall goes on and off it at rounding level for ever
MOST_STEPS = 2_000  # in one stretch; more are taken only on and off a wall
FITTED = 1e-16  # share of the loss of the zero network below which nothing is left
FADED = 6.0  # margin at which a classified sample counts as fading for ever
STRETCH = 15.0  # rapidity of the fastest neuron in one stretch: what is left across a ray grows by e^15 at most,
LONG_STRETCH = 260.0  # or where no ray is reversed: a sleeping neuron reaches e^-40, its outputs e^-80
ON_RAY = 1e-3  # angle beyond which a neuron has left the ray it was on
SETTLING = 1e-3  # share of its largest value below which the gradient says that forces hardly change any more
MOST_STRETCHES = 400
MOST_STEPS_IN_ALL = (
    40_000  # an orbit that has not arrived by then is left open: the longest known to arrive took 17,000;
)
MOST_STEPS_WHILE_FADING = 8_000  # or by then where the loss fades, as a classifier may fall for ever
FLAT = 1e-9  # speed off a wall, of the forces of all labels, that counts as none
BESIDE = 1e-9  # how far beside a wall, of a neuron's size, one is put that rests on it
FALLEN_ASLEEP = 1e-4  # size, of the largest neuron, below which one that is pulled has fallen asleep


@dataclass(frozen=True, eq=False)
class OrbitEnd:
    """Where an orbit ends.

    Parameters
    ----------
    network
        All neurons at the next saddle; sleeping ones at the size they are carried at.
    growth
        ln of the factor by which each neuron has grown on the way, shape (m,).
    duration, halfway
        Time from release to the end, and to the moment at which half of the fall of the loss is done (nan
        where it did not arrive).
    losses, times
        The loss along the orbit.
    on_ray
        Which sleeping neurons have stayed on the ray they were on, shape (m,): one that slid along a wall may leave it.
    faded
        Samples that are classified and fade for ever (classification), shape (n,).
    ended_by
        `STATIONARY` where it arrived, `HORIZON` where that would take too long, else why the last run ended.
    blamed
        The neuron that stands on a ridge, or -1.
    """

    network: Network
    growth: FloatArray
    duration: float
    halfway: float
    losses: FloatArray
    times: FloatArray
    on_ray: BoolArray
    faded: BoolArray
    ended_by: Outcome
    blamed: int

    def why_unfinished(self, clock: float) -> str:
        """Why it did not arrive, of a jump at this clock."""
        if self.ended_by is Outcome.HORIZON:
            return f"The network relaxes too slowly after the jump at the clock {clock:.9g} for its end to be known."
        if self.ended_by is Outcome.RIDGE:
            return f"The network comes to a ridge in the jump at the clock {clock:.9g}: the flow is not unique there."
        if self.ended_by is Outcome.MAX_SECONDS:
            return f"The time was spent in the jump at the clock {clock:.9g}."
        return f"The orbit at the clock {clock:.9g} ended with `{self.ended_by}`."


def follow(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    sleeping: BoolArray,
    rays: FloatArray,
    rtol: float,
    allowed: Budget,
) -> OrbitEnd:
    """Carry a network, its bundle released, to the next saddle.

    Parameters
    ----------
    network
        Neurons that are awake at the saddle, the bundle at its release size, the others at any size.
    dataset, loss
        What it is trained on.
    sleeping
        Which neurons are carried without weight, shape (m,).
    rays
        For sleeping neurons that only one line of samples moves, the direction they keep; else nan, shape (m, d).
    rtol
        Tolerance of the flow.
    allowed
        What it may cost; where that is spent the orbit ends by `MAX_SECONDS`.
    """
    growth, elapsed = np.zeros(network.num_neurons), 0.0
    nothing_fitted, seen = loss.total(np.zeros(dataset.n), dataset.y), GradientsSeen()
    stretches: list[tuple[float, TrainingProblem]] = []
    on_ray = np.isfinite(rays[:, 0])
    network = _asleep(network, sleeping, rays, on_ray)
    times, losses = [np.zeros(1)], [np.array([loss.total(network.outputs(dataset.X), dataset.y)])]
    ended_by, blamed, num_steps = Outcome.HORIZON, -1, 0
    solver = EventDrivenFlow(rtol=rtol, max_steps=MOST_STEPS)
    lengths = np.linalg.norm(dataset.X, axis=1)
    for _ in range(MOST_STRETCHES):
        network = _off_flat_walls(_asleep(network, sleeping, rays, on_ray), dataset, loss)
        before = row_norms(np.column_stack([network.w, network.a]))
        fastest = float(np.abs(loss.forces(network.outputs(dataset.X), dataset.y)) @ lengths)
        problem = TrainingProblem(dataset, loss, network)
        stretches.append((elapsed, problem))
        # beside a saddle nothing pulls, and the solver's first step, chosen by the pulls, must not be too long
        stiffness = fastest + loss.sample_weight(dataset.n) * float(lengths @ lengths) * network.squared_norm()
        is_settling = seen.last < seen.largest + np.log(SETTLING)
        is_calm = is_settling and not _has_reversed_ray(network, dataset, loss, sleeping & on_ray)
        horizon = (LONG_STRETCH if is_calm else STRETCH) / max(fastest, 1e-9 * stiffness)
        first = min(0.05 / stiffness, 0.5 * horizon)
        gradients = _Gradients(seen, first)
        until, keep = Arrival(nothing_fitted, seen), Keep(times=[first], recorder=gradients)
        run = train(problem, solver, until=until, horizon=horizon, keep=keep, max_seconds=max(allowed.left, 1e-3))
        seen = gradients.seen
        network = run.network.materialized()
        on_ray &= _angles(network.w, np.where(on_ray[:, None], rays, network.w)) <= ON_RAY
        growth += np.log(row_norms(np.column_stack([network.w, network.a])) / before)
        times.append(elapsed + run.times[1:])
        losses.append(run.losses[1:])
        elapsed += run.time
        num_steps += run.steps
        is_near = seen.last <= seen.largest + np.log(NEARLY)
        if run.outcome is Outcome.STATIONARY or (run.outcome is Outcome.MAX_STEPS and is_near):
            ended_by = Outcome.STATIONARY
            break
        if run.outcome is Outcome.RIDGE:
            ridges = run.events.of_kind(EventKind.RIDGE)
            ended_by, blamed = run.outcome, int(ridges.neurons[-1]) if len(ridges) else -1
            break
        if run.outcome not in (Outcome.HORIZON, Outcome.MAX_STEPS):
            ended_by = run.outcome
            break
        if allowed.is_spent:
            ended_by = Outcome.MAX_SECONDS
            break
        if num_steps > (MOST_STEPS_WHILE_FADING if loss.fades else MOST_STEPS_IN_ALL):
            break
    has_arrived = ended_by is Outcome.STATIONARY
    return OrbitEnd(
        network=network,
        growth=growth,
        duration=elapsed,
        halfway=_halfway(stretches, rtol, np.concatenate(times), np.concatenate(losses)) if has_arrived else np.nan,
        losses=np.concatenate(losses),
        times=np.concatenate(times),
        on_ray=on_ray,
        faded=_faded(network, dataset, loss),
        ended_by=ended_by,
        blamed=blamed,
    )


class GradientsSeen(NamedTuple):
    """ln of the smallest gradient before the largest, of the largest and of the last, over all stretches so far."""

    first: float = np.inf
    largest: float = -np.inf
    last: float = np.inf

    def then(self, log_norm: float) -> GradientsSeen:
        """With the gradient of the next step taken in."""
        seen = self._replace(largest=max(self.largest, log_norm), last=log_norm)
        return seen if seen.has_left else seen._replace(first=min(self.first, log_norm))

    @property
    def has_left(self) -> bool:
        """Whether the gradient has grown by LEFT: the saddle has been left."""
        return bool(self.largest >= self.first + np.log(LEFT))


class _Gradients:
    """Recorder of the gradients at the steps that a stopping rule is asked about: from the time `since` on."""

    def __init__(self, seen: GradientsSeen, since: float) -> None:
        self.seen, self._since = seen, since

    def __call__(self, run: AbstractRun) -> None:
        if run.time >= self._since and run.outcome is None:
            self.seen = self.seen.then(run.gradient().log_norm)


@dataclass(frozen=True)
class Arrival(AbstractStoppingRule):
    """Stop at the next saddle: the gradient has grown and is small again, or nothing is left to fit.

    Unlike `Stationary` it does not wait for sleeping neurons. Under a loss that fades it stops where every sample that
    the network acts on is classified with the margin FADED, for its force only falls from there on.

    Parameters
    ----------
    loss_of_nothing
        L of the zero network.
    before
        The gradients of the stretches before this one.
    """

    loss_of_nothing: float
    before: GradientsSeen = GradientsSeen()  # noqa: RUF009 (a tuple)

    def start(self) -> Check:
        return _Approach(self)


class _Approach:
    """The gradients of one run on the way to an `Arrival`."""

    def __init__(self, rule: Arrival) -> None:
        self._rule, self._seen = rule, rule.before

    def __call__(self, run: AbstractRun) -> Outcome | None:
        log_norm = run.gradient().log_norm
        self._seen = self._seen.then(log_norm)
        if not self._seen.has_left:
            return None
        loss, labels = run.problem.loss, run.problem.dataset.y
        is_done = run.loss() <= FITTED * self._rule.loss_of_nothing
        if loss.fades:
            margins = run.outputs() * labels
            acting = is_acted_on(margins)
            is_done = bool(np.any(acting)) and bool(np.all(margins[acting] >= FADED))
        return Outcome.STATIONARY if is_done or log_norm <= self._seen.largest + np.log(ARRIVED) else None


def _asleep(network: Network, sleeping: BoolArray, rays: FloatArray, on_ray: BoolArray) -> Network:
    """Sleeping neurons at the size they are carried at, those on rays exactly on them."""
    w, a = network.w.copy(), network.a.copy()
    for j in np.flatnonzero(sleeping):
        unit = np.append(w[j], a[j]) / max(float(np.max(np.abs(w[j]))), abs(float(a[j])))
        if on_ray[j]:
            unit[:-1] = rays[j] * np.linalg.norm(unit[:-1]) / np.linalg.norm(rays[j])
        unit *= np.exp(SLEEPING) / np.linalg.norm(unit)
        w[j], a[j] = unit[:-1], unit[-1]
    return network.replace(w=w, a=a)


def _angles(one: FloatArray, two: FloatArray) -> FloatArray:
    """Distances between the unit vectors along rows."""
    units = [rows / np.maximum(row_norms(rows), 1e-300)[:, None] for rows in (one, two)]
    return np.asarray(np.linalg.norm(units[0] - units[1], axis=1))


def _has_reversed_ray(network: Network, dataset: Dataset, loss: AbstractLoss, members: BoolArray) -> bool:
    """Whether the forces here push a neuron back along its ray."""
    if not np.any(members):
        return False
    forces = loss.forces(network.outputs(dataset.X), dataset.y)
    units = network.w[members] / row_norms(network.w[members])[:, None]
    heights = units @ dataset.X.T
    gains = np.sign(network.a[members]) * np.sum(np.maximum(heights, network.leak * heights) * forces, axis=1)
    return bool(np.any(gains < 0.0))


def _off_flat_walls(network: Network, dataset: Dataset, loss: AbstractLoss) -> Network:
    """Put neurons that rest on a wall, with nothing to move them off it on its silent side, a little to that side.

    They came to rest there when the sample pushed them. As the sample is fitted its force tends to 0, and rounding may
    make it pull: on the wall that would be a ridge. Beside it nothing changes, for the sample is silent there. With a
    leak no side is silent and nothing is moved.
    """
    if network.leak > 0.0:
        return network
    lengths = np.linalg.norm(dataset.X, axis=1)
    units = dataset.X / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    forces = loss.forces(network.outputs(dataset.X), dataset.y)
    scale = float(np.abs(loss.label_forces(dataset.y)) @ lengths)
    w = network.w.copy()
    for j in range(network.num_neurons):
        size = float(np.linalg.norm(w[j] / np.max(np.abs(w[j])))) * float(np.max(np.abs(w[j]))) if np.any(w[j]) else 0.0
        heights = units @ w[j]
        on = (np.abs(heights) <= ON_WALL * size) & (lengths > 0.0)
        if size == 0.0 or not np.any(on):
            continue
        pull = (np.where(heights > 0.0, forces, 0.0) * ~on) @ dataset.X
        flat = on & (np.abs(units @ pull) <= FLAT * scale)
        if not np.any(flat):
            continue
        slides = orthonormal_rows(units[on & ~flat]) if np.any(on & ~flat) else np.zeros((0, w.shape[1]))
        step = -np.linalg.lstsq(units[flat], np.ones(int(np.sum(flat))), rcond=1e-10)[0]
        moved = w[j] + BESIDE * size * (step - (step @ slides.T) @ slides)
        if np.all(units[flat] @ moved < 0.0):
            w[j] = moved
    return network.replace(w=w)


def time_of_loss(problem: TrainingProblem, solver: AbstractSolver, level: float, start: float, stop: float) -> float:
    """When the loss of a run passes `level`, between two times that enclose it, to the tolerance of the solver."""
    for _ in range(6):
        times = np.linspace(start, stop, 9)
        run = train(problem, solver, until=float(stop), times=times[times > 0.0])
        losses = np.array([snapshot.loss for snapshot in run.snapshots])
        if times[0] <= 0.0:
            losses = np.concatenate([[problem.initial_loss], losses])
        after = int(np.argmax(losses <= level))
        if after == 0:
            return float(start)
        start, stop = float(times[after - 1]), float(times[after])
        if losses[after - 1] - losses[after] <= 1e-4 * losses[0]:
            break
    share = (losses[after - 1] - level) / (losses[after - 1] - losses[after])
    return start + float(share) * (stop - start)


def _halfway(
    stretches: list[tuple[float, TrainingProblem]], rtol: float, times: FloatArray, losses: FloatArray
) -> float:
    """When half of the fall of the loss is done."""
    middle = 0.5 * float(losses[0] + losses[-1])
    after = int(np.argmax(losses <= middle))
    if after == 0:
        return float(times[0])
    begun, problem = [(at, problem) for at, problem in stretches if at <= times[after - 1]][-1]
    exact = EventDrivenFlow(rtol=rtol)
    return begun + time_of_loss(problem, exact, middle, float(times[after - 1]) - begun, float(times[after]) - begun)


def _faded(network: Network, dataset: Dataset, loss: AbstractLoss) -> BoolArray:
    if not loss.fades:
        return np.zeros(dataset.n, bool)
    return np.asarray(network.outputs(dataset.X) * dataset.y >= FADED)
