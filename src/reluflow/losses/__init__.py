"""Losses: one file each, stated once and used by the flow, by descent, by deep networks and by the command line.

Read `loss.py` first (what a loss is), then `square.py`; `registry.py` knows them by name, and `compiled.py`, which
nothing here imports, hands their formulas to machine code.
"""

from reluflow.losses.exponential import ExponentialLoss
from reluflow.losses.logistic import LogisticLoss
from reluflow.losses.loss import AbstractLoss, Formulas, Reduction
from reluflow.losses.registry import LOSSES, loss_named, register_loss
from reluflow.losses.square import SquareLoss

__all__ = [
    "LOSSES",
    "AbstractLoss",
    "ExponentialLoss",
    "Formulas",
    "LogisticLoss",
    "Reduction",
    "SquareLoss",
    "loss_named",
    "register_loss",
]
