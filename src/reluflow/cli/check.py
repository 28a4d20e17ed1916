"""`reluflow check THEOREM DATASET`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reluflow.cli.arguments import (
    BiasOption,
    BoundOption,
    JsonOption,
    LossName,
    MaxStepsOption,
    ReductionName,
    SeedOption,
)
from reluflow.cli.inputs import dataset_from, network_from, note
from reluflow.cli.output import number, print_json, print_table
from reluflow.cli.progress import training_bar
from reluflow.cli.solver_options import Method, RidgeChoice, SolverChoice
from reluflow.cli.train import descent_from, requested_times
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.data.dataset import Dataset
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.solver import AbstractSolver
    from reluflow.losses import AbstractLoss
    from reluflow.theory.theorem import Theorem
    from reluflow.theory.verdict import Verdict

_WORDS = {True: "yes", False: "NO", None: "?"}
_OWN = "own"
CHECK_SECONDS = 600.0  # a verdict on less than the run it needs is inconclusive


def command(
    theorem: Annotated[str, typer.Argument(metavar="THEOREM", help="A key listed by `reluflow theorems`.")],
    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATASET]", help="As for `train`; default: the theorem's own example.", show_default=False
        ),
    ] = None,
    *,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A number the theorem leaves to its reader; may be repeated."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run", metavar="FILE.nc", help="Judge this stored trajectory (`train --save`) instead of a new run."
        ),
    ] = None,
    bias: BiasOption = False,
    loss: Annotated[
        LossName | None, typer.Option("--loss", help="Default: the theorem's own.", show_default=False)
    ] = None,
    reduction: Annotated[
        ReductionName | None, typer.Option("--reduction", help="Default: the theorem's own.", show_default=False)
    ] = None,
    factor: Annotated[
        float | None,
        typer.Option("--factor", help="Multiplies the loss; default: the theorem's own.", show_default=False),
    ] = None,
    leak: Annotated[
        float | None,
        typer.Option(
            "--leak", help="Default: the theorem's own, or the one that suits the dataset.", show_default=False
        ),
    ] = None,
    width: Annotated[
        str | None, typer.Option("--width", metavar="M", help="Default: the theorem's own.", show_default=False)
    ] = None,
    scale: Annotated[
        str, typer.Option("--scale", metavar="S", help="`own` is the scale the theorem asks for, however small.")
    ] = _OWN,
    init: Annotated[
        str | None, typer.Option("--init", metavar="NAME|PATH", help="Default: the theorem's own.", show_default=False)
    ] = None,
    seed: SeedOption = 0,
    method: Annotated[Method, typer.Option("--method", help="The theorems speak of the flow.")] = Method.FLOW,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="End the run here; default: what the theorem needs.")
    ] = None,
    horizon: Annotated[float | None, typer.Option("--horizon", metavar="TIME", help="Give up at this time.")] = None,
    times: Annotated[str, typer.Option("--times", metavar="T1,T2,...", help="More snapshots than it needs.")] = "",
    rtol: Annotated[
        float | None, typer.Option("--rtol", help="Tolerance of the flow; default: as exact as it runs.")
    ] = None,
    flow: Annotated[
        SolverChoice, typer.Option("--solver", help="Solver of the flow; auto takes the faster one.")
    ] = SolverChoice.AUTO,
    ridge: Annotated[
        RidgeChoice | None, typer.Option("--ridge", help="What to do where the flow is not unique.", show_default=False)
    ] = None,
    lr: Annotated[float, typer.Option("--lr", help="Learning rate of gd and sgd.")] = 1e-3,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Iterations of gd and sgd.")] = None,
    batch: Annotated[int, typer.Option("--batch", help="Batch size of sgd.")] = 32,
    max_seconds: BoundOption = CHECK_SECONDS,
    max_steps: MaxStepsOption = None,
    json: JsonOption = False,
) -> int:
    """Judge one theorem on one dataset: hypotheses with margins, constants, conclusions with slack.

    Exit status 1 only where the hypotheses hold and a conclusion fails.

    Example: reluflow check boursier2024:thm1 three-points --json
    """
    from reluflow.theory.registry import theorem_named

    result = theorem_named(theorem)
    parameters = _parameters(set_ or [])
    result.parameter_values(parameters)
    is_interrupted = False
    if run is not None:
        verdict = _judge_stored(result, run, parameters)
    else:
        problem = _problem(
            result, dataset, bias=bias, loss=loss, reduction=reduction, factor=factor, leak=leak, width=width,
            scale=scale, init=init, seed=seed,
        )  # fmt: skip
        end = _end(until, horizon)
        solver: AbstractSolver | None = None
        if method is not Method.FLOW:
            solver = descent_from(method, lr=lr, iterations=iterations, batch=batch, seed=seed, until=until)
        elif rtol is not None or ridge is not None or flow is not SolverChoice.AUTO:
            from reluflow.dynamics.flow.choice import choose_flow

            side = ridge if ridge is not None else RidgeChoice.STOP
            solver = choose_flow(problem, solver=flow.value, rtol=rtol, ridge=side.value).solver
        from reluflow.experiments.check import CheckInterrupted, check

        try:
            with training_bar(None) as progress:
                verdict = check(
                    result,
                    problem,
                    solver=solver,
                    at_own_scale=scale == _OWN and not _is_file(init),
                    times=tuple(requested_times(times)),
                    horizon=end,
                    max_steps=max_steps,
                    max_seconds=max_seconds,
                    progress=progress,
                    **parameters,
                )
        except CheckInterrupted as interrupt:  # what was done is wanted all the same
            verdict, is_interrupted = interrupt.verdict, True
            note("interrupted; the verdict is on what was done.")
    if json:
        print_json(verdict.as_json())
    else:
        _print(verdict)
    return 130 if is_interrupted else 1 if verdict.kind == "fails" else 0


def _problem(
    theorem: Theorem,
    dataset: str | None,
    *,
    bias: bool,
    loss: LossName | None,
    reduction: ReductionName | None,
    factor: float | None,
    leak: float | None,
    width: str | None,
    scale: str,
    init: str | None,
    seed: int,
) -> TrainingProblem:
    """The problem asked for, with the theorem's own setting wherever nothing was asked."""
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.experiments.check import suggested_leak

    setting = theorem.setting
    name = dataset if dataset is not None else theorem.example
    data = dataset_from(name, bias=bias, seed=seed)
    chosen_leak = leak if leak is not None else setting.leak if setting.leak is not None else suggested_leak(name)
    network = network_from(
        data,
        init=init or setting.init,
        width=width or str(setting.width),
        scale=setting.scale if scale == _OWN else scale,
        seed=seed,
        leak=chosen_leak,
    )
    return TrainingProblem(data, _loss(theorem, data, loss, reduction, factor), network)


