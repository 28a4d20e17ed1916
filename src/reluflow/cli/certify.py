"""`reluflow certify DATASET --init PATH`."""

from __future__ import annotations

from typing import Any

import click

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option
from reluflow.cli.inputs import class_names, dataset_of, note_left_out_bias
from reluflow.cli.output import number, print_json, print_table
from reluflow.cli.progress import stage_spinner
from reluflow.cli.run_options import DATA, LOSS, VARIANT, GivenOptions, run_options


@click.command()
@dataset_argument()
@run_options(
    "init",
    "output_bias",
    *DATA,
    *LOSS,
    "leak",
    *VARIANT,
    width=1,
    scale="1",
    words={"init": "The network: .csv with header w1,...,wd,a, .npz, .safetensors or .pt."},
)
@click.option(
    "--tolerance", type=float, default=1e-6, show_default=True, help="Largest relative residual that counts as 0."
)
@click.option(
    "--from-here", is_flag=True, help="Also how far along it is, and where the exact flow takes it from here."
)
@max_seconds_option()
@json_option
def command(
    dataset: str | None, *, run: GivenOptions, tolerance: float, from_here: bool, max_seconds: float, json: bool
) -> None:
    """Determine what a given network provably is: a minimum, a saddle, a KKT or max-margin direction, or none of these.

    Example: reluflow certify three-points --init network.csv --json
    """
    from reluflow.certificates.certify import certify
    from reluflow.certificates.network_margin import linear_network_margin
    from reluflow.errors import InvalidInputError

    if not 0.0 < tolerance < 1.0:
        raise InvalidInputError(f"`--tolerance` must lie in (0, 1), got {tolerance}.")
    if "init" not in run.texts and run.file is None:
        raise click.UsageError("Missing option '--init': the network that is to be judged.")
    experiment = run.experiment(dataset)
    data, leak = dataset_of(experiment), experiment.leak
    weight_decay, frozen_output = experiment.weight_decay, experiment.frozen_output
    network, named = experiment.network_for(data), experiment.loss_for(data)
    note_left_out_bias(experiment)
    if weight_decay != 0.0 or frozen_output:
        from reluflow.certificates.regularised import certify_variant

        if from_here:
            raise InvalidInputError(
                "`--from-here` follows the flow without --weight-decay and --frozen-output; leave out one."
            )
        verdict = certify_variant(
            network, data, named, weight_decay=weight_decay, trains_output_layer=not frozen_output, rtol=tolerance
        )
    else:
        with stage_spinner() as on_stage:
            on_stage("judging the network")
            verdict = certify(
                network, data, named, rtol=tolerance, with_norm=True, max_seconds=max_seconds,
                trains_output_bias=experiment.output_bias != "fixed",
            )  # fmt: skip
    place = None
    if from_here:
        from reluflow.dynamics.problem import TrainingProblem
        from reluflow.study.network_assessment import assess

        with stage_spinner() as on_stage:
            on_stage("running the flow from here")
            place = assess(TrainingProblem(data, named, network), rtol=tolerance, max_seconds=max_seconds)
    if json:
        escape: dict[str, Any] | None = None
        if verdict.escape is not None:
            escape = {
                "neuron": verdict.escape.neuron,
                "w": verdict.escape.w,
                "a" if network.num_outputs == 1 else "v": verdict.escape.a,
                "predicted_decrease": verdict.escape.predicted_decrease,
                "actual_decrease": verdict.escape.actual_decrease,
            }
        print_json(
            {
                "kind": str(verdict.kind),
                "residuals": verdict.residuals,
                **class_names(data),
                "multipliers": verdict.multipliers,
                "margin": verdict.margin,
                "best_linear_margin": verdict.best_linear_margin,
                "global_margin": verdict.global_margin,
                "linear_network_margin": linear_network_margin(verdict.best_linear_margin, leak),
                "norm": verdict.norm,
                "minimum_norm": verdict.minimum_norm,
                "ignored": list(verdict.ignored),
                "proof": verdict.is_proved,
                "escape": escape,
                "reasons": [*verdict.reasons, *verdict.open_points],
            }
            | ({} if place is None else _assessment(place))
        )
        return
    name = str(verdict.kind)
    plain = {"not-stationary": "not stationary", "stationary": "the network is stationary"}
    print(f"{data.name}: {plain.get(name, f'the network is a {name}')}.")
    for reason in (*verdict.reasons, *(f"Not decided: {point}" for point in verdict.open_points)):
        print(reason)
    rows = [(name.replace("_", " "), number(value, 4)) for name, value in verdict.residuals.items()]
    # one normalisation for all margins: q_min / |theta|^2, that of the network itself
    linear = linear_network_margin(verdict.best_linear_margin, leak)
    rows += [
        ("normalised margin", number(verdict.margin, 10)),
        ("normalised margin of the best linear function, written as a network", number(linear, 10)),
        ("normalised margin of the best network found", number(verdict.global_margin, 10)),
    ]
    print_table(("quantity", "value"), rows)
    if place is not None:
        for sentence in place.sentences():
            print(sentence)


def _assessment(place: Any) -> dict[str, Any]:
    """The keys of `--from-here`; `whereabouts` is what version 0.2 called it, to go with 0.4."""
    values = {row["quantity"]: row["value"] for row in place.table()}
    return {"assessment": values, "whereabouts": values}
