"""The estimators keep scikit-learn's contract, and fit."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.estimators import GradientFlowClassifier, GradientFlowRegressor

QUICK = {"width": 15, "rtol": 1e-4, "max_steps": 100}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([GradientFlowClassifier(time=30.0, **QUICK), GradientFlowRegressor(time=10.0, **QUICK)])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


def test_in_a_pipeline(rng):
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = 1e3 * rng.standard_normal((40, 2))
    y = np.where(X[:, 0] > 0, "cat", "dog")
    pipeline = make_pipeline(StandardScaler(), GradientFlowClassifier(width=10, random_state=0, time=50.0))
    search = GridSearchCV(pipeline, {"gradientflowclassifier__scale": [1e-3, 1e-1]}, cv=2).fit(X, y)
    assert search.score(X, y) > 0.9
    fitted = search.best_estimator_[-1]
    assert fitted.trajectory_.loss < 0.5
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_flow_and_descent_agree(rng):
    X = rng.standard_normal((12, 2))
    y = np.abs(X[:, 0])
    by_flow = GradientFlowRegressor(width=15, random_state=3, time=5.0, method="flow", max_steps=3000).fit(X, y)
    by_descent = GradientFlowRegressor(width=15, random_state=3, time=5.0, method="gd", lr=1e-3).fit(X, y)
    np.testing.assert_allclose(by_flow.predict(X), by_descent.predict(X), atol=2e-3)
    assert np.abs(by_flow.predict(X)).max() > 0.1


def test_what_is_cut_short_is_said_and_bad_settings_refused(rng):
    X, y = rng.standard_normal((10, 2)), rng.standard_normal(10)
    with pytest.warns(ConvergenceWarning, match=r"ended with `max-steps` at time .* of 100"):
        GradientFlowRegressor(max_steps=3, method="flow").fit(X, y)
    whole = GradientFlowRegressor(max_steps=3, random_state=0).fit(X, y)
    assert "descent" in whole.trajectory_.method
    with pytest.warns(ConvergenceWarning, match="did not lower the loss, so it took"):
        GradientFlowRegressor(method="gd", lr=10.0, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="`method` must be one of auto, flow, gd, got 'adam'"):
        GradientFlowRegressor(method="adam").fit(X, y)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.delitem(sys.modules, "reluflow.estimators.gradient_flow")
    monkeypatch.delitem(sys.modules, "reluflow.estimators")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(MissingExtraError, match=r"reluflow\[sklearn\]"):
        __import__("reluflow.estimators")


def test_many_classes_with_any_labels(rng):
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 1] > 0.5, "north", np.where(X[:, 0] > 0.0, "east", "south"))
    fitted = GradientFlowClassifier(width=12, random_state=0, scale=0.1, output_bias=True).fit(X, y)
    assert fitted.classes_.tolist() == ["east", "north", "south"]
    assert fitted.score(X, y) > 0.9
    outputs, probabilities = fitted.decision_function(X), fitted.predict_proba(X)
    assert outputs.shape == probabilities.shape == (60, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    ratios = np.log(probabilities[:, 0] / probabilities[:, 1])
    np.testing.assert_allclose(ratios, outputs[:, 0] - outputs[:, 1], atol=1e-9)
    assert fitted.network_.b.shape == (3,)


def test_several_targets_with_an_output_bias(rng):
    X = rng.standard_normal((30, 2))
    y = np.column_stack([np.abs(X[:, 0]), X[:, 1], np.full(30, 2.0)])
    fitted = GradientFlowRegressor(width=12, random_state=0, scale=0.3, output_bias=True).fit(X, y)
    assert fitted.predict(X).shape == (30, 3)
    assert fitted.score(X[:, :], y[:, :]) > 0.5
    column = GradientFlowRegressor(width=5, random_state=0, time=5.0)
    np.testing.assert_array_equal(column.fit(X, y[:, :1]).predict(X)[:, 0], column.fit(X, y[:, 0]).predict(X))
