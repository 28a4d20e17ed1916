"""The global max margin against closed forms, printed values, brute force and symmetries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.network_margin import is_tractable, network_margin, opposite_sign_margin
from reluflow.certificates.one_class import one_class_vectors
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError


def hinted():
    """Lyu et al. (2021), Def. 6.1, with the constants of the digest's anchor."""
    X = np.array([[0.5, 0.3], [0.6, -0.2], [-0.4, 0.1], [-0.5, -0.25]])
    w, p, margin = np.array([4, -1]) / np.sqrt(17), np.array([1, 4]) / np.sqrt(17), 0.41231056256176607
    eps, H, K = 0.3 * 0.5 * margin, 20.641184, 0.4
    return Dataset(np.vstack([H * w, eps * w + K * p, eps * w - K * p, X]), [1, 1, 1, 1, 1, -1, -1])


def counterexample():
    """Lyu et al. (2021), erratum E4: Assumption A.5 holds, Theorem A.7 fails."""
    return Dataset([[1, 1], [-10, 1], [16, 0]], [1, -1, 1])


def check(result, dataset):
    """What the bracket claims, recomputed from its network and its multipliers."""
    network = result.network
    assert network.squared_norm() == pytest.approx(1, abs=1e-12)
    assert np.min(dataset.y * network.outputs(dataset.X)) == pytest.approx(result.margin, rel=1e-9)
    assert np.sum(result.multipliers) == pytest.approx(1)
    assert result.is_exact
    assert result.margin <= result.upper * (1 + 1e-13)
    assert result.gap <= 1e-8
    rng = np.random.default_rng(0)
    u = rng.standard_normal((2000, dataset.d))
    u /= np.linalg.norm(u, axis=1)[:, None]
    z = u @ dataset.X.T
    gain = np.maximum(z, network.leak * z) @ (result.multipliers * dataset.y)
    assert np.max(np.abs(gain)) <= 2 * result.upper * (1 + 1e-9)


