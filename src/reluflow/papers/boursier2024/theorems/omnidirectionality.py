"""Section 5: which directions neurons occupy, and what the limit is [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.stationarity import Escape, find_escape, stationarity
from reluflow.data.dataset import Dataset
from reluflow.geometry.alignment import align
from reluflow.losses import AbstractLoss
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.boursier2024.assumptions import ACUTE_POSITIVE_DATA, RESIDUAL_CONDITION
from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.phase_parameters import PHASE_PARAMETERS
from reluflow.papers.boursier2024.theorems.phase_states import KINK, signs_on
from reluflow.papers.boursier2024.theorems.residual_forecast import (
    NEAR_THE_LINE,
    NEGLIGIBLE,
    EscapeForecast,
    escape_forecast,
    plateau,
    plateau_plan,
)
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import (
    GROWTH_ENDED,
    MEAN_HALF_SQUARE,
    RESIDUAL,
    SCALE_SETTLED,
    on_a_run,
    on_positive_data,
    scale_factor,
    settled_plan,
)
from reluflow.papers.boursier2024.theorems.spurious_limit import at_the_limit
from reluflow.theory.comparison import (
    Comparison,
    Level,
    all_of,
    at_least,
    at_most,
    judgement,
    none_of,
    nothing,
    undecided,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import RELU, assumed, is_dominated
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

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
    X, sizes, signs = dataset.X, row_norms(network.w), signs_on(network, dataset.X)
    lengths = np.linalg.norm(X, axis=1)
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


@at_the_limit
def _nature(evidence: Evidence) -> Comparison:
    has_zero, escape, gain = nature_of_limit(evidence.run.network, evidence.dataset, evidence.loss)
    if has_zero:
        words = "a zero neuron escapes" if escape is not None else "a zero neuron was found, but no escape"
        return all_of([(escape is not None, words)], detail=f"saddle: {words}")
    detail = f"local minimum: largest first-order gain of a neuron {gain:.2g} of the forces"
    return at_most(gain, GAIN_RTOL, detail=detail if escape is None else f"an escape was found, gain {gain:.2g}")


@at_the_limit
def _dominated_never_zero(evidence: Evidence) -> Comparison:
    """a_j^2 = a_j(0)^2 - |w_j(0)|^2 + |w_j|^2 never falls below its first two terms."""
    start, end = evidence.network, evidence.run.network
    slack = start.balancedness()
    dominated = slack > 1e-12 * start.a**2
    if not np.any(dominated):
        return nothing("no neuron starts strictly dominated")
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(end.a[dominated])) + end.log_scale - start.log_scale - 0.5 * np.log(slack[dominated])
    detail = rf"least $\ln|a_j| - \ln\sqrt{{a_j(0)^2 - |w_j(0)|^2}}$ over {int(dominated.sum())} dominated neurons"
    return at_least(float(logs.min()), 0.0, allowance=1e-9, detail=detail)


SEC_5_NATURE = Theorem(
    "boursier2024:sec5-nature",
    Reference("boursier2024", "Section 5, nature of the limit"),
    "The spurious limit is a local minimum where every neuron is strictly dominated, $|a_j| > |w_j|$, for then "
    "none vanishes; with a neuron that is zero it is a saddle.",
    hypotheses=(*RESIDUAL, GROWTH_ENDED, SCALE_SETTLED),
    conclusions=(
        Conclusion("nature", "saddle with a zero neuron, local minimum without", _nature, Level.EXACT),
        Conclusion("dominated", "no strictly dominated neuron vanishes", _dominated_never_zero),
    ),
    parameters=PHASE_PARAMETERS,
    plan=settled_plan,
    log_scale=partial(scale_factor, log_lambda=-40.0),
    setting=Setting(init="dominated", width=20),
    example=EXAMPLE,
)

# Section 5, omnidirectionality ----------------------------------------------------------------------------------------


@on_positive_data
def _line_misfits(evidence: Evidence) -> Comparison:
    share = constants_of(evidence).loss_star / (0.5 * constants_of(evidence).mean_square_label)
    return judgement(share > FITTED_RTOL, share, f"the line leaves {share:.4g} of the loss of the zero network")


MISFIT = Hypothesis("misfit", "the least-squares line does not fit the data", _line_misfits)


@at_the_limit
def _lost_cones(evidence: Evidence) -> Comparison:
    spread, mixed = omnidirectionality(evidence.run.network, evidence.dataset, evidence.loss), {}
    for sign, cones in spread.occupied.items():
        mixed[sign] = sum(count for u, count in cones.items() if max(u) > 0 and min(u) < 0)
    detail = (
        f"{mixed[1]} positive and {mixed[-1]} negative neurons stand across the data; largest empty angles "
        f"{spread.largest_gaps[1]:.4g} and {spread.largest_gaps[-1]:.4g} degrees"
    )
    return none_of(mixed[1] + mixed[-1], detail=detail)


@at_the_limit
def _is_trapped(evidence: Evidence) -> Comparison:
    spread = omnidirectionality(evidence.run.network, evidence.dataset, evidence.loss)
    words = f"{len(spread.forecast)} directions to grow in, {int(spread.is_reached.sum())} of them reached by a neuron"
    return all_of([(spread.is_trapped, words)], detail=words)


SEC_5_OMNIDIRECTIONAL = Theorem(
    "boursier2024:sec5-omnidirectional",
    Reference("boursier2024", "Section 5, omnidirectionality"),
    "Early alignment empties the cones across the data, so that at the spurious limit directions to grow in exist, "
    "but no neuron is left that would go there.",
    hypotheses=(*RESIDUAL, MISFIT, GROWTH_ENDED, SCALE_SETTLED),
    conclusions=(
        Conclusion("lost", "no neuron of either sign is left in a mixed cone", _lost_cones, Level.EXACT),
        Conclusion("trapped", "an escape exists and no neuron is on its way", _is_trapped, Level.EXACT),
    ),
    parameters=PHASE_PARAMETERS,
    plan=settled_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
)

# Section 5, unbalanced initialisation ---------------------------------------------------------------------------------


def _is_unbalanced(evidence: Evidence) -> Comparison:
    found = is_dominated(evidence)
    margin = None if found.margin is None else -found.margin
    return judgement(not found.holds, margin, found.detail)


UNBALANCED = Hypothesis("unbalanced", "some neuron starts with $|a_j| < |w_j|$", _is_unbalanced)


@on_a_run
def _keeps_directions(evidence: Evidence) -> Comparison:
    snapshot, distance = plateau(evidence)
    if distance > NEAR_THE_LINE:
        return undecided(f"no snapshot is near the line; the nearest is {distance:.2g} $|y|$ away")
    spread = omnidirectionality(snapshot.network, evidence.dataset, evidence.loss)
    detail = f"at $t$ = {snapshot.time:.6g}, nearest to the line, {int(spread.is_reached.sum())} escapes are reached"
    return judgement(not spread.is_trapped, None, detail)


OMNIDIRECTIONAL = Hypothesis(
    "omnidirectional",
    "beside the line a neuron is on its way to a direction in which it can grow",
    _keeps_directions,
    is_regime=True,
    needs_trajectory=True,
)


@at_the_limit
def _global_minimum(evidence: Evidence) -> Comparison:
    run = evidence.run
    nothing = evidence.loss.total(np.zeros(evidence.dataset.n), evidence.dataset.y)
    kind = certify(run.network, evidence.dataset, evidence.loss, rtol=1e-5).kind
    detail = f"loss {run.loss:.3g} of {nothing:.3g} at zero output, certified {kind}"
    if kind is not Kind.GLOBAL_MINIMUM:
        return none_of(1, detail=detail)
    return at_most(run.loss / nothing, FITTED_RTOL, detail=detail)


@at_the_limit
def _sign_flips(evidence: Evidence) -> Comparison:
    flips = int(np.sum(np.sign(evidence.run.network.a) != np.sign(evidence.network.a)))
    return at_least(flips, 1.0, detail=f"{flips} of {evidence.network.num_neurons} output weights changed sign")


SEC_5_UNBALANCED = Theorem(
    "boursier2024:sec5-unbalanced",
    Reference("boursier2024", "Section 5, unbalanced initialisation"),
    "From an unbalanced start output weights change sign; where that leaves a neuron on its way out of the "
    "least-squares line, training ends at a global minimum.",
    hypotheses=(
        MEAN_HALF_SQUARE,
        RELU,
        assumed(ACUTE_POSITIVE_DATA),
        assumed(RESIDUAL_CONDITION),
        UNBALANCED,
        OMNIDIRECTIONAL,
    ),
    conclusions=(
        Conclusion("global-minimum", "the run ends at a global minimum, with loss 0", _global_minimum),
        Conclusion("flips", "some output weight changes its sign", _sign_flips, Level.EXACT),
    ),
    plan=plateau_plan,
    setting=Setting(init="unbalanced", width=100),
    example=EXAMPLE,
    departs="Stated without proof for any width; at a fixed width it fails as the scale shrinks, hence the hypothesis.",
)
