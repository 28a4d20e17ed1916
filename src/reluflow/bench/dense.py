"""Benchmarks of the flow at the size of real data: collocation beside our fused descent, which is far less accurate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.bench.accelerator import has_accelerator
from reluflow.bench.benchmark import Benchmark, Timing, best_time
from reluflow.bench.general_solvers import diffrax_end, scipy_end
from reluflow.bench.roofline import SamplesInSteps, roofline_words
from reluflow.certificates.direction import ignored_samples
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.data.dataset import Dataset
from reluflow.data.mnist import has_full_mnist, mnist_pair
from reluflow.data.registry import load
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, AtTime, Check, Exhausted, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.losses import LogisticLoss, loss_named
from reluflow.network import Network
from reluflow.network.initialization import balanced_initialization

DESCENT_RATE = 1e-3
_MOST_ITERATIONS = 4000  # of the peer, scaled up from these
_EXACT_SHARE = 1.0 / 30.0  # tolerance of the run that errors are measured by, in units of the task's
_GENERAL_RTOL = 1e-6
_WITHIN_REACH = 1_000_000  # n d m up to which general solvers are tried
_LONG = 1000  # samples from which a run is not made twice
_ROUNDING = 1e-9  # share of the largest output up to which one may be that of an ignored sample
_ALLOWED_S = 600.0  # for all images of a pair, whose direction may be out of reach


@dataclass(frozen=True)
class DenseTask:
    """A problem of real size and where it is run to: `end` is a time, or None for the end of training."""

    name: str
    n: int
    d: int
    m: int
    loss: str
    end: float | None
    rtol: float  # where there is an end, outputs are then right to 1e-6: the error is measured and printed

    def problem(self) -> TrainingProblem:
        """A teacher of three neurons (square loss) or a separating line (logistic), Gaussian inputs, scale 1e-2."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n, self.d))
        y = np.maximum(X @ rng.standard_normal((self.d, 3)), 0.0) @ np.array([1.0, -1.0, 0.5]) / np.sqrt(self.d)
        if self.loss != "square":
            normal = rng.standard_normal(self.d)
            y = np.sign(X @ normal)
            X += 0.5 * y[:, None] * normal / np.linalg.norm(normal)  # a margin
        data = Dataset(X, y)
        network = balanced_initialization(data, width=self.m, scale=1e-2, rng=rng)
        return TrainingProblem(data, loss_named(self.loss), network)


TASKS = (
    DenseTask("regression-100-10-200", 100, 10, 200, "square", 50.0, rtol=4e-6),
    DenseTask("logistic-300-50-50", 300, 50, 50, "logistic", 200.0, rtol=1e-5),
    DenseTask("logistic-200-784-50", 200, 784, 50, "logistic", 100.0, rtol=8e-6),
    DenseTask("regression-1000-10-100", 1000, 10, 100, "square", 50.0, rtol=5e-6),
    DenseTask("stiff-tail-100-10-50", 100, 10, 50, "square", None, rtol=4e-5),
)


@dataclass(frozen=True)
class EverySampleRight(AbstractStoppingRule):
    """Stop when y_k h(x_k) > `margin` on every sample that some neuron acts on."""

    margin: float

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        data, outputs = run.problem.dataset, run.outputs()
        is_right = outputs * data.y > self.margin
        if np.any(np.abs(outputs[~is_right]) > _ROUNDING * np.max(np.abs(outputs))):  # somebody acts on these
            return None
        is_fitted = np.count_nonzero(is_right) + len(ignored_samples(run.network(), data)) == data.n
        return Outcome.REACHED if is_fitted else None


def compare(task: DenseTask) -> list[Timing]:
    """One task beside descent with lr 1e-3, and its outputs beside a run at a tighter tolerance."""
    problem = task.problem()
    until = _rule(task)
    ours_s, ours = best_time(partial(train, problem, CollocationFlow(rtol=task.rtol), until=until), repeats=2)
    words = f"{ours.steps} steps, {ours.crossings} crossings, {ours.slides} slides, {roofline_words(ours, ours_s)}"
    if task.end is None:
        limit = certified_limit(ours)
        proof = "proved" if limit.is_proof else "not proved"
        words += f"; {ours.outcome.code} at ln t = {ours.log_time:.1f}: {limit.certificate.kind}, {proof}"
        return [Timing(f"dense/{task.name}", ours_s, "none", None, words)]
    exact_rtol = _EXACT_SHARE * task.rtol
    exact = train(problem, CollocationFlow(rtol=exact_rtol), until=until).outputs[-1]
    iterations = round(task.end / DESCENT_RATE)
    timed = min(iterations, _MOST_ITERATIONS)
    peer_s, _ = best_time(partial(_descend, problem, timed), repeats=1)
    size = float(np.max(np.abs(exact)))
    words += (
        f"; outputs {float(np.max(np.abs(ours.outputs[-1] - exact))) / size:.1e} from a run at rtol {exact_rtol:.1e}"
    )
    peer = f"our fused descent, lr {DESCENT_RATE:g}, {iterations:,} iterations"
    peer += "" if timed == iterations else f" (scaled up from {timed:,})"
    found = [Timing(f"dense/{task.name}", ours_s, peer, peer_s * iterations / timed, words)]
    if task.n * task.d * task.m <= _WITHIN_REACH:
        found += [_beside(name, task, ours_s, exact) for name in ("DOP853", "diffrax Tsit5")]
    return found


