"""Theorem: a published result as an object that judges one problem and one trajectory, and never trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from reluflow.after_run import Stage
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Trajectory
from reluflow.errors import InvalidInputError
from reluflow.theory.comparison import Comparison, Level, Source, Undecided, fails, missing, undecided
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.erratum import erratum_keys
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import Constants
from reluflow.theory.plan import AbstractPlan
from reluflow.theory.setting import Setting
from reluflow.theory.verdict import JudgedHypothesis, MeasuredConclusion, Verdict, VerdictKind, deciding

FLOW_HYPOTHESIS = "gradient-flow"


@dataclass(frozen=True)
class Reference:
    """Where a result stands: the key of its paper in references.bib, the locator in the paper, the version read."""

    paper: str
    locator: str
    version: str = ""

    def __str__(self) -> str:
        version = f", {self.version}" if self.version else ""
        return f"{self.locator} [{self.paper}{version}]"


@dataclass(frozen=True)
class Parameter:
    """A number a result leaves to its reader, such as epsilon in (0, 1/3).

    Parameters
    ----------
    name
        As in `reluflow check --set name=value`.
    default
        Used where the reader does not choose.
    meaning
        What it is, in words.
    low, high
        Its open range.
    """

    name: str
    default: float
    meaning: str
    low: float = float("-inf")
    high: float = float("inf")

    def checked(self, value: float) -> float:
        """The value, refused outside the range."""
        if not self.low < value < self.high:
            raise InvalidInputError(
                f"`{self.name}` must lie in ({self.low:g}, {self.high:g}), got {value:g}: {self.meaning}."
            )
        return float(value)


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis of a result.

    Parameters
    ----------
    name
        Short and stable.
    statement
        One sentence, in the corrected form where there is an erratum.
    judge
        From evidence to a judgement with a signed margin, positive inside.
    is_regime
        Whether it only asks for a small enough scale or a late enough time. Where only such hypotheses fail the
        conclusions are measured all the same, and the verdict is still `not-applicable`.
    needs_trajectory
        Whether it is judged on the run (for example "no ridge was met") and not before it.
    is_setting
        Whether it names the setting (the loss, the activation) without which the other hypotheses make no sense; where
        it fails they are not judged.
    """

    name: str
    statement: str
    judge: Callable[[Evidence], Comparison]
    is_regime: bool = False
    needs_trajectory: bool = False
    is_setting: bool = False


@dataclass(frozen=True)
class Conclusion:
    """One conclusion of a result, measured on the evidence.

    Parameters
    ----------
    name
        Short and stable.
    statement
        One sentence.
    measure
        From evidence to measured value, bound and slack.
    level
        `exact` for identities and qualitative statements, `bound` for an explicit inequality, `scaling` for an
        exponent fitted over several scales.
    source
        Whose it is: only the paper's conclusions decide between `holds` and `fails`; ours are reported beside them.
    is_asymptotic
        Whether it is true only in a limit, as t goes to infinity or the scale to 0. At the end of a run it can then be
        undecided, and never fails, unless the measure is `certified`: a certificate proves what the limit is.
    """

    name: str
    statement: str
    measure: Callable[[Evidence], Comparison]
    level: Level = Level.BOUND
    source: Source = Source.PAPER
    is_asymptotic: bool = False


def _nothing(evidence: Evidence) -> Constants:
    return {}


def _no_plan(evidence: Evidence) -> AbstractPlan | None:
    return None


