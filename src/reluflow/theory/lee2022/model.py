"""The population model behind a problem: its one neuron is the student, the neuron behind its labels the teacher."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.single_neuron.angle import gap_between
from reluflow.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.single_neuron.bounds import MagnitudeRange, angle_rates, magnitude_range
from reluflow.single_neuron.population import NeuronParameters, balanced_parameters
from reluflow.theory.comparison import Comparison, judgement, undecided
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.lee2022.conditions import single_neuron_realizable


def layers(evidence: Evidence) -> int:
    """q, the number of scalar layers; 0 for the results of Section 3.1, which have no such parameter."""
    value = float(dict(evidence.parameters).get("q", 0.0))
    if value != round(value):
        raise InvalidInputError(f"`q` must be a whole number of scalar layers, got {value:g}.")
    return int(value)


@computed_once
def labelling_vector(evidence: Evidence) -> FloatArray:
    """beta with y_k = s(<beta, x_k>): least squares on the samples with a positive label, shape (d,)."""
    X, y = evidence.dataset.X, evidence.dataset.y
    return np.asarray(np.linalg.lstsq(X[y > 0], y[y > 0], rcond=None)[0])


@computed_once
def teacher(evidence: Evidence) -> NeuronParameters:
    """w* with its balanced scalar layers: |w*|^q w* is the labelling vector."""
    q, beta = layers(evidence), labelling_vector(evidence)
    length = float(np.linalg.norm(beta))
    return balanced_parameters(beta / length * length ** (1.0 / (q + 1)), q=q)


def student(evidence: Evidence) -> NeuronParameters:
    """The network's input weight with balanced scalar layers."""
    return balanced_parameters(evidence.network.materialized().w[0], q=layers(evidence))


@computed_once
def start(evidence: Evidence) -> BalancedNeuron:
    """Magnitude and angle of the student seen from the teacher."""
    one, other = student(evidence), teacher(evidence)
    gap = float(gap_between(one.w, other.w))
    return BalancedNeuron(layers(evidence), one.norm, gap=gap, teacher_magnitude=other.norm)


def _one_neuron(evidence: Evidence) -> Comparison:
    network = evidence.network
    if network.num_neurons != 1:
        return judgement(False, float(1 - network.num_neurons), f"{network.num_neurons} neurons")
    w, a = float(np.linalg.norm(network.w)), float(network.a[0])
    if w == 0.0:
        return judgement(False, 0.0, "its input weight is 0")
    if layers(evidence) == 1:
        gap = abs(a - w) / w
        return judgement(gap <= 1e-9, 1e-9 - gap, f"|a - |w||/|w| = {gap:.2g} for the one scalar layer a")
    return judgement(True, None, f"one neuron; its {layers(evidence)} scalar layers start at |w|")


@computed_once
def turning_start(evidence: Evidence) -> Comparison:
    """Whether there are a teacher and a student at an angle that is neither 0 nor pi; what follows needs it."""
    if single_neuron_realizable(evidence.facts).holds is False or evidence.network.num_neurons != 1:
        return judgement(False, None, "there is no teacher or no single student")
    beta, w = labelling_vector(evidence), evidence.network.w[0]
    if not np.any(beta) or not np.any(w):
        return judgement(False, 0.0, "the teacher or the student is 0")
    gap = float(gap_between(w, beta))
    margin = min(gap, np.pi - gap)
    return judgement(margin > 1e-12, margin, f"phi_0 = {np.pi - gap:.6g}")


def magnitude_limits(evidence: Evidence) -> MagnitudeRange:
    """r and R of the start."""
    return magnitude_range(start(evidence))


def rates(evidence: Evidence) -> tuple[float, float]:
    """The slow and the fast rate of the angle."""
    return angle_rates(start(evidence))


def largest_step_rate(neuron: BalancedNeuron) -> float:
    """The fastest rate of the flow, R^(2q) or that of the angle if larger: eta must be small beside its inverse."""
    return float(max(magnitude_range(neuron).largest ** (2 * neuron.q), angle_rates(neuron)[1]))


def once_turning(judge: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """A judge that needs a start: undecided where there is none, which the hypothesis on the start then says."""

    def guarded(evidence: Evidence) -> Comparison:
        return judge(evidence) if turning_start(evidence).holds else undecided("there is no start to judge it from")

    return guarded
