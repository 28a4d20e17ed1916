"""What a scan over random data found: `fails` of proven results, each with what was wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.network import initialization_named, neuron_rng
from reluflow.papers.chistikov2023.theorems.bundle import limit_path
from reluflow.papers.chistikov2023.theorems.scene import Scene
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from scanning import judged


def _verdict(key, data, *, width, seed):
    theorem = theorem_named(key)
    problem, setting = example_problem(theorem, data, seed=seed), theorem.setting
    draw = initialization_named(setting.init)
    network = draw(data, width=width, scale=setting.scale, rng=neuron_rng(seed), leak=0.0)
    return check(theorem, replace(problem, network=network), at_own_scale=True)


def test_lemma_28_knows_how_exactly_the_bundle_is_known():
    """Near the teacher a face of S is steep, and V good to 1e-10 left it by 1e-8: `fails` with no allowance."""
    X = [[0.35086594811014055, -1.4801534998289576], [0.4430718333898628, -0.8304539083249073]]
    verdict = _verdict("chistikov2023:lemma28", Dataset(X, [1.5178497999747946, 0.9240933299729667]), width=4, seed=16)
    assert verdict.kind == "holds", verdict.why
    assert not verdict.notes


def test_a_part_of_S_that_lies_between_two_recorded_times_is_not_skipped():
    """A coordinate passed the teacher's and the next one did too before the next recorded time: `fails`."""
    verdict = judged(theorem_named("chistikov2023:lemma28"), "space", 17, max_seconds=60.0)
    assert verdict.kind in ("holds", "inconclusive"), verdict.why
    assert verdict.conclusion("order").holds is not False


def test_lemma_34_knows_that_large_logarithms_have_few_digits():
    """At ln lambda = -4.4e12 a double holds logarithms to 5e-4; 1e-6 was allowed."""
    verdict = judged(theorem_named("chistikov2023:lemma34"), "as_many_as_dimensions", 3, max_seconds=60.0)
    assert verdict.conclusion("ratios").holds is not False, verdict.why


@pytest.mark.parametrize("least", [1e-3, 1e-7])
def test_the_limit_path_of_stiff_data_is_found(least):
    """Theorem 6 stepped explicitly through 1/eta_d of time and never ended, in four gigabytes."""
    X = np.array([[1.0, np.sqrt(least)], [1.0, -np.sqrt(least)], [1.0, 0.3 * np.sqrt(least)]])
    teacher = np.array([np.cos(0.3), np.sin(0.3)])
    here = Scene(X, X @ teacher, teacher, X[:1], np.ones(1), np.ones(1), -10.0)
    path = limit_path(here)
    assert np.all(np.isfinite(path.V))
    np.testing.assert_allclose(path.V[-1], teacher, atol=2e-6)
