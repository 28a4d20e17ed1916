"""Where the exact flow may cost no more, gradient descent goes on from there; what it was is never hidden."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.budget import Budget
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.phases import find_phases
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Law, Outcome, Snapshot, Trajectory
from reluflow.errors import InvalidInputError

FIRST_STAGE, LONGEST_STAGE = 250, 20_000  # iterations at one step size
_MOST_CUTS = 8  # of the step size, by 4 each, where the loss does not fall
_SHARE_OF_STABLE = 0.5  # of the largest step at which descent is stable in the present kernel, which is 2
_LARGEST_TURN = 0.1  # lr |D|: what a step does to the fastest neuron
_POWER_ITERATIONS = 30


@dataclass(frozen=True)
class DescentPart:
    """The part of a run that was made by descent.

    Parameters
    ----------
    exact_until
        Time at which the exact flow was left.
    why
        How the exact flow ended there, a code of `Outcome`.
    smallest_step, largest_step
        Step sizes used; they follow the largest eigenvalue of the tangent kernel, and are divided by the loss once
        every sample is classified.
    iterations
        How many.
    """

    exact_until: float
    why: str
    smallest_step: float
    largest_step: float
    iterations: int

    def __str__(self) -> str:
        steps = f"step {self.smallest_step:.3g}"
        if self.largest_step > 1.001 * self.smallest_step:
            steps = f"steps of {self.smallest_step:.3g} to {self.largest_step:.3g}"
        return (
            f"exact until t = {self.exact_until:.5g}, from there by gradient descent, {steps}, {self.iterations:,} "
            "iterations"
        )


def descend_from(
    flow: Trajectory,
    *,
    until: AbstractStoppingRule,
    max_iterations: int,
    max_seconds: float = np.inf,
    keep: Keep | None = None,
    progress: Callable[[AbstractRun], None] | None = None,
) -> tuple[Trajectory, DescentPart]:
    """Go on by gradient descent from where a run of the flow ended, and join the two.

    Parameters
    ----------
    flow
        A run of the flow that was cut short, at a finite time.
    until
        When to stop.
    max_iterations, max_seconds
        What the descent may cost; seconds are processor time, as in `train`.
    keep
        What its run records; of each stage as long as there is one step size.
    progress
        Called with the run after every chunk of iterations.

    Returns
    -------
    Trajectory, DescentPart
        The joined run, whose `law` is descent, and what of it was not the flow.
    """
    if not np.isfinite(flow.time):
        raise InvalidInputError(f"`flow` must have ended at a finite time to go on by descent, got t = {flow.time}.")
    flow.problem.refuse_variant("going on by descent", "run GradientDescent on the problem itself.")
    loss = flow.problem.loss
    is_scaled = loss.fades and loss.is_classification
    allowed = Budget(max_seconds)
    parts: list[Trajectory] = []
    steps: list[float] = []
    network, used, length = flow.network, 0, FIRST_STAGE
    while used < max_iterations and (not parts or not allowed.is_spent):
        problem = TrainingProblem(flow.problem.dataset, loss, network)
        step = stable_step(problem)
        for _ in range(_MOST_CUTS):
            part = train(
                problem,
                GradientDescent(lr=step, iterations=min(length, max_iterations - used), loss_scaled=is_scaled),
                until=until,
                keep=keep,
                max_seconds=max(allowed.left, 1e-3),
                progress=progress,
            )
            if part.outcome is not Outcome.DIVERGED and part.loss <= problem.initial_loss:
                break
            step /= 4.0
        else:
            break  # no step lowers the loss: rounding, or the bottom
        parts.append(part)
        steps.append(step)
        network, used, length = part.network, used + part.steps, min(2 * length, LONGEST_STAGE)
        if part.outcome is not Outcome.HORIZON:
            break
    if not parts:
        raise InvalidInputError(
            "`flow` must have ended where descent can lower its loss, got a point where no step does."
        )
    outcome = parts[-1].outcome
    if outcome is Outcome.HORIZON:  # of a stage
        outcome = Outcome.MAX_STEPS if used >= max_iterations else Outcome.MAX_SECONDS
    joined = _joined(flow, parts, outcome)
    return joined, DescentPart(flow.time, flow.outcome.code, min(steps), max(steps), used)


def stable_step(problem: TrainingProblem) -> float:
    """A step size at which descent is stable and turns no neuron much: from the largest curvature of the loss here.

    The curvature is that of the outputs, c l'' times the tangent kernel, by power iteration; what the bending of the
    network adds is left out, and so the loss is watched by whoever uses it.
    """
    data, loss = problem.dataset, problem.loss
    network = problem.network.materialized()
    products = network.w @ data.X.T  # (num_neurons, n)
    slopes = np.where(products > 0, 1.0, network.leak)
    outputs = network.outputs(data.X)
    curvature = np.sqrt(loss.sample_weight(data.n) * loss.curvature(outputs, data.y))
    weight = network.weight

    def times_kernel(v: FloatArray) -> FloatArray:
        scaled = curvature * v
        inner = network.a[:, None] * ((slopes * scaled) @ data.X)  # (num_neurons, d)
        outer = (slopes * products) @ scaled
        pulled = (weight * network.a)[:, None] * slopes * (inner @ data.X.T)
        return np.asarray(curvature * (pulled.sum(axis=0) + (weight * outer) @ (slopes * products)))

    v = np.ones(data.n) / np.sqrt(data.n) + 1e-3 * np.cos(np.arange(data.n))  # not orthogonal to anything in particular
    largest = 0.0
    for _ in range(_POWER_ITERATIONS):
        image = times_kernel(v)
        largest = float(np.linalg.norm(image)) / float(np.linalg.norm(v))
        if largest == 0.0:
            break
        v = image / np.linalg.norm(image)
    pulls = (slopes * loss.forces(outputs, data.y)) @ data.X
    fastest = float(np.max(np.linalg.norm(pulls, axis=1), initial=0.0))
    bounds = [_SHARE_OF_STABLE / largest if largest > 0 else np.inf, _LARGEST_TURN / fastest if fastest > 0 else np.inf]
    return float(min(*bounds, 1e3))


def _joined(flow: Trajectory, parts: list[Trajectory], outcome: Outcome) -> Trajectory:
    """One trajectory of the flow and the stages of descent after it."""
    runs, starts, first_steps = [flow, *parts], [0.0], [0]
    for run in runs[:-1]:
        starts.append(starts[-1] + run.time)
        first_steps.append(first_steps[-1] + run.steps)
    times = np.concatenate(
        [run.times[k > 0 :] + start for k, (run, start) in enumerate(zip(runs, starts, strict=True))]
    )
    losses = np.concatenate([run.losses[k > 0 :] for k, run in enumerate(runs)])
    outputs = np.concatenate([run.outputs[k > 0 :] for k, run in enumerate(runs)])
    with np.errstate(divide="ignore"):
        log_times = np.log(times)
    last, end = parts[-1], starts[-1] + parts[-1].time
    labels = float(np.max(np.abs(flow.problem.dataset.y)))
    label_scale = 1.0 if flow.problem.loss.is_classification or labels == 0.0 else labels

    def later(frame: Snapshot, start: float, first: int) -> Snapshot:
        moment = frame.time + start
        return replace(frame, time=moment, log_time=float(np.log(moment)), step=frame.step + first)

    frames = [
        later(frame, start, first) if k else frame
        for k, (run, start, first) in enumerate(zip(runs, starts, first_steps, strict=True))
        for frame in run.frames[k > 0 :]
    ]
    return replace(
        last,
        problem=flow.problem,
        method=f"{flow.method} until t = {flow.time:.6g}; then {last.method}",
        law=Law.DESCENT,
        outcome=outcome,
        times=times,
        log_times=log_times,
        losses=losses,
        outputs=outputs,
        snapshots=flow.snapshots,
        frames=tuple(frames),
        events=flow.events,
        phases=find_phases(times, losses, outputs, label_scale=label_scale),
        time=end,
        log_time=float(np.log(end)),
        steps=flow.steps + sum(part.steps for part in parts),
        force_evaluations=flow.force_evaluations + sum(part.force_evaluations for part in parts),
        balancedness_drift=max(flow.balancedness_drift, *(part.balancedness_drift for part in parts)),
    )
