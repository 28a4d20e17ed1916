"""`reluflow check THEOREM DATASET`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option, max_steps_option, path_option
from reluflow.cli.inputs import note, reading_of
from reluflow.cli.output import number, print_json, print_table, print_text
from reluflow.cli.progress import training_bar
from reluflow.cli.run_options import DATA, DESCENT, LOSS, GivenOptions, run_options
from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment

if TYPE_CHECKING:
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.solver import AbstractSolver
    from reluflow.theory.theorem import Theorem
    from reluflow.theory.verdict import Verdict

_WORDS = {True: "yes", False: "NO", None: "?"}
_OWN, _THEOREM = "own", "Default: the theorem's own."
_ENOUGH = 1_000_000_000  # iterations of descent: the theorem knows its own end
CHECK_SECONDS = 600.0  # a verdict on less than the run it needs is inconclusive


@click.command()
@click.argument("theorem", metavar="THEOREM", help="A key listed by `reluflow theorems`.")
@dataset_argument(metavar="[DATASET]", words="As for `train`; default: the theorem's own example.")
@click.option(
    "--set", "set_", multiple=True, metavar="NAME=VALUE",
    help="A number the theorem leaves to its reader; may be repeated.",
)  # fmt: skip
@path_option("--run", "FILE.nc", "Judge this stored trajectory (`train --save`) instead of a new run.", name="stored")
@run_options(
    *DATA, *LOSS, "leak", "width", "init", "method", "until", "horizon", "times", "rtol", "solver", "ridge", *DESCENT,
    words={
        "loss": _THEOREM,
        "reduction": _THEOREM,
        "factor": f"Multiplies the loss. {_THEOREM}",
        "leak": "Default: the theorem's own, or the one that suits the dataset.",
        "width": _THEOREM,
        "init": _THEOREM,
        "method": "Most theorems are about the flow only.",
        "until": "A time to end the run at; default: what the theorem needs.",
        "times": "More snapshots than it needs.",
        "iterations": "Iterations of gd and sgd; default: what the theorem needs.",
        "rtol": "Tolerance of the flow; default: as exact as it runs.",
    },
)  # fmt: skip
@click.option(
    "--scale", metavar="S", default=_OWN, show_default=True,
    help="`own` is the scale the theorem asks for, however small.",
)  # fmt: skip
@max_seconds_option(CHECK_SECONDS)
@max_steps_option
@json_option
def command(
    theorem: str,
    dataset: str | None,
    *,
    set_: tuple[str, ...],
    stored: Path | None,
    run: GivenOptions,
    scale: str,
    max_seconds: float,
    max_steps: int | None,
    json: bool,
) -> int:
    """Judge one theorem on one dataset: hypotheses with margins, constants, conclusions with slack.

    Exit status 1 only where the hypotheses hold and a conclusion fails.

    Example: reluflow check boursier2024:thm1 three-points --json
    """
    from reluflow.theory.registry import theorem_named

    result = theorem_named(theorem)
    parameters = _parameters(set_)
    result.parameter_values(parameters)
    is_interrupted = False
    if stored is not None:
        verdict = _judge_stored(result, stored, parameters)
    else:
        experiment, problem = _problem(result, dataset, run, scale)
        end = _end(experiment)
        solver: AbstractSolver | None = None
        if experiment.method != "flow":
            is_open = experiment.iterations is None and experiment.until is None
            solver = (replace(experiment, iterations=_ENOUGH) if is_open else experiment).solver_for(problem)
        elif any(run.is_given(name) for name in ("rtol", "ridge", "solver")):
            from reluflow.dynamics.flow_choice import choose_flow

            ridge: Any = experiment.ridge
            solver = choose_flow(problem, solver=experiment.solver, rtol=experiment.rtol, ridge=ridge).solver
        from reluflow.network import is_network_file
        from reluflow.theory.check import CheckInterrupted, check

        try:
            with training_bar(None) as progress:
                verdict = check(
                    result,
                    problem,
                    solver=solver,
                    at_own_scale=scale == _OWN and run.file is None and not is_network_file(experiment.init),
                    times=experiment.times,
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
    theorem: Theorem, dataset: str | None, run: GivenOptions, scale: str
) -> tuple[Experiment, TrainingProblem]:
    """The run asked for, with the theorem's own setting wherever nothing was asked, and its problem.

    Where the labels refuse the theorem's loss it is their own: the verdict, not an error, says that the theorem does
    not apply.
    """
    from reluflow.experiment.theorem_setting import experiment_for

    if "until" in run.texts:
        try:
            float(run.texts["until"])
        except ValueError:
            raise _not_a_time(run.texts["until"]) from None
    name = dataset if dataset is not None or run.file is not None else theorem.example
    asked = run.experiment(name)
    data = reading_of(asked).dataset
    experiment = run.over(experiment_for(theorem, asked.data), data=name)
    if experiment.loss != "softmax":  # which a theorem of several classes is stated for
        data.refuse_several_outputs(theorem.key)
    has_classes = data.classes is not None
    does_fit = {"square": not has_classes, "softmax": has_classes}.get(experiment.loss or "", data.is_binary)
    if asked.loss is None and not does_fit:
        labels = {"square": "numbers to fit", "softmax": "classes"}.get(experiment.loss or "", "labels -1, 1")
        own = data.default_loss
        note(f"{theorem.key} is stated for the {experiment.loss} loss and {labels}; these get the {own} loss.")
        experiment = replace(experiment, loss=own)
    if scale != _OWN:
        experiment = experiment.with_texts({"scale": scale}, prefix="--")
    return experiment, experiment.problem(data)


def _judge_stored(theorem: Theorem, path: Path, parameters: dict[str, float]) -> Verdict:
    """The verdict on a stored run; `inconclusive` where it was ended before the times that the result speaks of."""
    from reluflow.dynamics.storage import load_trajectory
    from reluflow.theory.gather import evidence_of_run

    return theorem.check(evidence_of_run(theorem, load_trajectory(path), parameters=parameters))


def _parameters(words: tuple[str, ...]) -> dict[str, float]:
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


def _not_a_time(until: str) -> InvalidInputError:
    return InvalidInputError(f"`--until` must be a positive time, got {until!r}; the theorem knows its own end.")


def _end(experiment: Experiment) -> float:
    """The time at which the run ends at the latest."""
    if experiment.until is not None and experiment.end_time is None:
        raise _not_a_time(experiment.until)
    return min(end for end in (experiment.end_time, experiment.horizon, float("inf")) if end is not None)


def _print(verdict: Verdict) -> None:
    theorem = verdict.theorem
    print_text(f"{theorem.key}: {theorem.reference}")
    print_text(theorem.statement)
    print()
    print_text(f"Verdict: {verdict.why}.")
    if verdict.hypotheses:
        print_table(
            ("hypothesis", "holds", "margin", "measured"),
            [(h.name, _WORDS[h.holds], number(h.margin), f"{h.statement}: {h.detail}") for h in verdict.hypotheses],
        )
    for title, numbers in (("constant", verdict.constants), ("prediction", verdict.predictions)):
        if numbers:
            print_table((title, "value"), [(name, _shown(value)) for name, value in numbers.items()])
    for title, conclusions in (("conclusion", verdict.deciding), ("also measured (ours)", verdict.also_measured)):
        if conclusions:
            print_table(
                (title, "level", "holds", "measured", "bound", "slack", "in words"),
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
                    for c in conclusions
                ],
            )
    if theorem.erratum:
        print_text(f"Erratum {theorem.erratum}")
    if theorem.departs:
        print_text(f"Departs from the statement: {theorem.departs}")


def _shown(value: Any) -> str:
    from reluflow.tables import shown

    return shown(value.tolist() if hasattr(value, "tolist") else value)
