"""Where a run ends, certified: the end point of a finite one, the limiting direction of one that grows for ever."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.certificates.certify import Certificate, certify
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, Check, Stationary
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.network.network import Network
from reluflow.tables import html_table


@dataclass(frozen=True, eq=False)
class CertifiedLimit:
    """The limit of a run and what it provably is.

    Parameters
    ----------
    network
        The limit: the polished end point, or the unit-norm direction the network converges to.
    certificate
        What that network is.
    distance
        How far the run's last network is from it: 0 for a finite end point, between unit directions otherwise.
    is_proof
        Whether the certificate speaks of the run's own limit: the run ended by itself, and the point or direction it
        was found to approach is certified. A run cut short has none.
    reason
        One sentence on how the limit was found and why it is or is not a proof.
    """

    network: Network
    certificate: Certificate
    distance: float
    is_proof: bool
    reason: str

    def __repr__(self) -> str:
        proof = "proved" if self.is_proof else "not a proof"
        return f"CertifiedLimit({self.certificate.kind}, {proof}: {self.reason})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.certificate.table())


def certified_limit(trajectory: Trajectory, *, close: float = 0.1) -> CertifiedLimit:
    """Find the limit of a run from its last state and certify it.

    A run whose outputs classify every sample under a classification loss grows for ever: its limit is a direction,
    solved for in the final activation patterns. Any other run has a finite end point, which `train` has polished.

    Parameters
    ----------
    trajectory
        A finished run.
    close
        A solved direction farther than this from the run's own is not taken for its limit.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    >>> limit = certified_limit(reluflow.train(problem, reluflow.EventDrivenFlow()))
    >>> limit.certificate.kind.value, limit.is_proof
    ('local-minimum', True)
    """
    problem = trajectory.problem
    if not problem.loss.is_classification or not np.all(trajectory.predictions * problem.dataset.y > 0.0):
        certificate = certify(trajectory.network, problem.dataset, problem.loss, rtol=_tolerance(trajectory))
        is_proof = trajectory.outcome is Outcome.STATIONARY and certificate.kind != "not-stationary"
        words = (
            trajectory.limit.reason if is_proof else f"{trajectory.outcome.sentence} The last state is judged as it is."
        )
        return CertifiedLimit(trajectory.network, certificate, 0.0, is_proof, words)
    last = unit_norm(trajectory.network)
    solved = max_margin_in_patterns(last, problem.dataset)
    distance = direction_distance(last, solved)
    if distance > close:
        words = (
            f"The best direction in the present patterns is {distance:.2g} away from the run's own, so the run has not "
            "settled; its last direction is judged as it is."
        )
        return CertifiedLimit(last, certify(last, problem.dataset, problem.loss), distance, False, words)
    certificate = certify(solved, problem.dataset, problem.loss)
    is_proof = trajectory.outcome.is_limit and certificate.kind != "not-stationary"
    words = f"Solved for in the final patterns; the last direction is {distance:.2g} away and closes in like 1/log t."
    if not is_proof:
        words += f" Not a proof: {trajectory.outcome.sentence}"
    return CertifiedLimit(solved, certificate, distance, is_proof, words)


def _tolerance(trajectory: Trajectory) -> float:
    """Relative residuals that count as 0: those of a fit that `Stationary` takes for the end, else the usual ones."""
    problem = trajectory.problem
    nothing_fitted = problem.loss.total(np.zeros(problem.dataset.n), problem.dataset.y)
    is_fit = not problem.loss.is_classification and trajectory.loss <= Stationary().loss_rtol * nothing_fitted
    return float(np.sqrt(Stationary().loss_rtol)) if is_fit else 1e-6


@dataclass(frozen=True)
class LimitIdentified(AbstractStoppingRule):
    """Stop a classifier once the limit of its direction is known.

    The direction itself is reached only like 1/log t. So whenever the smallest margin has grown by half, the best
    direction in the present activation patterns is solved for; the run stops when that direction satisfies the KKT
    conditions to `kkt` and the run's own is within `close` of it. Neurons that are still light take part in the
    solution: where they are bound to take over, the two directions differ until they have.

    Parameters
    ----------
    close
        Largest distance between the two unit directions.
    kkt
        Largest KKT residual of the solved one.
    smallest_margin
        Outputs y h must all exceed this before the first attempt; the loss is then below exp(-smallest_margin).

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("min-toy")
    >>> network = reluflow.balanced_initialization(data, width=10, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network)
    >>> reluflow.train(problem, reluflow.EventDrivenFlow(), until=LimitIdentified()).outcome.code
    'direction-converged'
    """

    close: float = 0.03
    kkt: float = 1e-9
    smallest_margin: float = 10.0

    def start(self) -> Check:
        return _LimitSearch(self)


class _LimitSearch:
    """The attempts of one run: `next_margin` is the smallest margin at which the next is worth its cost."""

    def __init__(self, rule: LimitIdentified) -> None:
        self._rule = rule
        self.next_margin = rule.smallest_margin

    def __call__(self, run: AbstractRun) -> Outcome | None:
        dataset = run.problem.dataset
        margin = float(np.min(run.outputs() * dataset.y))
        if margin < self.next_margin:
            return None
        self.next_margin = 1.5 * margin
        last = unit_norm(run.network())
        solved = max_margin_in_patterns(last, dataset)
        is_close = direction_distance(last, solved) <= self._rule.close
        is_kkt = is_close and kkt_certificate(solved, dataset).residual <= self._rule.kkt
        return Outcome.DIRECTION_CONVERGED if is_kkt else None


def unit_norm(network: Network) -> Network:
    """The same direction with the sum of weight (|w|^2 + a^2) equal to 1."""
    shape = network.replace(log_scale=0.0)
    norm = np.sqrt(shape.squared_norm())
    return shape.replace(w=shape.w / norm, a=shape.a / norm)


def direction_distance(one: Network, two: Network) -> float:
    """|theta_1 - theta_2| with the weights of the neurons."""
    squares = np.sum((one.w - two.w) ** 2, axis=1) + (one.a - two.a) ** 2
    return float(np.sqrt(np.sum(one.weight * squares)))
