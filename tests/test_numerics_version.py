"""The numbers of this version of the numerics: if one moves, raise NUMERICS_VERSION and record it here again."""

import pytest

from reluflow import Experiment, numerics_version
from reluflow.papers.store import ResultStore
from reluflow.sweep.training import finished_run

RECORDED = {
    15: (
        (Experiment("three-points", width=20, scale="1e-3", seed=0), 0.0875213675214, 0.689743589744),
        (Experiment("min-toy", width=10, scale="1e-2", loss="logistic", until="30"), 0.131447148919, 2.23811612787),
        (Experiment("stewart-digitised", width=10, scale="1e-2", until="20"), 0.0431191353068, 0.497092949034),
    )
}


@pytest.mark.parametrize("place", range(3))
def test_numbers_of_this_version_have_not_moved(place):
    case, loss, first = RECORDED[numerics_version.NUMERICS_VERSION][place]
    trajectory = finished_run(case)
    assert trajectory.loss == pytest.approx(loss, rel=1e-7)
    assert trajectory.predictions[0] == pytest.approx(first, rel=1e-7)


def test_reproduce_does_not_show_the_numbers_of_another_version(tmp_path, monkeypatch):
    """A mended solver once left the papers' kept results in place: only the figure's own file was in their names."""
    store = ResultStore(tmp_path)
    assert store.save("figure", {"n": 3}, {"value": 1.0})
    assert store.load("figure", {"n": 3}) == {"value": 1.0}
    monkeypatch.setattr(numerics_version, "NUMERICS_VERSION", numerics_version.NUMERICS_VERSION + 1)
    assert store.load("figure", {"n": 3}) is None
