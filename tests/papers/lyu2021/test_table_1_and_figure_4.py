"""Table 1 and Figure 4 of Lyu et al. (2021) at a small size, and their measurements on cases one can do by hand."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from reluflow.certificates.hard_margin import linear_separator
from reluflow.data.dataset import Dataset
from reluflow.network import Network
from reluflow.papers.lyu2021.figures import figure_4, gaussian_table, table_1
from reluflow.papers.lyu2021.figures.gaussian_run import Training, compared, split_of, symmetrized
from reluflow.papers.store import ResultStore
from reluflow.papers.workbench import Workbench


@pytest.fixture(scope="module")
def table():
    training = Training(iterations=3_000)
    settings = replace(
        table_1.FIGURE.quick,
        training=training,
        sizes=(10, 20, 30),
        symmetric_sizes=(10,),
        long_sizes=(10,),
        long_iterations=6_000,
    )
    return settings, gaussian_table.compute(settings, Workbench("table1", settings))


@pytest.fixture(scope="module")
def planes():
    settings = replace(figure_4.FIGURE.quick, training=Training(iterations=3_000), sizes=(10, 100), num_points=60)
    return settings, figure_4.compute(settings, Workbench("fig4", settings))


def test_claims_of_the_table(table):
    settings, results = table
    judged = table_1.claims(settings, results)
    assert not any(claim.is_failure for claim in judged)
    assert [claim.text.split()[1] for claim in judged if claim.holds is None] == ["SVM", "network"]
    (finding,) = [claim for claim in judged if claim.finding]
    assert finding.holds is False
    assert "E20" in finding.why


def test_margins(table):
    """Above the best linear one on the paper's data: 1.063 ± 0.028 in the 8 runs of the full size for n = 10, 1.04 and
    1.08 here; below and rising on the symmetrised: 0.974 after 3,000 iterations, 0.999 after 6,000."""
    _, results = table
    assert np.all(results.plain.margin_ratio[0] > 1.02)
    assert 0.95 < results.symmetric.margin_ratio[0, 0] < results.long.margin_ratio[0, 0] < 1.0
    assert results.long.margin_ratio[0, 0] > 0.99
    assert results.long.agreement[0, 0] > 99.0


def test_files_of_the_table(table, tmp_path):
    paths = table_1.FIGURE.draw(*table, tmp_path)
    assert [path.name for path in paths] == ["table1.png", "table1-errors.png", "table1.csv"]
    rows = list(csv.reader(paths[2].read_text(encoding="utf-8").splitlines()))
    assert [row[0] for row in rows] == ["n", "10", "20", "30"]
    assert rows[1][1:3] == ["30.2", "30.5"]
    assert "±" in rows[1][3]


def test_pieces_are_kept(tmp_path):
    """One row is computed once, also for other seeds beside it."""
    training = Training(iterations=50, num_test=100)
    settings = replace(
        table_1.FIGURE.quick, training=training, sizes=(10,), seeds=(0,), symmetric_sizes=(10,), long_sizes=()
    )
    counts = []
    for seeds in ((0,), (0, 1), (0, 1)):
        asked = replace(settings, seeds=seeds)
        gaussian_table.compute(asked, Workbench("table1", asked, store=ResultStore(tmp_path)))
        counts.append(sum(path.is_file() for path in tmp_path.rglob("*")))
    per_piece = counts[0] // 2  # one plain, one symmetrised
    assert counts == [2 * per_piece, 3 * per_piece, 3 * per_piece]


def test_claims_of_figure_4(planes):
    """Four seeds at 3,000 iterations: they differ on 3 to 9.3 % of the plane (12 %) and by 5 to 12 degrees (15), the
    angle of the SVM at n = 100 over that at 10 is 0.34 to 0.47 (0.6), the bend 0.03 to 0.17 degrees (2)."""
    judged = figure_4.claims(*planes)
    assert not any(claim.is_failure for claim in judged)
    assert [claim.holds for claim in judged] == [True] * 4 + [False]


def test_drawing_of_figure_4(planes, tmp_path):
    (path,) = figure_4.FIGURE.draw(*planes, tmp_path)
    assert path.name == "fig4.png"
    assert path.stat().st_size > 20_000


def test_the_plane_shows_the_whole_svm(planes):
    """The gradient of the SVM within the plane has all of its length but the bias coordinate."""
    settings, results = planes
    step = 2 * figure_4.REACH / (settings.num_points - 1)
    for n, panel in zip(settings.sizes, results.panels, strict=True):
        separator = linear_separator(split_of(settings.training, n, settings.seed).train)
        slopes = np.diff(panel.linear, axis=0)[0, 0], np.diff(panel.linear, axis=1)[0, 0]
        assert np.hypot(*slopes) / step == pytest.approx(np.linalg.norm(separator.w[:-1]), rel=1e-9)


def test_tilts_of_a_line():
    ticks = np.linspace(-1.0, 1.0, 40)
    across, upwards = np.meshgrid(ticks, ticks)
    turn = np.radians(20.0)
    tilts = figure_4.boundary_tilts(np.cos(turn) * across + np.sin(turn) * upwards, ticks)
    assert tilts == pytest.approx([20.0, 20.0], abs=1e-9)
    assert np.all(np.isnan(figure_4.boundary_tilts(np.ones_like(across), ticks)))


def test_a_linear_network_compared_with_the_svm():
    data = Dataset([[1.0, 0.5], [-2.0, 0.0]], [1, -1])
    separator = linear_separator(data)
    network = Network(np.outer([3.0, -3.0], separator.w), [3.0, -3.0], leak=0.5)
    row = compared(network, separator, data, data)
    assert row.net_error == row.svm_error == 0.0
    assert row.agreement == 100.0
    assert row.cosine == pytest.approx(1.0)
    assert row.even == pytest.approx(0.0, abs=1e-12)
    assert row.margin_ratio == pytest.approx(1.0, rel=1e-12)  # Theorem 4.2: the best of a linear function


def test_symmetrising_keeps_the_svm():
    data = split_of(Training(iterations=1, num_test=10), 20, 0).train
    one, two = linear_separator(data), linear_separator(symmetrized(data))
    assert two.w == pytest.approx(one.w, abs=1e-9)
    assert two.margin == pytest.approx(one.margin, rel=1e-9)
