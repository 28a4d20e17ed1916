"""How well counted work goes with processor time: runs of both flows and of descent, from 3 points to 2,000 images.

One line for each run, with the seconds of work that it counted and those that one core took, and at the end how the two
go together. Run it on a quiet machine. The coefficients stand where `count` is called.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/work.py
"""

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

import reluflow
from reluflow.budget import OPERATIONS_A_SECOND, operations_done
from reluflow.compilation.clock import computing_thread_time
from reluflow.data.in_memory import as_dataset
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.dynamics.train import advance_counted

SECONDS, WARM_UP = 2.0, 0.2  # of each run, and of one before it that compiles
EVENT_DRIVEN, COLLOCATION, DESCENT = "event-driven", "collocation", "descent"
SMALL_CASES = {
    "three-points": [(20, EVENT_DRIVEN), (200, EVENT_DRIVEN), (2000, EVENT_DRIVEN), (200, COLLOCATION), (200, DESCENT)],
    "stewart": [(50, EVENT_DRIVEN), (400, EVENT_DRIVEN), (100, COLLOCATION), (400, DESCENT)],
    "orthogonal-triple": [(60, EVENT_DRIVEN)],
    "min-toy": [(100, EVENT_DRIVEN)],
    "lyu-symmetric": [(100, EVENT_DRIVEN), (100, COLLOCATION)],
    "lyu-gaussian": [(30, EVENT_DRIVEN), (50, COLLOCATION)],
    "30 moons": [(50, EVENT_DRIVEN), (50, COLLOCATION)],
    "100 moons": [(50, EVENT_DRIVEN), (50, COLLOCATION), (400, COLLOCATION), (50, DESCENT)],
}
LARGE_CASES = {
    "phuong-orthants": [(50, COLLOCATION)],
    "iris": [(30, COLLOCATION), (150, COLLOCATION), (50, DESCENT)],
    "wine": [(30, COLLOCATION), (150, COLLOCATION)],
    "breast cancer": [(20, COLLOCATION), (100, COLLOCATION), (100, DESCENT)],
    "breast cancer, raw": [(50, COLLOCATION)],
    "diabetes": [(50, COLLOCATION)],
    "digits 3 and 8": [(40, COLLOCATION), (200, COLLOCATION)],
    "400 digits": [(30, COLLOCATION), (150, COLLOCATION)],
    "mnist-0-1": [(20, COLLOCATION), (20, DESCENT)],
}


def main() -> None:
    print(f"{'data':<20}{'n':>5}{'d':>5}{'K':>3}{'m':>6}  {'method':<14}{'work, s':>9}{'took, s':>9}{'ratio':>7}")
    ratios = []
    for name, runs in (SMALL_CASES | LARGE_CASES).items():
        for width, method in runs:
            problem = problem_of(name, width)
            timed(problem, method, WARM_UP)
            work, took = timed(problem, method, SECONDS)
            data = problem.dataset
            sizes = f"{data.n:>5}{data.d:>5}{problem.num_outputs:>3}{width:>6}"
            print(f"{name:<20}{sizes}  {method:<14}{work:>9.3f}{took:>9.3f}{work / took:>7.2f}", flush=True)
            ratios.append((work, took))
    logs = np.log(np.array(ratios).T)
    spread = np.exp(np.sqrt(np.mean((logs[0] - logs[1]) ** 2)))
    print(
        f"{len(ratios)} runs: correlation of the logarithms {np.corrcoef(logs)[0, 1]:.3f}, typical factor {spread:.2f}"
    )


def problem_of(name: str, width: int) -> reluflow.TrainingProblem:
    return reluflow.Experiment("three-points", width=width, scale="1e-3").problem(data_of(name))


def data_of(name: str) -> reluflow.Dataset:
    if name.endswith("moons"):
        X, y = datasets.make_moons(int(name.split()[0]), noise=0.15, random_state=0)
        return as_dataset(np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1.0)
    loaders = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "breast cancer, raw": datasets.load_breast_cancer,
        "diabetes": datasets.load_diabetes,
        "digits 3 and 8": datasets.load_digits,
        "400 digits": datasets.load_digits,
    }
    if name not in loaders:
        return reluflow.load(name)
    X, y = loaders[name](return_X_y=True)
    if name == "digits 3 and 8":
        X, y = X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))]
    if name == "400 digits":
        X, y = X[:400], y[:400]
    if name == "diabetes":
        return as_dataset(StandardScaler().fit_transform(X), (y - y.mean()) / y.std())
    return as_dataset(X if name.endswith("raw") else StandardScaler().fit_transform(X), [f"kind {k}" for k in y])


def timed(problem: reluflow.TrainingProblem, method: str, seconds: float) -> tuple[float, float]:
    """Seconds of work counted, and of one core taken, by the steps of a run."""
    size = problem.dataset.X.size * problem.network.num_neurons
    rtol = next(rtol for most, rtol in ((3e3, None), (3e4, 1e-6), (np.inf, 1e-5)) if size <= most)
    solver = (
        reluflow.GradientDescent(lr=1e-3, iterations=100_000_000)
        if method == DESCENT
        else choose_flow(problem, solver=method, rtol=rtol).solver
    )
    run, took, before = solver.start(problem), 0.0, operations_done()
    while run.outcome is None and took < seconds and (run.steps % 32 or run.gradient().norm > 1e-9):
        began = computing_thread_time()
        advance_counted(run, np.inf, 1000 if method == DESCENT else 1)
        took += computing_thread_time() - began
    return (operations_done() - before) / OPERATIONS_A_SECOND, took


if __name__ == "__main__":
    main()
