"""Check a theorem on a problem in one call: meet its scale, run its plan, judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reluflow.budget import Budget
from reluflow.data.dataset import Dataset
from reluflow.data.registry import REGISTRY, load, suggested_settings
from reluflow.dynamics.descent.gradient_descent import AbstractFullBatchDescent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.losses import loss_named
from reluflow.network import initialization_named, neuron_rng
from reluflow.theory.confirmation import REFINEMENT, confirmed
from reluflow.theory.descent_reading import judged_for_descent
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.plan import GatheringInterrupted
from reluflow.theory.registry import theorem_named
from reluflow.theory.theorem import Theorem
from reluflow.theory.verdict import Verdict


def check(
    theorem: Theorem | str,
    problem: TrainingProblem,
    *,
    solver: AbstractSolver | None = None,
    at_own_scale: bool = False,
    times: tuple[float, ...] = (),
    horizon: float = float("inf"),
    max_steps: int | None = None,
    max_seconds: float = float("inf"),
    progress: Callable[[AbstractRun], None] | None = None,
    **parameters: float,
) -> Verdict:
    """Judge a theorem on a problem; the run it needs is made here.

    A `fails` is confirmed by a second run, a hundred times as exact; where that does not fail its verdict counts, and
    where there is none the answer is `inconclusive`.

    Parameters
    ----------
    theorem
        A theorem, or its key: "boursier2024:thm1".
    problem
        Dataset, loss and initial network.
    solver
        By default the exact flow. A result that `holds_for_descent` is judged for gradient descent at this step size, a
        half and a quarter of it.
    at_own_scale
        Multiply the network by the factor that meets the scale the theorem asks for, however small.
    times
        More snapshots than the theorem needs.
    horizon
        Give up at this time; the verdict on a run that should have gone on is `inconclusive`.
    max_steps, max_seconds
        Give up after this many steps of a run, or this long for all runs, the second one that confirms a `fails`
        included; the verdict on a run cut short is `inconclusive`.
    progress
        Called with the run after every step.
    parameters
        The numbers the theorem leaves to its reader.

    Returns
    -------
    Verdict
        `holds`, `fails`, `not-applicable` or `inconclusive`, with every hypothesis and conclusion measured.

    Raises
    ------
    CheckInterrupted
        On Ctrl-C; a KeyboardInterrupt that holds the verdict on what was done.

    Examples
    --------
    >>> from reluflow.theory.registry import theorem_named
    >>> lemma = theorem_named("boursier2024:lemma1")
    >>> check("boursier2024:lemma1", example_problem(lemma)).kind
    <VerdictKind.HOLDS: 'holds'>
    """
    if isinstance(theorem, str):
        theorem = theorem_named(theorem)
    values = theorem.parameter_values(parameters)
    bare = Evidence(problem, parameters=values)
    refused = theorem.preliminary(bare)
    if refused is not None:
        return refused
    if at_own_scale and theorem.log_scale is not None:
        problem = replace(problem, network=problem.network.scaled(theorem.log_scale(bare)))
    budget = Budget(max_seconds)

    def judged(refinement: float, method: AbstractSolver | None = solver) -> tuple[Verdict, Evidence]:
        evidence = gather(
            theorem,
            problem,
            parameters=values,
            solver=method,
            times=times,
            horizon=horizon,
            max_steps=max_steps,
            max_seconds=max(budget.left, 1e-3),
            progress=progress,
            refinement=refinement,
        )
        return theorem.check(evidence), evidence

    try:
        if theorem.holds_for_descent and isinstance(solver, AbstractFullBatchDescent):
            return judged_for_descent(solver, lambda descent: judged(1.0, descent)[0])
        verdict, evidence = judged(1.0)
        return confirmed(verdict, evidence, lambda: judged(REFINEMENT))
    except GatheringInterrupted as interrupt:
        raise CheckInterrupted(theorem.check(interrupt.evidence)) from interrupt


class CheckInterrupted(KeyboardInterrupt):
    """Ctrl-C ended `check`; `verdict` is that on what was done, never better than `inconclusive`."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"interrupted: {verdict.kind}")
        self.verdict = verdict


def example_problem(
    theorem: Theorem, dataset: Dataset | str | None = None, *, seed: int = 0, leak: float | None = None
) -> TrainingProblem:
    """A problem in the setting a theorem is stated in: its loss, leak, initialisation and width.

    Parameters
    ----------
    theorem
        The result.
    dataset
        A dataset or the name of a registered one; by default the theorem's own example.
    seed
        Fixes the draw of the neurons.
    leak
        Used where the theorem names none; by default the one that suits the dataset.
    """
    chosen = theorem.example if dataset is None else dataset
    setting = theorem.setting
    if setting.leak is not None:
        leak = setting.leak
    elif leak is None:
        leak = suggested_leak(chosen)
    data = load(chosen, seed=seed) if isinstance(chosen, str) else chosen
    loss = loss_named(setting.loss, reduction=setting.reduction, factor=setting.factor)
    rng = neuron_rng(seed)
    network = initialization_named(setting.init)(data, width=setting.width, scale=setting.scale, rng=rng, leak=leak)
    return TrainingProblem(data, loss, network)


DEFAULT_LEAK = 0.5  # of Lyu et al.'s pictures; used where neither the theorem nor the dataset names one


def suggested_leak(dataset: Dataset | str) -> float:
    """The leak a registered dataset was made for, or the default one."""
    name = dataset if isinstance(dataset, str) else dataset.name
    suggested = suggested_settings(name).leak if name.partition(":")[0] in REGISTRY else None
    return DEFAULT_LEAK if suggested is None else suggested