@pytest.mark.parametrize("leak", [0.0, 0.1, 0.3, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("d", [2, 3])
def test_symmetric_data(leak, d):
    """Lyu et al. (2021), Thm 4.2: the optimum is (1 + leak) gamma*/4, for ReLU too."""
    rng = np.random.default_rng(10 * d)
    X = rng.standard_normal((4, d))
    X[:, 0] = np.abs(X[:, 0]) + 0.2
    dataset = Dataset(X, np.ones(4)).symmetrized()
    result = network_margin(dataset, leak)
    expected = (1 + leak) / 4 * linear_separator(dataset).margin
    assert result.margin == pytest.approx(expected, rel=1e-8)
    assert result.upper == pytest.approx(expected, rel=1e-8)
    check(result, dataset)


def test_figure_1_left():
    """Lyu et al. (2021), Fig. 1 left and the table of I.1.1: global margin (1 + leak)/4."""
    for leak, cotangent in ((0.0, 1.0), (0.1, 1.17532), (0.5, 2.11537), (0.9, 5.69788)):
        dataset = Dataset([[1, cotangent], [1, 0], [1, -cotangent]], [1, 1, 1]).symmetrized()
        assert network_margin(dataset, leak).margin == pytest.approx((1 + leak) / 4, abs=1e-8)


def test_orthogonally_separable_data():
    """Lyu et al. (2021), Thm H.2 with erratum E12: 1/(2(|w_+| + |w_-|)), here .206315."""
    X = [[1, 0.2, 0.1], [0.7, 0.5, -0.1], [-0.6, -0.5, 0.2], [-0.9, -0.1, -0.3]]
    dataset = Dataset(X, [1, 1, -1, -1])
    result = network_margin(dataset, 0.0)
    vectors = one_class_vectors(dataset)
    assert result.margin == pytest.approx(1 / (2 * (vectors.positive.norm + vectors.negative.norm)), rel=1e-8)
    assert result.margin == pytest.approx(0.206315, abs=5e-7)
    check(result, dataset)


def test_random_orthogonally_separable_data():
    rng = np.random.default_rng(8)
    for d in (2, 3, 4):
        X = np.abs(rng.standard_normal((10, d))) * np.repeat([1, -1], 5)[:, None]
        dataset = Dataset(X, np.repeat([1, -1], 5))
        vectors = one_class_vectors(dataset)
        expected = 1 / (2 * (vectors.positive.norm + vectors.negative.norm))
        assert network_margin(dataset).margin == pytest.approx(expected, rel=1e-8)


def test_printed_values():
    """The digest's anchors for Lyu et al. (2021): hinted instance, errata E4."""
    assert network_margin(hinted(), 0.5).margin == pytest.approx(0.0543784, abs=5e-8)
    assert network_margin(counterexample(), 0.1).margin == pytest.approx(0.66087, abs=5e-6)
    milder = Dataset([[1, 0.3], [-2, 0.2], [4, 0]], [1, -1, 1])
    assert network_margin(milder, 0.5).margin == pytest.approx(0.50662, abs=5e-6)
    for dataset, leak in ((hinted(), 0.5), (counterexample(), 0.1)):
        check(network_margin(dataset, leak), dataset)


def test_hint_threshold():
    """Above K = eps sqrt((3+leak)/(1-leak)) one neuron stops being optimal (digest 2.4)."""
    leak, eps = 0.5, 0.06
    base = np.array([[0.5, 0.1], [0.6, -0.2], [-0.4, 0.1]])
    for factor, ratio in ((0.999, 1.0), (1.5, 1.24)):
        K = factor * eps * np.sqrt((3 + leak) / (1 - leak))
        dataset = Dataset(np.vstack([[[20, 0], [eps, K], [eps, -K]], base]), [1, 1, 1, 1, 1, -1])
        assert network_margin(dataset, leak).margin / (eps / 2) == pytest.approx(ratio, abs=6e-3)


def test_assumption_a5_and_its_repair():
    """Errata E4: V = .0707 and V* = 4.572; the milder instances .814 and .332; alpha eps/2 on the hinted data."""
    result = opposite_sign_margin(counterexample(), 0.1)
    assert result.threshold == pytest.approx(0.5, abs=1e-12)
    assert result.any_multipliers == pytest.approx(0.0707, abs=5e-5)
    assert result.dual_multipliers == pytest.approx(4.572, abs=5e-4)
    np.testing.assert_allclose(result.multipliers, [1 / 11, 10 / 11, 0], atol=1e-12)
    milder = Dataset([[1, 0.3], [-2, 0.2], [4, 0]], [1, -1, 1])
    assert opposite_sign_margin(milder, 0.5).dual_multipliers == pytest.approx(0.814, abs=5e-4)
    sharp = Dataset([[1, 0.1], [-2, 1.8], [4, 0]], [1, -1, 1])
    assert opposite_sign_margin(sharp, 0.5).dual_multipliers == pytest.approx(0.332, abs=5e-4)
    result = opposite_sign_margin(hinted(), 0.5)
    assert result.any_multipliers == pytest.approx(0.0154616, abs=5e-8)
    assert result.dual_multipliers == pytest.approx(0.0154616, abs=5e-8)


def test_repair_with_many_dual_multipliers():
    """Three positive samples on a line at the margin: the dual face is a segment, V* = leak gamma^+/2 by Jensen."""
    dataset = Dataset([[1, 0], [1, 1], [1, -1], [1, 2], [1, -2], [-9, 0.1]], [1, 1, 1, 1, 1, -1])
    result = opposite_sign_margin(dataset, 0.4)
    assert result.dual_multipliers == pytest.approx(0.4 * 1 / 2, abs=1e-8)
    np.testing.assert_allclose(dataset.X.T @ result.multipliers, [1, 0], atol=1e-8)


def test_repair_minimises_over_the_dual_face():
    """Mixed labels at the margin: V* is no larger than at any sampled dual multiplier, and is attained by one."""
    rng = np.random.default_rng(6)
    leak = 0.5
    dataset = Dataset([[1, 1], [1, -1], [1, 0.5], [-2, 1], [-2, -0.4]], [1, 1, 1, -1, -1])
    result = opposite_sign_margin(dataset, leak)
    rows = np.where(dataset.y == 1, 1.0, leak)[:, None] * dataset.y[:, None] * dataset.X
    np.testing.assert_allclose(rows.T @ result.multipliers, [1, 0], atol=1e-8)
    oracle = NeuronOracle(dataset.X, dataset.y, leak, signs=(-1,))
    sampled = []
    for _ in range(2000):
        weights = rng.dirichlet(np.ones(5))
        others = rows[:, 1] @ weights
        balance = weights.copy()
        index = 1 if others > 0 else 0  # rows 0 and 1 have second coordinate 1 and -1
        balance[index] += abs(others)
        balance /= balance.sum()
        sampled.append(oracle.gains(balance * dataset.y).upper / 2)
    assert result.dual_multipliers <= min(sampled) * (1 + 1e-9)
    assert oracle.gains(result.multipliers * dataset.y).upper / 2 == pytest.approx(result.dual_multipliers, rel=1e-9)


def test_best_neuron_against_dense_sampling():
    """The reduced enumeration (patterns of pulling samples only) equals the maximum over the whole circle."""
    rng = np.random.default_rng(3)
    angle = np.linspace(0, 2 * np.pi, 200_001)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    for trial in range(25):
        leak = [0.0, 0.3, 0.8][trial % 3]
        n = int(rng.integers(1, 9))
        X, forces = rng.standard_normal((n, 2)), rng.standard_normal(n)
        if trial % 5 == 0 and n > 2:
            X[1], X[2] = -X[0], 2 * X[0]
        linear = rng.standard_normal(2) if trial % 2 else np.zeros(2)
        # ridges of the gain lie on the boundary rays, which a grid misses
        rays = np.array([[-1.0, 1.0]]) * X[:, ::-1] / np.linalg.norm(X, axis=1)[:, None]
        samples = np.vstack([circle, rays, -rays])
        z = samples @ X.T
        gain = samples @ linear + np.maximum(z, leak * z) @ forces
        for sign in (1, -1):
            found = NeuronOracle(X, np.sign(forces), leak, signs=(sign,)).gains(forces, linear=linear)
            assert found.upper == pytest.approx(max(np.max(sign * gain), 0), abs=1e-7)


def test_a_network_separates_what_no_line_does():
    xor = Dataset([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1])
    assert not linear_separator(xor).separable
    result = network_margin(xor, 0.0)
    assert result.margin == pytest.approx(1 / (4 * np.sqrt(2)), rel=1e-9)
    check(result, xor)


def test_no_network_separates_contradictions_or_odd_labels_with_leak_one():
    same = network_margin(Dataset([[1.0, 0.0], [1.0, 0.0]], [1, -1]), 0.2)
    assert same.margin == 0
    assert same.upper == pytest.approx(0, abs=1e-12)
    xor = Dataset([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1])
    linear = network_margin(xor, 1.0)
    assert linear.margin == 0
    assert linear.upper == pytest.approx(0, abs=1e-12)
    assert linear.network is None


def test_search_gives_a_valid_bracket_and_says_so():
    rng = np.random.default_rng(11)
    X = rng.standard_normal((14, 4))
    dataset = Dataset(X, np.sign(X[:, 0] + 0.4 * np.abs(X[:, 1])))
    exact, searched = network_margin(dataset, 0.1), network_margin(dataset, 0.1, max_patterns=3)
    assert exact.is_exact
    assert not searched.is_exact
    assert searched.margin <= exact.upper * (1 + 1e-12)
    assert searched.upper >= exact.margin
    assert searched.margin >= 0.99 * exact.margin


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.25, 0.9]), st.integers(2, 3))
def test_symmetries(seed, leak, d):
    rng = np.random.default_rng(seed)
    dataset = Dataset(rng.standard_normal((6, d)), rng.choice([-1.0, 1.0], 6))
    base = network_margin(dataset, leak)
    rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
    for other, factor in (
        (dataset.rotated(rotation), 1.0),
        (dataset.permuted(rng.permutation(6)), 1.0),
        (dataset.with_flipped_labels(), 1.0),
        (dataset.scaled(3.5), 3.5),
    ):
        result = network_margin(other, leak)
        assert result.margin == pytest.approx(factor * base.margin, rel=1e-7, abs=1e-11)
        assert result.upper == pytest.approx(factor * base.upper, rel=1e-7, abs=1e-11)


