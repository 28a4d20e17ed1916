import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.geometry.thresholds import alignment_constants
from reluflow.losses import SquareLoss


@pytest.fixture(scope="module")
def constants():
    return alignment_constants(load("three-points"), SquareLoss())


def test_tau_covers_the_time_bound_exactly_at_the_corrected_scale(constants):
    log_lambda = constants.log_lambda_corrected(0.2, 0.5)
    assert constants.tau(log_lambda, 0.2) == pytest.approx(constants.t2_bound(0.5), rel=1e-12)


def test_scale_of_the_loss_is_visible(constants):
    """Twice the loss doubles every D and S, and leaves angles and the bound on the labels alone."""
    twice = alignment_constants(load("three-points"), SquareLoss(factor=2.0))
    assert twice.d_max == pytest.approx(2 * constants.d_max)
    assert twice.mean_square == pytest.approx(2 * constants.mean_square)
    assert twice.alpha_min == pytest.approx(constants.alpha_min)
    assert twice.t2_bound(1.0) == pytest.approx(constants.t2_bound(1.0) / 2)
    assert twice.label_bound / 2 == constants.label_bound / 2 == pytest.approx(0.04472, abs=5e-6)


def test_threshold_is_capped_at_one():
    constants = alignment_constants(Dataset([[1e-3]], [50.0]), SquareLoss())
    assert constants.log_lambda_star(0.25, 1.0) == 0.0


def test_refusals(constants):
    with pytest.raises(InvalidInputError, match="`eps` must lie in"):
        constants.log_lambda_star(0.5, 1.0)
    with pytest.raises(InvalidInputError, match="`alpha_0` must lie in"):
        constants.t2_bound(0.0)
    dataset = Dataset(np.random.default_rng(0).standard_normal((30, 5)), np.ones(30))
    with pytest.raises(InvalidInputError, match="more than `max_cones` = 1000"):
        alignment_constants(dataset, SquareLoss(), max_cones=1000)
    with pytest.raises(InvalidInputError, match="zero force only"):
        alignment_constants(Dataset(np.eye(2), [0.0, 0.0]), SquareLoss())


def test_degenerate_data_have_an_infinite_time_bound():
    """alpha_min is 0 on orthogonal data (erratum E13), and the bound was a division by zero with a warning."""
    constants = alignment_constants(load("orthogonal-triple"), SquareLoss())
    assert constants.alpha_min == 0.0
    assert constants.t2_bound(1.0) == np.inf
    assert constants.log_c(1.0) == np.inf
    assert constants.delta_0 == 0.0
    assert constants.log_lambda_star(0.25, 1.0) == -np.inf
