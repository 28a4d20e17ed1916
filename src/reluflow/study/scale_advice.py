"""How small the initialisation must be: the scale each applicable theorem asks for, against the one used."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import ReluflowError
from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Theorem


@dataclass(frozen=True)
class ScaleAdvice:
    """The scale one theorem asks for.

    Parameters
    ----------
    theorem
        Its key.
    log_asked
        Natural logarithm of the largest admissible size, sqrt(sum_j a_j^2) at the start.
    log_used
        The same of the network in use.
    """

    theorem: str
    log_asked: float
    log_used: float

    @property
    def is_met(self) -> bool:
        """Whether the network in use is small enough."""
        return self.log_used <= self.log_asked

    def __str__(self) -> str:
        verdict = "met" if self.is_met else "not met"
        return f"{self.theorem} asks for {power_of_ten(self.log_asked)}, used {power_of_ten(self.log_used)}: {verdict}"


def scale_advice(problem: TrainingProblem, theorems: Iterable[Theorem]) -> tuple[ScaleAdvice, ...]:
    """The scale each theorem whose data hypotheses hold asks for, largest first.

    Theorems that name no scale, that are stated for another loss or leak, or whose constants are out of reach for these
    data are left out.
    """
    used = log_size(problem)
    found = []
    for theorem in theorems:
        if theorem.log_scale is None:
            continue
        evidence = Evidence(problem, parameters=theorem.parameter_values({}))
        try:
            if theorem.preliminary(evidence) is not None:
                continue
            asked = used + theorem.log_scale(evidence)
        except ReluflowError:
            continue  # out of reach for these data, as their diagnosis says
        if math.isfinite(asked):
            found.append(ScaleAdvice(theorem.key, asked, used))
    return tuple(sorted(found, key=lambda advice: -advice.log_asked))


def log_size(problem: TrainingProblem) -> float:
    """ln sqrt(sum_j a_j^2) at the start."""
    network = problem.network
    return network.log_scale + 0.5 * math.log(float(np.sum(network.weight * network.a**2)))


def power_of_ten(log_value: float) -> str:
    """A number given by its natural logarithm, also outside the range of a double.

    >>> power_of_ten(-2302.585092994046)
    '1e-1000'
    >>> power_of_ten(-0.6931471805599453)
    '0.5'
    """
    if abs(log_value) < 500.0:
        return f"{math.exp(log_value):.3g}"
    exponent = log_value / math.log(10.0)
    whole = math.floor(exponent + 1e-9)
    return f"{10 ** (exponent - whole):.3g}e{whole:+d}".replace("e+", "e")
