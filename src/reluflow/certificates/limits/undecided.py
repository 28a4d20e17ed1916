"""The limit of a finished run as far as it can be told: where certifying it fails, `undecided` and why."""

from __future__ import annotations

import numpy as np

from reluflow.after_run import Stage
from reluflow.certificates.certificate import Certificate, Kind
from reluflow.certificates.limits.certified_limit import CertifiedLimit, certified_limit
from reluflow.dynamics.trajectory import Trajectory


def limit_or_undecided(trajectory: Trajectory, *, is_left_by_interruption: bool = False) -> CertifiedLimit:
    """The certified limit of a run; of kind `undecided`, with a warning, where certifying it fails.

    `certified_limit` raises there. Whoever shows a run with its limit asks this, so that the run is shown all the same.
    With `is_left_by_interruption` the same holds of Ctrl-C.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    >>> limit_or_undecided(reluflow.train(problem, reluflow.EventDrivenFlow())).certificate.kind.value
    'local-minimum'
    """
    problem = trajectory.problem
    if not problem.has_single_output and not problem.moves_freely:
        return undecided(trajectory, f"the end of a run with {problem.variant} is not certified.")
    with Stage("Certifying the end of the run", is_left_by_interruption=is_left_by_interruption) as certifying:
        return certified_limit(trajectory)
    return undecided(trajectory, certifying.failure)


def undecided(trajectory: Trajectory, failure: str) -> CertifiedLimit:
    """The last state, of which nothing is known but why."""
    certificate = Certificate(
        Kind.UNDECIDED, {}, np.empty(0), np.nan, np.nan, np.nan, None, (failure,), open_points=(failure,)
    )
    return CertifiedLimit(
        trajectory.network, certificate, 0.0, False, f"What the run ended at was not decided: {failure}"
    )
