"""Section 5: which directions neurons still occupy, what the limit is, and what unbalanced starts do [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.stationarity import Escape, find_escape, stationarity
from reluflow.data.dataset import Dataset
from reluflow.geometry.alignment import align
from reluflow.losses import AbstractLoss
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.boursier2024.phase_states import KINK
from reluflow.theory.boursier2024.residual_forecast import (
    NEAR_THE_LINE,
    NEGLIGIBLE,
    EscapeForecast,
    escape_forecast,
    plateau,
)
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.boursier2024.spurious_hypotheses import on_a_run, on_positive_data
from reluflow.theory.condition import Judgement, undecided
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import dominated_start
from reluflow.theory.measurement import Measurement, all_of, at_least, at_most, none_of, nothing
from reluflow.theory.stating import hypothesis

FITTED_RTOL = 1e-9  # a loss below this share of that of the zero network is a fit
GAIN_RTOL = 1e-9  # a first-order gain below this share of the forces is rounding


@dataclass(frozen=True, eq=False)
class Omnidirectionality:
    """How the neurons of a network are spread, and whether they can leave a bad fit.

    Parameters
    ----------
    occupied
        For each output sign, the activation patterns that hold a neuron, with their number.
    largest_gaps
        For each output sign, the largest angle in degrees that no direction w/|w| falls into; nan beyond the plane.
    forecast
        The directions in which a light neuron would grow under the present forces.
    is_reached
        For each of them, whether a neuron of the network flows there if the forces stay as they are.
    """

    occupied: dict[int, dict[tuple[int, ...], int]]
    largest_gaps: dict[int, float]
    forecast: EscapeForecast
    is_reached: BoolArray

    @property
    def is_trapped(self) -> bool:
        """Whether a better fit exists for one more neuron, but no neuron of this network is on its way there."""
        return len(self.forecast) > 0 and not bool(np.any(self.is_reached))


def omnidirectionality(network: Network, dataset: Dataset, loss: AbstractLoss) -> Omnidirectionality:
    """Where the neurons of a network stand and where the present forces would take them.

    References
    ----------
    Boursier & Flammarion (2024), Section 5 [boursier2024].
    """
    X = dataset.X
    sizes = row_norms(network.w)
    products = network.pre_activations(X)
    lengths = np.linalg.norm(X, axis=1)
    signs = np.where(np.abs(products) <= KINK * sizes[:, None] * lengths, 0, np.sign(products)).astype(np.int64)
    occupied: dict[int, dict[tuple[int, ...], int]] = {}
    gaps: dict[int, float] = {}
    for sign in (1, -1):
        members = (np.sign(network.a) == sign) & (sizes > 0.0)
        patterns, counts = np.unique(signs[members], axis=0, return_counts=True)
        occupied[sign] = {tuple(map(int, u)): int(c) for u, c in zip(patterns, counts, strict=True)}
        gaps[sign] = _largest_gap(network.w[members])
    forces = loss.forces(network.outputs(X), dataset.y)
    rounding = FITTED_RTOL * float(np.abs(loss.label_forces(dataset.y)) @ lengths)
    forecast = escape_forecast(X, forces, leak=network.leak, atol=rounding)
    floor = max(rounding, NEGLIGIBLE * float(np.abs(forces) @ lengths))
    pulls = (np.where(signs > 0, 1.0, np.where(signs < 0, network.leak, 0.0)) * forces) @ X
    moving = np.flatnonzero((np.linalg.norm(pulls, axis=1) > floor) & (sizes > 0.0))
    reached = np.zeros(len(forecast), dtype=bool)
    if moving.size and len(forecast):
        outcome = align(X, forces, network.w[moving], network.a[moving], leak=network.leak)
        ended = outcome.indices >= 0
        cosines = outcome.directions[ended] @ forecast.directions.T
        reached = np.any((cosines > 1.0 - 1e-9) & (np.sign(outcome.a[ended])[:, None] == forecast.signs), axis=0)
    return Omnidirectionality(occupied, gaps, forecast, reached)


def _largest_gap(w: FloatArray) -> float:
    if w.shape[1] != 2:
        return float("nan")
    if not len(w):
        return 360.0
    angles = np.sort(np.degrees(np.arctan2(w[:, 1], w[:, 0])) % 360.0)
    return float(np.max(np.diff(np.append(angles, angles[0] + 360.0))))


def nature_of_limit(network: Network, dataset: Dataset, loss: AbstractLoss) -> tuple[bool, Escape | None, float]:
    """Whether some neuron is zero, a change of one neuron that lowers the loss, and the largest first-order gain.

    At a stationary point no escape and a gain of 0 make a local minimum; a zero neuron makes a saddle wherever a
    direction is left to grow in. Only a neuron that is exactly zero counts as zero here, however light the others are.

    References
    ----------
    Boursier & Flammarion (2024), Section 5 [boursier2024].
    """
    is_zero = bool(np.any((network.a == 0.0) & np.all(network.w == 0.0, axis=1)))
    point = stationarity(network, dataset, loss, kink_rtol=KINK)
    found = find_escape(network, dataset, loss, point, gain_rtol=GAIN_RTOL, zero_rtol=0.0)
    return is_zero, found.escape, found.gain


def _nature(evidence: Evidence) -> Measurement:
    has_zero, escape, gain = nature_of_limit(evidence.run.network, evidence.dataset, evidence.loss)
    if has_zero:
        words = "a zero neuron escapes" if escape is not None else "a zero neuron was found, but no escape"
        return all_of([(escape is not None, words)], detail=f"saddle: {words}")
    detail = f"local minimum: largest first-order gain of a neuron {gain:.2g} of the forces"
    return at_most(gain, GAIN_RTOL, detail=detail if escape is None else f"an escape was found, gain {gain:.2g}")


def _dominated_never_zero(evidence: Evidence) -> Measurement:
    """a_j^2 = a_j(0)^2 - |w_j(0)|^2 + |w_j|^2 never falls below its first two terms."""
    start, end = evidence.network, evidence.run.network
    room = start.balancedness()
    dominated = room > 1e-12 * start.a**2
    if not np.any(dominated):
        return nothing("no neuron starts strictly dominated")
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(end.a[dominated])) + end.log_scale - start.log_scale - 0.5 * np.log(room[dominated])
    detail = f"least ln |a_j| - ln sqrt(a_j(0)^2 - |w_j(0)|^2) over {int(dominated.sum())} dominated neurons"
    return at_least(float(logs.min()), 0.0, allowance=1e-9, detail=detail)


def _lost_cones(evidence: Evidence) -> Measurement:
    spread = omnidirectionality(evidence.run.network, evidence.dataset, evidence.loss)
    mixed = {
        sign: sum(count for u, count in cones.items() if max(u) > 0 and min(u) < 0)
        for sign, cones in spread.occupied.items()
    }
    detail = (
        f"{mixed[1]} positive and {mixed[-1]} negative neurons stand across the data; largest empty angles "
        f"{spread.largest_gaps[1]:.4g} and {spread.largest_gaps[-1]:.4g} degrees"
    )
    return none_of(mixed[1] + mixed[-1], detail=detail)


def _is_trapped(evidence: Evidence) -> Measurement:
    spread = omnidirectionality(evidence.run.network, evidence.dataset, evidence.loss)
    words = f"{len(spread.forecast)} directions to grow in, {int(spread.is_reached.sum())} of them reached by a neuron"
    return all_of([(spread.is_trapped, words)], detail=words)


@hypothesis("misfit", "the least-squares line does not fit the data")
@on_positive_data
def _line_misfits(evidence: Evidence) -> Judgement:
    share = constants_of(evidence).loss_star / (0.5 * constants_of(evidence).mean_square_label)
    return Judgement(share > FITTED_RTOL, share, f"the line leaves {share:.4g} of the loss of the zero network")


@hypothesis("unbalanced", "some neuron starts with |a_j| < |w_j|")
def _is_unbalanced(evidence: Evidence) -> Judgement:
    found = dominated_start().judge(evidence)
    margin = None if found.margin is None else -found.margin
    return Judgement(not found.holds, margin, found.detail)


@hypothesis(
    "omnidirectional",
    "beside the line a neuron is on its way to a direction in which it can grow",
    is_regime=True,
    needs_trajectory=True,
)
@on_a_run
def _keeps_directions(evidence: Evidence) -> Judgement:
    snapshot, distance = plateau(evidence)
    if distance > NEAR_THE_LINE:
        return undecided(f"no snapshot is near the line; the nearest is {distance:.2g} |y| away")
    spread = omnidirectionality(snapshot.network, evidence.dataset, evidence.loss)
    detail = f"at t = {snapshot.time:.6g}, nearest to the line, {int(spread.is_reached.sum())} escapes are reached"
    return Judgement(not spread.is_trapped, None, detail)


def _global_minimum(evidence: Evidence) -> Measurement:
    run = evidence.run
    nothing = evidence.loss.total(np.zeros(evidence.dataset.n), evidence.dataset.y)
    kind = certify(run.network, evidence.dataset, evidence.loss, rtol=1e-5).kind
    detail = f"loss {run.loss:.3g} of {nothing:.3g} at zero output, certified {kind}"
    if kind is not Kind.GLOBAL_MINIMUM:
        return none_of(1, detail=detail)
    return at_most(run.loss / nothing, FITTED_RTOL, detail=detail)


def _sign_flips(evidence: Evidence) -> Measurement:
    flips = int(np.sum(np.sign(evidence.run.network.a) != np.sign(evidence.network.a)))
    return at_least(flips, 1.0, detail=f"{flips} of {evidence.network.num_neurons} output weights changed sign")
