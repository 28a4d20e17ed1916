"""The polar picture shows what the geometry says: arrows, arcs, boundaries, refusals."""

import warnings

import numpy as np
import pytest
from matplotlib.colors import to_hex

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import align
from reluflow.geometry.basins import circle_basins
from reluflow.geometry.extremal import extremal_vectors
from reluflow.geometry.landscape import alignment_potential
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.viz import plot_plane_geometry
from reluflow.viz.plane_geometry import _spread
from reluflow.viz.polar import boundary_angles
from reluflow.viz.style import LIGHT, attractor_look
from viz.figure_parts import colliding_words, parts, words

THREE_POINTS = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8], name="three points")
SYMMETRIC = Dataset([[1.0, 2.0], [1.0, 0.3], [1.0, -1.5]], [1.0, 1.0, 1.0], name="symmetric").symmetrized()
NO_FORCE = Dataset([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], name="no force")


def random_problem(seed):
    rng = np.random.default_rng(seed)
    return Dataset(rng.standard_normal((6, 2)), rng.standard_normal(6), name="Gaussian"), [0.0, 0.3][seed % 2]


PROBLEMS = {
    "three points": (THREE_POINTS, SquareLoss(), 0.0),
    "symmetric": (SYMMETRIC, LogisticLoss(), 0.5),
    **{f"random {seed}": (random_problem(seed)[0], SquareLoss(), random_problem(seed)[1]) for seed in range(4)},
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_arrows_are_the_extremal_vectors_and_end_on_the_curve(name):
    dataset, loss, leak = PROBLEMS[name]
    found = extremal_vectors(dataset, loss, leak=leak)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arrows = parts(plot_plane_geometry(dataset, loss, leak), "extremal-")
    assert len(arrows) == len(found)
    for arrow, direction, norm in zip(arrows, found.directions, found.norms, strict=True):
        angle = arrow.get_xdata()[-1]
        tip = np.array([np.cos(angle), np.sin(angle)])
        assert tip == pytest.approx(direction, abs=1e-12)
        potential = alignment_potential(tip, dataset.X, loss.label_forces(dataset.y), leak=leak)
        assert arrow.get_ydata().tolist() == [0.0, pytest.approx(norm)]
        assert abs(potential) == pytest.approx(norm, rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", PROBLEMS)
def test_arcs_cover_the_circle_once_and_agree_with_the_flow(name, sign):
    dataset, loss, leak = PROBLEMS[name]
    found = extremal_vectors(dataset, loss, leak=leak)
    figure = plot_plane_geometry(dataset, loss, leak)
    wedges = parts(figure, f"basin-{'plus' if sign > 0 else 'minus'}-")
    assert sum(wedge.get_width() for wedge in wedges) == pytest.approx(2 * np.pi, abs=1e-12)
    angles = np.linspace(0.0, 2 * np.pi, 60, endpoint=False) + 0.0137
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    outcome = align(dataset.X, loss.label_forces(dataset.y), w, np.full(60, float(sign)), leak=leak)
    for j, angle in enumerate(angles):
        around = [wedge for wedge in wedges if np.mod(angle - wedge.get_x(), 2 * np.pi) < wedge.get_width()]
        assert len(around) == 1
        if outcome.end_names[j] == "dead":
            expected = LIGHT
        else:
            index = int(np.argmax(found.directions @ outcome.directions[j]))
            expected = attractor_look(index)[0]
        assert to_hex(around[0].get_facecolor()).upper() == expected


def test_three_points_in_numbers():
    """By hand: the dead cone is 136 degrees wide and |D| = |(-0.2583..., 0.6666...)| = 0.71497."""
    figure = plot_plane_geometry(THREE_POINTS, SquareLoss())
    shown = [text.get_text() for text in words(figure)]
    assert "to $D_{1}$: 62.22 %" in shown
    assert "dead: 37.78 %" in shown
    assert "dead: 100 %" in shown
    assert "$D_{1}$ maximum of $G$, $|D|$ = 0.715" in shown


def test_cone_boundaries_are_orthogonal_to_samples():
    figure = plot_plane_geometry(THREE_POINTS, SquareLoss())
    angles = np.array([line.get_xdata()[0] for line in parts(figure, "cone-boundary-")])
    assert angles == pytest.approx(boundary_angles(THREE_POINTS.X))
    products = np.abs(np.column_stack([np.cos(angles), np.sin(angles)]) @ THREE_POINTS.X.T)
    assert np.max(np.min(products, axis=1)) < 1e-15
    assert np.sum(products < 1e-15) == 6


def test_lobes_are_drawn_for_the_signs_that_occur():
    assert [p.get_gid() for p in parts(plot_plane_geometry(THREE_POINTS, SquareLoss()), "potential-")] == [
        "potential-positive"
    ]
    lobes = parts(plot_plane_geometry(SYMMETRIC, LogisticLoss(), 0.5), "potential-")
    assert {lobe.get_gid(): bool(lobe.get_hatch()) for lobe in lobes} == {
        "potential-positive": False,
        "potential-negative": True,
    }


def test_without_force_everything_is_dead():
    figure = plot_plane_geometry(NO_FORCE, SquareLoss())
    assert parts(figure, "extremal-") == []
    assert parts(figure, "potential-") == []
    assert [text.get_text() for text in words(figure)].count("dead: 100 %") == 2


@pytest.mark.parametrize("name", PROBLEMS)
def test_words_do_not_collide(name):
    assert colliding_words(plot_plane_geometry(*PROBLEMS[name])) == []


@pytest.mark.parametrize(("n", "shift"), [(60, 4.0), (300, 0.0)])
def test_a_long_legend_sums_up_and_still_adds_up(n, shift):
    """With more than five basins and none dead, the smallest was once listed where the dead belong."""
    rng = np.random.default_rng(0)
    dataset = Dataset(rng.standard_normal((n, 2)) + np.array([shift, 0.0]), rng.standard_normal(n), name="many")
    figure = plot_plane_geometry(dataset, SquareLoss())
    lines = [text.get_text() for text in figure.legends[0].get_texts()]
    first, second = (i for i, line in enumerate(lines) if line.startswith("\nBasins"))
    for sign, rows in ((1, lines[first + 1 : second]), (-1, lines[second + 1 :])):
        basins = circle_basins(dataset.X, SquareLoss().label_forces(dataset.y), sign=sign)
        shares = [float(row.split(": ")[1].rstrip(" %")) for row in rows]
        assert sum(shares) == pytest.approx(100.0, abs=0.005 * len(shares) + 1e-9)
        assert any(row.startswith("dead: ") for row in rows) == any(basin.end == "dead" for basin in basins)
        live = [share for row, share in zip(rows, shares, strict=True) if row.startswith("to ")]
        ranked = sorted((100 * basin.probability for basin in basins if basin.end != "dead"), reverse=True)
        assert live == pytest.approx(ranked[: len(live)], abs=0.00501)
        assert len(rows) <= 5
        if sign > 0:
            assert len(basins) > 5


def test_other_dimensions_are_refused():
    with pytest.raises(InvalidInputError, match=r"dimension 2, got `dataset` of dimension 3; `plot_sphere_geometry`"):
        plot_plane_geometry(Dataset(np.eye(3), [1.0, 2.0, 3.0]), SquareLoss())
    with pytest.raises(InvalidInputError, match="no zero sample, got one in row 2"):
        plot_plane_geometry(Dataset([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0]), SquareLoss())
    with pytest.raises(InvalidInputError, match="labels -1 and 1"):
        plot_plane_geometry(THREE_POINTS, LogisticLoss())


def test_names_are_spread_in_order():
    angles = np.array([1.0, 1.01, 1.02, 4.0, 6.28, 0.0])
    places = _spread(angles, 0.2)
    ordered = np.sort(places)
    assert np.min(np.diff(ordered, append=ordered[0] + 2 * np.pi)) > 0.199
    assert places[:3].tolist() == sorted(places[:3])
    assert places[3] == 4.0