def _loss(
    theorem: Theorem, data: Dataset, name: LossName | None, reduction: ReductionName | None, factor: float | None
) -> AbstractLoss:
    """The loss asked for, else the theorem's.

    Where the labels refuse that one it is the square loss: the verdict, not an error, says that the theorem does not
    apply.
    """
    from reluflow.losses import loss_named

    setting = theorem.setting
    chosen = name.value if name is not None else setting.loss
    if name is None and chosen != "square" and not data.is_binary:
        note(f"{theorem.key} is stated for the {chosen} loss and labels -1, 1; these labels get the square loss.")
        chosen = "square"
    loss = loss_named(
        chosen,
        reduction=reduction.value if reduction is not None else setting.reduction,
        factor=setting.factor if factor is None else factor,
    )
    loss.check_labels(data.y)
    return loss


def _judge_stored(theorem: Theorem, path: Path, parameters: dict[str, float]) -> Verdict:
    from reluflow.dynamics.storage import load_trajectory
    from reluflow.theory.evidence import Evidence

    trajectory = load_trajectory(path)
    evidence = Evidence(trajectory.problem, trajectory=trajectory)
    return theorem.check(replace(evidence, parameters=theorem.parameter_values(parameters)))


def _parameters(words: list[str]) -> dict[str, float]:
    values = {}
    for word in words:
        name, equals, text = word.partition("=")
        try:
            values[name.strip()] = float(text)
        except ValueError:
            equals = ""
        if not equals:
            raise InvalidInputError(f"`--set` must be NAME=VALUE with a number, as in --set eps=0.25, got {word!r}.")
    return values


def _end(until: str | None, horizon: float | None) -> float:
    """The time at which the run ends at the latest."""
    ends = [float("inf")]
    for name, value in (("--until", until), ("--horizon", horizon)):
        if value is None:
            continue
        try:
            end = float(value)
        except ValueError:
            end = float("nan")
        if not end > 0:
            raise InvalidInputError(f"`{name}` must be a positive time, got {value!r}; the theorem knows its own end.")
        ends.append(end)
    return min(ends)


def _is_file(init: str | None) -> bool:
    from reluflow.network import is_network_file

    return init is not None and is_network_file(init)


def _print(verdict: Verdict) -> None:
    theorem = verdict.theorem
    print(f"{theorem.key}: {theorem.reference}")
    print(theorem.statement)
    print()
    print(f"Verdict: {verdict.why}.")
    if verdict.hypotheses:
        print_table(
            ("hypothesis", "holds", "margin", "measured"),
            [(h.name, _WORDS[h.holds], number(h.margin), f"{h.statement}: {h.detail}") for h in verdict.hypotheses],
        )
    for title, numbers in (("constant", verdict.constants), ("prediction", verdict.predictions)):
        if numbers:
            print_table((title, "value"), [(name, _shown(value)) for name, value in numbers.items()])
    if verdict.conclusions:
        print_table(
            ("conclusion", "level", "holds", "measured", "bound", "slack", "in words"),
            [
                (
                    c.name,
                    str(c.level),
                    _WORDS[c.holds],
                    number(c.measured),
                    number(c.bound),
                    number(c.slack),
                    c.statement,
                )
                for c in verdict.conclusions
            ],
        )
    if theorem.erratum:
        print(f"Erratum {theorem.erratum}")
    if theorem.departs:
        print(f"Departs from the statement: {theorem.departs}")


def _shown(value: Any) -> str:
    from reluflow.tables import shown

    return shown(value.tolist() if hasattr(value, "tolist") else value)
