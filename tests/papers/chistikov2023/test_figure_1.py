"""Figure 1 of chistikov2023: angles by atan2, one draw for all scales, slope 1."""

import numpy as np
import pytest

from reluflow.papers.chistikov2023.figure_1 import KINDS, Settings, claims
from reluflow.papers.chistikov2023.paper import angles, draw, squared_norm, trained


def test_angles_have_no_floor():
    """arccos of a product of doubles cannot tell angles below 1e-6 degrees (erratum E14)."""
    tiny = 1e-12
    found = angles(np.array([[1.0, 0.0], [1.0, tiny], [0.0, 2.0]]))
    assert found == pytest.approx([np.rad2deg(tiny), 90.0, 90.0 - np.rad2deg(tiny)], rel=1e-9)


def test_a_run_ends_fitted_at_squared_norm_two():
    trial = draw(0, d=2, width=6, centred=False)
    end = trained(trial, -8.0)
    assert squared_norm(end) == pytest.approx(2.0, abs=1e-3)
    assert end.outputs(trial.dataset.X) == pytest.approx(trial.dataset.y, abs=1e-3)


@pytest.mark.parametrize(("slope", "holds"), [(1.0, True), (0.9, False)])
def test_the_claim_on_the_slope_can_fail(slope, holds):
    settings = Settings(dimensions=(4,), powers=(6, 8, 10), seeds=(0,), width=5)
    scales = 4.0 ** -np.array(settings.powers, dtype=float)
    shape = (len(KINDS), 1, 1, 3)
    results = {
        "largest": np.broadcast_to(scales**slope, shape),
        "nuclear": np.ones(shape),
        "squared": np.full(shape, 2.0),
    }
    assert [claim.holds for claim in claims(settings, results)] == [holds, holds, True, True]
