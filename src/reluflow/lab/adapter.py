"""The one place where the laboratory meets the library: from a state to a problem, a run, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.data.registry import registered_datasets, suggested_settings
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.trajectory import Snapshot, Trajectory
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.formulas import as_unicode
from reluflow.lab.frames import most_frames
from reluflow.lab.state import MOST_ENTRIES, MOST_SAMPLES, RTOL, check_size, initializations
from reluflow.network import Network

if TYPE_CHECKING:
    from reluflow.certificates.limits.certified_limit import CertifiedLimit

OnStep = Callable[[AbstractRun], None]

PLANE = 2
MOST_THUMBNAIL_POINTS = 40
_LARGEST_PARAMETER = 500  # of a whole-number parameter of a registered dataset, its size for example
SLOW_LOG_TIME = 350.0  # ln t: runs that converge in the ordinary way have ended by 10^60
_PAIRS = (
    "With several classes neurons align with pairs (w, v), of which the laboratory shows none; one class against the "
    "rest (labels -1 and 1) has its extremal vectors."
)
_OWN_MACHINE_ONLY = ("source",)  # parameters that would fetch something


def catalogue() -> list[dict[str, Any]]:
    """The registered datasets that fit a page, with the settings their papers use them with."""
    listed = []
    for entry in registered_datasets():
        if entry.n * entry.d > MOST_ENTRIES or entry.n > MOST_SAMPLES:
            continue
        settings = suggested_settings(entry.name)
        listed.append(
            {
                "name": entry.name,
                "n": entry.n,
                "d": entry.d,
                "task": str(entry.task),
                "paper": entry.paper,
                "summary": entry.summary,
                "loss": settings.loss,
                "reduction": settings.reduction,
                "factor": settings.factor,
                "leak": settings.leak,
                "points": _thumbnail(entry.name) if entry.d == PLANE else None,
            }
        )
    return listed


def _thumbnail(name: str) -> list[list[float]]:
    """Some samples of a dataset of the plane with their labels, for a small picture."""
    from reluflow.data.registry import load

    data = load(name)
    labels = data.y if data.y.ndim == 1 else data.y[:, 0]
    picked = np.unique(np.linspace(0, data.n - 1, MOST_THUMBNAIL_POINTS).round().astype(np.intp))
    rows: list[list[float]] = np.column_stack([data.X, labels])[picked].round(4).tolist()
    return rows


def schemes() -> list[dict[str, str]]:
    """Every initialisation of the menu with its paper and its law."""
    return [{"name": s.name, "paper": s.paper, "summary": s.summary} for s in initializations().values()]


def dataset_of(state: Experiment) -> Dataset:
    """The data of a state: given, or registered. Zero and repeated samples are refused, and no file is read."""
    if state.X is None:
        _check_parameters(state.data)
    data = state.dataset()
    return data.with_class_indices() if state.loss == "softmax" else data


def _check_parameters(spec: str) -> None:
    for part in spec.partition(":")[2].split(","):
        key, _, value = part.partition("=")
        if key in _OWN_MACHINE_ONLY:
            raise InvalidInputError(f"`{key}` is not a parameter of the laboratory; `reluflow study {spec}` takes it.")
        if value.isdigit() and int(value) > _LARGEST_PARAMETER:
            raise InvalidInputError(f"`{key}` must be at most {_LARGEST_PARAMETER} in the laboratory, got {value}.")


def problem_of(state: Experiment) -> TrainingProblem:
    """The training problem of a state, refused where it is too large for a page."""
    data = dataset_of(state)
    drawn = 1 if isinstance(state.width, str) else state.width
    check_size(data.n, data.d, drawn if state.neurons is None else len(state.neurons), data.num_outputs)
    return state.problem(data)


def is_slow_direction(run: AbstractRun, solver: AbstractSolver) -> bool:
    """Whether a classifier is far beyond its fit and the event-driven solver still has no direction.

    Where a direction is approached like 1/log t, that solver would take its steps for minutes (four samples in the
    plane came to t = 10^2027 in 20 seconds); collocation takes the logarithm of the time in ever longer steps.
    """
    from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow

    return isinstance(solver, EventDrivenFlow) and run.problem.loss.is_classification and run.log_time > SLOW_LOG_TIME


def solver_of_directions() -> AbstractSolver:
    """The solver that follows a classifier to times of any size."""
    from reluflow.dynamics.collocation.collocation_flow import CollocationFlow

    return CollocationFlow(rtol=RTOL)


def run_of(
    state: Experiment,
    problem: TrainingProblem,
    on_step: OnStep,
    *,
    solver: AbstractSolver | None = None,
    keep: Keep | None = None,
) -> Trajectory:
    """Run the flow to its limit, or the descent through its iterations; `on_step` may stop it by KeyboardInterrupt."""
    from reluflow.dynamics.train import train
    from reluflow.dynamics.trajectory import TrainingInterrupted

    solver, until = solver or state.solver_for(problem), state.rule_for(problem)
    try:
        return train(problem, solver, until=until, keep=keep, progress=on_step)
    except TrainingInterrupted as interrupt:  # what was done is shown
        return interrupt.trajectory


def states_on_the_way(trajectory: Trajectory) -> tuple[Snapshot, ...]:
    """States of a flow that kept none, from following it once more up to where it ended."""
    from reluflow.dynamics.flow_choice import choose_flow
    from reluflow.dynamics.train import train

    problem, end = trajectory.problem, trajectory.log_time
    keep = Keep(thinned=most_frames(problem.network.num_neurons, problem.dataset.d), evenly="change")
    return train(problem, choose_flow(problem, rtol=RTOL).solver, until=Exhausted(), log_horizon=end, keep=keep).frames


def states_between(
    problem: TrainingProblem, network: Network, times: FloatArray, on_step: OnStep
) -> tuple[Snapshot, ...]:
    """States of the flow at given times after the moment it was at a network."""
    from reluflow.dynamics.flow_choice import choose_flow
    from reluflow.dynamics.stopping import AtTime
    from reluflow.dynamics.train import train

    again = replace(problem, network=network)
    solver = choose_flow(again, rtol=RTOL).solver
    return train(again, solver, until=AtTime(float(times[-1])), times=times, progress=on_step).snapshots


def geometry_of(problem: TrainingProblem) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Extremal vectors, their kinds, and where each neuron goes as the scale vanishes."""
    from reluflow.geometry.alignment import END_NAMES, alignment_of
    from reluflow.geometry.extremal import extremal_vectors

    data, loss, network = problem.dataset, problem.loss, problem.network
    if network.num_outputs > 1:
        return {"exact": True, "degenerate": [], "extremal": [], "counts": {}, "ends": END_NAMES, "open": _PAIRS}, {}
    found = extremal_vectors(data, loss, leak=network.leak, max_cones=200_000)
    aligned = alignment_of(data, loss, network.w, network.a, leak=network.leak)
    directions = aligned.directions
    nearest = np.full(len(aligned.ends), -1, dtype=np.int32)
    if len(found):
        cosines = directions @ found.directions.T
        best = np.argmax(cosines, axis=1)
        close = (aligned.indices >= 0) & (cosines[np.arange(len(best)), best] > 1 - 1e-9)
        nearest[close] = best[close]
    header: dict[str, Any] = {
        "exact": found.exact,
        "degenerate": found.degenerate,
        "extremal": found.table(),
        "counts": aligned.counts,
        "ends": END_NAMES,
    }
    arrays: dict[str, NDArray[Any]] = {
        "vectors": found.vectors,
        "directions": found.directions,
        "end": aligned.ends.astype(np.int8),
        "target": nearest,
        "alignment_time": np.asarray(aligned.times, dtype=np.float64),
        "crossings": aligned.crossings.astype(np.int32),
    }
    return header, arrays


