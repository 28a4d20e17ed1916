"""reluflow: a laboratory for how small-initialisation ReLU networks learn.

>>> import reluflow
>>> data = reluflow.load("three-points")
>>> reluflow.extremal_vectors(data, reluflow.SquareLoss()).kinds
('maximum',)

`import reluflow` loads NumPy and nothing heavier; each name below loads its room when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow.lazy import lazy_names

if TYPE_CHECKING:
    from reluflow.certificates.certify import certify as certify
    from reluflow.certificates.hard_margin import linear_separator as linear_separator
    from reluflow.certificates.kkt import kkt_certificate as kkt_certificate
    from reluflow.certificates.minimum_norm_network import minimum_norm_network as minimum_norm_network
    from reluflow.certificates.network_margin import network_margin as network_margin
    from reluflow.data.dataset import Dataset as Dataset
    from reluflow.data.files import read_dataset as read_dataset
    from reluflow.data.files import write_dataset as write_dataset
    from reluflow.data.given import as_dataset as as_dataset
    from reluflow.data.registry import load as load
    from reluflow.data.registry import registered_datasets as registered_datasets
    from reluflow.dynamics.descent.gradient_descent import GradientDescent as GradientDescent
    from reluflow.dynamics.flow.branching import branching_of as branching_of
    from reluflow.dynamics.flow.choice import choose_flow as choose_flow
    from reluflow.dynamics.flow.collocation import CollocationFlow as CollocationFlow
    from reluflow.dynamics.flow.event_driven import EventDrivenFlow as EventDrivenFlow
    from reluflow.dynamics.keep import Keep as Keep
    from reluflow.dynamics.problem import TrainingProblem as TrainingProblem
    from reluflow.dynamics.train import train as train
    from reluflow.endings.levelling import end_of_training as end_of_training
    from reluflow.endings.limit import LimitIdentified as LimitIdentified
    from reluflow.endings.limit import certified_limit as certified_limit
    from reluflow.experiments.check import check as check
    from reluflow.experiments.whereabouts import whereabouts as whereabouts
    from reluflow.geometry.alignment import align as align
    from reluflow.geometry.cones import activation_cones as activation_cones
    from reluflow.geometry.extremal import extremal_vectors as extremal_vectors
    from reluflow.jump_process.forecast import forecast as forecast
    from reluflow.losses import ExponentialLoss as ExponentialLoss
    from reluflow.losses import LogisticLoss as LogisticLoss
    from reluflow.losses import SquareLoss as SquareLoss
    from reluflow.network.initialization import balanced_initialization as balanced_initialization
    from reluflow.network.initialization import dominated_initialization as dominated_initialization
    from reluflow.network.initialization import unbalanced_initialization as unbalanced_initialization
    from reluflow.network.network import Network as Network
    from reluflow.theory.diagnosis import diagnose as diagnose
    from reluflow.theory.registry import theorem_named as theorem_named

__version__ = "0.2.0"

_HOMES = {
    "Dataset": "data.dataset",
    "CollocationFlow": "dynamics.flow.collocation",
    "EventDrivenFlow": "dynamics.flow.event_driven",
    "branching_of": "dynamics.flow.branching",
    "choose_flow": "dynamics.flow.choice",
    "ExponentialLoss": "losses",
    "GradientDescent": "dynamics.descent.gradient_descent",
    "Keep": "dynamics.keep",
    "LimitIdentified": "endings.limit",
    "LogisticLoss": "losses",
    "Network": "network.network",
    "SquareLoss": "losses",
    "TrainingProblem": "dynamics.problem",
    "activation_cones": "geometry.cones",
    "align": "geometry.alignment",
    "as_dataset": "data.given",
    "balanced_initialization": "network.initialization",
    "certified_limit": "endings.limit",
    "certify": "certificates.certify",
    "check": "experiments.check",
    "diagnose": "theory.diagnosis",
    "dominated_initialization": "network.initialization",
    "end_of_training": "endings.levelling",
    "extremal_vectors": "geometry.extremal",
    "forecast": "jump_process.forecast",
    "kkt_certificate": "certificates.kkt",
    "lab_widget": "web.widget",  # not imported above even for types: rooms to the left of web open this door too
    "linear_separator": "certificates.hard_margin",
    "load": "data.registry",
    "minimum_norm_network": "certificates.minimum_norm_network",
    "network_margin": "certificates.network_margin",
    "read_dataset": "data.files",
    "registered_datasets": "data.registry",
    "study": "study",
    "sweep": "sweep",
    "theorem_named": "theory.registry",
    "train": "dynamics.train",
    "unbalanced_initialization": "network.initialization",
    "whereabouts": "experiments.whereabouts",
    "write_dataset": "data.files",
}

__all__ = ["__version__", *_HOMES]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
