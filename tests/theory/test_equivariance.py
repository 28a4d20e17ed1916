"""Every condition is blind to rotation and order of the samples; flipping labels swaps the two signs of a neuron."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reluflow.data import Dataset
from reluflow.theory.diagnosis import diagnose

AXIS_BOUND = {"three-point-box", "three-point-box-corrected"}  # boxes in fixed coordinates
LABEL_SIGN_BOUND = {  # of positive labels only
    "boursier-a4",
    "boursier-a5",
    "boursier-a6",
    "lee-realizable",
    "lee-unique-minimum",
    "correlated-teacher",
    *AXIS_BOUND,
}
SWAPPED = {"lyu-a3": "lyu-a8", "lyu-a8": "lyu-a3", "lyu-a5-star": "lyu-a9", "lyu-a9": "lyu-a5-star"}
ONE_SIDED = {"lyu-a5", "hinted"}  # speak of positive neurons or positive hints only; no mirrored key


def random_dataset(seed, task):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 7)), int(rng.integers(2, 4))
    X = rng.standard_normal((n, d))
    if task == "acute":
        X, y = np.abs(X) + 0.1, rng.uniform(0.2, 1.5, n)
    elif task == "separable":
        y = rng.choice([-1.0, 1.0], n)
        X = X + 1.5 * y[:, None] * np.eye(d)[0]
    else:
        y = rng.standard_normal(n)
    return Dataset(X, y), rng


def assert_same(one, two, *, context):
    assert one.holds is two.holds, f"{context}: {one} | {two}"
    if one.margin is not None or two.margin is not None:
        assert one.margin == pytest.approx(two.margin, rel=1e-6, abs=1e-8), f"{context}: {one} | {two}"


@pytest.mark.parametrize("task", ["acute", "separable", "regression"])
@settings(max_examples=12)
@given(seed=st.integers(0, 100_000), leak=st.sampled_from([0.0, 0.3]))
def test_rotation_and_permutation(task, seed, leak):
    dataset, rng = random_dataset(seed, task)
    rotation, _ = np.linalg.qr(rng.standard_normal((dataset.d, dataset.d)))
    moved = dataset.rotated(rotation).permuted(rng.permutation(dataset.n))
    before, after = diagnose(dataset, leak=leak), diagnose(moved, leak=leak)
    for condition in before.conditions:
        if condition.key not in AXIS_BOUND:
            assert_same(condition, after[condition.key], context=f"seed {seed}")


@settings(max_examples=20)
@given(seed=st.integers(0, 100_000), leak=st.sampled_from([0.0, 0.3]))
def test_label_flip(seed, leak):
    dataset, _ = random_dataset(seed, "separable")
    before, after = diagnose(dataset, leak=leak), diagnose(dataset.with_flipped_labels(), leak=leak)
    for condition in before.conditions:
        if condition.key not in LABEL_SIGN_BOUND | ONE_SIDED:
            assert_same(condition, after[SWAPPED.get(condition.key, condition.key)], context=f"seed {seed}")


@settings(max_examples=10)
@given(seed=st.integers(0, 100_000), factor=st.floats(0.1, 10.0))
def test_separability_margins_scale_with_the_samples(seed, factor):
    dataset, _ = random_dataset(seed, "separable")
    before, after = diagnose(dataset), diagnose(dataset.scaled(factor))
    assert after["linearly-separable"].margin == pytest.approx(
        factor * before["linearly-separable"].margin, rel=1e-9, abs=1e-12
    )
    assert after["orthogonally-separable-strict"].margin == pytest.approx(
        before["orthogonally-separable-strict"].margin, rel=1e-9
    )
