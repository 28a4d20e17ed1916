"""KKT certificates on the closed-form points of Lyu et al., Lemma C.1 of Phuong & Lampert, and tampered networks."""

import numpy as np
import pytest

from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.one_class import one_class_vectors
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import ExponentialLoss, LogisticLoss
from reluflow.network.network import Network

LEAKS = (0.0, 0.01, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.99)


def end_point(leak):
    """c* of Lyu et al. (2021), I.1.1: the smallest cosine of the one-parameter family."""
    return (leak + np.sqrt(leak**2 + 8 * (1 + leak) * (1 + 2 * leak))) / (4 * (1 + leak))


def closed_form(leak, cosine):
    """The suboptimal KKT network on symmetric data of Lyu et al. (2021), I.1.1, and its dataset."""
    sine = np.sqrt(1 - cosine**2)
    dataset = Dataset([[1, cosine / sine], [1, 0], [1, -cosine / sine]], [1, 1, 1]).symmetrized()
    a1, a3 = (2 * (1 + leak) * cosine) ** -0.5, -((1 + leak) ** -0.5)
    w = [[a1 * cosine, a1 * sine], [a1 * cosine, -a1 * sine], [a3, 0]]
    return Network(w, [a1, a1, a3], leak=leak), dataset


@pytest.mark.parametrize("leak", LEAKS)
def test_closed_form_points_certify(leak):
    cosine = end_point(leak)
    network, dataset = closed_form(leak, cosine)
    certificate = kkt_certificate(network, dataset)
    assert certificate.residual <= 1e-12
    assert certificate.balance <= 1e-12
    assert certificate.multiplier_sum_error <= 1e-12
    assert certificate.complementarity <= 1e-12
    assert certificate.margin == pytest.approx((1 + leak) * cosine / (2 * (1 + cosine)), rel=1e-12)


def test_printed_margins():
    """The table of the digest, Lyu et al. (2021), I.1.1."""
    table = {0.0: 0.207107, 0.1: 0.237788, 0.25: 0.282761, 0.5: 0.356107, 0.75: 0.428358, 0.9: 0.471398}
    for leak, margin in table.items():
        assert kkt_certificate(*closed_form(leak, end_point(leak))).margin == pytest.approx(margin, abs=5e-7)


@pytest.mark.parametrize("leak", LEAKS)
def test_family_is_kkt_above_its_end_point_and_not_below(leak):
    end = end_point(leak)
    for share in (0.1, 0.5, 0.9):
        assert kkt_certificate(*closed_form(leak, end + share * (1 - end))).residual <= 1e-12
    assert kkt_certificate(*closed_form(leak, end - 0.1 * (1 - end))).residual >= 1e-4 * (1 - leak)


def test_slopes_and_multipliers_solve_the_equations():
    """The residual, once more by hand from what the certificate reports."""
    network, dataset = closed_form(0.5, end_point(0.5) + 0.03)
    certificate = kkt_certificate(network, dataset)
    assert np.all((certificate.slopes >= 0.5) & (certificate.slopes <= 1))
    assert np.all(certificate.multipliers >= 0)
    pull = certificate.multipliers * dataset.y
    z = network.w @ dataset.X.T
    np.testing.assert_allclose(network.a[:, None] * ((certificate.slopes * pull) @ dataset.X), network.w, atol=1e-12)
    np.testing.assert_allclose(np.maximum(z, 0.5 * z) @ pull, network.a, atol=1e-12)


@pytest.mark.parametrize("tamper", ["output", "input", "label", "drop"])
def test_tampering_fails(tamper):
    network, dataset = closed_form(0.5, end_point(0.5))
    if tamper == "output":
        network = network.replace(a=network.a * [1, 1, 1.01])
    elif tamper == "input":
        network = network.replace(w=network.w + np.array([[0, 0.01], [0, 0], [0, 0]]))
    elif tamper == "label":
        dataset = dataset.replace(y=dataset.y * [1, -1, 1, 1, 1, 1])
    else:
        network = network.replace(w=network.w[:2], a=network.a[:2], weight=network.weight[:2])
    certificate = kkt_certificate(network, dataset)
    assert certificate.residual >= 1e-3
    kind = certify(network, dataset, LogisticLoss()).kind
    assert kind not in (Kind.KKT_DIRECTION, Kind.MAX_MARGIN)


