"""Initialisations: the law each paper states, checked by its moments and its exact constraints."""

import numpy as np
import pytest

from reluflow.data import Dataset
from reluflow.errors import InvalidInputError
from reluflow.found_papers import found_papers
from reluflow.network import (
    INITIALIZATIONS,
    circle_quadrature,
    found_initializations,
    initialization_named,
    log_of_scale,
)
from reluflow.network.initialization import with_output_ratio

WIDTH, D = 40_000, 3
DATASET = Dataset(np.eye(D), [1.0, -1.0, 1.0])


def draw(name, *, width=WIDTH, scale=0.01, seed=5):
    return initialization_named(name)(DATASET, width=width, scale=scale, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("name", INITIALIZATIONS)
def test_one_seed_gives_one_shape_at_every_scale(name):
    large, small = draw(name, width=50, scale=1.0), draw(name, width=50, scale="1e-400")
    assert np.array_equal(large.w, small.w)
    assert np.array_equal(large.a, small.a)
    assert small.log_scale - large.log_scale == pytest.approx(-400 * np.log(10), rel=1e-14)


@pytest.mark.parametrize("name", ["balanced", "sphere", "lyu-balanced", "min-balanced", "lee"])
def test_balanced_schemes_are_balanced(name):
    network = draw(name)
    assert np.allclose(np.abs(network.a), np.linalg.norm(network.w, axis=1), rtol=1e-13)


@pytest.mark.parametrize("name", ["dominated", "dominated-cube"])
def test_dominated_schemes_are_dominated(name):
    network = draw(name)
    assert np.all(np.abs(network.a) >= np.linalg.norm(network.w, axis=1))


@pytest.mark.parametrize(
    ("name", "mean_square_w", "mean_square_a"),
    [
        ("balanced", D * 1e-4 / WIDTH, D * 1e-4 / WIDTH),
        ("dominated", 1e-4 / WIDTH * D / (D + 2), 1e-4 / WIDTH),
        ("dominated-cube", 1e-4 / WIDTH * D / 3, 1e-4 / WIDTH * D),
        ("unbalanced", D * 1e-4 / WIDTH, 1e-4 / WIDTH),
        ("sphere", 1e-4, 1e-4),
        ("lyu-gaussian", D * 1e-4, 1e-4),
        ("lyu-balanced", D * 1e-4, D * 1e-4),
        ("he", 2e-4, 2e-4 / WIDTH),
        ("min-gaussian", D * 1e-4, 1e-4),
        ("min-balanced", 1e-4, 1e-4),
        ("uniform-fan-in", 1e-4 / 3, 1e-4 / 3 / WIDTH),
        ("lee", D * 1e-4, D * 1e-4),
    ],
)
def test_second_moments_are_the_paper_s(name, mean_square_w, mean_square_a):
    network = draw(name).materialized()
    # 40,000 draws of a chi-square-like variable: relative standard error below 1 %
    assert np.mean(np.sum(network.w**2, axis=1)) == pytest.approx(mean_square_w, rel=0.03)
    assert np.mean(network.a**2) == pytest.approx(mean_square_a, rel=0.03)
    signs = np.mean(network.a > 0)
    assert signs == (1.0 if name == "lee" else pytest.approx(0.5, abs=0.01))


def test_every_scheme_names_its_paper():
    for scheme in found_initializations().values():
        assert scheme.paper in found_papers()
        assert scheme.locator


def test_output_ratio_is_lyu_s_constant():
    network = draw("lyu-gaussian", width=10)
    assert np.array_equal(with_output_ratio(network, 2.0).a, 2 * network.a)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", np.log(1e-3)),
        (" 2.5E-4000 ", np.log(2.5) - 4000 * np.log(10)),
        ("7", np.log(7)),
        (0.125, np.log(0.125)),
    ],
)
def test_scale_of_any_exponent(text, value):
    assert log_of_scale(text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("bad", ["0", "-1", "nan", "inf", "small", "", "1e", 0.0, -2.0, float("nan")])
def test_scale_refuses_what_is_not_positive(bad):
    with pytest.raises(InvalidInputError, match="`scale` must be a positive decimal"):
        log_of_scale(bad)


def test_width_and_name_are_checked():
    with pytest.raises(InvalidInputError, match="`width` must be at least 1, got 0"):
        draw("balanced", width=0)
    with pytest.raises(InvalidInputError, match="`init` must be one of balanced, dominated"):
        initialization_named("xavier")


class TestCircleQuadrature:
    data = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8])

    def test_initial_outputs_vanish_and_halves_agree_with_quadrature(self):
        from scipy.integrate import quad

        network = circle_quadrature(self.data, num_nodes=60, scale=1.0)
        assert np.allclose(network(self.data.X), 0.0, atol=1e-14)  # both signs of a cancel
        half = network.a > 0
        positive = network.replace(w=network.w[half], a=network.a[half], weight=network.weight[half])
        for x, h in zip(self.data.X, positive(self.data.X), strict=True):
            # E[a s(<w, x>)] over a > 0 with |g|^2 averaging 2: (1/2) 2 (1/2 pi) int |x| cos^+ = |x| / pi
            exact = quad(
                lambda t, x=x: max(np.cos(t) * x[0] + np.sin(t) * x[1], 0.0) / (2 * np.pi), 0, 2 * np.pi, limit=200
            )[0]
            assert exact == pytest.approx(np.linalg.norm(x) / np.pi, rel=1e-6)
            assert h == pytest.approx(np.linalg.norm(x) / np.pi, rel=1e-12)

    def test_weights_are_the_mean_squared_norm(self):
        network = circle_quadrature(self.data, num_nodes=100, scale=1e-3)
        assert network.weight.sum() == pytest.approx(2.0, rel=1e-13)
        assert np.allclose(network.a**2, np.sum(network.w**2, axis=1))

    def test_agrees_with_a_wide_draw_at_the_monte_carlo_rate(self):
        width = 200_000
        drawn = initialization_named("balanced")(self.data, width=width, scale=1.0, rng=np.random.default_rng(1))
        z = np.hstack([drawn.w, drawn.a[:, None]]) / np.sqrt(width)
        exact = circle_quadrature(self.data, num_nodes=100, scale=1.0)
        y = np.hstack([exact.w, exact.a[:, None]])
        assert np.allclose(z.T @ z, (y * exact.weight[:, None]).T @ y, atol=12 / np.sqrt(width))

    def test_only_in_the_plane(self):
        with pytest.raises(InvalidInputError, match="dimension 2 only, got d = 3"):
            circle_quadrature(DATASET, num_nodes=10, scale=1.0)