def test_refusals():
    dataset = Dataset([[1.0]], [1])
    with pytest.raises(InvalidInputError, match="`signs` must name"):
        network_margin(dataset, signs=(2,))
    with pytest.raises(InvalidInputError, match="`leak` must lie"):
        network_margin(dataset, -0.1)
    with pytest.raises(InvalidInputError, match="labels -1 and 1"):
        network_margin(Dataset([[1.0]], [0.2]))
    with pytest.raises(InvalidInputError, match="`sign` must be 1 or -1"):
        opposite_sign_margin(dataset, 0.5, sign=0)


@pytest.mark.parametrize("leak", [0.0, 0.1, 0.5, 0.9])
def test_relaxed_upper_bound_is_never_below_the_optimum(leak):
    """End to end: whatever the oracle does without enumeration, the bracket holds the exact optimum."""
    rng = np.random.default_rng(11)
    for _ in range(8):
        X = rng.standard_normal((5, 2))
        dataset = Dataset(X, rng.choice([-1.0, 1.0], 5), task="classification")
        exact = network_margin(dataset, leak)
        relaxed = network_margin(dataset, leak, max_patterns=0)
        assert exact.is_exact
        assert relaxed.upper >= exact.margin * (1 - 1e-9)
        assert relaxed.margin <= exact.upper * (1 + 1e-9)


