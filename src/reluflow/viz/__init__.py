"""Results in, figures out; matplotlib lives here and only here, and is imported when the first figure is drawn."""

from reluflow.viz.class_regions import plot_confusion
from reluflow.viz.conditions_table import plot_conditions
from reluflow.viz.dataset_picture import plot_dataset
from reluflow.viz.loss_phases import plot_loss_phases
from reluflow.viz.network_function import plot_network_function
from reluflow.viz.neuron_directions import plot_neuron_directions
from reluflow.viz.neuron_frames import plot_neuron_frames
from reluflow.viz.norms_and_angles import plot_norms_and_angles
from reluflow.viz.plane_geometry import plot_plane_geometry
from reluflow.viz.saving import save_figure
from reluflow.viz.sphere_geometry import plot_sphere_geometry
from reluflow.viz.staircase import plot_staircase
from reluflow.viz.style import figure_style

__all__ = [
    "figure_style",
    "plot_conditions",
    "plot_confusion",
    "plot_dataset",
    "plot_loss_phases",
    "plot_network_function",
    "plot_neuron_directions",
    "plot_neuron_frames",
    "plot_norms_and_angles",
    "plot_plane_geometry",
    "plot_sphere_geometry",
    "plot_staircase",
    "save_figure",
]