def test_scale_rotation_splitting_and_weights_change_nothing():
    network, dataset = closed_form(0.3, end_point(0.3))
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))
    split = Network(
        np.vstack([network.w, network.w[:1]]) * np.array([[0.6], [1], [1], [0.8]]),
        np.append(network.a, network.a[0]) * [0.6, 1, 1, 0.8],
        leak=0.3,
    )
    weighted = Network(network.w / np.sqrt(2), network.a / np.sqrt(2), leak=0.3, weight=[2, 2, 2])
    for other, data in (
        (network.scaled(-900.0), dataset),
        (network.scaled(500.0), dataset),
        (network.rotated(rotation), dataset.rotated(rotation)),
        (network, dataset.scaled(1e6)),
        (split, dataset),
        (weighted, dataset),
    ):
        assert kkt_certificate(other, data).residual <= 1e-9
    assert kkt_certificate(weighted, dataset).margin == pytest.approx(kkt_certificate(network, dataset).margin)


@pytest.mark.parametrize("loss", [LogisticLoss(), ExponentialLoss()])
def test_kkt_but_not_global(loss):
    network, dataset = closed_form(0.5, end_point(0.5))
    certificate = certify(network, dataset, loss)
    assert certificate.kind is Kind.KKT_DIRECTION
    assert certificate.global_margin == pytest.approx(0.375, abs=1e-9)
    assert certificate.best_linear_margin == pytest.approx(1)
    assert certificate.residuals["global_margin_shortfall"] == pytest.approx(1 - 0.35610722522 / 0.375, abs=1e-9)


def test_symmetric_optimum_is_max_margin():
    """Lyu et al. (2021), Thm 5.5 with erratum E3: (1/2)(w*, -w*, 1, -1)."""
    _, dataset = closed_form(0.5, end_point(0.5))
    network = Network([[0.5, 0.0], [-0.5, 0.0]], [0.5, -0.5], leak=0.5, log_scale=80.0)
    assert certify(network, dataset, LogisticLoss()).kind is Kind.MAX_MARGIN


def test_lemma_c1_point_is_max_margin():
    """Phuong & Lampert (2021), Lemma C.1, on the toy data, split over three neurons of each sign."""
    dataset = Dataset([[2, 1], [1, 2], [-2, -0.5], [-0.6, -1.6]], [1, 1, -1, -1])
    vectors = one_class_vectors(dataset)
    rng = np.random.default_rng(0)
    u, z = rng.random(3), rng.random(3)
    u *= vectors.positive.norm**-0.5 / np.linalg.norm(u)
    z *= vectors.negative.norm**-0.5 / np.linalg.norm(z)
    w = np.vstack([np.outer(u, vectors.positive.w), np.outer(z, vectors.negative.w)])
    network = Network(w, np.concatenate([vectors.positive.norm * u, -vectors.negative.norm * z]))
    certificate = certify(network, dataset, LogisticLoss(reduction="sum"))
    assert certificate.kind is Kind.MAX_MARGIN
    assert certificate.residuals["kkt"] <= 1e-12
    norms = np.where(dataset.y > 0, vectors.positive.norm, vectors.negative.norm)
    expected = (vectors.positive.multipliers + vectors.negative.multipliers) / norms
    np.testing.assert_allclose(certificate.multipliers, expected, atol=1e-10)


def test_no_positive_margin_no_certificate():
    network, dataset = closed_form(0.5, end_point(0.5))
    certificate = kkt_certificate(network.replace(a=-network.a), dataset)
    assert certificate.margin < 0
    assert certificate.residual == np.inf
    with pytest.raises(InvalidInputError, match="zero network has no direction"):
        kkt_certificate(Network([[0.0, 0.0]], [0.0]), dataset)
