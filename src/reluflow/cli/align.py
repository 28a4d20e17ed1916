"""`reluflow align DATASET`."""

from __future__ import annotations

import click
import numpy as np

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option
from reluflow.cli.inputs import dataset_of
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import compile_first, share_bar
from reluflow.cli.run_options import DATA, LOSS, GivenOptions, run_options


@click.command()
@dataset_argument()
@run_options(*DATA, *LOSS, "leak", "width", "init", width=1000, scale="1")
@max_seconds_option()
@json_option
def command(dataset: str | None, *, run: GivenOptions, max_seconds: float, json: bool) -> None:
    """Follow every neuron to its end in the limit of vanishing scale, in closed form.

    The scale does not matter in this limit, only the directions of (w, a), or of (w, v) with several outputs.

    Example: reluflow align three-points --width 200 --json
    """
    from reluflow.cli.aligned_pairs import print_pairs
    from reluflow.errors import InvalidInputError
    from reluflow.geometry.alignment import alignment_of
    from reluflow.geometry.pair_alignment import pair_alignment_of
    from reluflow.warm_up import Work

    experiment = run.experiment(dataset)
    data = dataset_of(experiment)
    network, chosen = experiment.network_for(data), experiment.loss_for(data)
    leak = experiment.leak
    compile_first(Work.PAIR_ALIGNMENT if network.num_outputs > 1 else Work.ALIGNMENT)
    if network.b is not None:
        raise InvalidInputError(
            f"`{experiment.init}` must have no output bias for alignment, which is at vanishing scale, got one."
        )
    with share_bar(f"following {network.num_neurons} neurons past {data.n} samples") as progress:
        if network.num_outputs > 1:
            pairs = pair_alignment_of(
                data, chosen, network.w, network.v, leak=leak, max_seconds=max_seconds, progress=progress
            )
            print_pairs(pairs, network, f"{data.name}: {network.num_neurons} neurons ({experiment.init})", json=json)
            return
        result = alignment_of(data, chosen, network.w, network.a, leak=leak, max_seconds=max_seconds, progress=progress)
    names, vectors = result.end_names, result.vectors
    if json:
        neurons = [
            {
                "end": names[j],
                "extremal": vectors[j] if result.indices[j] >= 0 else None,
                "time": result.times[j],
                "crossings": result.crossings[j],
                "slides": result.slides[j],
                "direction": result.directions[j],
            }
            for j in range(len(names))
        ]
        print_json({"neurons": neurons, "counts": result.counts, "why": result.why_open or None})
        return
    print(f"{data.name}: {network.num_neurons} neurons ({experiment.init}) in the limit of vanishing scale")
    print_table(("end", "neurons"), [(name, str(count)) for name, count in result.counts.items() if count])
    if result.why_open:
        print(f"Open: {result.why_open}.")
    rows = []
    for k, extremal in enumerate(result.extremal):
        members = result.indices == k
        kind = names[int(np.flatnonzero(members)[0])]
        share = float(network.weight[members].sum() / network.weight.sum())
        rows.append(
            (
                vector(extremal),
                number(float(np.linalg.norm(extremal))),
                kind,
                f"{share:.2%}",
                number(float(result.times[members].max())),
            )
        )
    print_table(("extremal vector", "|D|", "kind", "share of neurons", "last arrival"), rows)
