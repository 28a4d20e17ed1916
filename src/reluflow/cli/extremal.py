"""`reluflow extremal DATASET`."""

from __future__ import annotations

from reluflow.cli.arguments import (
    BiasOption,
    DatasetArgument,
    FactorOption,
    JsonOption,
    LeakOption,
    LossOption,
    ReductionName,
    ReductionOption,
    SeedOption,
)
from reluflow.cli.inputs import dataset_from, loss_from, note, note_suggested_leak
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import share_bar


def command(
    dataset: DatasetArgument,
    *,
    bias: BiasOption = False,
    loss: LossOption = None,
    reduction: ReductionOption = ReductionName.MEAN,
    factor: FactorOption = 1.0,
    leak: LeakOption = 0.0,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """List all extremal vectors: the directions neurons can align with as the scale vanishes.

    Example: reluflow extremal three-points --json
    """
    from reluflow.geometry.extremal import extremal_vectors
    from reluflow.geometry.thresholds import subgradient_range

    data = dataset_from(dataset, bias=bias, seed=seed)
    note_suggested_leak(dataset, leak)
    chosen = loss_from(data, loss, reduction, factor)
    with share_bar("following neurons to where they settle") as progress:
        found = extremal_vectors(data, chosen, leak=leak, progress=progress)
    d_max, d_min = subgradient_range(data, chosen, leak=leak) or (None, None)
    if found.degenerate:
        note("; ".join(found.degenerate))
    if json:
        print_json(
            {
                "count": len(found.norms),
                "d_max": d_max,
                "d_min": d_min,
                "exact": found.exact,
                "vectors": [
                    {"vector": v, "norm": size, "kind": str(kind), "side": int(side), "pattern": pattern}
                    for v, size, kind, side, pattern in zip(
                        found.vectors, found.norms, found.kinds, found.sides, found.patterns, strict=True
                    )
                ],
            }
        )
        return
    how = "all of them, by enumeration" if found.exact else "those found by search; there may be more"
    count = "1 extremal vector" if len(found.norms) == 1 else f"{len(found.norms)} extremal vectors"
    print(f"{data.name}: {count} ({how}); D_max = {number(d_max)}, D_min = {number(d_min)}")
    print_table(
        ("D", "|D|", "kind", "side", "pattern"),
        [
            (vector(v), number(size), str(kind), f"{int(side):+d}", "".join("-0+"[int(u) + 1] for u in pattern))
            for v, size, kind, side, pattern in zip(
                found.vectors, found.norms, found.kinds, found.sides, found.patterns, strict=True
            )
        ],
    )
