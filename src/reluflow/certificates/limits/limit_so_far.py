"""What a run that was asked for a time is: its last state judged as it is, the limit only where the run is near it."""

from __future__ import annotations

import numpy as np

from reluflow.after_run import Stage
from reluflow.certificates.certify import certify
from reluflow.certificates.limits.certified_limit import CertifiedLimit, LimitIdentified
from reluflow.certificates.limits.nearest_direction import program_size
from reluflow.certificates.limits.undecided import limit_or_undecided, undecided
from reluflow.dynamics.stopping import is_acted_on
from reluflow.dynamics.trajectory import Law, Outcome, Trajectory

ASKED_ENDS = (Outcome.HORIZON, Outcome.ALIGNED, Outcome.REACHED)  # the run did what it was asked, and would go on
# Solving for a direction takes 8 microseconds per number of its program on one core. A step of the flow takes 3 ms
# or more and one of descent a nanosecond per number, so that within these bounds the search is shorter than the run.
NUMBERS_PER_STEP = 300
DESCENT_STEPS = 10_000


def limit_so_far(trajectory: Trajectory, *, is_left_by_interruption: bool = False) -> CertifiedLimit:
    """The limit of a run as far as the run itself came near it.

    A run that ended by itself, or was cut short on its way to its end, is certified as `certified_limit` does it. One
    that was asked for a time, an alignment or a loss ends where it was asked to: its last state is judged as it is,
    and the direction it may tend to is solved for only if the run has come near it. `certified_limit` always solves.
    With `is_left_by_interruption` Ctrl-C leaves an undecided limit, as an error does.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("min-toy")
    >>> network = reluflow.balanced_initialization(data, width=10, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network)
    >>> run = reluflow.train(problem, reluflow.EventDrivenFlow(), until=20.0)
    >>> limit = limit_so_far(run)
    >>> limit.certificate.kind.value, limit.is_proof
    ('not-stationary', False)
    """
    problem = trajectory.problem
    grows = problem.loss.is_classification and problem.moves_freely
    if not grows or trajectory.outcome not in ASKED_ENDS or not is_far_from_limit(trajectory):
        return limit_or_undecided(trajectory, is_left_by_interruption=is_left_by_interruption)
    with Stage("Certifying the end of the run", is_left_by_interruption=is_left_by_interruption) as certifying:
        certificate = certify(
            *(trajectory.network, problem.dataset, problem.loss),
            max_seconds=0.0,
            trains_output_bias=problem.trains_output_bias,
        )
        words = (
            f"{trajectory.outcome.sentence} The last state is judged as it is; the direction that the run may tend to "
            "was not solved for, as the run has not come near it (`train --certify` or `certified_limit` does)."
        )
        return CertifiedLimit(trajectory.network, certificate, np.nan, False, words)
    return undecided(trajectory, certifying.failure)


def is_far_from_limit(trajectory: Trajectory) -> bool:
    """Whether a classifier has not come so far that its limiting direction is worth looking for.

    It is where the smallest margin, of the samples that some neuron acts on, is that from which `LimitIdentified`
    looks for it, and the run is at least as long as the search, as told by the size of the program and the number of
    steps alone: so that the same run gives the same answer on every machine. Where a sample is on the wrong side there
    is no direction to look for.
    """
    problem = trajectory.problem
    bias = trajectory.network.b
    acting = is_acted_on(trajectory.predictions - (0.0 if bias is None else bias))
    margins = problem.loss.margins(trajectory.predictions, problem.dataset.y)[acting]
    if not acting.any() or np.min(margins) <= 0.0:
        return False
    if np.min(margins) < LimitIdentified().smallest_margin:
        return True
    if trajectory.law is Law.DESCENT:
        return trajectory.steps < DESCENT_STEPS
    return program_size(problem) * problem.dataset.num_outputs > NUMBERS_PER_STEP * trajectory.steps
