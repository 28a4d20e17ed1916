"""The forecast at a plateau: published angles and lengths, and the neuron that does leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    scaled_clock,
    turned,
)
from reluflow.data.registry import load
from reluflow.papers.boursier2024.theorems.residual_forecast import escape, escape_forecast
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract

APPENDIX_B_2 = theorem_named("boursier2024:appB.2")


def _leaky():
    problem = example_problem(APPENDIX_B_2)
    return replace(problem, network=problem.network.replace(leak=0.1))


def _turned_at_the_end(evidence):
    """Another direction for the neurons that leave, with the losses of the true run."""
    run, first = evidence.run, escape(evidence).time
    quarter = [[0.0, -1.0], [1.0, 0.0]]
    snapshots = tuple(replace(s, network=s.network.rotated(quarter)) if s.time >= first else s for s in run.snapshots)
    return replace(evidence, trajectory=replace(run, snapshots=snapshots))


FORGERIES: Forgeries = {
    ("appB.2", "direction"): Forgery(lambda e: turned(e, -0.02, at=ALL)),
    ("appB.2", "rate"): Forgery(lambda e: scaled_clock(e, 2.0)),
}

CASES = (TheoremCase("boursier2024:appB.2", forge=_turned_at_the_end, failing="relu", inapplicable=_leaky),)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def _at_the_line(name):
    data = load(name)
    line = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    return data, (data.y - data.X @ line) / data.n


def test_three_points_have_two_unoccupied_escapes():
    data, forces = _at_the_line("three-points")
    forecast = escape_forecast(data.X, forces)
    np.testing.assert_allclose(np.sort(forecast.angles), [26.565, 206.565], atol=5e-4)
    np.testing.assert_allclose(forecast.rates, 0.03058, atol=5e-6)
    assert forecast.signs.tolist() == [1, 1]
    assert forecast.exact


def test_stewart_teacher_forecast_the_bundles_of_figure_3():
    """Angles and lengths published for these inputs differ in the last digit: they were read off unrounded inputs.

    Published: maxima 3.67 and 183.67 degrees, 0.00963; minima 334.71 and 154.71, 0.01172; a weak pair 34.06 and 214.06,
    0.00115. With the registered inputs, which are rounded to 0.001, the lengths differ by 0.3 %.
    """
    data, forces = _at_the_line("stewart-digitised")
    forecast = escape_forecast(data.X, forces)
    positive, negative = forecast.signs > 0, forecast.signs < 0
    np.testing.assert_allclose(np.sort(forecast.angles[positive]), [3.67, 183.67], atol=0.03)
    np.testing.assert_allclose(forecast.rates[positive], 0.00963, atol=5e-5)
    np.testing.assert_allclose(np.sort(forecast.angles[negative][:2]), [154.71, 334.71], atol=0.03)
    np.testing.assert_allclose(forecast.rates[negative][:2], 0.01172, atol=5e-5)
    np.testing.assert_allclose(np.sort(forecast.angles[negative][2:]), [34.06, 214.06], atol=5e-3)
    np.testing.assert_allclose(forecast.rates[negative][2:], 0.00115, atol=5e-6)


def test_forecast_is_where_the_potential_peaks():
    """A fine grid of the circle finds the same extremes of G_r."""
    data, forces = _at_the_line("stewart-digitised")
    forecast = escape_forecast(data.X, forces)
    angles = np.linspace(0.0, 360.0, 72_001)
    w = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], axis=1)
    potential = np.maximum(w @ data.X.T, 0.0) @ forces
    assert potential.max() == pytest.approx(forecast.rates[forecast.signs > 0].max(), rel=5e-5)
    assert potential.min() == pytest.approx(-forecast.rates[forecast.signs < 0].max(), rel=5e-5)
    top = angles[np.argmax(potential)]
    assert np.min(np.abs(forecast.angles[forecast.signs > 0] - top)) < 0.01


def test_a_perfect_fit_leaves_nothing_to_forecast():
    assert len(escape_forecast(load("three-points").X, np.zeros(3))) == 0


def test_a_run_that_stays_at_the_line_has_no_escape():
    problem = example_problem(replace(APPENDIX_B_2, setting=replace(APPENDIX_B_2.setting, init="balanced", width=20)))
    verdict = check(APPENDIX_B_2, problem)
    assert verdict.failing_hypotheses == ("plateau",)
    assert verdict.conclusion("direction").holds is None
