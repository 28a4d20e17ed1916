"""Files: the same figure gives the same bytes, and a failure leaves the old file."""

import struct

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.viz import plot_dataset, plot_neuron_directions, plot_plane_geometry, plot_sphere_geometry, save_figure

THREE_POINTS = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8], name="three points")
TRIPLE = Dataset(np.eye(3), [1.0, 0.7, -0.8], name="triple")


def crowded():
    rng = np.random.default_rng(5)
    return plot_neuron_directions(rng.standard_normal((2500, 2)), rng.standard_normal(2500), THREE_POINTS)


DRAWINGS = {
    "dataset": lambda: plot_dataset(THREE_POINTS),
    "plane": lambda: plot_plane_geometry(THREE_POINTS, SquareLoss()),
    "sphere": lambda: plot_sphere_geometry(TRIPLE, SquareLoss()),
    "crowded": crowded,
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_same_input_same_bytes(tmp_path, name):
    figure, other = DRAWINGS[name](), DRAWINGS[name]()
    for suffix in (".png", ".svg", ".pdf"):
        first = save_figure(figure, tmp_path / f"first{suffix}").read_bytes()
        again = save_figure(figure, tmp_path / f"again{suffix}").read_bytes()
        redrawn = save_figure(other, tmp_path / f"redrawn{suffix}").read_bytes()
        assert first == again == redrawn, suffix
        assert len(first) > 2000


def test_png_has_150_dots_per_inch(tmp_path):
    figure = plot_dataset(THREE_POINTS)
    content = save_figure(figure, tmp_path / "figure.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert struct.unpack(">II", content[16:24]) == tuple(round(150 * side) for side in figure.get_size_inches())


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match=r"`path` must end in \.png, \.svg, \.pdf, got 'figure\.jpeg'"):
        save_figure(plot_dataset(THREE_POINTS), tmp_path / "figure.jpeg")


def test_missing_folder_is_refused_in_words(tmp_path):
    with pytest.raises(InvalidInputError, match=r"could not be written: No such file or directory"):
        save_figure(plot_dataset(THREE_POINTS), tmp_path / "nowhere" / "figure.png")


def test_a_failed_drawing_leaves_the_old_file(tmp_path):
    target = tmp_path / "figure.png"
    target.write_bytes(b"old")
    figure = plot_dataset(THREE_POINTS)
    figure.text(0.5, 0.5, "$\\nonsense{$")
    with pytest.raises(ValueError, match="nonsense"):
        save_figure(figure, target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]
