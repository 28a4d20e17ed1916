"""Where a given network stands: what it is, how far along it is, and where the exact flow takes it from here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.certify import Certificate, Kind, certify
from reluflow.certificates.limits.certified_limit import CertifiedLimit
from reluflow.certificates.limits.levelling import end_of_training, may_be_stiff
from reluflow.certificates.limits.undecided import limit_or_undecided
from reluflow.data.in_memory import as_dataset
from reluflow.deprecation import warn_old_form
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.dynamics.phases import FITTED, LARGE_OUTPUT, SMALL_OUTPUT
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.losses import AbstractLoss, loss_named
from reluflow.network.network import Network
from reluflow.tables import RowsToFrame, html_table
from reluflow.theory.diagnosis import default_loss

ALIGNED = 1e-2  # 1 - cos below which a neuron points where it is pulled


@dataclass(frozen=True, eq=False)
class NetworkAssessment(RowsToFrame):
    r"""A network's place on the way.

    Parameters
    ----------
    problem
        Dataset, loss and the network.
    certificate
        What the network is as it stands.
    phase
        "alignment", "growth", "fitting" or "convergence", by the size of its outputs and, for the last, by the end of
        the flow; "fitting or convergence" where that end is not known.
    loss, zero_loss
        The loss here, and that of the network 0.
    aligned_share
        Share of the neurons that are pulled at all which point where they are pulled, $1 - \cos \le 0.01$; nan where
        none
        is.
    dead_share
        Share of the neurons that are active on no sample; 0 where the leak is positive.
    imbalance
        Largest $|a_j^2 - |w_j|^2| / (a_j^2 + |w_j|^2)$: 0 is balanced, and the flow keeps $a_j^2 - |w_j|^2$.
    trajectory, limit
        The flow from here and what its end provably is; None where the flow was not asked for.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=3).problem()
    >>> reluflow.assess(problem, flow=False).table()[1]
    {'quantity': 'phase', 'value': 'alignment'}
    """

    problem: TrainingProblem
    certificate: Certificate
    phase: str
    loss: float
    zero_loss: float
    aligned_share: float
    dead_share: float
    imbalance: float
    trajectory: Trajectory | None
    limit: CertifiedLimit | None

    def table(self) -> list[dict[str, Any]]:
        """One row per quantity."""
        rows: dict[str, Any] = {
            "what it is": str(self.certificate.kind),
            "phase": self.phase,
            "loss": self.loss,
            "loss of the network 0": self.zero_loss,
            "share of neurons aligned": self.aligned_share,
            "share of neurons dead": self.dead_share,
            "largest imbalance": self.imbalance,
        }
        if self.trajectory is not None and self.limit is not None:
            rows |= {
                "the flow from here ends": self.trajectory.outcome.code,
                "after time": self.trajectory.time,
                "with loss": self.trajectory.loss,
                "at": f"{self.limit.certificate.kind}{'' if self.limit.is_proof else ' (not a proof)'}",
            }
        return [{"quantity": name, "value": value} for name, value in rows.items()]

    def sentences(self) -> list[str]:
        """The same in words."""
        kind = self.certificate.kind
        what = "It is not stationary" if kind == Kind.NOT_STATIONARY else f"It is a {kind}"
        said = [
            f"{what}, with loss {self.loss:.6g} where the network 0 has {self.zero_loss:.6g}; phase: {self.phase}.",
            f"{self.dead_share:.0%} of its neurons are active on no sample"
            + (
                "; no force acts on the others."
                if np.isnan(self.aligned_share)
                else f"; of those on which a force acts, {self.aligned_share:.0%} are aligned with it."
            ),
            f"Its largest imbalance $|a^2 - |w|^2|/(a^2 + |w|^2)$ is {self.imbalance:.3g}.",
        ]
        if self.trajectory is not None and self.limit is not None:
            end, flow = self.limit.certificate.kind, self.trajectory
            proof = "" if self.limit.is_proof else " (not a proof)"
            where = f"reaches loss {flow.loss:.6g} at t = {flow.time:.6g} from here ({flow.outcome.code})"
            if flow.outcome.is_limit:
                said.append(f"The exact flow {where}: {end}{proof}. {self.limit.reason}")
            else:
                said.append(f"The exact flow {where} and has not ended there; what follows is left open.")
        return said

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        return html_table(" ".join(self.sentences()), self.table())


def assess(
    problem: TrainingProblem,
    network: Network | None = None,
    *,
    flow: bool = True,
    rtol: float = 1e-6,
    max_steps: int = 3000,
    max_seconds: float = np.inf,
) -> NetworkAssessment:
    """Say what a network is, how far along it is, and where the exact flow takes it from here.

    Parameters
    ----------
    problem
        Dataset, loss and network.
    network
        The network to judge, for example `Network.from_torch(module)`; by default the problem's own.
    flow
        Whether to run the flow.
    rtol
        Bound on the relative residuals of the certificate of the network as it stands.
    max_steps, max_seconds
        Steps and time allowed to the flow; a run cut short says so.

    Returns
    -------
    NetworkAssessment
        The certificate, the phase, shares of aligned and dead neurons, the run from here and its limit.

    Examples
    --------
    >>> import reluflow
    >>> network = reluflow.Network([[0.1, 0.8]], [0.8])
    >>> found = assess(reluflow.TrainingProblem(reluflow.load("three-points"), "square", network))
    >>> found.phase, found.dead_share, str(found.certificate.kind), str(found.limit.certificate.kind)
    ('fitting', 0.0, 'not-stationary', 'local-minimum')
    """
    problem.refuse_variant("an assessment", "`certify(problem)` judges the network as it stands.")
    network = problem.network if network is None else network
    problem = replace(problem, network=network)
    dataset = problem.dataset
    outputs = network.outputs(dataset.X)
    zero_loss = problem.loss.total(np.zeros(dataset.n), dataset.y)
    trajectory = limit = None
    if flow:
        solver = choose_flow(problem, max_steps=max_steps, to_the_end=may_be_stiff(problem)).solver
        trajectory = train(problem, solver, until=end_of_training(problem), max_seconds=max_seconds)
        limit = limit_or_undecided(trajectory)
    aligned_share, dead_share = _shares(problem, outputs)
    squares = np.square(network.a), np.einsum("jd,jd->j", network.w, network.w)
    total = np.where(squares[0] + squares[1] > 0, squares[0] + squares[1], 1.0)
    return NetworkAssessment(
        problem=problem,
        certificate=certify(network, dataset, problem.loss, rtol=rtol),
        phase=_phase(problem, outputs, zero_loss, trajectory),
        loss=problem.initial_loss,
        zero_loss=zero_loss,
        aligned_share=aligned_share,
        dead_share=dead_share,
        imbalance=float(np.max(np.abs(squares[0] - squares[1]) / total)),
        trajectory=trajectory,
        limit=limit,
    )


def whereabouts(
    network: Network, data: Any, loss: AbstractLoss | str | None = None, **options: Any
) -> NetworkAssessment:
    """What version 0.2 called `assess`; goes with version 0.4.

    Parameters
    ----------
    network, data, loss
        What a `TrainingProblem` holds.
    options
        Those of `assess`.

    Returns
    -------
    NetworkAssessment
        As of `assess`.

    Examples
    --------
    >>> import reluflow, warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     whereabouts(reluflow.Network([[0.1, 0.8]], [0.8]), reluflow.load("three-points"), flow=False).dead_share
    0.0
    """
    warn_old_form("whereabouts(network, data, loss)", "assess(problem)")
    dataset = as_dataset(data)
    if network.d == dataset.d + 1:
        raise InvalidInputError(
            f"`network` expects inputs of dimension {network.d} and `data` has dimension {dataset.d}; a hidden bias "
            "needs the constant coordinate: `data.with_bias()`."
        )
    named = loss_named(loss) if isinstance(loss, str) else loss
    return assess(TrainingProblem(dataset, default_loss(dataset) if named is None else named, network), **options)


def _shares(problem: TrainingProblem, outputs: FloatArray) -> tuple[float, float]:
    """Shares of the neurons that point where they are pulled, and of those active on no sample."""
    network, dataset = problem.network, problem.dataset
    forces = problem.loss.forces(outputs, dataset.y)
    pre = network.pre_activations(dataset.X)
    # a neuron that died on a boundary stands on it to rounding only
    size = np.linalg.norm(network.w, axis=1)[:, None] * np.linalg.norm(dataset.X, axis=1)
    pre = np.where(np.abs(pre) <= ROUNDING * size, 0.0, pre)
    pulls = (np.where(pre > 0, 1.0, network.leak) * forces) @ dataset.X  # (num_neurons, d)
    share = network.weight / network.weight.sum()
    is_dead = np.all(pre <= 0, axis=1) & (network.leak == 0.0)
    length = np.linalg.norm(network.w, axis=1) * np.linalg.norm(pulls, axis=1) * np.abs(network.a)
    moved = length > 0
    if not np.any(moved):
        return float("nan"), float(share[is_dead].sum())
    cosine = network.a[moved] * np.einsum("jd,jd->j", network.w[moved], pulls[moved]) / length[moved]
    is_aligned = 1.0 - cosine <= ALIGNED
    return float(share[moved][is_aligned].sum() / share[moved].sum()), float(share[is_dead].sum())


def _phase(problem: TrainingProblem, outputs: FloatArray, zero_loss: float, flow: Trajectory | None) -> str:
    """The phase of `find_phases` that this state would lie in."""
    largest = float(np.max(np.abs(problem.dataset.y)))
    label_scale = 1.0 if problem.loss.is_classification or largest == 0.0 else largest
    size = float(np.max(np.abs(outputs))) / label_scale
    if size < SMALL_OUTPUT:
        return "alignment"
    if size < LARGE_OUTPUT:
        return "growth"
    if flow is None or not flow.outcome.is_limit:
        return "fitting or convergence"
    left = (problem.initial_loss - flow.loss) / max(zero_loss - flow.loss, 1e-300)
    return "convergence" if left <= FITTED else "fitting"