@dataclass(frozen=True)
class Theorem:
    """A published result: hypotheses, constants, predictions, conclusions, and the erratum it incorporates.

    Parameters
    ----------
    key
        `paper:result`, for example `boursier2024:thm1`.
    reference
        Where it stands.
    statement
        The result in one or two plain sentences, in its corrected form.
    hypotheses
        In the paper's order.
    conclusions
        In the paper's order.
    constants
        The numbers of the statement for the given data; scales as logarithms, for they can be 1e-10000.
    predictions
        What the result foretells: times, directions, limits, rates.
    parameters
        The numbers it leaves to its reader.
    plan
        What a run must record to be judged; None where the data alone decide. `Evidence` then holds no trajectory.
    record
        What the conclusions are measured on beside the run: draws, and objects the statement constructs. They read it
        by `evidence.recorded(kind)`, so that a false one can be distinguished from a true one.
    log_scale
        The factor, as a natural logarithm, by which to multiply the given network to meet the regime hypotheses.
    setting, example
        The setting it is stated in and a dataset on which it holds.
    erratum
        The erratum it incorporates, or nothing.
    departs
        How the check departs from the statement, or nothing.
    diagnosed
        Where `reluflow diagnose` speaks of it: the losses and leaks it is stated for.
    source
        Whose the statement is; one of ours is not counted among the results of the paper, and its conclusions decide.
    takes_classes
        Whether it is of a network with one output per class; any other is of one output, and not applicable to several.
    holds_for_descent
        Whether gradient descent satisfies it too, up to a term of the order of the step size: inequalities on a bounded
        stretch of time. `reluflow.check` then judges descent at three step sizes.

    Examples
    --------
    >>> import reluflow
    >>> lemma = reluflow.theorem_named("boursier2024:lemma1")
    >>> lemma.reference.locator, len(lemma.hypotheses) > 0, len(lemma.conclusions) > 0
    ('Lemma 1', True, True)
    """

    key: str
    reference: Reference
    statement: str
    hypotheses: tuple[Hypothesis, ...]
    conclusions: tuple[Conclusion, ...]
    constants: Callable[[Evidence], Constants] = _nothing
    predictions: Callable[[Evidence], Constants] = _nothing
    parameters: tuple[Parameter, ...] = ()
    plan: Callable[[Evidence], AbstractPlan | None] = _no_plan
    record: Callable[[Evidence], object] | None = None
    log_scale: Callable[[Evidence], float] | None = None
    setting: Setting = field(default_factory=Setting)
    example: str = ""
    erratum: str = ""
    departs: str = ""
    diagnosed: DataHypotheses | None = None
    source: Source = Source.PAPER
    holds_for_descent: bool = False
    takes_classes: bool = False

    @property
    def paper(self) -> str:
        """Key of the paper in references.bib."""
        return self.reference.paper

    @property
    def errata(self) -> tuple[str, ...]:
        """Keys of the errata it incorporates, as docs/errata.md lists them."""
        return erratum_keys(self.paper, f"{self.erratum} {self.statement} {self.departs}")

    def parameter_values(self, chosen: Mapping[str, float]) -> dict[str, float]:
        """All parameters of this result, with the chosen values checked and the defaults filled in."""
        names = [parameter.name for parameter in self.parameters]
        for name in chosen:
            if name not in names:
                known = ", ".join(names) if names else "none"
                raise InvalidInputError(f"`{name}` is no parameter of {self.key}; it has {known}.")
        return {p.name: p.checked(chosen.get(p.name, p.default)) for p in self.parameters}

    def preliminary(self, evidence: Evidence) -> Verdict | None:
        """The verdict where a hypothesis that no run can mend fails already; None where a run is needed to tell.

        A result whose conclusions need no run is also left to `check`.
        """
        judged = self.judged_before_a_run(evidence)
        if not any(h.holds is False and not h.is_regime for h in judged):
            return None
        return Verdict(self, VerdictKind.NOT_APPLICABLE, judged, {}, {}, ())

    def judged_before_a_run(self, evidence: Evidence) -> tuple[JudgedHypothesis, ...]:
        """The hypotheses that the problem alone decides, judged."""
        outputs = self._outputs_hypothesis(evidence)
        return _judge_all([*outputs, *(h for h in self.hypotheses if not h.needs_trajectory)], evidence)

    def _outputs_hypothesis(self, evidence: Evidence) -> tuple[Hypothesis, ...]:
        """That the network has one output, said only where it has several and the result is of one."""
        if evidence.problem.num_outputs == 1 or self.takes_classes:
            return ()
        words = f"the network has {evidence.problem.num_outputs} outputs"
        return (Hypothesis("one-output", "the network has one output", partial(_fails, words), is_setting=True),)

    def check(self, evidence: Evidence | Trajectory, **parameters: float) -> Verdict:
        """Judge the evidence, or a trajectory alone.

        Returns
        -------
        Verdict
            `holds` where every hypothesis and every conclusion of the paper does; `not-applicable` where a hypothesis
            fails; `fails` where all hypotheses hold and a conclusion of the paper does not; `inconclusive` where
            something could not be decided or nothing of the paper's was measured. Missing evidence is never a pass.
            How exact the run was is not asked here: `reluflow.check` confirms a `fails` by a second run.
        """
        if isinstance(evidence, Trajectory):
            evidence = Evidence(problem=evidence.problem, trajectory=evidence)
        chosen = {**dict(evidence.parameters), **parameters}
        evidence = evidence.with_parameters(self.parameter_values(chosen))
        outputs = self._outputs_hypothesis(evidence)
        judged = _judge_all((*_run_hypotheses(self, evidence), *outputs, *self.hypotheses), evidence)
        if any(h.holds is False and not h.is_regime for h in judged):
            return Verdict(self, VerdictKind.NOT_APPLICABLE, judged, {}, {}, ())
        short = self._shortage(evidence)
        if short:
            unmeasured = tuple(_as_measured(conclusion, missing(short)) for conclusion in self.conclusions)
            return Verdict(self, kind_of(self, judged, unmeasured), judged, {}, {}, unmeasured)
        evidence = self.recorded(evidence)
        constants = dict(self.constants(evidence))
        predictions = dict(self.predictions(evidence))
        measured = tuple(_measured(conclusion, evidence) for conclusion in self.conclusions)
        return Verdict(self, kind_of(self, judged, measured), judged, constants, predictions, measured)

    def recorded(self, evidence: Evidence) -> Evidence:
        """The evidence with the theorem's record, where it asks for one and none is there."""
        if self.record is None or evidence.record is not None:
            return evidence
        return replace(evidence, record=self.record(evidence))

    def _shortage(self, evidence: Evidence) -> str:
        """Why nothing can be read off the run: it ended before the second of the states its plan asks for.

        The largest of no states is 0, which every upper bound allows.
        """
        if evidence.trajectory is None or (recorded := len(evidence.trajectory.snapshots)) > 1:
            return ""
        plan = self.plan(evidence)
        asked = 0 if plan is None else plan.num_states
        return f"the run recorded {recorded} of the {asked} states asked for" if recorded < min(asked, 2) else ""


