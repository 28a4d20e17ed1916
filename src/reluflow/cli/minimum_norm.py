"""`reluflow minimum-norm DATASET`."""

from __future__ import annotations

import click

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option
from reluflow.cli.inputs import dataset_of
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import share_bar
from reluflow.cli.run_options import DATA, GivenOptions, run_options


@click.command()
@dataset_argument()
@run_options(*DATA, "leak")
@click.option(
    "--misfit",
    type=float,
    default=0.0,
    show_default=True,
    help="Largest Euclidean |h - y| that counts as a fit; 0 asks for an interpolation.",
)
@max_seconds_option()
@json_option
def command(dataset: str | None, *, run: GivenOptions, misfit: float, max_seconds: float, json: bool) -> None:
    """Find the two-layer network of least norm, the sum of |a| |w|, that fits the labels, and prove a bound below.

    Labels that no network fits get their certificate, not an error.

    Example: reluflow minimum-norm three-points --json
    """
    from reluflow.certificates.minimum_norm_network import minimum_norm_network

    experiment = run.experiment(dataset)
    data, leak = dataset_of(experiment), experiment.leak
    with share_bar("looking for the network of least norm") as progress:
        least = minimum_norm_network(data, leak, misfit=misfit, max_seconds=max_seconds, progress=progress)
    neurons = [] if least.network is None else list(zip(least.network.w, least.network.a, strict=True))
    if json:
        print_json(
            {
                "fits": least.can_fit,
                "norm": least.norm,
                "lower": least.lower,
                "gap": least.gap if least.can_fit else None,
                "exact": least.is_exact,
                "why": least.why or None,
                "misfit": least.misfit,
                "multipliers": least.multipliers,
                "network": {"neurons": [{"w": w, "a": a} for w, a in neurons]},
            }
        )
        return
    print(f"{data.name}: {data.n} samples in dimension {data.d}")
    if least.can_fit is None:
        print(f"Least norm sum |a||w| of a fit at leak {leak:g}: at least {least.lower:.10g}. Open: {least.why}.")
        return
    if not least.can_fit:
        print("No two-layer network fits these labels: multipliers that no neuron feels, and the labels do:")
        print(f"nu = {vector(least.multipliers)}, <nu, y> = {number(float(least.multipliers @ data.y), 6)}.")
        return
    how = "" if least.is_exact else " (a relaxation; the true bound may be larger)"
    print(f"Least norm sum |a||w| of a fit at leak {leak:g}: {least.norm:.10g}, at least {least.lower:.10g}{how}.")
    print(f"The network below has that norm and misses the labels by {least.misfit:.2g}.")
    if least.gap > 1e-6:
        print(f"What lies between the two is open: {least.why}.")
    print_table(("w", "a"), [(vector(w), number(float(a))) for w, a in neurons])
