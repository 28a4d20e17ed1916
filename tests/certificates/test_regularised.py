"""Certificates of the regularised loss and of a frozen output layer: closed forms, a saddle, forgeries."""

import numpy as np
import pytest

from reluflow.certificates.certificate import Kind
from reluflow.certificates.regularised import certify_variant
from reluflow.data import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network

DATA = Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, 1.0])
LOSS = SquareLoss(reduction="sum")


def balanced(*outputs, signs=(1.0, 1.0)):
    """Neuron k alone is active on sample k and has output outputs[k] there, |a| = |w|."""
    sides = np.sqrt(np.array(outputs))
    return Network(w=np.diag(sides), a=sides * np.array(signs))


def test_two_orthogonal_samples_lose_the_decay_each():
    """min (h - y)^2/2 + decay h is at h = y - decay, on either sample; one shared neuron does better.

    A neuron active on both samples costs decay |a| |w| = decay |h|, less than decay (h_1 + h_2): so the two single
    neurons are a stationary point that is not a global minimum, and the shared one along r is.
    """
    split = certify_variant(balanced(1.7, 0.7), DATA, LOSS, weight_decay=0.3)
    assert split.residuals["stationarity"] < 1e-12
    assert split.kind is Kind.STATIONARY
    assert not split.is_proved
    assert split.escape is not None
    assert split.escape.neuron is None
    assert "a further neuron would lower the regularised loss" in " ".join(split.reasons)
    size = np.linalg.norm(DATA.y) - 0.3
    shared = Network(w=[np.sqrt(size) * DATA.y / np.linalg.norm(DATA.y)], a=[np.sqrt(size)])
    found = certify_variant(shared, DATA, LOSS, weight_decay=0.3)
    assert found.kind is Kind.GLOBAL_MINIMUM
    assert found.is_proved
    assert found.residuals["gap"] < 1e-12
    assert found.residuals["new_neuron_gain"] < 1e-12


def test_what_is_global_for_the_loss_is_not_for_the_regularised_loss():
    fit = Network(w=[[2.0, 1.0]], a=[1.0])
    found = certify_variant(fit, DATA, LOSS, weight_decay=0.3)
    assert found.kind is Kind.NOT_STATIONARY
    assert "regularised loss" in found.reasons[0]


def test_the_zero_network_is_the_minimum_from_the_strongest_pull_on():
    """|D| = |y| at zero output: 0 is a saddle below that decay and the global minimum above."""
    zero = Network(w=[[0.0, 0.0]], a=[0.0])
    below = certify_variant(zero, DATA, LOSS, weight_decay=0.99 * np.sqrt(5.0))
    assert below.kind is Kind.SADDLE
    assert below.escape.actual_decrease > 0.0
    assert certify_variant(zero, DATA, LOSS, weight_decay=1.01 * np.sqrt(5.0)).kind is Kind.GLOBAL_MINIMUM


def test_a_light_neuron_beside_a_stationary_one_is_a_way_down():
    network = Network(w=[[np.sqrt(1.7), 0.0], [1e-12, 0.0]], a=[np.sqrt(1.7), 1e-12])
    found = certify_variant(network, DATA, LOSS, weight_decay=0.3)
    assert found.kind is Kind.SADDLE
    assert found.escape.neuron == 1


def test_a_classifier_has_a_finite_minimum_under_decay():
    """One sample, logistic: h = s^2 with 1/(1 + e^h) = decay."""
    decay = 0.2
    side = np.sqrt(np.log(1.0 / decay - 1.0))
    network = Network(w=[[side]], a=[side])
    assert (
        certify_variant(network, Dataset([[1.0]], [1.0]), LogisticLoss(), weight_decay=decay).kind
        is Kind.GLOBAL_MINIMUM
    )


def test_a_frozen_output_layer():
    """w = y/a fits; with decay w = a y/(a^2 + decay) is the ridge solution, and both are global minima."""
    one = Dataset([[1.0]], [2.0])
    fit = certify_variant(Network(w=[[4.0]], a=[0.5]), one, LOSS, trains_output_layer=False)
    assert fit.kind is Kind.GLOBAL_MINIMUM
    ridge = Network(w=[[0.5 * 2.0 / (0.25 + 0.1)]], a=[0.5])
    found = certify_variant(ridge, one, LOSS, weight_decay=0.1, trains_output_layer=False)
    assert found.kind is Kind.GLOBAL_MINIMUM
    assert "output weights as they are" in found.reasons[0]
    off = certify_variant(Network(w=[[3.0]], a=[0.5]), one, LOSS, weight_decay=0.1, trains_output_layer=False)
    assert off.kind is Kind.NOT_STATIONARY


def test_a_dead_neuron_under_a_frozen_layer_is_no_proof_of_a_minimum():
    """Nothing pulls on w = -1, yet another place of the same neuron fits: stationary, and not called more."""
    found = certify_variant(Network(w=[[-1.0]], a=[1.0]), Dataset([[1.0]], [2.0]), LOSS, trains_output_layer=False)
    assert found.kind is Kind.STATIONARY
    assert not found.is_proved
    assert found.residuals["gap"] == np.inf


def test_kinks_take_the_shortest_element():
    """A neuron on the boundary of x = (0, 1), where the slope may be 0: nothing then pulls it across."""
    data = Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
    side = np.sqrt(1.7)
    found = certify_variant(Network(w=[[side, 0.0]], a=[side]), data, LOSS, weight_decay=0.3)
    assert found.residuals["stationarity"] < 1e-12


def test_refusals():
    network = Network(w=[[1.0, 0.0]], a=[1.0])
    with pytest.raises(InvalidInputError, match="`certify` does the rest"):
        certify_variant(network, DATA, LOSS)
    with pytest.raises(InvalidInputError, match="`weight_decay` must be finite and at least 0, got -1"):
        certify_variant(network, DATA, LOSS, weight_decay=-1.0)


def test_a_frozen_classifier_that_classifies_all_is_at_no_minimum():
    """Its loss underflows along the direction it grows in, which was called a global minimum of objective 0."""
    data = Dataset([[1.0, 0.3], [-1.0, 0.2]], [1.0, -1.0])
    network = Network(w=[[4000.0, 0.0], [-4000.0, 0.0]], a=[0.5, -0.5])
    found = certify_variant(network, data, LogisticLoss(), trains_output_layer=False)
    assert found.kind is Kind.NOT_STATIONARY
    assert "the loss has no minimum" in found.reasons[0]


def test_a_frozen_classifier_that_levels_off_is_at_no_minimum_either():
    # two samples on one ray contradict each other and balance; the third is fitted ever better
    data = Dataset([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    balance = 0.41961761966455874  # where ln(1 + exp(-2 u)) + ln(1 + exp(u)) is least
    found = certify_variant(Network([[balance, 40.0]], [1.0]), data, LogisticLoss(), trains_output_layer=False)
    assert found.kind is Kind.NOT_STATIONARY
    assert found.residuals["loss_at_infinity"] == pytest.approx(0.42796893812797554, rel=1e-12)
