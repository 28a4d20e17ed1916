"""The point sets of Lyu et al. (2021): closed forms, and the KKT point they were made for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reluflow.data import Dataset
from reluflow.errors import InvalidInputError
from reluflow.papers.lyu2021 import data as published
from reluflow.papers.lyu2021.hinted_data import max_margin_separator


def mean_pulls(dataset: Dataset, leak: float) -> tuple[np.ndarray, np.ndarray]:
    """mu^+ and mu^- of the paper."""
    signed = dataset.y[:, None] * dataset.X
    up, down = np.where(dataset.y > 0, 1.0, leak), np.where(dataset.y > 0, leak, 1.0)
    return (up @ signed) / dataset.n, (down @ signed) / dataset.n


def leaky(dataset: Dataset, leak: float) -> Dataset:
    """The samples x^+, whose separator is w^+: those with label -1 shrink by the leak."""
    return dataset.replace(X=np.where(dataset.y > 0, 1.0, leak)[:, None] * dataset.X)


def a2_slack(dataset: Dataset, leak: float) -> float:
    signed = dataset.y[:, None] * dataset.X
    gram = signed @ signed.T
    bound = (1 - leak) / (dataset.n * leak) * np.maximum(-gram, 0).sum(axis=1)
    return float((gram.mean(axis=1) - bound).min())


@pytest.mark.parametrize(
    ("leak", "degrees", "cotangent"),
    [
        (0.0, 45.0, 1.0),
        (0.1, 40.3923, 1.17532),
        (0.25, 34.2888, 1.46656),
        (0.5, 25.3015, 2.11537),
        (0.75, 16.4512, 3.38654),
        (0.9, 9.9542, 5.69788),
    ],
)
def test_angle_table(leak: float, degrees: float, cotangent: float) -> None:
    cosine, found = published.symmetric_angle(leak)
    assert np.rad2deg(np.arccos(cosine)) == pytest.approx(degrees, abs=6e-5)
    assert found == pytest.approx(cotangent, abs=6e-6)


@settings(deadline=None, max_examples=60)
@given(leak=st.one_of(st.floats(0, 0.999), st.floats(1e-15, 1e-3).map(lambda gap: 1 - gap)))
def test_angle_solves_the_papers_equation(leak: float) -> None:
    cosine, cotangent = published.symmetric_angle(leak)
    sine_squared = 1 / (1 + cotangent**2)
    # (2 sin^2 b + cos b) alpha - cos 2b without the spurious factor; near leak 1 all terms are about 1, their
    # difference about 1 - leak, and rounding leaves a few units in the last place.
    assert abs(leak * (2 * sine_squared + cosine) - (1 - 2 * sine_squared)) < 4e-15
    assert cosine**2 + sine_squared == pytest.approx(1.0, abs=4e-15)


@pytest.mark.parametrize("gap", [2.0**-20, 2.0**-35, 2.0**-50])
def test_angle_keeps_its_digits_as_the_leak_nears_one(gap: float) -> None:
    """sin^2 b = 2 (1 - leak)/7 + O((1 - leak)^2); the printed formula alone gives 0/0 there."""
    _, cotangent = published.symmetric_angle(1 - gap)
    assert 1 / (1 + cotangent**2) / gap == pytest.approx(2 / 7, rel=4 * gap + 1e-15)


@pytest.mark.parametrize("leak", [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99])
def test_left_set_has_the_nonlinear_kkt_point(leak: float) -> None:
    dataset = published.figure1_left(leak)
    cosine, cotangent = published.symmetric_angle(leak)
    sine = np.sqrt(1 - cosine**2)
    a = np.array([(2 * (1 + leak) * cosine) ** -0.5] * 2 + [-((1 + leak) ** -0.5)])
    w = a[:, None] * np.array([[cosine, sine], [cosine, -sine], [1.0, 0.0]])
    before = dataset.X @ w.T
    before[np.abs(before) < 1e-12] = 0.0
    outputs = np.maximum(before, leak * before) @ a
    np.testing.assert_allclose(dataset.y * outputs, 1.0, atol=1e-12)
    first = sine**2 / ((1 - leak) * cosine)
    multipliers = np.array([first, 0, first, 0, 1 - 2 * leak * first, 0])
    slopes = np.where(before > 0, 1.0, leak)
    gradient = a[:, None] * np.einsum("i,ik,ij->kj", multipliers * dataset.y, slopes, dataset.X)
    np.testing.assert_allclose(gradient, w, atol=1e-12)
    np.testing.assert_allclose((multipliers * dataset.y) @ np.maximum(before, leak * before), a, atol=1e-12)
    margin = 1 / (np.sum(w**2) + np.sum(a**2))
    assert margin == pytest.approx((1 + leak) * cosine / (2 * (1 + cosine)), rel=1e-12)
    separator, linear = max_margin_separator(dataset)
    np.testing.assert_allclose(separator, [1.0, 0.0], atol=1e-12)
    assert linear == pytest.approx(1.0, rel=1e-12)
    assert margin < (1 + leak) / 4
    assert cotangent == dataset.X[0, 1]


def test_middle_instances() -> None:
    dataset = published.figure1_middle()
    assert (dataset.n, dataset.d) == (14, 3)
    np.testing.assert_allclose(np.unique(dataset.X[dataset.y > 0, 0]), np.linspace(0.2, 4, 6), rtol=1e-15)
    assert a2_slack(dataset, 0.5) == pytest.approx(0.1586, abs=5e-5)
    plus, minus = mean_pulls(dataset, 0.5)
    assert np.linalg.norm(plus) - np.linalg.norm(minus) == pytest.approx(0.812, abs=5e-4)
    for instance, eps, offset, half in (
        (dataset, 0.2, 0.1, 0.11180),
        (published.figure1_middle_sharp(), 0.1, 0.05, 0.05590),
    ):
        separator, margin = max_margin_separator(leaky(instance, 0.5))
        np.testing.assert_allclose(separator, np.array([eps, 0, offset]) / np.hypot(eps, offset), atol=1e-12)
        assert margin / 2 == pytest.approx(half, abs=5e-6)
    assert published.figure1_middle_sharp().n == 22


def test_middle_condition_is_exact() -> None:
    """Just inside, w^+ is supported on the positive pair; just outside, the set is refused and w^+ has moved."""
    eps, offset, leak = 0.2, 0.1, 0.5
    limit = (eps**2 + (1 + leak) * offset**2) / (leak * eps)
    published.figure1_middle(negative=(limit * (1 + 1e-9), 1.5), leak=leak)
    with pytest.raises(InvalidInputError, match=r"leak\*eps\*eps' >= eps\^2"):
        published.figure1_middle(negative=(limit * (1 - 1e-9), 1.5), leak=leak)
    predicted = np.array([eps, 0, offset]) / np.hypot(eps, offset)
    for factor, agrees in ((1.01, True), (0.99, False)):
        inside = published.figure1_middle(negative=(1.0,), leak=leak)
        moved = inside.X.copy()
        moved[-1, 0] = -factor * limit
        separator, _ = max_margin_separator(leaky(inside.replace(X=moved), leak))
        assert np.allclose(separator, predicted, atol=1e-9) is agrees


def test_counterexamples() -> None:
    dataset = published.counterexample()
    plus, minus = mean_pulls(dataset, 0.1)
    assert np.linalg.norm(plus) == pytest.approx(6.007, abs=5e-4)
    assert np.linalg.norm(minus) == pytest.approx(3.912, abs=5e-4)
    separator, margin = max_margin_separator(leaky(dataset, 0.1))
    np.testing.assert_allclose(separator, [1.0, 0.0], atol=1e-12)
    assert margin == pytest.approx(1.0, rel=1e-12)
    signed = dataset.y[:, None] * dataset.X
    assert np.all(signed @ signed.T > 0)
    for instance in (published.counterexample_mild(), published.counterexample_sharp()):
        separator, margin = max_margin_separator(leaky(instance, 0.5))
        np.testing.assert_allclose(separator, [1.0, 0.0], atol=1e-12)
        assert margin == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "leak", "value"),
    [
        (published.counterexample, 0.1, 4.572),
        (published.counterexample_mild, 0.5, 0.814),
        (published.counterexample_sharp, 0.5, 0.332),
    ],
)
def test_counterexample_growth_of_negative_neurons(make: object, leak: float, value: float) -> None:
    """V* = (1/2) max_u -sum lambda*_i y_i phi(<u, x_i>), lambda* the dual of w^+ on its two support samples."""
    dataset = make()  # type: ignore[operator]
    shrunk = leaky(dataset, leak)
    support = (dataset.y[:, None] * shrunk.X)[:2]
    weight = support[1, 1] / (support[1, 1] - support[0, 1])  # makes the second coordinate of the mixture vanish
    dual = np.array([weight, 1 - weight])
    angles = np.linspace(0, 2 * np.pi, 200_001)
    before = np.column_stack([np.cos(angles), np.sin(angles)]) @ dataset.X[:2].T
    growth = -np.maximum(before, leak * before) @ (dual * dataset.y[:2])
    assert growth.max() / 2 == pytest.approx(value, abs=6e-4)


def test_orthogonal_and_ridge() -> None:
    dataset = published.orthogonal()
    norms = [1 / max_margin_separator(dataset.subset(dataset.y == label))[1] for label in (-1.0, 1.0)]
    assert 1 / (2 * sum(norms)) == pytest.approx(0.206315, abs=5e-7)
    gram = dataset.X @ dataset.X.T * np.outer(dataset.y, dataset.y)
    assert np.all(gram >= 0)
    ridge = published.ridge()
    towards = (ridge.X @ ridge.X[0]) / 4  # forces 1/2 each, mean over two samples
    assert towards.sum() == pytest.approx(0.075)
    assert 0.5 * towards[0] + towards[1] == pytest.approx(-0.05)
    separator, _ = max_margin_separator(ridge)
    np.testing.assert_allclose(separator, [0.38075, 0.92468], atol=5e-5)  # the digits given end there


def test_table1_geometry_and_split() -> None:
    split = published.table1_split(np.random.default_rng(5), n=30, num_test=200)
    assert split.train == published.table1(np.random.default_rng(5), n=30)
    assert np.linalg.norm(split.normal) == pytest.approx(1.0)
    for part in (split.train, split.test):
        assert part.d == 51
        np.testing.assert_array_equal(part.X[:, -1], 0.1)
        assert np.all(part.y * (part.X[:, :-1] @ split.normal) > 0.45)


def test_table1_svm_error_is_that_of_the_paper() -> None:
    """The SVM curve to which the shift was fitted has 8.8 % at n = 50; a mean of ten draws scatters by 0.7 points."""
    errors = []
    for seed in range(10):
        split = published.table1_split(np.random.default_rng(seed), n=50)
        separator, _ = max_margin_separator(split.train)
        errors.append(np.mean(split.test.y * (split.test.X @ separator) <= 0))
    assert 100 * np.mean(errors) == pytest.approx(8.8, abs=2.0)


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    for leak in (-0.1, 1.0, np.nan):
        with pytest.raises(InvalidInputError, match=r"`leak` must be in \[0, 1\)"):
            published.figure1_left(leak)
    with pytest.raises(InvalidInputError, match=r"`leak` must be in \(0, 1\)"):
        published.figure1_middle(leak=0.0)
    with pytest.raises(InvalidInputError, match="all of them positive"):
        published.figure1_middle(positive=())
    with pytest.raises(InvalidInputError, match="`n` and `d` must be at least 1"):
        published.table1(rng, n=0)
    with pytest.raises(InvalidInputError, match="`shift` must be finite"):
        published.table1(rng, n=3, shift=-1.0)
