"""Benchmarks of the hard margin against scikit-learn's LinearSVC and a direct call of a QP solver."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.bench.benchmark import Benchmark, Timing, best_time
from reluflow.data.dataset import Dataset


def hard_margins() -> list[Timing]:
    """n = 1000, d = 50 and n = 2000, d = 784."""
    from reluflow.certificates.hard_margin import linear_separator

    results = []
    for n, d in ((1000, 50), (2000, 784)):
        data = _separable(n, d)
        ours_s, ours = best_time(partial(linear_separator, data), repeats=3)
        qp_s, qp_margin = best_time(partial(_by_quadratic_program, data), repeats=1, warm_up=False)
        agreement = f"gap {ours.gap:.1e}, margins differ by {abs(qp_margin - ours.margin) / ours.margin:.1e} (relative)"
        results.append(Timing(f"margin/n{n}-d{d}-qp", ours_s, "Clarabel, the primal QP", qp_s, agreement))
        for name, loss, strength in (("svc", "hinge", 1e6), ("svc-default", "squared_hinge", 1.0)):
            peer_s, agreement = _linear_svc(data, ours.margin, loss, strength)
            peer = f"scikit-learn LinearSVC, {loss}, C = {strength:g}"
            results.append(Timing(f"margin/n{n}-d{d}-{name}", ours_s, peer, peer_s, agreement))
    return results


def _separable(n: int, d: int) -> Dataset:
    """Gaussian samples moved off the hyperplane of a linear teacher."""
    rng = np.random.default_rng(n + d)
    X, teacher = rng.standard_normal((n, d)), np.eye(d)[0]
    y = np.where(X @ teacher > 0, 1.0, -1.0)
    return Dataset(X + 0.5 * y[:, None] * teacher, y)


def _by_quadratic_program(data: Dataset) -> float:
    """Margin from min |w|^2/2 subject to y_i <w, x_i> >= 1, given to Clarabel as it stands."""
    import clarabel
    from scipy.sparse import csc_matrix, identity

    signed: FloatArray = data.y[:, None] * data.X
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        csc_matrix(identity(data.d)),
        np.zeros(data.d),
        csc_matrix(-signed),
        -np.ones(data.n),
        [clarabel.NonnegativeConeT(data.n)],
        settings,
    ).solve()
    w = np.asarray(solution.x)
    return float(np.min(signed @ w) / np.linalg.norm(w))


def _linear_svc(data: Dataset, margin: float, loss: str, strength: float) -> tuple[float | None, str]:
    """Its time and how far it stays from the hard margin: close for a large C, a soft margin for the default C = 1."""
    try:
        from sklearn.svm import LinearSVC
    except ImportError:
        return None, "scikit-learn is not installed: pip install 'reluflow[bench]'"
    import warnings

    def fit() -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says when it has not converged; the margin below shows it
            model = LinearSVC(C=strength, loss=loss, fit_intercept=False, max_iter=10_000, random_state=0)
            return np.asarray(model.fit(data.X, data.y).coef_[0])

    seconds, w = best_time(fit, repeats=3)
    value = float(np.min(data.y * (data.X @ w)) / np.linalg.norm(w))
    return seconds, f"its margin is {1 - value / margin:.1e} (relative) short of the optimum"


BENCHMARKS = (Benchmark("margin", "max-margin linear separators", hard_margins),)