def _beside(name: str, task: DenseTask, ours_s: float, exact: FloatArray) -> Timing:
    """A general solver at rtol 1e-6 on the same task."""
    integrate = diffrax_end if name.startswith("diffrax") else partial(scipy_end, method=name)
    problem, end = task.problem(), float(task.end or 0.0)
    label = f"dense/{task.name}-{name.replace(' ', '-').lower()}"
    try:
        seconds, has_arrived, weights = integrate(problem, end, _GENERAL_RTOL)
    except ImportError:
        return Timing(label, ours_s, name, None, "not installed: pip install 'reluflow[bench-jax]'")
    if not has_arrived:
        return Timing(label, ours_s, name, None, f"does not come to t = {end:g} in {seconds:.0f} s at rtol 1e-6")
    m, d = problem.network.w.shape
    outputs = Network(w=weights[: m * d].reshape(m, d), a=weights[m * d :])(problem.dataset.X)
    error = float(np.max(np.abs(outputs - exact)) / np.max(np.abs(exact)))
    return Timing(label, ours_s, name, seconds, f"its outputs are {error:.1e} off at rtol {_GENERAL_RTOL:g}")


def classification_tail() -> list[Timing]:
    """A classifier to its certified direction: n = 20, d = 5, m = 50."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 5))
    data = Dataset(X, np.sign(X @ rng.standard_normal(5)))
    network = balanced_initialization(data, width=50, scale=1e-3, rng=rng)
    problem = TrainingProblem(data, LogisticLoss(), network)
    ours_s, ours = best_time(partial(train, problem, CollocationFlow(), until=LimitIdentified()), repeats=1)
    kind = certified_limit(ours).certificate.kind
    words = f"{ours.steps} steps to ln t = {ours.log_time:.0f}: {kind}, {roofline_words(ours, ours_s)}"
    return [Timing("dense/tail-20-5-50", ours_s, "none", None, words)]


def small() -> list[Timing]:
    """Ten points in the plane with 200 neurons, as the laboratory asks for, beside the event-driven solver."""
    rng = np.random.default_rng(0)
    data = Dataset(rng.standard_normal((10, 2)), rng.standard_normal(10))
    network = balanced_initialization(data, width=200, scale=1e-3, rng=rng)
    problem = TrainingProblem(data, loss_named("square"), network)
    ours_s, ours = best_time(partial(train, problem, CollocationFlow(rtol=1e-6), until=AtTime(100.0)))
    peer_s, peer = best_time(partial(train, problem, EventDrivenFlow(rtol=1e-6), until=AtTime(100.0)))
    gap = float(np.max(np.abs(ours.outputs[-1] - peer.outputs[-1])))
    words = f"{ours.steps} against {peer.steps} steps, outputs {gap:.1e} apart, {roofline_words(ours, ours_s)}"
    return [Timing("dense/plane-10-2-200", ours_s, "our event-driven flow, rtol 1e-6", peer_s, words)]


def direction() -> list[Timing]:
    """A hundred digits of each kind to their certified direction: n = 200, d = 784, m = 50, scale 1e-2."""
    data = load("mnist-0-1")
    few = data.subset(np.concatenate([np.flatnonzero(data.y > 0.0)[:100], np.flatnonzero(data.y < 0.0)[:100]]))
    return [_to_the_limit(f"dense/direction-{few.n}-{few.d}-50", _of_images(few, 1e-2), CollocationFlow(rtol=1e-6))]


def mnist() -> list[Timing]:
    """The bundled MNIST pair, 2,000 images: until every image that a neuron acts on is right, and to its direction."""
    problem = _of_images(load("mnist-0-1"), 1e-3)
    n = problem.dataset.n
    flow = CollocationFlow(rtol=1e-6)
    return [_until_right(problem, flow)[0], _to_the_limit(f"dense/mnist-{n}-direction", problem, flow)]


def whole_mnist() -> list[Timing]:
    """All images of the pair, where their files are at hand, in one run: until all are right, and on to its end."""
    return _of_all_images(CollocationFlow(rtol=1e-5)) if has_full_mnist() else []


def whole_mnist_on_gpu() -> list[Timing]:
    """The same with the large products on an accelerator, where JAX sees one; its compilations are counted in."""
    flow = CollocationFlow(rtol=1e-5, device="gpu")
    found = _of_all_images(flow) if has_full_mnist() and has_accelerator() else []
    return [replace(comparison, name=f"{comparison.name}-gpu") for comparison in found]


def _of_all_images(flow: CollocationFlow) -> list[Timing]:
    return right_and_on(_of_images(mnist_pair(1, 0, source="full"), 1e-3), flow)


def right_and_on(problem: TrainingProblem, flow: CollocationFlow) -> list[Timing]:
    """Two comparisons of one run: until every image is right, and, the time until then counted in, to its end."""
    fitted, run = _until_right(problem, flow)
    rest = TrainingProblem(problem.dataset, problem.loss, run.network)
    left_s = max(_ALLOWED_S - fitted.ours_s, 0.0)
    on = _to_the_limit(f"dense/mnist-{problem.dataset.n}-direction", rest, flow, max_seconds=left_s)
    return [fitted, replace(on, ours_s=fitted.ours_s + on.ours_s, agreement=f"from there {on.agreement}")]


def _of_images(data: Dataset, scale: float) -> TrainingProblem:
    network = balanced_initialization(data, width=50, scale=scale, rng=np.random.default_rng(0))
    return TrainingProblem(data, LogisticLoss(), network)


def _until_right(problem: TrainingProblem, flow: CollocationFlow) -> tuple[Timing, Trajectory]:
    data = problem.dataset
    start, counted = time.perf_counter(), SamplesInSteps()
    run = train(problem, flow, until=EverySampleRight(margin=0.1), keep=Keep(recorder=counted))
    fitted_s = time.perf_counter() - start
    end = run.end
    words = (
        f"at t = {run.time:.4g}, after {run.steps} steps, {np.count_nonzero(end.outputs * data.y > 0.1)} of {data.n} "
        f"images right with margin 0.1 and {len(ignored_samples(end.network, data))} ignored by every neuron, "
        f"{roofline_words(run, fitted_s, counted)}"
    )
    return Timing(f"dense/mnist-{data.n}", fitted_s, "none", None, words), run


def _to_the_limit(name: str, problem: TrainingProblem, flow: CollocationFlow, *, max_seconds: float = np.inf) -> Timing:
    data = problem.dataset
    task = partial(train, problem, flow, until=LimitIdentified(), max_seconds=max_seconds)
    if data.n < _LONG:
        task(max_steps=3)  # compiles
    counted = SamplesInSteps()
    seconds, run = best_time(partial(task, keep=Keep(recorder=counted)), repeats=1, warm_up=False)
    limit = certified_limit(run)
    proof = "proved" if limit.is_proof else "not proved"
    num_ignored, until = len(ignored_samples(limit.network, data)), "for ever" if limit.is_proof else "so far"
    words = (
        f"{run.steps} steps to {run.outcome.code} at ln t = {run.log_time:.4g}: {limit.certificate.kind}, {proof}, "
        f"margin {limit.certificate.margin:.6g}, {num_ignored} samples ignored {until}, "
        f"{roofline_words(run, seconds, counted)}"
    )
    if not limit.is_proof:
        words += f". {limit.reason}"
    return Timing(name, seconds, "none", None, words)


def exponents() -> list[Timing]:
    """How the time to t = 20 grows with n, d and m over a factor of 8 each: the fitted exponents."""
    results = []
    for name, sizes in (
        ("n", [(50, 10, 50), (100, 10, 50), (200, 10, 50), (400, 10, 50)]),
        ("d", [(100, 8, 50), (100, 16, 50), (100, 32, 50), (100, 64, 50)]),
        ("m", [(100, 10, 25), (100, 10, 50), (100, 10, 100), (100, 10, 200)]),
    ):
        seconds = []
        for n, d, m in sizes:
            problem = DenseTask("", n, d, m, "square", 20.0, rtol=1e-6).problem()
            seconds.append(
                best_time(partial(train, problem, CollocationFlow(rtol=1e-6), until=AtTime(20.0)), repeats=1)[0]
            )
        slope = np.polyfit(np.log([2.0**k for k in range(4)]), np.log(seconds), 1)[0]
        words = f"time grows like {name}^{slope:.2f} over a factor of 8 ({', '.join(f'{s:.2f} s' for s in seconds)})"
        results.append(Timing(f"dense/exponent-{name}", seconds[-1], "none", None, words))
    return results


def _rule(task: DenseTask) -> AbstractStoppingRule:
    if task.end is not None:
        return AtTime(task.end)
    return Stationary() if task.loss == "square" else LimitIdentified()


def _descend(problem: TrainingProblem, iterations: int) -> Trajectory:
    return train(problem, GradientDescent(lr=DESCENT_RATE, iterations=iterations), until=Exhausted())


def _runner(task: DenseTask) -> Callable[[], list[Timing]]:
    return partial(compare, task)


BENCHMARKS: tuple[Benchmark, ...] = (
    *(Benchmark(f"dense/{task.name}", f"n = {task.n}, d = {task.d}, m = {task.m}", _runner(task)) for task in TASKS),
    Benchmark("dense/tail", "a classifier to its direction", classification_tail),
    Benchmark("dense/plane", "ten points in the plane", small),
    Benchmark("dense/direction", "200 MNIST images to their direction", direction),
    Benchmark("dense/mnist", "2,000 MNIST images", mnist),
    Benchmark("dense/whole-mnist", "12,665 MNIST images, minutes, where their files are", whole_mnist),
    Benchmark("dense/whole-mnist-gpu", "the same on an accelerator, where JAX sees one", whole_mnist_on_gpu),
    Benchmark("dense/exponents", "scaling in n, d, m", exponents),
)