def _judge_all(hypotheses: Sequence[Hypothesis], evidence: Evidence) -> tuple[JudgedHypothesis, ...]:
    """Judge the setting first, then the rest; the order of the answer is that of the paper."""
    answers = {h.name: _judged(h, evidence) for h in hypotheses if h.is_setting}
    wrong = next((name for name, answer in answers.items() if answer.holds is False), None)
    for h in hypotheses:
        if h.name not in answers:
            open_one = undecided(f"not judged, for {wrong} fails")
            answers[h.name] = _judged(h, evidence) if wrong is None else _as_judged(h, open_one)
    return tuple(answers[h.name] for h in hypotheses)


def _judged(hypothesis: Hypothesis, evidence: Evidence) -> JudgedHypothesis:
    if hypothesis.needs_trajectory and not evidence.has_run:
        return _as_judged(hypothesis, undecided("no run was made"))
    try:
        return _as_judged(hypothesis, hypothesis.judge(evidence))
    except Undecided as without:
        return _as_judged(hypothesis, undecided(str(without)))


def _as_judged(hypothesis: Hypothesis, judged: Comparison) -> JudgedHypothesis:
    name, statement, is_regime = hypothesis.name, hypothesis.statement, hypothesis.is_regime
    return JudgedHypothesis(name, statement, judged.holds, judged.margin, judged.detail, is_regime)


