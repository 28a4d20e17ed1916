"""Where a run ends, certified: the end point of a finite one, the limiting direction of one that grows for ever."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.after_run import Stage
from reluflow.certificates.certificate import Certificate, Kind
from reluflow.certificates.certify import certify
from reluflow.certificates.direction import ignored_samples
from reluflow.certificates.limits.class_direction import (
    ClassDirection,
    has_only_one_direction,
    nearest_class_direction,
)
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.certificates.limits.nearest_direction import IS_KKT, nearest_direction, program_size
from reluflow.certificates.pair_kkt import smallest_margin
from reluflow.certificates.regularised import certify_variant
from reluflow.dynamics.collocation.tuning import RESCALED_MARGIN
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, Check, Stationary, is_acted_on
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.network.network import Network
from reluflow.tables import html_table

_COSTLY = 1_000_000  # numbers in the program for the best direction in given patterns
_HOPELESS = 30_000_000  # numbers in it from which it takes minutes and gigabytes
_GROWTH, _COSTLY_GROWTH = 1.5, 2.5  # of the smallest margin from one attempt to the next;
_FAR_GROWTH, _FAR_CLASS_GROWTH = 1.15, 1.5  # beyond `RESCALED_MARGIN`, of its logarithm
_LEFT_BEHIND = "The output bias grows like the logarithm of the squared norm: it is left out."
_SHARE_OF_WAY = 0.2  # of the way to the direction last solved for, which was none, before a costly one is solved for
_HOPELESS_PACE = 3.0  # times as long as a run can go on, at the pace of now, is too far for it to pick up


@dataclass(frozen=True, eq=False)
class CertifiedLimit:
    """The limit of a run and what it provably is.

    Parameters
    ----------
    network
        The limit: the polished end point, or the unit-norm direction the network converges to. As a function it is the
        limit to rounding; neurons that become parallel share their vector as they do at the run's end.
    certificate
        What that network is.
    distance
        How far the run's last network is from it: 0 for a finite end point, between unit directions otherwise.
    is_proof
        Whether the certificate speaks of the run's own limit: the run ended by itself, every word of the certificate is
        proved of the point or direction it was found to approach, and no light neuron can still change that. A run cut
        short has none.
    reason
        One sentence on how the limit was found and why it is or is not a proof.
    other_margin
        Normalised margin of the KKT direction that was solved for and is too far away to be the limit; nan without one.
    """

    network: Network
    certificate: Certificate
    distance: float
    is_proof: bool
    reason: str
    other_margin: float = np.nan

    def __repr__(self) -> str:
        proof = "proved" if self.is_proof else "not a proof"
        return f"CertifiedLimit({self.certificate.kind}, {proof}: {self.reason})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.certificate.table())


def certified_limit(trajectory: Trajectory, *, close: float = 0.1) -> CertifiedLimit:
    """Find the limit of a run from its last state and certify it.

    A run whose outputs classify every sample under a classification loss grows for ever: its limit is a direction,
    solved for in the final activation patterns. So does one that classifies every sample on which some neuron is
    active; the others are ignored for ever. Any other run has a finite end point, which `train` has polished. A
    direction is proved only if no light neuron can still change it.

    Parameters
    ----------
    trajectory
        A finished run.
    close
        A solved direction farther than this from the run's own is taken for its limit only if no neuron leaves its
        activation pattern on the way.

    Returns
    -------
    CertifiedLimit
        The network or direction the run tends to, its certificate, and whether that is a proof.

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
    if not problem.is_plain:
        return _variant_limit(trajectory, close)
    near = None
    if problem.loss.is_classification:
        near = nearest_direction(trajectory.network, problem, is_hasty=program_size(problem) > _HOPELESS)
    if near is None:
        certificate = certify(trajectory.network, problem.dataset, problem.loss, rtol=_tolerance(trajectory))
        return _as_it_is(trajectory, certificate)
    ahead = near.prospects()
    if near.distance > close and not (ahead.is_final and ahead.keeps_patterns):
        words = (
            f"The best direction in the present patterns is {near.distance:.2g} away from the run's own, so the run "
            "has not settled; its last direction is judged as it is."
        )
        other = np.nan
        if near.kkt.residual <= IS_KKT:
            other = near.kkt.margin
            words += (
                f" The other meets the KKT conditions to {near.kkt.residual:.2g}, with normalised margin "
                f"{near.kkt.margin:.6g}. {' '.join(ahead.sentences())}"
            ).rstrip()
        certificate = certify(near.last, problem.dataset, problem.loss)
        return CertifiedLimit(near.last, certificate, near.distance, False, words, other_margin=other)
    certificate = certify(near.solved, problem.dataset, problem.loss)
    against = [*certificate.open_points, *ahead.sentences()]
    if not np.array_equal(ignored_samples(near.solved, problem.dataset), near.ignored):
        against.append("The direction solved for turns towards a sample that is ignored so far.")
    if near.distance > LimitIdentified().close and not (ahead.keeps_patterns or ahead.takeovers):
        against.append(
            "The direction solved for is not the run's own as far as it went, and a neuron would have to leave its "
            "activation pattern on the way."
        )
    is_proof = trajectory.outcome.is_limit and certificate.is_proved and not against
    words = (
        f"Solved for in the final patterns; the last direction is {near.distance:.2g} away and closes in like a power "
        "of 1/log t."
    )
    if not is_proof:
        words += f" Not a proof: {' '.join(against) if against else trajectory.outcome.sentence}"
    return CertifiedLimit(near.solved, certificate, near.distance, is_proof, words)


