"""`reluflow align DATASET`."""

from __future__ import annotations

import numpy as np

from reluflow.cli.arguments import (
    DEFAULT_SECONDS,
    BiasOption,
    BoundOption,
    DatasetArgument,
    FactorOption,
    InitOption,
    JsonOption,
    LeakOption,
    LossOption,
    ReductionName,
    ReductionOption,
    SeedOption,
    WidthOption,
)
from reluflow.cli.inputs import dataset_from, loss_from, network_from, note_suggested_leak
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import compile_first, share_bar


def command(
    dataset: DatasetArgument,
    *,
    bias: BiasOption = False,
    loss: LossOption = None,
    reduction: ReductionOption = ReductionName.MEAN,
    factor: FactorOption = 1.0,
    leak: LeakOption = 0.0,
    width: WidthOption = "1000",
    init: InitOption = "balanced",
    seed: SeedOption = 0,
    max_seconds: BoundOption = DEFAULT_SECONDS,
    json: JsonOption = False,
) -> None:
    """Follow every neuron to its end in the limit of vanishing scale, in closed form.

    The scale does not matter in this limit, only the directions of (w, a).

    Example: reluflow align three-points --width 200 --json
    """
    from reluflow.geometry.alignment import alignment_of
    from reluflow.warm_up import Work

    data = dataset_from(dataset, bias=bias, seed=seed)
    note_suggested_leak(dataset, leak)
    network = network_from(data, init=init, width=width, scale="1", seed=seed, leak=leak)
    chosen = loss_from(data, loss, reduction, factor)
    compile_first(Work.ALIGNMENT)
    with share_bar(f"following {network.num_neurons} neurons past {data.n} samples") as progress:
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
    print(f"{data.name}: {network.num_neurons} neurons ({init}) in the limit of vanishing scale")
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