def _measured(conclusion: Conclusion, evidence: Evidence) -> MeasuredConclusion:
    """What a conclusion amounts to; of a finished run the other conclusions are wanted even where this one fails."""
    with Stage(f"Measuring {conclusion.name}") if evidence.trajectory is not None else nullcontext() as measuring:
        try:
            return _as_measured(conclusion, conclusion.measure(evidence))
        except Undecided as without:
            return _as_measured(conclusion, missing(str(without)))
        except (ArithmeticError, LookupError, ValueError):
            if not evidence.cut_short and (evidence.is_flow or evidence.trajectory is None):
                raise
            words = evidence.cut_short or "the descent ended before what is read off it"
            return _as_measured(conclusion, missing(words))
    return _as_measured(conclusion, missing(measuring.failure))


def _as_measured(conclusion: Conclusion, measured: Comparison) -> MeasuredConclusion:
    if conclusion.is_asymptotic and measured.holds is False and not measured.is_certified:
        detail = f"{measured.detail}, at the end of the run; it is true only in the limit"
        measured = replace(measured, holds=None, detail=detail)
    return MeasuredConclusion(
        conclusion.name,
        conclusion.statement,
        conclusion.level,
        **vars(measured),
        source=conclusion.source,
        is_asymptotic=conclusion.is_asymptotic,
    )


def kind_of(
    theorem: Theorem, hypotheses: tuple[JudgedHypothesis, ...], measured: tuple[MeasuredConclusion, ...]
) -> VerdictKind:
    """The verdict that the judged hypotheses and the measured conclusions amount to."""
    conclusions = deciding(theorem, measured)
    if any(h.holds is False for h in hypotheses):
        return VerdictKind.NOT_APPLICABLE
    if any(h.holds is None for h in hypotheses):
        return VerdictKind.INCONCLUSIVE
    if any(c.holds is False for c in conclusions):
        return VerdictKind.FAILS
    if any(c.holds is None and not c.is_empty for c in conclusions) or all(c.is_empty for c in conclusions):
        return VerdictKind.INCONCLUSIVE
    return VerdictKind.HOLDS


def _fails(words: str, evidence: Evidence) -> Comparison:
    return fails(words)


def _run_hypotheses(theorem: Theorem, evidence: Evidence) -> tuple[Hypothesis, ...]:
    """What every result asks of a run, said only where it is not so.

    The papers speak of the flow: a run of descent is measured against them, but proves nothing about them. And a
    run that was cut short decides nothing.
    """
    found = []
    if evidence.trajectory is not None and not evidence.is_flow:
        judgement = fails(f"the run is {evidence.trajectory.method}, and the result is of the flow")
        found.append(_said(FLOW_HYPOTHESIS, "the run is a gradient flow", judgement))
    odd = next((run.problem.variant for run in evidence.runs if not _is_plain(theorem, run.problem)), "")
    if odd:
        found.append(_said("plain-flow", "all weights are trained, by the loss alone", fails(f"the run has {odd}")))
    if evidence.cut_short:
        found.append(_said("completed", "the run was not cut short", undecided(evidence.cut_short)))
    return tuple(found)


def _is_plain(theorem: Theorem, problem: TrainingProblem) -> bool:
    """Whether all weights move by the loss alone, of one output, or of one per class where the result says so."""
    return problem.is_plain or (theorem.takes_classes and problem.moves_freely and problem.network.b is None)


def _said(name: str, statement: str, judged: Comparison) -> Hypothesis:
    return Hypothesis(name, statement, lambda evidence: judged, is_regime=True)
