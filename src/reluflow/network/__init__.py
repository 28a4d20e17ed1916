"""The two-layer ReLU network and its initialisations; pure functions."""

from reluflow.network.network import ConeMoments, Network, cone_moments
from reluflow.network.scale import log_of_scale

__all__ = ["ConeMoments", "Network", "cone_moments", "log_of_scale"]
