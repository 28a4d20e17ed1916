"""Benchmarks of the geometry: cones, extremal vectors, alignment."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.bench.benchmark import Benchmark, Timing, best_time
from reluflow.bench.linear_programs import cells_by_linear_programs


def cones() -> list[Timing]:
    """Activation cones: n = 12, d = 3 and n = 20, d = 4 against one linear program per cell; larger sizes alone."""
    from reluflow.geometry.cones import activation_cones, num_open_cones

    results = []
    for n, d, with_peer in ((12, 3, True), (20, 4, True), (1000, 2, False), (30, 5, False)):
        X = np.random.default_rng(n).standard_normal((n, d))
        ours_s, found = best_time(partial(activation_cones, X, open_only=True), repeats=1 if n == 30 else 3)
        expected = num_open_cones(n, d)
        agreement = f"{len(found)} open cones, {expected} by the formula"
        peer_s = None
        if with_peer:
            peer_s, theirs = best_time(partial(cells_by_linear_programs, X), repeats=1, warm_up=False)
            same = {tuple(row) for row in found.patterns.tolist()} == {tuple(row) for row in theirs.tolist()}
            agreement += "; the same patterns" if same else "; DIFFERENT patterns"
        results.append(
            Timing(f"geometry/open-cones-n{n}-d{d}", ours_s, "one linear program per cell (HiGHS)", peer_s, agreement)
        )
    return results


def extremal() -> list[Timing]:
    """All extremal vectors against a loop over all sign patterns."""
    from itertools import product

    from reluflow.geometry.extremal import extremal_vectors_of
    from reluflow.geometry.subgradient import minimum_norm_subgradient

    rng = np.random.default_rng(8)
    X, forces = rng.standard_normal((8, 3)), rng.standard_normal(8) / 8

    def loop() -> set[tuple[int, ...]]:
        found = set()
        for pattern in product((-1, 0, 1), repeat=8):
            if pattern.count(0) < 3:
                vector, _ = minimum_norm_subgradient(X, forces, np.array(pattern, dtype=np.int8), 0.0)
                size = np.linalg.norm(vector)
                if size > 1e-10:
                    values = X @ vector
                    signs = np.where(np.abs(values) <= 1e-10 * size * np.linalg.norm(X, axis=1), 0, np.sign(values))
                    if tuple(signs) in (pattern, tuple(-u for u in pattern)):
                        found.add(pattern)
        return found

    ours_s, ours = best_time(lambda: extremal_vectors_of(X, forces, 0.0))
    peer_s, theirs = best_time(loop, repeats=1, warm_up=False)
    same = {tuple(row) for row in ours.patterns.tolist()} == theirs
    agreement = f"{len(ours)} vectors, {'the same' if same else 'DIFFERENT'}"
    return [Timing("geometry/extremal-n8-d3", ours_s, "a loop over all 3^n patterns", peer_s, agreement)]


def alignment() -> list[Timing]:
    """A million neurons to their end, against a tight generic integration of one hundred, scaled up."""
    from scipy.integrate import solve_ivp

    from reluflow.geometry.alignment import align

    X = np.array([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]])
    forces = np.array([1.1, 0.1, 0.8]) / 3
    rng = np.random.default_rng(0)
    w = rng.standard_normal((1_000_000, 2))
    a = rng.choice([-1.0, 1.0], len(w)) * np.linalg.norm(w, axis=1)
    ours_s, ours = best_time(lambda: align(X, forces, w, a), repeats=2)
    few = np.flatnonzero(ours.indices >= 0)[:100]

    def integrate() -> float:
        worst = 0.0
        for j in few:
            horizon = float(ours.times[j]) + 20.0

            def velocity(t: float, z: np.ndarray) -> np.ndarray:
                D = (forces * (X @ z[:2] > 0)) @ X
                return np.append(z[2] * D, z[:2] @ D)

            start = np.append(w[j], a[j])
            end = solve_ivp(velocity, (0.0, horizon), start, method="DOP853", rtol=1e-10, atol=1e-14).y[:2, -1]
            worst = max(worst, float(np.abs(end / np.linalg.norm(end) - ours.directions[j]).max()))
        return worst

    peer_s, worst = best_time(integrate, repeats=1, warm_up=False)
    scaled = peer_s * len(w) / len(few)
    return [
        Timing(
            "geometry/alignment-1e6-neurons",
            ours_s,
            "SciPy DOP853 at rtol 1e-10 (100 neurons, scaled to 1e6)",
            scaled,
            f"largest difference of end directions {worst:.1e} at a finite horizon",
        )
    ]


BENCHMARKS = (
    Benchmark("geometry/cones", "enumerate activation cones", cones),
    Benchmark("geometry/extremal", "enumerate extremal vectors", extremal),
    Benchmark("geometry/alignment", "align a million neurons", alignment),
)
