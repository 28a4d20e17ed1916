"""In which order orthogonally separable classes are learnt: the rates, the sentence, and the flow itself."""

import numpy as np
import pytest
from scipy.special import logsumexp

from reluflow import CollocationFlow, Dataset, Network, SoftmaxLoss, TrainingProblem, train
from reluflow.study.class_order import about_class_limit, about_class_order, class_rates
from reluflow.study.whole_study import study

ROWS = [(3, 0, 1, 0), (2, 1, 0, 1), (2, -1, 0, 1), (-2, 3, -1, 0), (-2, 2, 0, -1)]
ROWS += [(-3, 3, 1, 0), (-2, -3, 0, 0), (-2, -4, 0, -1), (-3, -4, -1, 0)]
DATA = Dataset(np.array(ROWS, dtype=float), np.repeat([0, 1, 2], 3), classes=("ant", "bee", "cow"))


def half_loss_times(log_scale):
    """When the loss of each class falls to half, from neurons along the samples at a scale."""
    w = DATA.X / np.linalg.norm(DATA.X, axis=1, keepdims=True)
    v = np.eye(3)[DATA.y.astype(int)] - 1 / 3
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    problem = TrainingProblem(DATA, SoftmaxLoss(reduction="sum"), Network(w, v=v, log_scale=log_scale))
    times = np.linspace(0.6, 2.6, 41)
    run = train(problem, CollocationFlow(), until=2.6, times=times)
    losses = [logsumexp(shot.outputs, axis=1) - shot.outputs[range(9), DATA.y.astype(int)] for shot in run.snapshots]
    by_class = np.array([[row[DATA.y == c].sum() for c in range(3)] for row in losses])
    return np.array([np.interp(-0.5, -by_class[:, c] / (3 * np.log(3)), times) for c in range(3)])


def test_the_flow_learns_each_class_after_the_time_that_its_rate_foretells():
    """Slopes of the times in log(1/scale), from 1e-4 to 1e-6; the times are read off a grid of 0.05."""
    slopes = (half_loss_times(np.log(1e-6)) - half_loss_times(np.log(1e-4))) / np.log(100.0)
    assert slopes == pytest.approx(1.0 / class_rates(DATA, SoftmaxLoss(reduction="sum")), abs=1e-3)


def test_the_study_says_the_order():
    found = study(DATA, width=6, seeds=0, theorems=(), max_steps=30)
    (sentence,) = about_class_order(found)
    assert sentence.endswith("in units of log(1/scale): cow at 0.8405, bee at 1.032, ant at 1.5.")
    assert sentence in found.sentences()
    assert found.diagnosis["orthogonally-separable"].holds is True


def test_nothing_is_said_of_classes_that_are_not_orthogonally_separable():
    near = Dataset(np.abs(DATA.X) + 0.1, DATA.y, classes=DATA.classes)
    assert about_class_order(study(near, width=4, seeds=0, theorems=(), max_steps=5)) == []


def test_the_study_says_whose_neurons_die_and_what_the_limit_is():
    """The report gave the bundles of neurons and no word of what they are, nor that the limit is proved."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    far = np.column_stack([0.95 * np.cos(angles), 0.95 * np.sin(angles), np.full(3, 0.3)])
    data = Dataset(np.vstack([far, 2.0 * far[:1]]), [0, 1, 2, 0], classes=("ant", "bee", "cow"))
    w = np.vstack([far, [0.1, 0.0, -1.0]])  # the last is inactive on all samples
    network = Network(w, v=(np.eye(3) - 1 / 3)[[0, 1, 2, 0]], log_scale=np.log(1e-2))
    found = study(data, network=network, loss=SoftmaxLoss(reduction="sum"), seeds=0, theorems=())
    (sentence,) = about_class_limit(found)
    assert found.flow.limit.is_proof
    assert "Of 4 neurons 1 with ant, 1 with bee, 1 with cow end active" in sentence
    assert "1 dies (4)" in sentence
    assert "ant 0.9962 and 33.3%, bee 0.9962 and 33.3%" in sentence
    assert "That is proved" in sentence
    squares = np.sum(found.flow.limit.network.w[:3] ** 2, axis=1)
    np.testing.assert_allclose(squares / squares.sum(), 1 / 3, atol=1e-6)
    assert sentence in found.sentences()


def test_shares_of_classes_of_different_margins():
    """Set A of the paper, whose margins are sqrt 5, 3 and sqrt 13; no start is dead there."""
    w = DATA.X[[0, 3, 6]] / np.linalg.norm(DATA.X[[0, 3, 6]], axis=1, keepdims=True)
    network = Network(w, v=(np.eye(3) - 1 / 3) * np.sqrt(1.5), log_scale=np.log(1e-2))
    found = study(DATA, network=network, loss=SoftmaxLoss(reduction="sum"), seeds=0, theorems=())
    (sentence,) = about_class_limit(found)
    assert "ant 2.236 and 42.3%, bee 3 and 31.5%, cow 3.606 and 26.2%" in sentence
    assert "none dies" in sentence
