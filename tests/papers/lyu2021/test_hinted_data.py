"""Hinted datasets of Lyu et al. (2021): golden numbers of one instance, and the claims behind the bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reluflow.data import Dataset
from reluflow.errors import InvalidInputError
from reluflow.papers.lyu2021.hinted_data import figure1_right, hinted, max_margin_separator

BASE = Dataset([[0.5, 0.3], [0.6, -0.2], [-0.4, 0.1], [-0.5, -0.25]], [1.0, 1.0, -1.0, -1.0])


def pulls(dataset: Dataset, leak: float) -> tuple[float, float]:
    """Norms of mu^+ and mu^-."""
    signed = dataset.y[:, None] * dataset.X
    up, down = np.where(dataset.y > 0, 1.0, leak), np.where(dataset.y > 0, leak, 1.0)
    return float(np.linalg.norm(up @ signed) / dataset.n), float(np.linalg.norm(down @ signed) / dataset.n)


def test_golden_numbers() -> None:
    instance = figure1_right()
    conditions = instance.conditions
    np.testing.assert_allclose(conditions.separator, [0.970143, -0.242536], atol=5e-7)
    expected = {
        "linear_margin": 0.412311,
        "eps": 0.0618466,
        "K": 0.4,
        "tau": 0.5,
        "K_min": 0.182093,
        "H_0": 19.658271,
        "H_3": 6.395147,
        "H": 20.641184,
    }
    for name, value in expected.items():
        assert getattr(conditions, name) == pytest.approx(value, abs=6e-7), name
    assert conditions.is_admissible
    assert conditions.is_suboptimal
    plus, minus = pulls(instance.dataset, 0.5)
    assert plus == pytest.approx(3.176122, abs=5e-7)
    assert minus == pytest.approx(1.679045, abs=5e-7)
    assert 1 - minus / plus == pytest.approx(0.471354, abs=5e-7)
    np.testing.assert_array_equal(instance.dataset.X[3:], BASE.X)


def test_separator_against_a_scan_of_the_circle() -> None:
    angles = np.linspace(0, 2 * np.pi, 200_001)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    margins = (directions @ (BASE.y[:, None] * BASE.X).T).min(axis=1)
    separator, margin = max_margin_separator(BASE)
    assert margin == pytest.approx(margins.max(), abs=1e-5)
    assert margin >= margins.max() - 1e-15
    np.testing.assert_allclose(separator, directions[margins.argmax()], atol=1e-4)


def random_base(seed: int) -> tuple[Dataset, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 9), rng.integers(2, 5)
    normal = rng.standard_normal(d)
    normal /= np.linalg.norm(normal)
    samples = rng.standard_normal((n, d))
    labels = np.where(samples @ normal > 0, 1.0, -1.0)
    return Dataset(samples + 0.3 * labels[:, None] * normal, labels), rng


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), leak=st.floats(0.05, 0.95))
def test_bounds_do_what_they_are_for(seed: int, leak: float) -> None:
    """Admissible hints give w^+ = w*, gamma^+ = eps, |mu^+| > |mu^-|; above K_min two tilted neurons beat eps/2."""
    base, rng = random_base(seed)
    separator, margin = max_margin_separator(base)
    eps = rng.uniform(0.05, 0.95) * leak * margin
    probe = hinted(base, H=1.0, K=1.0, eps=eps, leak=leak).conditions
    assert not probe.is_admissible or max(probe.H_0, probe.H_3, eps) < 1.0
    reach = 1.01 * probe.K_min
    bounds = hinted(base, H=1.0, K=reach, eps=eps, leak=leak).conditions
    instance = hinted(base, H=1.01 * max(bounds.H_0, bounds.H_3, eps), K=reach, eps=eps, leak=leak)
    assert instance.conditions.is_suboptimal
    dataset = instance.dataset
    plus, minus = pulls(dataset, leak)
    assert plus > minus
    shrunk = dataset.replace(X=np.where(dataset.y > 0, 1.0, leak)[:, None] * dataset.X)
    upper, gain = max_margin_separator(shrunk)
    np.testing.assert_allclose(upper, separator, atol=1e-6)
    assert gain == pytest.approx(eps, rel=1e-8)
    sideways = dataset.X[1] - eps * separator
    sideways /= np.linalg.norm(sideways)
    tau = instance.conditions.tau
    outputs = np.zeros(dataset.n)
    for sign in (-1, 1):
        before = dataset.X @ (separator + sign * tau * sideways) / np.sqrt(1 + tau**2)
        outputs += np.maximum(before, leak * before) / 4
    assert np.min(dataset.y * outputs) > eps / 2


def test_inadmissible_values_are_reported() -> None:
    limit = 0.5 * max_margin_separator(BASE)[1]
    wide = hinted(BASE, H=1000.0, K=1.0, eps=1.5 * limit, leak=0.5).conditions
    assert not wide.is_admissible
    assert not wide.is_suboptimal
    assert wide.eps > wide.eps_limit
    assert np.isinf(wide.K_min)
    small = hinted(BASE, H=1.0, K=0.4, eps=0.06, leak=0.5).conditions
    assert small.H < small.H_0
    assert not small.is_admissible
    narrow = hinted(BASE, H=1000.0, K=1e-3, eps=0.06, leak=0.5).conditions
    assert narrow.is_admissible
    assert not narrow.is_suboptimal
    assert narrow.K < narrow.K_exact == pytest.approx(0.06 * np.sqrt(7))


def test_given_direction_is_orthogonalised() -> None:
    base, _ = random_base(3)
    direction = np.arange(1.0, base.d + 1)
    instance = hinted(base, H=5.0, K=2.0, eps=0.01, leak=0.5, w_perp=direction)
    separator = instance.conditions.separator
    sideways = (instance.dataset.X[1] - instance.dataset.X[2]) / 4
    assert np.linalg.norm(sideways) == pytest.approx(1.0)
    assert sideways @ separator == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(np.linalg.matrix_rank(np.vstack([sideways, separator, direction]), tol=1e-9), 2)


def test_refusals() -> None:
    sizes = {"H": 1.0, "K": 1.0, "eps": 0.1, "leak": 0.5}
    with pytest.raises(InvalidInputError, match="linearly separable"):
        hinted(Dataset([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0]), **sizes)
    with pytest.raises(InvalidInputError, match="linearly separable"):
        hinted(Dataset([[0.0, 0.0]], [1.0]), **sizes)
    with pytest.raises(InvalidInputError, match="dimension at least 2, got 1"):
        hinted(Dataset([[1.0]], [1.0]), **sizes)
    with pytest.raises(InvalidInputError, match="only the labels -1 and 1"):
        hinted(Dataset([[1.0, 0.0]], [0.5]), **sizes)
    for name in ("H", "K", "eps"):
        with pytest.raises(InvalidInputError, match=f"`{name}` must be positive and finite"):
            hinted(BASE, **{**sizes, name: 0.0})
    for leak in (0.0, 1.0):
        with pytest.raises(InvalidInputError, match="`leak` must be in"):
            hinted(BASE, **{**sizes, "leak": leak})
        with pytest.raises(InvalidInputError, match="`leak` must be in"):
            figure1_right(leak=leak)
    with pytest.raises(InvalidInputError, match="must not be parallel"):
        hinted(BASE, **sizes, w_perp=max_margin_separator(BASE)[0])
    with pytest.raises(InvalidInputError, match=r"shape \(2,\), got shape \(3,\)"):
        hinted(BASE, **sizes, w_perp=[1.0, 0.0, 0.0])
