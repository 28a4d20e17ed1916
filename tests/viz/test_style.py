"""The look: applied in a context, loaded late, and missed in words."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.errors import MissingExtraError
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.theory.condition import Condition
from reluflow.theory.diagnosis import Diagnosis
from reluflow.viz import (
    plot_conditions,
    plot_dataset,
    plot_network_function,
    plot_neuron_directions,
    plot_plane_geometry,
    plot_sphere_geometry,
    save_figure,
)
from reluflow.viz.style import ATTRACTOR_COLOURS, ATTRACTOR_HATCHES, SETTINGS, attractor_look, dataset_title

THREE_POINTS = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8], name="three points")
TRIPLE = Dataset(np.eye(3), [1.0, 0.7, -0.8], name="triple")
NETWORK = Network(w=[[1.0, 0.5], [-1.0, 0.2]], a=[1.0, -0.5])
DIAGNOSIS = Diagnosis(
    THREE_POINTS, SquareLoss(), 0.0, (Condition("no-saddle", "boursier2024", "G has no saddle", True, 0.5, ""),), ()
)
DRAWINGS = {
    "dataset": lambda: plot_dataset(THREE_POINTS),
    "plane": lambda: plot_plane_geometry(THREE_POINTS, SquareLoss()),
    "sphere": lambda: plot_sphere_geometry(TRIPLE, SquareLoss()),
    "conditions": lambda: plot_conditions(DIAGNOSIS),
    "function": lambda: plot_network_function(NETWORK, THREE_POINTS),
    "neurons": lambda: plot_neuron_directions(NETWORK.w, NETWORK.a, THREE_POINTS),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_missing_matplotlib_is_missed_in_words(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as refusal:
        DRAWINGS[name]()
    expected = "Drawing needs matplotlib, which is not installed: pip install 'reluflow[viz]'."
    assert str(refusal.value) == expected


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_global_setting_changes(tmp_path, name):
    with matplotlib.rc_context({"lines.linewidth": 7.0, "font.size": 21.0}):
        before = dict(matplotlib.rcParams)
        figure = DRAWINGS[name]()
        save_figure(figure, tmp_path / "figure.png")
        assert dict(matplotlib.rcParams) == before


def test_the_readers_configuration_does_not_reach_the_figure(tmp_path):
    plain = save_figure(DRAWINGS["plane"](), tmp_path / "plain.png").read_bytes()
    with matplotlib.rc_context({"lines.linewidth": 7.0, "font.size": 21.0, "axes.facecolor": "pink"}):
        changed = save_figure(DRAWINGS["plane"](), tmp_path / "changed.png").read_bytes()
    assert plain == changed


def test_matplotlib_loads_with_the_first_figure_and_pyplot_never():
    code = (
        "import sys, reluflow.viz as viz\n"
        "from reluflow.data.dataset import Dataset\n"
        "print('matplotlib' in sys.modules)\n"
        "viz.plot_dataset(Dataset([[0.0, 1.0], [1.0, 1.0]], [0.0, 2.0]))\n"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False", "True", "False"]


def test_every_setting_is_one_matplotlib_knows():
    assert set(SETTINGS) <= set(matplotlib.rcParamsDefault)


def test_forty_attractors_look_different():
    looks = {attractor_look(index) for index in range(len(ATTRACTOR_COLOURS) * len(ATTRACTOR_HATCHES))}
    assert len(looks) == 40


def test_long_names_are_cut():
    assert len(dataset_title(THREE_POINTS.replace(name="long " * 40))) < 64


def test_notebook_shows_the_picture():
    """Figures belong to no global list, so notebooks printed `<Figure size ...>` until something had loaded pyplot."""
    from reluflow.viz.style import new_figure

    figure = new_figure(3.0, 2.0)
    figure.subplots().plot([0.0, 1.0])
    assert figure._repr_png_().startswith(b"\x89PNG")
