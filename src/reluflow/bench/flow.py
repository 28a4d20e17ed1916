"""Benchmarks of the exact flow: against gradient descent, and general ODE solvers at equal measured accuracy."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.bench.benchmark import Benchmark, Timing, best_time
from reluflow.bench.general_solvers import diffrax_end, flat, scipy_end
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network.infinite_width import circle_quadrature
from reluflow.network.initialization import balanced_initialization
from reluflow.network.network import Network

DESCENT_ITERATIONS = 2_000_000  # Boursier & Flammarion (2024), App. B.1 [boursier2024]
DESCENT_RATE = 1e-3


def three_points() -> list[Timing]:
    """The three points of Boursier & Flammarion to stationarity, against their 2,000,000 iterations of descent."""
    data = load("three-points")
    line = data.X @ np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    results = []
    for width in (200_000, 2_000_000):
        problem = TrainingProblem(data, SquareLoss(), _balanced(data, width))
        ours_s, ours = best_time(partial(train, problem, EventDrivenFlow()), repeats=2 if width == 200_000 else 1)
        peer_s = None
        if width == 200_000:
            doubled = TrainingProblem(data, SquareLoss(factor=2.0), problem.network)
            solver = GradientDescent(lr=DESCENT_RATE, iterations=2000)
            seconds, _ = best_time(partial(_descend, doubled, solver), repeats=2)
            peer_s = seconds * DESCENT_ITERATIONS / 2000
        error = float(np.max(np.abs(ours.predictions - line)))
        results.append(
            Timing(
                f"flow/three-points-m{width}",
                ours_s,
                "our fused gradient descent, 2,000,000 iterations (extrapolated from 2,000)",
                peer_s,
                f"{ours.crossings} crossings, {ours.steps} steps, end point {error:.1e} from least squares",
            )
        )
    problem = TrainingProblem(data, SquareLoss(), circle_quadrature(data, num_nodes=20_000, scale=1e-3))
    ours_s, ours = best_time(partial(train, problem, EventDrivenFlow()), repeats=2)
    error = float(np.max(np.abs(ours.predictions - line)))
    words = f"{ours.crossings} crossings, end point {error:.1e} from least squares"
    return [*results, Timing("flow/three-points-infinite-width", ours_s, "none", None, words)]


def scales() -> list[Timing]:
    """The same run at scale 1e-3 and at scale 1e-300."""
    data = load("three-points")
    times = {}
    for scale in ("1e-3", "1e-300"):
        network = balanced_initialization(data, width=2000, scale=scale, rng=np.random.default_rng(0))
        problem = TrainingProblem(data, SquareLoss(), network)
        times[scale], _ = best_time(partial(train, problem, EventDrivenFlow()), repeats=2)
    words = "the ratio compares two scales of our own; above 0.5 the tiny scale costs at most twice as much"
    return [Timing("flow/scale-1e-300", times["1e-300"], "ours at scale 1e-3", times["1e-3"], words)]


def grouped_descent() -> list[Timing]:
    """Grouped gradient descent, 2,000,000 iterations at width 200,000, against the plain one."""
    data = load("three-points")
    problem = TrainingProblem(data, SquareLoss(factor=2.0), _balanced(data, 200_000))
    plain_s, plain = best_time(partial(_descend, problem, GradientDescent(lr=DESCENT_RATE, iterations=2000)), repeats=2)
    _, short = best_time(
        partial(_descend, problem, GroupedGradientDescent(lr=DESCENT_RATE, iterations=2000)), repeats=1
    )
    difference = float(np.max(np.abs(plain - short)) / np.max(np.abs(plain)))
    solver = GroupedGradientDescent(lr=DESCENT_RATE, iterations=DESCENT_ITERATIONS)
    ours_s, _ = best_time(partial(_descend, problem, solver), repeats=1, warm_up=False)
    return [
        Timing(
            "flow/grouped-descent-m200000",
            ours_s,
            "our fused gradient descent, extrapolated from 2,000 iterations",
            plain_s * DESCENT_ITERATIONS / 2000,
            f"outputs after 2,000 iterations differ by {difference:.1e} (relative)",
        )
    ]


def general_solvers() -> list[Timing]:
    """Orthogonally separable data, where neurons only cross, against SciPy and diffrax at equal measured accuracy."""
    data = load("orthogonally-separable:n=20,d=5,mu=0.1", seed=1)
    network = balanced_initialization(data, width=40, scale=0.1, rng=np.random.default_rng(3)).materialized()
    return _against_general_solvers("flow/crossings", TrainingProblem(data, LogisticLoss(), network), horizon=20.0)


def sliding() -> list[Timing]:
    """Two points on which a neuron slides: general solvers stall at the boundary."""
    data = Dataset([[1.0, 0.0], [0.5, 1.0]], [1.0, -1.0], task="regression")
    network = Network([[0.3, 0.2], [0.2, -0.4]], [0.5, -0.5])
    return _against_general_solvers("flow/sliding", TrainingProblem(data, SquareLoss(), network), horizon=20.0)


def _against_general_solvers(name: str, problem: TrainingProblem, *, horizon: float) -> list[Timing]:
    reference = _end(train(problem, EventDrivenFlow(rtol=1e-13), until=AtTime(horizon)))
    ours_s, ours = best_time(partial(train, problem, EventDrivenFlow(rtol=1e-10), until=AtTime(horizon)))
    error = float(np.max(np.abs(_end(ours) - reference)))
    results = []
    general = {name: partial(scipy_end, method=name) for name in ("DOP853", "RK45")} | {"diffrax Tsit5": diffrax_end}
    for solver, integrate in general.items():
        words, peer_s = f"our error {error:.1e}", None
        for rtol in (1e-6, 1e-8, 1e-10, 1e-12):
            try:
                seconds, has_arrived, end = integrate(problem, horizon, rtol)
            except ImportError:
                words += "; not installed: pip install 'reluflow[bench-jax]'"
                break
            if not has_arrived:
                words += f"; stalls at rtol {rtol:g} ({seconds:.1f} s without reaching t = {horizon:g})"
                break
            theirs = float(np.max(np.abs(end - reference)))
            words += f"; its error {theirs:.1e} at rtol {rtol:g} in {seconds:.3g} s"
            if theirs <= max(error, 1e-9):
                peer_s = seconds
                break
        results.append(Timing(f"{name}-{solver.replace(' ', '-').lower()}", ours_s, solver, peer_s, words))
    slides = ours.events.of_kind("slide-entry").times
    if slides.size:
        last = results[-1]
        exits = ours.events.of_kind("slide-exit").times
        words = f"{last.agreement}; slides enter at {slides.round(6).tolist()}, leave at {exits.round(6).tolist()}"
        results[-1] = Timing(last.name, last.ours_s, last.peer, last.peer_s, words)
    return results


def _end(trajectory: Trajectory) -> FloatArray:
    return flat(trajectory.network)


def _balanced(data: Dataset, width: int) -> Network:
    return balanced_initialization(data, width=width, scale=1e-3, rng=np.random.default_rng(0))


def _descend(problem: TrainingProblem, solver: GradientDescent | GroupedGradientDescent) -> FloatArray:
    return np.asarray(train(problem, solver, until=Exhausted()).outputs[-1])


BENCHMARKS = (
    Benchmark("flow/three-points", "the three points, to stationarity", three_points),
    Benchmark("flow/scales", "scale 1e-3 and scale 1e-300", scales),
    Benchmark("flow/grouped-descent", "two million iterations of descent", grouped_descent),
    Benchmark("flow/general-solvers", "general ODE solvers on crossings", general_solvers),
    Benchmark("flow/sliding", "general ODE solvers on sliding", sliding),
)
