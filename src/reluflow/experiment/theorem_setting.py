"""The setting of a theorem as an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow.experiment.experiment import Experiment
from reluflow.theory.check import suggested_leak

if TYPE_CHECKING:
    from reluflow.theory.theorem import Theorem


def experiment_for(theorem: Theorem, data: str | None = None) -> Experiment:
    """A run in the setting a theorem is stated in: its loss, leak, initialisation, width and scale.

    Parameters
    ----------
    theorem
        The result.
    data
        A registered dataset or a file; by default the theorem's own example.

    Examples
    --------
    >>> from reluflow.theory.registry import theorem_named
    >>> experiment_for(theorem_named("min2024:thm1")).init
    'min-balanced'
    """
    setting = theorem.setting
    chosen = theorem.example if data is None else data
    return Experiment(
        chosen,
        loss=setting.loss,
        reduction=setting.reduction,
        factor=setting.factor,
        leak=suggested_leak(chosen) if setting.leak is None else setting.leak,
        init=setting.init,
        width=setting.width,
        scale=setting.scale,
    )