def diagnosis_of(problem: TrainingProblem) -> dict[str, Any]:
    """Every assumption of the papers with its margin, and the theorems the data allow."""
    from reluflow.theory.diagnosis import diagnose
    from reluflow.theory.registry import theorems

    found = diagnose(problem.dataset, problem.loss, leak=problem.network.leak)
    statements = {theorem.key: theorem.statement for theorem in theorems()}
    return {
        "conditions": [_shown(asdict(condition)) for condition in found.conditions],
        "theorems": [
            _shown({"key": t.key, "applicable": t.applicable, "why": t.why, "statement": statements.get(t.key, "")})
            for t in found.theorems
        ],
    }


def limit_of(trajectory: Trajectory) -> dict[str, Any]:
    """What the end of a run provably is."""
    from reluflow.certificates.limits.undecided import limit_or_undecided

    return limit_words(limit_or_undecided(trajectory))


def limit_words(limit: CertifiedLimit) -> dict[str, Any]:
    """A certified end as the page says it."""
    certificate = limit.certificate
    return {
        "kind": str(certificate.kind),
        "proof": limit.is_proof,
        "reason": limit.reason,
        "reasons": list(certificate.reasons),
        "residuals": certificate.residuals,
        "margin": certificate.margin,
        "best_linear_margin": certificate.best_linear_margin,
        "global_margin": certificate.global_margin,
        "ignored": list(getattr(certificate, "ignored", ()) or getattr(limit, "ignored", ()) or ()),
    }


def verdict_of(key: str, problem: TrainingProblem, on_step: OnStep) -> dict[str, Any]:
    """What one theorem says of these data: in its own setting and at its own scale, as a study asks it."""
    from reluflow.theory.check import check, example_problem
    from reluflow.theory.registry import theorem_named

    theorem = theorem_named(key)
    asked = example_problem(theorem, problem.dataset, leak=problem.network.leak)
    verdict = check(theorem, asked, at_own_scale=True, max_steps=4_000, progress=on_step)
    found: dict[str, Any] = _shown(verdict.as_json())
    return found


def _shown(answer: Any) -> Any:
    """An answer with the formulas of its sentences as the page shows them, in Unicode."""
    if isinstance(answer, str):
        return as_unicode(answer)
    if isinstance(answer, dict):
        return {name: _shown(value) for name, value in answer.items()}
    return [_shown(value) for value in answer] if isinstance(answer, list) else answer
