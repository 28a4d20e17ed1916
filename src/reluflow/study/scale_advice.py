"""How small the initialisation must be: the scale each applicable theorem asks for, against the one used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import ReluflowError
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.theorem import Theorem


@dataclass(frozen=True)
class ScaleAdvice:
    """The scale one theorem asks for, where it says so, and the one its check is made at.

    Parameters
    ----------
    theorem
        Its key.
    log_asked
        Natural logarithm of the largest size, sqrt(sum_j a_j^2) at the start, that the (corrected) statement admits;
        None where it names none or where its thresholds are out of reach for these data.
    log_shown
        The same of the start its check is made from: small enough for its bounds to say something. None where that is
        the given network, for no smaller one could be worked out.
    log_used
        The same of the network in use.
    """

    theorem: str
    log_asked: float | None
    log_shown: float | None
    log_used: float

    @property
    def is_met(self) -> bool | None:
        """Whether the network in use is small enough; None where the theorem does not say."""
        return None if self.log_asked is None else self.log_used <= self.log_asked

    def __str__(self) -> str:
        used = power_of_ten(self.log_used)
        if self.log_asked is None:
            shown = "no scale" if self.log_shown is None else f"scale {power_of_ten(self.log_shown)}, its own choice,"
            return (
                f"{self.theorem} names no threshold that can be evaluated; {shown} is checked, used {used}: undecided"
            )
        verdict = "met" if self.is_met else "not met"
        return f"{self.theorem} asks for {power_of_ten(self.log_asked)}, used {used}: {verdict}"


def scale_advice(problem: TrainingProblem, theorems: Iterable[Theorem]) -> tuple[ScaleAdvice, ...]:
    """The scale each theorem whose data hypotheses hold asks for, largest first, those that name none last.

    Theorems that have no scale, that are stated for another loss or leak, or whose constants are out of reach for
    these data are left out.
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
            factor = theorem.log_scale(evidence)
            asked = _log_asked(theorem.constants(evidence), used)
        except ReluflowError:
            continue  # out of reach for these data, as their diagnosis says
        if math.isfinite(factor):
            shown = used + factor if factor != 0.0 else None  # a factor of 1 is no choice: nothing is known
            found.append(ScaleAdvice(theorem.key, asked, shown, used))
    return tuple(sorted(found, key=lambda advice: math.inf if advice.log_asked is None else -advice.log_asked))


def scale_advice_of(problem: TrainingProblem, keys: Iterable[str]) -> tuple[ScaleAdvice, ...]:
    """The same for theorems named by their keys."""
    return scale_advice(problem, [theorem_named(key) for key in keys])


def _log_asked(constants: Mapping[str, Any], used: float) -> float | None:
    """The threshold of a statement, from its constants: every bound on ln lambda it names, the smallest of them."""
    bounds = [constants.get(name) for name in ("log_lambda_star", "log_lambda_settled")]
    known = [float(bound) for bound in bounds if bound is not None and math.isfinite(bound)]
    if len(known) < 2 or "log_lambda" not in constants:
        return None
    return used + min(known) - float(constants["log_lambda"])


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