def test_orthogonally_separable_data_need_no_enumeration(rng):
    """Acute classes: the bound |sum l_i x_i| is attained, so the optimum is certified in any dimension."""
    n, d = 60, 20
    y = np.repeat([1.0, -1.0], n // 2)
    dataset = Dataset(y[:, None] * np.abs(rng.standard_normal((n, d))), y)
    result = network_margin(dataset, 0.0)
    vectors = one_class_vectors(dataset)
    expected = 1.0 / (2.0 * (vectors.positive.norm + vectors.negative.norm))
    assert not result.is_exact
    assert result.margin == pytest.approx(expected, rel=1e-8)
    assert result.upper == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("leak", [0.1, 0.5, 0.9])
def test_relaxed_gain_counts_the_pushing_samples(leak):
    """The relaxation once forgot that with a leak the pushing samples can help a neuron.

    One tiny pulling and one long pushing sample: u = (0, -1) gains leak |x_2|, far above what pulling alone allows.
    """
    X, forces = np.array([[0.01, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    oracle = NeuronOracle(X, forces, leak, signs=(1,), max_patterns=0)
    angles = np.linspace(0.0, 2 * np.pi, 2001)
    products = np.column_stack([np.cos(angles), np.sin(angles)]) @ X.T
    best = np.max(np.maximum(products, leak * products) @ forces)
    assert best >= leak - 1e-9
    assert not oracle.is_exact
    assert oracle.gains(forces).upper >= best


def test_the_best_margin_of_very_many_images_is_not_tried(rng):
    """Images have no negative pixels, so that no patterns need be enumerated; 12,665 of them took 4 GB and minutes."""
    X, y = rng.uniform(size=(60, 20)), np.repeat([1.0, -1.0], 30)
    assert is_tractable(Dataset(X, y), 0.0)
    assert not is_tractable(Dataset(np.tile(X, (110, 30)), np.tile(y, 110)), 0.0)