def _class_limit(trajectory: Trajectory, near: ClassDirection) -> CertifiedLimit:
    """A KKT direction of the margin between classes that the run is near."""
    certificate = certify(near.solved, trajectory.problem.dataset, trajectory.problem.loss)
    against = [*certificate.open_points, *near.open_points()]
    is_proof = trajectory.outcome.is_limit and certificate.is_proved and not against
    words = f"Solved for by Newton's method; the last direction of the run is {near.distance:.2g} away."
    if near.is_followed:
        words = (
            f"Followed from the last direction of the run, which is {near.distance:.2g} away, as the flow goes at "
            "infinite outputs, in steps of two lengths that came to the same end."
        )
    if not is_proof:
        words += f" Not a proof: {' '.join(against) if against else trajectory.outcome.sentence}"
    words += f" {_LEFT_BEHIND}" if trajectory.problem.moves_output_bias else ""
    return CertifiedLimit(near.solved, certificate, near.distance, is_proof, words)


def _variant_limit(trajectory: Trajectory, close: float) -> CertifiedLimit:
    """The limit of a run with several outputs or an output bias, or the last state of it or of another variant."""
    problem, rtol = trajectory.problem, _tolerance(trajectory)
    if problem.moves_freely:
        near = nearest_class_direction(trajectory.network, problem) if problem.loss.is_classification else None
        if (
            near is not None
            and near.kkt.residual <= IS_KKT
            and (near.is_only or near.is_followed or near.distance <= close)
        ):
            return _class_limit(trajectory, near)
        judged = _without_left_behind_bias(trajectory)
        if judged is not None:
            found = _as_it_is(trajectory, certify(judged, problem.dataset, problem.loss, rtol=rtol))
            words = f"{found.reason} {_LEFT_BEHIND}"
            return CertifiedLimit(judged, found.certificate, found.distance, found.is_proof, words)
        certificate = certify(
            *(trajectory.network, problem.dataset, problem.loss),
            rtol=rtol,
            trains_output_bias=problem.trains_output_bias,
        )
        return _as_it_is(trajectory, certificate)
    if not problem.has_single_output:
        words = f"What the end of a run with {problem.variant} is stays open."
        nothing = (np.empty(0), np.nan, np.nan, np.nan, None)
        return _as_it_is(trajectory, Certificate(Kind.UNDECIDED, {}, *nothing, (words,)))
    certificate = certify_variant(
        trajectory.network,
        problem.dataset,
        problem.loss,
        weight_decay=problem.weight_decay,
        trains_output_layer=problem.trains_output_layer,
        rtol=rtol,
    )
    return _as_it_is(trajectory, certificate)


