"""A study of data in which samples contradict each other for ever says that nothing is attained."""

import numpy as np

import reluflow
from reluflow.study.whole_study import study


def test_the_story_of_a_loss_that_levels_off_claims_no_minimum():
    data = reluflow.Dataset([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    found = study(data, loss="logistic", width=20, scale="1e-1", seeds=0, theorems=())
    assert found.flow.trajectory.outcome.code == "levelled-off"
    said = " ".join(found.verdict())
    assert "levels off at 0.42796" in said
    assert "no minimum" in said
    assert "decreases towards 0.427968938" in said
    assert "ends at" not in said
    assert np.isclose(found.flow.limit.certificate.residuals["loss_at_infinity"], 0.427968938, atol=1e-9)
