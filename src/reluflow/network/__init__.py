"""The two-layer ReLU network and its initialisations; pure functions."""

from reluflow.network.files import is_network_file, read_network, write_network
from reluflow.network.infinite_width import circle_quadrature
from reluflow.network.initialization import (
    INITIALIZATIONS,
    Initialization,
    balanced_initialization,
    dominated_initialization,
    found_initializations,
    initialization_named,
    neuron_rng,
    unbalanced_initialization,
)
from reluflow.network.network import ConeMoments, Network, cone_moments
from reluflow.network.scale import log_of_scale

__all__ = [
    "INITIALIZATIONS",
    "ConeMoments",
    "Initialization",
    "Network",
    "balanced_initialization",
    "circle_quadrature",
    "cone_moments",
    "dominated_initialization",
    "found_initializations",
    "initialization_named",
    "is_network_file",
    "log_of_scale",
    "neuron_rng",
    "read_network",
    "unbalanced_initialization",
    "write_network",
]
