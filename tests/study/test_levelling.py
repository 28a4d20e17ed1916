"""A study of data in which samples contradict each other for ever says that nothing is attained."""

import numpy as np

import reluflow
from reluflow.study import plan
from reluflow.study.whole_study import study


def test_what_is_said_of_a_loss_that_levels_off_claims_no_minimum(monkeypatch):
    monkeypatch.setattr(plan, "LARGEST_FORECAST", 0)  # the path at vanishing scale takes ten times as long as the run
    data = reluflow.Dataset([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    found = study(data, loss="logistic", width=20, scale="1e-1", seeds=0, theorems=())
    assert found.flow.trajectory.outcome.code == "levelled-off"
    said = " ".join(found.verdict())
    assert "levels off at 0.42796" in said
    assert "no minimum" in said
    assert "decreases towards 0.427968938" in said
    assert "ends at" not in said
    assert np.isclose(found.flow.limit.certificate.residuals["loss_at_infinity"], 0.427968938, atol=1e-9)


def test_of_several_classes_no_more_is_said_than_what_the_bound_tells():
    """It is the bound of matrices of any rank, which few neurons need not come near; it was called no minimum."""
    X, y = [[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 2.0]
    data = reluflow.Dataset(X, y, classes=["a", "b", "c"])
    found = study(data, loss="softmax", width=20, scale="1e-1", seeds=0, theorems=())
    assert found.flow.trajectory.outcome.code == "levelled-off"
    said = " ".join(found.verdict())
    assert "less than a millionth above a loss that no network in these activation patterns attains" in said
    assert "no minimum" not in said
    assert "without a minimum" not in said
    assert "grows without bound" not in said
