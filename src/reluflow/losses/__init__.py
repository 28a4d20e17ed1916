"""Losses: one file each, stated once and used by the flow, by descent, by deep networks and by the command line.

Read `loss.py` first (what a loss is, and its shapes for one and for K outputs), then `square.py`; a loss of all outputs
of a sample at once is a `CoupledFormulas` (`coupled.py`, `softmax.py`); `registry.py` knows them by name, and
`compiled.py`, which nothing here imports, hands their formulas to machine code.
"""

from reluflow.losses.coupled import CoupledFormulas
from reluflow.losses.exponential import ExponentialLoss
from reluflow.losses.logistic import LogisticLoss
from reluflow.losses.loss import AbstractLoss, Formulas, Reduction, in_namespace
from reluflow.losses.registry import LOSSES, loss_named, register_loss
from reluflow.losses.softmax import SoftmaxLoss
from reluflow.losses.square import SquareLoss

__all__ = [
    "LOSSES",
    "AbstractLoss",
    "CoupledFormulas",
    "ExponentialLoss",
    "Formulas",
    "LogisticLoss",
    "Reduction",
    "SoftmaxLoss",
    "SquareLoss",
    "in_namespace",
    "loss_named",
    "register_loss",
]
