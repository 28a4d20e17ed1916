"""Losses against finite differences, closed forms and extended precision, up to |h| = 1e6."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reluflow.errors import InvalidInputError
from reluflow.experiment.experiment import settings
from reluflow.losses import LOSSES, AbstractLoss, ExponentialLoss, LogisticLoss, SquareLoss, loss_named

moderate = st.floats(-20.0, 20.0)
huge = st.floats(-1e6, 1e6)
OF_ONE_OUTPUT = [name for name in LOSSES if not loss_named(name).is_coupled]
signs = st.sampled_from([-1.0, 1.0])


@pytest.mark.parametrize(("below", "slope"), [("value", "force"), ("force", "curvature")])
@pytest.mark.parametrize("name", OF_ONE_OUTPUT)
@given(h=moderate, y=signs)
def test_each_formula_is_minus_the_derivative_of_the_one_before(name, below, slope, h, y):
    loss, step = loss_named(name), 1e-5
    formula = getattr(loss, below)
    difference = (formula(h - step, y) - formula(h + step, y)) / (2 * step)
    assert float(getattr(loss, slope)(h, y)) == pytest.approx(float(difference), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", OF_ONE_OUTPUT)
@given(h=huge, y=signs)
def test_no_loss_is_undefined_up_to_a_million(name, h, y):
    loss = loss_named(name)
    with np.errstate(all="raise", under="ignore", over="ignore" if name == "exponential" else "raise"):
        value, force, log_force = loss.value(h, y), loss.force(h, y), loss.log_force(h, y)
    assert not np.isnan(value)
    assert not np.isnan(force)
    assert not np.isnan(log_force)
    assert value >= 0
    if name != "square":
        assert np.sign(force) in (0.0, y)


@given(margin=st.floats(-1e6, 1e6))
def test_logistic_against_two_asymptotic_forms(margin):
    loss = LogisticLoss()
    value, force = float(loss.value(margin, 1.0)), float(loss.force(margin, 1.0))
    if margin > 40:
        assert value == pytest.approx(math.exp(-margin), rel=1e-14)
        assert force == pytest.approx(math.exp(-margin), rel=1e-14)
    elif margin < -40:
        assert value == pytest.approx(-margin, rel=1e-15)
        assert force == pytest.approx(1.0, rel=1e-15)
    else:
        assert value == pytest.approx(math.log1p(math.exp(-margin)), rel=1e-12)
        assert force == pytest.approx(1 / (1 + math.exp(margin)), rel=1e-12)
    assert float(loss.log_force(margin, 1.0)) <= 0.0


def test_log_force_survives_where_the_force_underflows():
    assert float(LogisticLoss().force(1e4, 1.0)) == 0.0
    assert float(LogisticLoss().log_force(1e4, 1.0)) == -1e4
    assert float(ExponentialLoss().log_force(-1e6, 1.0)) == 1e6
    assert np.isinf(ExponentialLoss().value(-1e6, 1.0))


def test_forces_at_zero_of_the_papers():
    y = np.array([1.1, 0.1, 0.8])
    assert np.allclose(SquareLoss().label_forces(y), y / 3)  # Boursier & Flammarion: e_k = y_k
    labels = np.array([1.0, -1.0])
    assert np.allclose(LogisticLoss(reduction="sum").label_forces(labels), labels / 2)
    assert np.allclose(LogisticLoss(reduction="sum", factor=2.0).label_forces(labels), labels)  # Min et al. (E4)
    assert np.allclose(ExponentialLoss(reduction="sum").label_forces(labels), labels)


def test_reduction_and_factor_are_the_weight_of_a_sample():
    h, y = np.array([0.3, -0.2, 1.0]), np.array([1.0, -1.0, 1.0])
    mean, total = LogisticLoss(), LogisticLoss(reduction="sum", factor=2.0)
    assert total.total(h, y) == pytest.approx(6 * mean.total(h, y), rel=1e-14)
    assert np.allclose(total.forces(h, y), 6 * mean.forces(h, y))


def test_bad_arguments_are_refused_in_words():
    with pytest.raises(InvalidInputError, match="one of square, logistic, exponential, softmax, got 'hinge'"):
        loss_named("hinge")
    with pytest.raises(InvalidInputError, match="`factor` must be positive"):
        SquareLoss(factor=0.0)
    with pytest.raises(InvalidInputError, match="`reduction` must be 'mean' or 'sum'"):
        SquareLoss(reduction="max")
    with pytest.raises(InvalidInputError, match=r"2\*y - 1"):
        LogisticLoss().check_labels([0.0, 1.0])
    SquareLoss().check_labels([0.0, 1.0])


@pytest.mark.parametrize("factor", [1e-308, 1e308])
def test_a_factor_that_takes_the_digits_of_the_forces_is_refused(factor):
    """With 1e-308 a study told of dead neurons and of an alignment until infinity, and its picture had no axis."""
    with pytest.raises(InvalidInputError, match="`factor` must lie between 1e-100 and 1e\\+100"):
        LogisticLoss(factor=factor)
    assert LogisticLoss(factor=1e-100).sample_weight(1) == 1e-100


def test_a_loss_that_overrides_a_method_is_refused():
    """A quartic loss overrode `value` alone: NumPy code followed it, compiled kernels would have gone on as before."""
    with pytest.raises(InvalidInputError, match=r"`Quartic\.value` must be left as it is, got a method; give"):

        class Quartic(SquareLoss):
            name = "quartic"

            def value(self, outputs, labels):
                return self.force(outputs, labels) ** 4 / 4


def test_the_command_line_offers_every_loss():
    offered = set(settings()["loss"].metavar.split("|"))
    assert offered == {loss.name for loss in AbstractLoss.__subclasses__() if loss.__module__.startswith("reluflow.")}
    assert offered <= set(LOSSES)
