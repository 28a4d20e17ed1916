"""LevelledOff: the end of a classifier that cannot fit everything and fits the rest ever better; and any run's end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.after_run import Stage
from reluflow.certificates.endless_fall import UndecidedError, endless_fall
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.certificates.stationarity import kinks_of
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import (
    AbstractStoppingRule,
    Check,
    DirectionConverged,
    FirstOf,
    Stationary,
    is_acted_on,
)
from reluflow.dynamics.train import default_rule
from reluflow.dynamics.trajectory import Outcome

_WORTH_ASKING = 10.0  # times what may be left of the fall, by the gradient alone
_TELLS_APART = 1e4  # margin at which pairs that lead by 1e-3 of it have no force; before, they hide the limit
_AT_KINK = 1e-7  # of |w| |x|: a pre-activation so small counts as 0
_ASK_AGAIN = 0.3  # when less than this share of what was left then is left


def end_of_training(problem: TrainingProblem) -> AbstractStoppingRule:
    """Where the flow of a problem ends: at rest, at a known limiting direction, or where its loss has levelled off.

    Parameters
    ----------
    problem
        Dataset, loss and network.

    Returns
    -------
    AbstractStoppingRule
        For `train(until=...)`.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    >>> end_of_training(reluflow.TrainingProblem(data, reluflow.SquareLoss(), network))
    Stationary(atol=1e-08, loss_rtol=1e-10)
    """
    if not problem.loss.is_classification or not problem.moves_freely:
        return default_rule(problem)
    if not problem.has_single_output:
        if problem.moves_output_bias:
            return default_rule(problem)
        return FirstOf((LimitIdentified(), DirectionConverged(margin=_TELLS_APART), LevelledOff(), Stationary()))
    return FirstOf((LimitIdentified(), LevelledOff(), Stationary()))


def may_be_stiff(problem: TrainingProblem) -> bool:
    """Whether samples may contradict each other for ever, so that the end of the run takes very long times.

    That is so of classes which no line separates, though a network may separate them.
    """
    if not (problem.loss.fades and problem.num_outputs == 1):
        return False
    return not linear_separator(problem.dataset).margin > 0.0


@dataclass(frozen=True)
class LevelledOff(AbstractStoppingRule):
    """Stop a classifier when what its loss can still fall by, in the activation patterns it has, is next to nothing.

    Samples that contradict each other leave a loss above zero, while others may be fitted ever better: then the norm
    grows for ever, the gradient decays like 1/t, and no network attains what the loss tends to. That number is solved
    for; no neuron, however light, may still be growing or turning.

    Parameters
    ----------
    rtol
        What may be left of the fall, relative to the loss.

    Examples
    --------
    >>> import reluflow
    >>> data = reluflow.Dataset([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    >>> network = reluflow.Network([[0.3, 0.4], [0.2, -0.4]], [0.5, 0.44721359549995793])
    >>> problem = reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network)
    >>> print(reluflow.train(problem, reluflow.CollocationFlow(), until=LevelledOff()).outcome)
    levelled-off
    """

    rtol: float = 1e-6

    def start(self) -> Check:
        return _Levelling(self.rtol)


class _Levelling:
    """The questions of one run: `next_left` is what must be left, at most, before the next is worth its cost."""

    def __init__(self, rtol: float) -> None:
        self._rtol = rtol
        self.next_left = np.inf

    def __call__(self, run: AbstractRun) -> Outcome | None:
        with Stage("Looking for what the loss tends to"):  # the run goes on without it
            return self._found(run)
        return None

    def _found(self, run: AbstractRun) -> Outcome | None:
        loss, dataset = run.problem.loss, run.problem.dataset
        if not loss.fades or run.problem.moves_output_bias:
            return None
        outputs = run.outputs()
        if np.all(loss.margins(outputs, dataset.y)[is_acted_on(outputs)] > 0.0):
            return None
        now = run.loss()
        left = float(np.exp(min(2.0 * run.gradient().log_norm + run.log_time, 0.0)))  # of a fall like 1/t
        if left > min(self.next_left, _WORTH_ASKING * self._rtol * now) or not run.is_settled():
            return None
        self.next_left = _ASK_AGAIN * left
        network = run.network()
        try:
            fall = endless_fall(network, dataset, loss, kinks_of(network, dataset, _AT_KINK))
        except UndecidedError:
            return None
        is_level = fall is not None and now - fall.loss_at_infinity <= self._rtol * now
        return Outcome.LEVELLED_OFF if is_level else None