def _without_left_behind_bias(trajectory: Trajectory) -> Network | None:
    """The neurons alone of a classifier that grows for ever with a trained output bias; None for any other run.

    While |theta|^2 grows e-fold the bias moves by a bounded amount, so that beside the neurons it vanishes, and the
    direction tends to a KKT point of the margin without it.
    """
    problem, alone = trajectory.problem, trajectory.network.replace(b=None)
    grows = problem.loss.fades and trajectory.outcome is Outcome.DIRECTION_CONVERGED and problem.moves_output_bias
    return alone if grows and smallest_margin(alone, problem.dataset) > 0.0 else None


def _as_it_is(trajectory: Trajectory, certificate: Certificate) -> CertifiedLimit:
    """The certificate of the last state; a proof where the run itself said that it was its end."""
    is_proof = trajectory.outcome is Outcome.STATIONARY and certificate.is_proved
    words = trajectory.limit.reason if is_proof else f"{trajectory.outcome.sentence} The last state is judged as it is."
    words = " ".join([words, *(f"Not a proof: {point}" for point in certificate.open_points)])
    return CertifiedLimit(trajectory.network, certificate, 0.0, is_proof, words)


def _tolerance(trajectory: Trajectory) -> float:
    """Relative residuals that count as 0: those of a fit that `Stationary` takes for the end, else the usual ones."""
    problem = trajectory.problem
    nothing_fitted = problem.loss.total(problem.dataset.zero_outputs(), problem.dataset.y)
    is_fit = not problem.loss.is_classification and trajectory.loss <= Stationary().loss_rtol * nothing_fitted
    return float(np.sqrt(Stationary().loss_rtol)) if is_fit else 1e-6


