"""Training problems with several outputs and an output bias: what fits together and what does not."""

import numpy as np
import pytest

import reluflow
from reluflow import Dataset, LogisticLoss, Network, SoftmaxLoss, SquareLoss, TrainingProblem
from reluflow.errors import InvalidInputError

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
CLASSES = Dataset(X, [0, 1, 2], classes=("a", "b", "c"))
ROWS = Dataset(X, [[1.0, 2.0], [0.0, 1.0], [2.0, 2.0]])


def a_network(num_outputs, **fields):
    rng = np.random.default_rng(0)
    return Network(rng.normal(size=(4, 2)), v=rng.normal(size=(4, num_outputs)), **fields)


def test_a_problem_knows_its_outputs():
    problem = TrainingProblem(CLASSES, "softmax", a_network(3, b=np.zeros(3)), weight_decay=0.1)
    assert problem.num_outputs == 3
    assert problem.moves_output_bias
    assert not problem.is_plain
    assert problem.variant == "weight decay 0.1, 3 outputs and an output bias"
    assert problem.label_forces.shape == (3, 3)
    network = problem.network
    assert problem.penalty(network) == pytest.approx(0.05 * network.squared_norm())
    fixed = TrainingProblem(ROWS, SquareLoss(), a_network(2, b=[0.0, 1.0]), trains_output_bias=False)
    assert not fixed.moves_output_bias
    assert fixed.variant == "2 outputs and a fixed output bias"
    assert TrainingProblem(ROWS.target(0), SquareLoss(), a_network(1), trains_output_bias=False).is_plain


@pytest.mark.parametrize(
    ("dataset", "loss", "network", "words"),
    [
        (CLASSES, SoftmaxLoss(), a_network(2), r"3 outputs, one for each class \(a, b, c\), got 2"),
        (ROWS, SquareLoss(), a_network(3), "2 outputs, one for each column of `y`, got 3"),
        (ROWS.target(0), SquareLoss(), a_network(2), "1 output, for one label per sample, got 2"),
        (CLASSES, SquareLoss(), a_network(3), "with_one_hot_targets"),
        (CLASSES, LogisticLoss(), a_network(3), "one_against_rest"),
        (Dataset(X, [1, -1, 1]), SoftmaxLoss(), a_network(2), "with_class_indices"),
        (ROWS, SoftmaxLoss(), a_network(2), "one class per sample"),
    ],
)
def test_what_does_not_fit_together_is_refused(dataset, loss, network, words):
    with pytest.raises(InvalidInputError, match=words):
        TrainingProblem(dataset, loss, network)


def test_what_is_open_for_several_outputs_says_so():
    with pytest.raises(InvalidInputError, match="sets one class against the rest"):
        reluflow.forecast(TrainingProblem(CLASSES, "softmax", a_network(3)))
