"""Critical cones under small outputs and along a run: Lemmas 11, 12 and 13 [boursier2024]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.papers.boursier2024.paper import OBTUSE_PAIR, SETTING, THREE_POINTS
from reluflow.papers.boursier2024.theorems.alignment_regime import (
    ALIGNMENT_SETTING,
    EPS,
    GENERIC_DATA,
    NO_SADDLES,
    SMALL_SCALE,
    alignment_plan,
    constants_of,
    log_scale_below_star,
    on_run,
    states_of,
)
from reluflow.papers.boursier2024.theorems.critical_points import forces_of, size_of
from reluflow.papers.boursier2024.theorems.neuron_states import NO_PULL, pulls_of, sides_of
from reluflow.theory.comparison import Comparison, Level, at_most, none_of, nothing, require
from reluflow.theory.elsewhere import definition, part
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.theorem import Conclusion, Parameter, Reference, Theorem

OUTPUT_DRAWS = Parameter("draws", 12.0, "number of random outputs", low=0.5, high=10000.5)

FILLED = 0.999  # fraction of the allowed budget that the random outputs use up


@dataclass(frozen=True, eq=False)
class ConeTable:
    """Every cone with its D_u and on which side of it D_u lies; side 0 and speed 0 where D_u = 0."""

    patterns: SignArray
    pulls: FloatArray
    sides: SignArray
    is_zero: BoolArray

    @property
    def is_critical(self) -> BoolArray:
        """Cones with D_u in M_u, -M_u or 0."""
        return np.asarray(self.is_zero | (self.sides != 0))


@computed_once
def cone_table(evidence: Evidence) -> ConeTable:
    """All nonempty cones at zero output."""
    patterns, X = evidence.facts.cones.patterns, evidence.dataset.X
    pulls = pulls_of(patterns, X, forces_of(evidence), evidence.leak)
    return ConeTable(patterns, pulls, sides_of(patterns, pulls, X), _vanishes(evidence, pulls))


APP_D_4 = definition(
    "boursier2024:appD.4", "App. D.4", cone_table, "critical cones: those with $D_u$ in them, in the opposite one, or 0"
)

# Lemma 11 -------------------------------------------------------------------------------------------------------------


def _vanishes(evidence: Evidence, pulls: FloatArray) -> BoolArray:
    return np.asarray(np.linalg.norm(pulls, axis=1) <= NO_PULL * size_of(evidence))


def random_outputs(evidence: Evidence, *, keep_signs: bool) -> FloatArray:
    """Outputs h with c sum_k |h(x_k)| |x_k| just below delta_0, shape (draws, n).

    Half of them put the whole budget on one sample. With `keep_signs` also |h(x_k)| < |l'(0, y_k)|.
    """
    constants, n = constants_of(evidence), evidence.dataset.n
    if constants is None:
        raise InvalidInputError("`dataset` must have few enough cones to visit them all; take fewer samples.")
    rng, count = np.random.default_rng(0), round(evidence.parameter("draws"))
    shapes = rng.standard_normal((count, n))
    shapes[::2] *= np.arange(n) == rng.integers(0, n, size=(len(shapes[::2]), 1))
    weight = evidence.loss.sample_weight(n)
    budget = FILLED * min(constants.delta_0, size_of(evidence))  # infinite where there is no extremal vector
    outputs = shapes * (budget / (weight * np.abs(shapes) @ evidence.facts.norms))[:, None]
    if keep_signs:
        limit = FILLED * np.abs(evidence.loss.force_at_zero(evidence.dataset.y))
        outputs *= np.minimum(1.0, np.min(limit / np.maximum(np.abs(outputs), 1e-300), axis=1))[:, None]
    return np.asarray(outputs)


@dataclass(frozen=True, eq=False)
class SmallOutputs:
    """Outputs that use up the budget, shape (draws, n); None where there are too many cones to know it."""

    outputs: FloatArray | None


def small_outputs(evidence: Evidence, *, keep_signs: bool) -> SmallOutputs:
    """Random outputs, where their budget is known."""
    is_known = constants_of(evidence) is not None
    return SmallOutputs(random_outputs(evidence, keep_signs=keep_signs) if is_known else None)


def _bent(evidence: Evidence, patterns: SignArray, outputs: FloatArray) -> FloatArray:
    return pulls_of(patterns, evidence.dataset.X, evidence.loss.forces(outputs, evidence.dataset.y), evidence.leak)


def _outputs(evidence: Evidence) -> FloatArray:
    return require(evidence.recorded(SmallOutputs).outputs, "there are too many cones to visit")


def _sides_are_kept(evidence: Evidence) -> Comparison:
    """D_u in M_u, -M_u or 0 at zero output stays there at every small output."""
    drawn_outputs, table, wrong = _outputs(evidence), cone_table(evidence), 0
    critical = table.is_critical
    for outputs in drawn_outputs:
        pulls = _bent(evidence, table.patterns[critical], outputs)
        is_side = sides_of(table.patterns[critical], pulls, evidence.dataset.X) == table.sides[critical]
        wrong += int(np.sum(~np.where(table.is_zero[critical], _vanishes(evidence, pulls), is_side)))
    return none_of(wrong, total=int(np.sum(critical)) * len(drawn_outputs))


LEMMA_11 = Theorem(
    "boursier2024:lemma11",
    Reference("boursier2024", "Lemma 11"),
    r"Outputs with $c \sum_k |h(x_k)| |x_k| < \delta_0$ take no $D_u$ out of its cone or the opposite one, and "
    r"keep $D_u = 0$.",
    hypotheses=GENERIC_DATA,
    conclusions=(Conclusion("sides", r"$D_u$ in $M_u$, $-M_u$ or $\{0\}$ stays there", _sides_are_kept, Level.EXACT),),
    parameters=(OUTPUT_DRAWS,),
    record=partial(small_outputs, keep_signs=False),
    setting=SETTING,
    example=OBTUSE_PAIR,
    departs="Held against random outputs that use up the budget, half of them on one sample.",
)

# Lemma 12 -------------------------------------------------------------------------------------------------------------


def dual_vectors(X: FloatArray) -> FloatArray:
    """The vectors v_k in the span of the rows with <v_k, x_i> = 1{k = i}, shape of X."""
    return np.asarray(np.linalg.pinv(X).T)


def normal_slopes(evidence: Evidence, pattern: SignArray, outputs: FloatArray) -> FloatArray:
    """All s_k <v_k, D^theta_{u(v)}> over sign choices s on the cone's hyperplanes; they decide <v, D_{u(v)}> for all v.

    For fixed signs of <v, x_k> the D is one vector, so <v, D> is a combination of these numbers with weights >= 0.
    """
    zeros = np.flatnonzero(pattern == 0)
    signs = np.array([s for s in product((-1, 0, 1), repeat=zeros.size) if any(s)], dtype=np.int8)
    around = np.repeat(pattern[None, :], len(signs), axis=0)
    around[:, zeros] = signs
    slopes = signs * (_bent(evidence, around, outputs) @ dual_vectors(evidence.dataset.X[zeros]).T)
    return np.asarray(slopes[signs != 0])


def _critical_patterns(evidence: Evidence) -> Iterator[SignArray]:
    """Critical cones that lie on some hyperplane; around the others there is nothing to show."""
    table = cone_table(evidence)
    for pattern in table.patterns[table.is_critical]:
        if 0 < np.sum(pattern == 0) < evidence.dataset.d:
            yield pattern


def _one_sign(evidence: Evidence) -> Comparison:
    """Around each critical cone all slopes have one sign; slack is the least of the larger of min and -max."""
    drawn_outputs, worst, count = _outputs(evidence), -np.inf, 0
    for pattern in _critical_patterns(evidence):
        signs = set()
        for outputs in drawn_outputs:
            slopes = normal_slopes(evidence, pattern, outputs) / size_of(evidence)
            worst = max(worst, min(float(np.max(slopes)), float(-np.min(slopes))))
            signs.add(bool(np.max(slopes) > -np.min(slopes)))
        if len(signs) > 1:
            return none_of(1, detail=f"around cone {pattern.tolist()} the sign depends on the outputs")
        count += 1
    if count == 0:
        return nothing("no critical cone lies on a hyperplane")
    detail = f"largest slope of the wrong sign {worst:.3g} (relative) around {count} critical cones"
    return at_most(worst, 0.0, allowance=1e-12, detail=detail)


LEMMA_12 = Theorem(
    "boursier2024:lemma12",
    Reference("boursier2024", "Lemma 12"),
    r"Without saddles of $G$, around a critical cone $\langle v, D_{u(v)}^\theta\rangle$ has one sign for all $v$ "
    r"orthogonal to the cone, for all outputs with $c \sum_k |h(x_k)| |x_k| < \delta_0$ and "
    r"$|h(x_k)| < |\ell'(0, y_k)|$.",
    hypotheses=(*GENERIC_DATA, *NO_SADDLES),
    conclusions=(Conclusion("one-sign", "all slopes across a critical cone have one sign", _one_sign, Level.EXACT),),
    parameters=(OUTPUT_DRAWS,),
    record=partial(small_outputs, keep_signs=True),
    setting=SETTING,
    example=OBTUSE_PAIR,
    erratum="E14: a cone with $D_u = 0$ is critical too, so the absence of saddles must include such cones.",
    departs="Held against random outputs that use up the budget.",
)

# Lemma 13 -------------------------------------------------------------------------------------------------------------


@on_run
def _frozen_patterns(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Once a_j D(w_j, theta) is in the neuron's cone or 0, the pattern does not change until tau."""
    wrong, total, frozen = 0, 0, np.zeros(evidence.network.num_neurons, dtype=bool)
    for here, later in pairwise(states_of(evidence)):
        is_own = sides_of(here.patterns, here.bent_pulls, evidence.dataset.X) == here.signs
        frozen |= (_vanishes(evidence, here.bent_pulls) | is_own) & np.any(here.shape.w, axis=1)
        changed = np.any(here.patterns != later.patterns, axis=1)
        wrong, total = wrong + int(np.sum(frozen & changed)), total + int(np.sum(frozen))
    events = evidence.run.events
    return none_of(wrong, total=total, detail=f"{wrong} changes in {total} stretches, {len(events)} events in the run")


LEMMA_13 = Theorem(
    "boursier2024:lemma13",
    Reference("boursier2024", "Lemma 13"),
    r"Without saddles of $G$ and for $\lambda < \lambda_1^*$, once $a_j D(w_j, \theta)$ lies in the cone of "
    r"$w_j \ne 0$ or is 0, the activation pattern of neuron $j$ is frozen until $\tau$.",
    hypotheses=(*ALIGNMENT_SETTING, *NO_SADDLES, SMALL_SCALE),
    conclusions=(Conclusion("frozen", r"no later change of pattern up to $\tau$", _frozen_patterns, Level.EXACT),),
    parameters=(EPS,),
    plan=alignment_plan,
    log_scale=log_scale_below_star,
    setting=SETTING,
    example=THREE_POINTS,
    departs="The condition is looked for at the recorded times.",
)

EQ_9 = part("boursier2024:eq9", "Eq. (9)", LEMMA_13, r"the pattern does not change between $t_2$ and $\tau$")
REMARK_5 = part(
    "boursier2024:remark5",
    "Remark 5",
    LEMMA_13,
    r"without saddles Condition 2(2) is guaranteed up to $\tau$: patterns are frozen once they can be",
)
