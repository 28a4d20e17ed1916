"""`reluflow diagnose DATASET`."""

from __future__ import annotations

from dataclasses import asdict

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
from reluflow.cli.inputs import dataset_from, loss_from, note_suggested_leak
from reluflow.cli.output import number, print_json, print_table

_WORDS = {True: "yes", False: "no", None: "?"}


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
    """Say which assumption of which paper holds on a dataset, and by what margin.

    Example: reluflow diagnose three-points --json
    """
    from reluflow.theory.diagnosis import diagnose

    data = dataset_from(dataset, bias=bias, seed=seed)
    note_suggested_leak(dataset, leak)
    diagnosis = diagnose(data, loss_from(data, loss, reduction, factor), leak=leak)
    if json:
        print_json(
            {
                "n": data.n,
                "d": data.d,
                "conditions": [asdict(condition) for condition in diagnosis.conditions],
                "theorems": [asdict(theorem) for theorem in diagnosis.theorems],
            }
        )
        return
    print(f"{data.name}: {data.n} samples in dimension {data.d}, {data.task} ({data.provenance})")
    print_table(
        ("condition", "paper", "holds", "margin", "measured"),
        [(c.key, c.paper, _WORDS[c.holds], number(c.margin), c.detail) for c in diagnosis.conditions],
    )
    print()
    print_table(
        ("theorem", "data allow it", "why"),
        [(t.key, _WORDS[t.applicable], t.why) for t in diagnosis.theorems],
    )
