"""The softmax loss against finite differences, SciPy, the logistic loss, Numba, JAX and large margins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit
from scipy.special import log_softmax, logsumexp, softmax

from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss, SoftmaxLoss, SquareLoss, in_namespace
from reluflow.losses.compiled import SCALAR_NUMPY

LOSS = SoftmaxLoss()

sizes = st.tuples(st.integers(1, 4), st.integers(2, 6))


@st.composite
def outputs_and_classes(draw, largest=20.0):
    n, num_outputs = draw(sizes)
    h = draw(arrays(float, (n, num_outputs), elements=st.floats(-largest, largest)))
    return h, np.array(draw(st.lists(st.integers(0, num_outputs - 1), min_size=n, max_size=n)), dtype=float)


@given(outputs_and_classes())
def test_values_forces_and_blocks_are_those_of_scipy(given_outputs):
    h, y = given_outputs
    p, rows = softmax(h, axis=1), np.arange(len(h))
    own = np.eye(h.shape[1])[y.astype(int)]
    assert np.allclose(LOSS.value(h, y), -log_softmax(h, axis=1)[rows, y.astype(int)], atol=1e-12)
    assert np.allclose(LOSS.force(h, y), own - p, atol=1e-12)
    blocks = np.eye(h.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :]
    assert np.allclose(LOSS.curvature(h, y), blocks, atol=1e-12)


@given(outputs_and_classes(largest=5.0))
def test_each_formula_is_minus_the_derivative_of_the_one_before(given_outputs):
    h, y = given_outputs
    step = 1e-5
    for c, move in enumerate(step * np.eye(h.shape[1])):
        slopes = (LOSS.value(h - move, y) - LOSS.value(h + move, y)) / (2 * step)
        assert np.allclose(LOSS.force(h, y)[:, c], slopes, atol=1e-8)
        columns = (LOSS.force(h - move, y) - LOSS.force(h + move, y)) / (2 * step)
        assert np.allclose(LOSS.curvature(h, y)[:, :, c], columns, atol=1e-8)


@given(outputs_and_classes(largest=1e6))
def test_logarithms_are_those_of_the_formulas_and_never_undefined(given_outputs):
    h, y = given_outputs
    with np.errstate(all="raise", under="ignore"):
        logs, blocks = LOSS.log_force(h, y), LOSS.log_curvature(h, y)
    assert not np.any(np.isnan(logs))
    assert not np.any(np.isnan(blocks))
    assert np.all(logs <= 0.0)
    assert np.all(np.isfinite(blocks))
    assert np.allclose(np.exp(logs), np.abs(LOSS.force(h, y)), atol=1e-15)
    assert np.allclose(np.exp(blocks), np.abs(LOSS.curvature(h, y)), atol=1e-15)
    signs = LOSS.force_signs(y, h.shape[1])
    assert np.array_equal(signs * np.abs(LOSS.force(h, y)), LOSS.force(h, y))


def test_logarithms_keep_their_digits_at_margins_where_probabilities_are_0():
    h = np.array([[2.0e4, 3.0, 1.0, -5.0e3]])
    y = np.array([0.0])
    assert np.array_equal(LOSS.force(h, y), np.zeros((1, 4)) * [[1.0, -1.0, -1.0, -1.0]])
    wrong = np.array([3.0, 1.0, -5.0e3]) - 2.0e4
    assert np.allclose(LOSS.log_force(h, y)[0, 1:], wrong, rtol=1e-15)
    assert LOSS.log_force(h, y)[0, 0] == pytest.approx(logsumexp(wrong), rel=1e-15)
    blocks = LOSS.log_curvature(h, y)[0]
    assert np.allclose(np.diag(blocks), [logsumexp(wrong), *wrong], rtol=1e-15)
    assert blocks[1, 2] == pytest.approx(wrong[0] + wrong[1], rel=1e-15)
    assert blocks[0, 1] == pytest.approx(wrong[0], rel=1e-15)


def test_the_curvature_of_a_sample_that_is_wrong_by_a_large_margin_keeps_its_logarithm():
    """log(1 - p) of a class with p = 1 to the last bit is minus the margin, not minus infinity."""
    blocks = LOSS.log_curvature([[0.0, 1e4, 0.0]], [0.0])
    assert blocks[0, 1, 1] == pytest.approx(-1e4 + np.log(2.0), rel=1e-15)


@given(arrays(float, (3, 2), elements=st.floats(-1e4, 1e4)), st.lists(st.integers(0, 1), min_size=3, max_size=3))
def test_two_classes_are_the_logistic_loss_of_the_difference(h, classes):
    y = np.array(classes, dtype=float)
    signs, margin = 2.0 * y - 1.0, h[:, 1] - h[:, 0]
    logistic = LogisticLoss()
    assert np.allclose(LOSS.value(h, y), logistic.value(margin, signs), rtol=1e-13)
    assert np.allclose(LOSS.force(h, y)[:, 1], logistic.force(margin, signs), rtol=1e-11, atol=1e-300)
    assert np.allclose(LOSS.log_force(h, y), logistic.log_force(margin, signs)[:, None], rtol=1e-13, atol=1e-12)
    assert np.allclose(LOSS.log_curvature(h, y)[:, 0, 0], logistic.log_curvature(margin, signs), rtol=1e-13)


@given(outputs_and_classes())
def test_forces_sum_to_0_and_classes_may_be_permuted(given_outputs):
    h, y = given_outputs
    assert np.allclose(LOSS.force(h, y).sum(axis=1), 0.0, atol=1e-14)
    order = np.random.default_rng(0).permutation(h.shape[1])
    place = np.argsort(order)
    assert np.allclose(LOSS.force(h[:, order], place[y.astype(int)]), LOSS.force(h, y)[:, order], atol=1e-14)


def test_outputs_at_several_moments_are_those_of_each(rng):
    h, y = rng.normal(size=(5, 4, 3)), np.array([0.0, 2.0, 1.0, 1.0])
    for name in ("value", "force", "curvature", "log_force", "log_curvature"):
        formula = getattr(LOSS, name)
        assert np.array_equal(formula(h, y), [formula(moment, y) for moment in h])


def test_forces_at_zero_reduction_and_scales():
    y = np.array([0.0, 2.0])
    assert np.allclose(LOSS.label_forces(y, 3), (np.eye(3)[[0, 2]] - 1 / 3) / 2)
    assert SoftmaxLoss(reduction="sum", factor=3.0).total(np.zeros((2, 3)), y) == pytest.approx(6.0 * np.log(3.0))
    assert LOSS.stiffness(np.zeros((2, 3)), y) <= 2.0
    assert 0.5 <= LOSS.output_scale(y, 3) <= 1.0


@pytest.mark.parametrize("num_outputs", [2, 3, 5])
def test_the_same_formulas_serve_numba_and_jax(num_outputs, rng):
    jax = pytest.importorskip("jax")
    h, y = rng.normal(scale=3.0, size=(6, num_outputs)), rng.integers(0, num_outputs, 6).astype(float)
    formulas = LOSS.formulas
    shared, value, log_force = (
        njit(in_namespace(formula, SCALAR_NUMPY, njit))
        for formula in (formulas.shared, formulas.value, formulas.log_force)
    )
    samples = list(zip(h, y, strict=True))
    compiled = [value(row, label, shared(row, label)) for row, label in samples]
    assert np.allclose(compiled, LOSS.value(h, y), rtol=1e-14)
    logs = [[log_force(row, label, c, shared(row, label)) for c in range(num_outputs)] for row, label in samples]
    assert np.allclose(logs, LOSS.log_force(h, y), rtol=1e-13)

    of_jax = [in_namespace(formula, jax.numpy) for formula in (formulas.shared, formulas.value)]

    def total(columns):
        return of_jax[1](columns, y, of_jax[0](columns, y)).sum()

    with jax.enable_x64(True):
        assert np.allclose(-jax.jit(jax.grad(total))(h.T).T, LOSS.force(h, y), atol=1e-12)


class TestSquareLossOfSeveralOutputs:
    """|h - y|^2 / 2 with rows of numbers: the sum over the outputs of the loss of one."""

    H, Y = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 3.0]]), np.array([[0.0, 2.0], [1.0, 1.0], [3.0, 0.0]])

    def test_it_is_the_sum_over_the_outputs(self):
        loss = SquareLoss()
        assert np.array_equal(loss.value(self.H, self.Y), [0.5, 2.5, 4.5])
        assert np.array_equal(loss.force(self.H, self.Y), self.Y - self.H)
        assert np.array_equal(loss.curvature(self.H, self.Y), np.tile(np.eye(2), (3, 1, 1)))
        assert np.array_equal(np.exp(loss.log_curvature(self.H, self.Y)), np.tile(np.eye(2), (3, 1, 1)))
        assert loss.total(self.H, self.Y) == 2.5
        assert np.array_equal(loss.forces(self.H, self.Y), (self.Y - self.H) / 3)
        assert loss.stiffness(self.H, self.Y) == 1.0

    def test_one_column_is_the_loss_of_one_output(self):
        loss = SquareLoss()
        assert np.array_equal(loss.forces(self.H[:, :1], self.Y[:, :1])[:, 0], loss.forces(self.H[:, 0], self.Y[:, 0]))
        assert loss.total(self.H[:, :1], self.Y[:, :1]) == loss.total(self.H[:, 0], self.Y[:, 0])


@pytest.mark.parametrize(
    ("loss", "labels", "classes", "words"),
    [
        (SoftmaxLoss(), [1.0, -1.0], None, "with_class_indices"),
        (SoftmaxLoss(), [0.5, 2.0], None, "must hold classes"),
        (SoftmaxLoss(), [[0.0, 1.0]], None, "one class per sample"),
        (SquareLoss(), [0.0, 1.0, 2.0], ("a", "b", "c"), "with_one_hot_targets"),
        (LogisticLoss(), [0.0, 1.0, 2.0], ("a", "b", "c"), "one_against_rest"),
        (LogisticLoss(), [[1.0, -1.0]], None, "several numbers per sample"),
    ],
)
def test_labels_that_a_loss_cannot_take_are_refused(loss, labels, classes, words):
    with pytest.raises(InvalidInputError, match=words):
        loss.check_labels(labels, classes)


def test_outputs_of_another_shape_are_refused():
    with pytest.raises(InvalidInputError, match="at least 2 numbers for each sample"):
        LOSS.value([1.0, 2.0], [0.0, 1.0])
