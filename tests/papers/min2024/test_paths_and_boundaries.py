"""Figures 14 to 21: paths in the grid of counts, and what happens on a hyperplane."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from reluflow.papers.min2024.figures import (
    figure_14,
    figure_15,
    figure_16,
    figure_17,
    figure_18,
    figure_19,
    figure_20,
    figure_21,
)
from reluflow.papers.min2024.figures.correspondence_figure import chosen_edges
from reluflow.papers.min2024.figures.hyperplane_run import samples, velocity
from reluflow.papers.min2024.figures.paths_run import all_paths, edges, maximal_path, partner, path_of, reaching, travel
from reluflow.papers.min2024.theorems.constants import longest_path_by_search, path_length, travelled
from reluflow.papers.workbench import Workbench


def _made(figure, **changes):
    settings = replace(figure.quick, **changes)
    return settings, figure.compute(settings, Workbench(figure.key, settings, code=""))


@pytest.fixture(scope="module")
def paths():
    return _made(figure_14.FIGURE, num_neurons=24)


@pytest.mark.parametrize("module", [figure_14, figure_15, figure_16, figure_17], ids=lambda m: m.FIGURE.key)
def test_claims_about_paths_hold_and_the_figure_is_drawn(module, paths, tmp_path):
    settings, results = paths
    claims = [c for c in module.FIGURE.claims(settings, results) if "length 10" not in c.text]  # 24 neurons are few
    assert [c.text for c in claims if c.holds is not True] == []
    (file,) = module.FIGURE.draw(settings, results, tmp_path)
    assert file.stat().st_size > 10_000


def test_a_path_that_turns_back_is_noticed(paths):
    settings, results = paths
    longest = max(reaching(results), key=lambda j: len(path_of(results, j)))
    nodes = results.nodes.copy()
    nodes[longest, [1, 2]] = nodes[longest, [2, 1]]
    forged = replace(results, nodes=nodes)
    assert [c.holds for c in figure_14.claims(settings, forged)][:2] == [False, False]


def test_a_neuron_slower_than_its_path_allows_is_noticed(paths):
    settings, results = paths
    forged = replace(results, unit=1e-3 * results.unit * 1e-3)
    failing = [c.text for c in figure_15.claims(settings, forged) if c.holds is False]
    assert len(failing) == 1
    assert failing[0].startswith("a neuron reaches $S_+$ within the travel time of its path")


@pytest.mark.parametrize(("plus", "minus"), [(1, 1), (2, 3), (4, 4), (5, 2)])
def test_the_maximal_path_is_the_longest_of_all(plus, minus):
    """Two ways: every path of single steps, and dynamic programming over every path however it jumps."""
    longest = travel(maximal_path(plus, minus))
    assert longest == pytest.approx(path_length(plus, minus))
    assert longest == pytest.approx(travelled(longest_path_by_search(plus, minus)))
    assert max(travel(path) for path in all_paths(plus, minus)) == pytest.approx(longest)


def test_partners_are_slower_and_serve_once():
    among = set(edges(maximal_path(4, 3)))
    for path in all_paths(4, 3):
        found = [(edge, partner(edge)) for gain in (False, True) for edge in chosen_edges(path, is_gain=gain)]
        assert len(found) == len(path) - 1 == len({other for _, other in found})
        assert all(other in among and sum(other[0]) <= sum(edge[0]) for edge, other in found)


@pytest.mark.parametrize("module", [figure_18, figure_19, figure_20, figure_21], ids=lambda m: m.FIGURE.key)
def test_claims_about_hyperplanes_hold_and_the_figure_is_drawn(module, tmp_path):
    settings, results = _made(module.FIGURE)
    assert [c.text for c in module.FIGURE.claims(settings, results) if c.holds is not True] == []
    (file,) = module.FIGURE.draw(settings, results, tmp_path)
    assert file.stat().st_size > 10_000


def test_the_slide_is_the_mixture_of_the_two_sides_that_stays():
    """Filippov: v = s F_+ + (1 - s) F_- with v_1 = 0; the exact flow's w_2 moves at that speed."""
    settings, results = _made(figure_18.FIGURE)
    data, times, path = samples(settings), results.times, results.path
    begin = int(np.searchsorted(times, results.met, side="right")) + 1
    for k, (one, two) in list(enumerate(pairwise(path)))[begin::40]:
        middle = 0.5 * (one + two)
        off, on = (velocity(data, np.array([side, *middle[1:]])) for side in (-1e-12, 1e-12))
        share = off[0] / (off[0] - on[0])
        assert 0.0 < share < 1.0
        speed = (two - one)[1:] / (times[k + 1] - times[k])
        np.testing.assert_allclose(speed, (share * on + (1.0 - share) * off)[1:], rtol=1e-4)


def test_a_flow_that_leaves_the_hyperplane_is_noticed():
    settings, results = _made(figure_18.FIGURE)
    failing = [c.text for c in figure_18.claims(settings, replace(results, on_plane=1e-3)) if c.holds is False]
    assert failing == ["and stays on it (largest $|w_1|$ afterwards)"]