@dataclass(frozen=True)
class LimitIdentified(AbstractStoppingRule):
    """Stop a classifier once the limit of its direction is known.

    The direction itself is reached only like 1/log t. So whenever the smallest margin has grown by half, the best
    direction in the present activation patterns is solved for; the run stops when that direction satisfies the KKT
    conditions to `kkt`, the run's own is within `close` of it, and no neuron, however light, can still change it.
    Where one is bound to take over, the run goes on until it has, or stops with outcome `takeover-ahead` where that
    is too far away, on large data also where the direction that they leave is, at the pace at which the run turns to
    it. Samples on which no neuron is active are left out.

    Parameters
    ----------
    close
        Largest distance between the two unit directions.
    kkt
        Largest KKT residual of the solved one.
    smallest_margin
        Outputs y h must all exceed this before the first attempt; the loss is then below $e^{-m}$ for the smallest
        margin $m$.
    farthest_margin
        A takeover that is expected beyond this output is not waited for; None: what the method of training follows
        (`AbstractRun.farthest_margin`).
    patience
        Where no inequality decides about a light neuron, the run goes on until the outputs are this many times
        `smallest_margin`, and then stops with the question open. From there on a direction farther than `close` is
        taken too if no neuron leaves its activation pattern on the way.
    turning
        From there on the run stops as well where its own direction turns by less than this per e-fold of its norm, no
        neuron can change it any more, and yet another KKT direction is the best in its patterns; no proof then.

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
    kkt: float = IS_KKT
    smallest_margin: float = 10.0
    farthest_margin: float | None = None
    patience: float = 10.0
    turning: float = 2e-3

    def start(self) -> Check:
        return _LimitSearch(self)


class _LimitSearch:
    """The attempts of one run: `next_margin` is the smallest margin at which the next is worth its cost.

    Where the cone program is large an attempt is hasty, the first waits for the margin of the rule's patience, when the
    forces distinguish the active samples, and the waiting time between two is longer; one that would find the run where
    the last one found it is left out. The moments at which one is due do not depend on that.
    """

    def __init__(self, rule: LimitIdentified) -> None:
        self._rule = rule
        self.next_margin = rule.smallest_margin
        self._failed: tuple[Network, float] | None = None  # the run's direction then, and how far the other was

    def __call__(self, run: AbstractRun) -> Outcome | None:
        with Stage("Looking for the limiting direction"):  # the run goes on without it
            return self._found(run)
        return None

    def _found(self, run: AbstractRun) -> Outcome | None:
        rule = self._rule
        if not run.problem.has_single_output:
            return self._found_between_classes(run)
        is_costly = program_size(run.problem) > _COSTLY
        if is_costly:
            self.next_margin = max(self.next_margin, rule.patience * rule.smallest_margin)
        outputs = run.outputs() * run.problem.dataset.y
        acting = outputs[is_acted_on(outputs)]
        margin = float(np.min(acting, initial=np.inf))
        if not acting.size or margin < self.next_margin:
            return None
        self.next_margin = (_COSTLY_GROWTH if is_costly else _GROWTH) * margin
        if margin > RESCALED_MARGIN:
            self.next_margin = max(self.next_margin, margin**_FAR_GROWTH)
        if is_costly and self._has_hardly_moved(run):
            return None
        near = nearest_direction(run.network(), run.problem, is_hasty=is_costly)
        if near is None or near.kkt.residual > rule.kkt:
            self._failed = None if near is None else (near.last, near.distance)
            return None
        self._failed = None
        ahead = near.prospects()
        is_patient = margin >= rule.patience * rule.smallest_margin
        is_near = near.distance <= rule.close
        farthest = run.farthest_margin if rule.farthest_margin is None else rule.farthest_margin
        if ahead.takeovers and is_near:
            log_margin = float(np.log(margin)) + ahead.takeovers[0].log_growth
            return Outcome.TAKEOVER_AHEAD if log_margin > np.log(farthest) else None
        if ahead.takeovers and is_costly and is_patient:
            folds = near.distance / max(run.gradient().turning, 1e-300)  # of the norm, at least, as it turns now
            if np.log(margin) + 2.0 * folds > _HOPELESS_PACE * np.log(farthest):
                return Outcome.TAKEOVER_AHEAD
        if not is_near:
            has_settled = ahead.keeps_patterns or (is_patient and run.gradient().turning <= rule.turning)
            return Outcome.DIRECTION_CONVERGED if is_patient and ahead.is_final and has_settled else None
        return None if ahead.open_points and not is_patient else Outcome.DIRECTION_CONVERGED

    def _has_hardly_moved(self, run: AbstractRun) -> bool:
        """Whether the run is about as far from the direction that was none as it was then, and still turning."""
        if self._failed is None or run.gradient().turning <= self._rule.turning:
            return False
        then, distance = self._failed
        moved = direction_distance(unit_norm(run.network()), then)
        return moved < _SHARE_OF_WAY * (distance - self._rule.close)

    def _found_between_classes(self, run: AbstractRun) -> Outcome | None:
        """The same for several outputs or a fixed output bias: close to a KKT direction, or followed to it."""
        rule, problem = self._rule, run.problem
        outputs = run.outputs()
        acting = problem.loss.margins(outputs, problem.dataset.y)[is_acted_on(outputs)]
        margin = float(np.min(acting, initial=np.inf))
        if not acting.size or margin < self.next_margin:
            return None
        self.next_margin = max(_COSTLY_GROWTH * margin, margin**_FAR_CLASS_GROWTH if margin > RESCALED_MARGIN else 0.0)
        network, is_late = run.network(), margin >= rule.patience * rule.smallest_margin
        if not is_late and not has_only_one_direction(network, problem):
            return None  # whatever direction is near, the run goes on
        near = nearest_class_direction(network, problem, largest_residual=rule.close)
        if near is None or near.kkt.residual > rule.kkt:
            return None
        is_settled = near.distance <= rule.close and is_late
        return Outcome.DIRECTION_CONVERGED if near.is_known or is_settled else None
