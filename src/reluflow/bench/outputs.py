"""Benchmarks of several outputs: real classes beside fused descent and a general solver, to the end, and cost in K."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec

import numpy as np

from reluflow.bench.accelerator import has_accelerator
from reluflow.bench.benchmark import Benchmark, Timing, best_time
from reluflow.bench.general_solvers import diffrax_outputs_end
from reluflow.certificates.limits.levelling import end_of_training
from reluflow.certificates.limits.undecided import limit_or_undecided
from reluflow.data.classified import wrongly_classified
from reluflow.data.dataset import Dataset
from reluflow.data.mnist import BUNDLED_DIGITS, Source, has_full_mnist, mnist_digits
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AtTime, Exhausted, is_acted_on
from reluflow.dynamics.train import train
from reluflow.losses import SoftmaxLoss, SquareLoss
from reluflow.network.initialization import balanced_initialization

HORIZON = 20.0  # in the middle of the fitting phase of standardised data at this scale
SCALE = 1e-3
DESCENT_RATE = 1e-3
_RTOL = 1e-6
_EXACT_SHARE = 1e-2  # tolerance of the run that errors are measured by, in units of the benchmark's
_RTOL_OF_IMAGES = 1e-5
_ALLOWED_S = 300.0  # of processor time, for a run to its end
_ALLOWED_OF_ALL_S = 1200.0  # ten minutes of two cores
_THREE_DIGITS = (0, 1, 3)
_COUNTS = (1, 2, 4, 8, 16)
_BASE_SIZE = (1000, 100, 2)  # n, m, K
_STEPS_OF_MEMORY = 20


class FirstAllRight:
    """A recorder that notes when every sample on which a neuron acts first has the largest output at its own class.

    Attributes
    ----------
    noted
        Steps, logarithm of the time, and seconds of the clock and the processor since this was made; None before.
    """

    def __init__(self) -> None:
        self.noted: tuple[int, float, float, float] | None = None
        self._began, self._used = time.perf_counter(), time.process_time()

    def __call__(self, run: AbstractRun) -> None:
        outputs = run.outputs()
        if self.noted is None and not (wrongly_classified(run.problem.dataset, outputs) & is_acted_on(outputs)).any():
            seconds, cpu = time.perf_counter() - self._began, time.process_time() - self._used
            self.noted = (run.steps, run.log_time, seconds, cpu)


def real_classes(name: str, width: int) -> TrainingProblem | None:
    """Data of scikit-learn in all their classes, standardised; None where it is not installed."""
    if find_spec("sklearn") is None:
        return None
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    names = tuple(map(str, found.target_names))
    data = Dataset(found.data, found.target, classes=names, name=name).standardised()
    network = balanced_initialization(data, width=width, scale=SCALE, rng=np.random.default_rng(0))
    return TrainingProblem(data, SoftmaxLoss(), network)


def beside_others(name: str, width: int) -> list[Timing]:
    """The flow to a time, beside fused descent and diffrax; errors are those of the outputs."""
    problem = real_classes(name, width)
    if problem is None:
        return []
    exact = train(problem, CollocationFlow(rtol=_EXACT_SHARE * _RTOL), until=AtTime(HORIZON)).predictions
    size = float(np.max(np.abs(exact)))
    flow = partial(train, problem, CollocationFlow(rtol=_RTOL), until=AtTime(HORIZON))
    ours_s, ours = best_time(flow, repeats=1, warm_up=False)
    error = float(np.max(np.abs(ours.predictions - exact))) / size
    iterations = round(HORIZON / DESCENT_RATE)
    descent = partial(train, problem, GradientDescent(lr=DESCENT_RATE, iterations=iterations), until=Exhausted())
    descent_s, descended = best_time(descent, repeats=1, warm_up=False)
    theirs = float(np.max(np.abs(descended.predictions - exact))) / size
    title = f"outputs/{name}-{problem.dataset.n}-{problem.dataset.d}-{problem.num_outputs}-{width}"
    words = f"error {error:.1e} in {ours.steps} steps, {theirs:.1e} by descent in {iterations} (relative, of outputs)"
    found = [Timing(title, ours_s, f"our fused descent, step {DESCENT_RATE:g}", descent_s, words)]
    if find_spec("diffrax") is not None:
        seconds, has_arrived, outputs = diffrax_outputs_end(problem, HORIZON, _RTOL)
        theirs = float(np.max(np.abs(outputs - exact))) / size
        words = f"error {error:.1e}, {theirs:.1e} by diffrax" if has_arrived else "diffrax did not arrive"
        found.append(Timing(title, ours_s, f"diffrax Tsit5, rtol {_RTOL:g}", seconds if has_arrived else None, words))
    return found


def digit_images(digits: Sequence[int], width: int, *, source: Source, size: int | None = None) -> TrainingProblem:
    """MNIST digits, each a class; the weights as small as those of the benchmarks of two digits."""
    data = mnist_digits(digits, size=size, source=source)
    network = balanced_initialization(data, width=width, scale=SCALE, rng=np.random.default_rng(0))
    return TrainingProblem(data, SoftmaxLoss(), network)


def to_the_end(name: str, width: int) -> list[Timing]:
    """One run to its end with its certificate, and when on the way every sample was right."""
    problem = real_classes(name, width)
    return [] if problem is None else _run_to_the_end(f"outputs/{name}", problem, CollocationFlow(_RTOL), _ALLOWED_S)


def images_to_the_end() -> list[Timing]:
    """2,000 images of 0, 1 and 3."""
    problem = digit_images(_THREE_DIGITS, 50, source="bundled", size=2000)
    return _run_to_the_end("outputs/mnist-2000", problem, CollocationFlow(_RTOL_OF_IMAGES), _ALLOWED_S)


def all_images_to_the_end() -> list[Timing]:
    """All images of five digits: how far ten minutes go."""
    return _all_images("outputs/mnist-five", CollocationFlow(_RTOL_OF_IMAGES))


def all_images_on_gpu() -> list[Timing]:
    """The same with the large products on an accelerator, where JAX sees one; its compilations are counted in."""
    if not has_accelerator():
        return []
    return _all_images("outputs/mnist-five-gpu", CollocationFlow(_RTOL_OF_IMAGES, device="gpu"))


def _all_images(title: str, flow: CollocationFlow) -> list[Timing]:
    if not has_full_mnist():
        return []
    return _run_to_the_end(title, digit_images(BUNDLED_DIGITS, 50, source="full"), flow, _ALLOWED_OF_ALL_S)


def _run_to_the_end(title: str, problem: TrainingProblem, flow: CollocationFlow, max_seconds: float) -> list[Timing]:
    first = FirstAllRight()
    until, keep = end_of_training(problem), Keep(recorder=first)
    began, used = time.perf_counter(), time.process_time()
    run = train(problem, flow, until=until, keep=keep, max_seconds=max_seconds)
    judged = "its limit was not asked for"
    if not run.outcome.is_cut_short:
        limit = limit_or_undecided(run)
        judged = f"{limit.certificate.kind}, {'proved' if limit.is_proof else 'not proved'}"
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    words = (
        f"{run.steps} steps to {run.outcome.code} at ln t = {run.log_time:.4g}, loss {run.loss:.3g}: {judged}, "
        f"{cpu:.1f} s of processor"
    )
    end = Timing(f"{title}-end", seconds, "none", None, words)
    wrong = int(np.sum(wrongly_classified(problem.dataset, run.predictions)))
    if first.noted is None:
        words = f"never: {wrong} of {problem.dataset.n} wrong at the end"
        return [Timing(f"{title}-right", seconds, "none", None, words), end]
    steps, log_time, until_right, cpu = first.noted
    silent = int(np.sum(~is_acted_on(run.predictions)))
    words = (
        f"{steps} steps to ln t = {log_time:.4g}, every sample right on which a neuron acts, {cpu:.1f} s of processor; "
        f"none acts on {silent} of {problem.dataset.n} in the end"
    )
    return [Timing(f"{title}-right", until_right, "none", None, words), end]


def cost_in_outputs() -> list[Timing]:
    """The same inputs with 1 to 16 targets to t = 20, in processor time of one step."""
    seconds = []
    for count in _COUNTS:
        problem = _teacher(100, 50, count)
        train(problem, CollocationFlow(rtol=_RTOL), max_steps=3)  # compiles
        used = time.process_time()
        run = train(problem, CollocationFlow(rtol=_RTOL), until=AtTime(20.0))
        seconds.append((time.process_time() - used) / run.steps)
    slope = np.polyfit(np.log(_COUNTS), np.log(seconds), 1)[0]
    listed = ", ".join(f"K = {count}: {1e3 * each:.1f} ms" for count, each in zip(_COUNTS, seconds, strict=True))
    words = f"a step costs like K^{slope:.2f} ({listed}, of processor time)"
    return [Timing("outputs/cost-in-K", seconds[-1], "one output", seconds[0], words)]


def memory_growth() -> list[Timing]:
    """Most memory that some steps take beyond what a process has before them, at eight times the n, m and K."""
    if find_spec("resource") is None:
        return []  # Windows
    began = time.perf_counter()
    n, m, count = _BASE_SIZE
    sizes = [
        (f"n = {n}, m = {m}, K = {count}", (n, m, count)),
        ("8 n", (8 * n, m, count)),
        ("8 m", (n, 8 * m, count)),
        ("8 K", (n, m, 8 * count)),
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        taken = list(pool.map(_megabytes_taken, [size for _, size in sizes]))
    words = ", ".join(f"{what}: {most:.0f} MB" for (what, _), most in zip(sizes, taken, strict=True))
    return [Timing("outputs/memory", time.perf_counter() - began, "none", None, words)]


def _megabytes_taken(size: tuple[int, int, int]) -> float:
    """In a process of its own, whose maximum is that of this run."""
    import resource  # not on Windows

    unit = 1e6 if sys.platform == "darwin" else 1e3
    train(_teacher(10, 5, 2), CollocationFlow(rtol=_RTOL), max_steps=3)  # loads the kernels
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train(_teacher(*size), CollocationFlow(rtol=_RTOL), max_steps=_STEPS_OF_MEMORY)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / unit


def _teacher(n: int, m: int, num_outputs: int) -> TrainingProblem:
    """n Gaussian points in ten dimensions with rectified linear targets."""
    rng = np.random.default_rng(0)
    X, teacher = rng.standard_normal((n, 10)), rng.standard_normal((10, max(num_outputs, *_COUNTS)))
    data = Dataset(X, np.maximum(X @ teacher[:, :num_outputs], 0.0) / np.sqrt(10.0))
    network = balanced_initialization(data, width=m, scale=1e-2, rng=np.random.default_rng(1))
    return TrainingProblem(data, SquareLoss(), network)


def _of(function: Callable[[str, int], list[Timing]], name: str, width: int) -> Callable[[], list[Timing]]:
    return partial(function, name, width)


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("outputs/iris", "iris, three classes, beside others", _of(beside_others, "iris", 50)),
    Benchmark("outputs/wine", "wine, three classes, beside others", _of(beside_others, "wine", 50)),
    Benchmark("outputs/iris-end", "iris to its end", _of(to_the_end, "iris", 50)),
    Benchmark("outputs/wine-end", "wine to its end", _of(to_the_end, "wine", 50)),
    Benchmark("outputs/digits-end", "ten digits to their end, minutes", _of(to_the_end, "digits", 100)),
    Benchmark("outputs/mnist", "2,000 MNIST images of three digits to their end, minutes", images_to_the_end),
    Benchmark("outputs/whole-mnist", "all of five digits, where their files are, ten minutes", all_images_to_the_end),
    Benchmark("outputs/whole-mnist-gpu", "the same on an accelerator, where JAX sees one", all_images_on_gpu),
    Benchmark("outputs/cost", "cost in K from 1 to 16", cost_in_outputs),
    Benchmark("outputs/memory", "memory at eight times the samples, neurons, outputs", memory_growth),
)
