"""The population model behind a problem: its one neuron is the student, the neuron behind its labels the teacher."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import gap_between
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.bounds import MagnitudeRange, angle_rates, magnitude_range
from reluflow.papers.lee2022.single_neuron.population import NeuronParameters, balanced_parameters
from reluflow.theory.evidence import Evidence, computed_once


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


def magnitude_limits(evidence: Evidence) -> MagnitudeRange:
    """r and R of the start."""
    return magnitude_range(start(evidence))


def rates(evidence: Evidence) -> tuple[float, float]:
    """The slow and the fast rate of the angle."""
    return angle_rates(start(evidence))


def largest_step_rate(neuron: BalancedNeuron) -> float:
    """The fastest rate of the flow, R^(2q) or that of the angle if larger: eta must be small beside its inverse."""
    return float(max(magnitude_range(neuron).largest ** (2 * neuron.q), angle_rates(neuron)[1]))
