"""Any number of scalar layers: Propositions 3.5 and 3.6, Theorems 3.7 to 3.9, Eq. (11), App. D.1 [lee2022]."""

from __future__ import annotations

import numpy as np

from reluflow.single_neuron.comparison import escape_time
from reluflow.single_neuron.full_parameter_flow import ParameterTrajectory
from reluflow.theory.evidence import Evidence, PopulationPlan
from reluflow.theory.lee2022.flow_measurements import flow, magnitudes, start_constants
from reluflow.theory.lee2022.implicit_time import implicit_error
from reluflow.theory.lee2022.model import layers, start, student
from reluflow.theory.lee2022.runs import UNBALANCED_FLOW, run_of
from reluflow.theory.measurement import Measurement, at_least, at_most, nothing
from reluflow.theory.theorem import Constants

CONSERVED = 1e-8  # relative drift of v_k^2 - |w|^2; the integrator at 1e-11 leaves 4e-11


# Proposition 3.5 ------------------------------------------------------------------------------------------------------


def _positive_layers(evidence: Evidence) -> Measurement:
    run = run_of(evidence, ParameterTrajectory)
    smallest = float(np.min(run.v / run.v[0]))
    return at_least(smallest, np.finfo(float).tiny, detail=f"the least v_k(t)/v_k(0) is {smallest:.4g}")


def _conserved(evidence: Evidence) -> Measurement:
    run = run_of(evidence, ParameterTrajectory)
    drift = np.abs(run.balance - run.balance[0]) / np.maximum(np.square(run.v), np.square(run.magnitude)[:, None])
    return at_most(float(np.max(drift)), CONSERVED)


def nested_output(w: np.ndarray, v: np.ndarray, X: np.ndarray) -> np.ndarray:
    """f(x) = v_1 s(v_2 s(... s(v_q s(<w, x>)))), evaluated layer by layer for any signs of the v_k."""
    value = np.maximum(X @ w, 0.0)
    for scalar in v[:0:-1]:
        value = np.maximum(scalar * value, 0.0)
    return np.asarray(v[0] * value if v.size else value)


def _dead_layer(evidence: Evidence) -> Measurement:
    """Largest output on the samples with v_2 < 0, and with every parameter moved by 1e-3 of its size."""
    one = student(evidence)
    if one.q < 2:
        return nothing("with one scalar layer there is none below the first")
    v = one.v.copy()
    v[1] = -v[1]
    v = evidence.witness("dead layers", lambda: v)
    rng = np.random.default_rng(0)
    largest = 0.0
    for size in (0.0, 1e-3, 1e-3):
        moved_w = one.w * (1.0 + size * rng.standard_normal(one.w.size))
        moved_v = v * (1.0 + size * rng.standard_normal(v.size))
        largest = max(largest, float(np.max(np.abs(nested_output(moved_w, moved_v, evidence.dataset.X)))))
    return at_most(largest, 0.0, detail=f"largest output with v_2 < 0 is {largest:.3g}, also nearby")


# Propositions and theorems of the balanced flow -----------------------------------------------------------------------


def _implicit(evidence: Evidence) -> Measurement:
    """Largest relative error of the implicit equation along the two comparison curves."""
    neuron, band, times = start(evidence), magnitudes(evidence), flow(evidence).times
    errors = [
        implicit_error(neuron.q, neuron.magnitude, level * neuron.teacher_power, curve, times)
        for level, curve in ((neuron.overlap, band.lower), (1.0, band.upper))
    ]
    return at_most(max(errors), 1e-8, detail=f"relative errors {errors[0]:.2g} (lower), {errors[1]:.2g} (upper)")


def _theorem_3_8_constants(evidence: Evidence) -> Constants:
    neuron = start(evidence)
    constants = dict(start_constants(evidence))
    if neuron.q >= 2 and neuron.magnitude < neuron.threshold:
        constants["escape_time"] = escape_time(neuron.q, neuron.magnitude, neuron.teacher_power)
    return constants


def _prop3_5_plan(evidence: Evidence) -> PopulationPlan:
    return PopulationPlan(
        UNBALANCED_FLOW,
        {
            "q": layers(evidence),
            "spread": evidence.parameter("spread"),
            "relaxations": evidence.parameter("relaxations"),
        },
    )
