"""The fields of an `Experiment`: the type of each with how it is read, what it means, and its place in a help text.

The command line makes its options from these, so that a field has one name, one set of bounds and one explanation.
"""

from __future__ import annotations

from typing import Annotated

from reluflow.experiment.settings import (
    FieldKind,
    Row,
    decimal_scale,
    flag,
    in_unit_interval,
    loss_name,
    not_negative,
    num_neurons,
    numbers,
    one_of,
    positive,
    rows,
    rule,
    time_bound,
    whole,
    word,
)
from reluflow.losses import LOSSES
from reluflow.network.scale import Scale

DataSpec = Annotated[str, FieldKind(word)]
Samples = Annotated[tuple[Row, ...] | None, FieldKind(rows)]
Labels = Annotated[Row | None, FieldKind(numbers)]
TargetName = Annotated[
    str | None, FieldKind(word, "Label column; default: y, label, target, class or the last. A,B: several.", "NAME")
]
FeatureNames = Annotated[str | None, FieldKind(word, "Input columns; default: all others.", "A,B,C")]
DroppedNames = Annotated[str | None, FieldKind(word, "Columns to leave out.", "A,B,C")]
ClassNames = Annotated[
    str | None,
    FieldKind(
        word,
        "The values that are 1 and -1; one value alone stands against the rest; `numbers` takes them as they are, "
        "`classes` makes each a class.",
        "POS,NEG",
    ),
]
DropMissing = Annotated[bool, FieldKind(flag, "Leave out rows with missing values.")]
Standardise = Annotated[bool, FieldKind(flag, "Give every input mean 0 and variance 1, before --bias.")]
Bias = Annotated[bool, FieldKind(flag, "Append the constant coordinate 1.")]
LossName = Annotated[
    str | None,
    FieldKind(
        loss_name, "Default: logistic for labels -1 and 1, softmax for more classes, else square.", "|".join(LOSSES)
    ),
]
ReductionName = Annotated[str, FieldKind(one_of("mean", "sum"), "Mean or sum over samples.", "mean|sum")]
Factor = Annotated[float, FieldKind(positive, "Multiplies the loss.", "F")]
Leak = Annotated[float, FieldKind(in_unit_interval, "Negative slope in [0, 1]; 0 is ReLU.", "G")]
WeightDecay = Annotated[float, FieldKind(not_negative, "Adds (L/2) times the sum of the squared weights.", "L")]
FrozenOutput = Annotated[bool, FieldKind(flag, "Train the input weights alone; the output weights stay.")]
Width = Annotated[int | str, FieldKind(num_neurons, "Number of neurons; inf in dimension 2.", "M")]
ScaleText = Annotated[
    Scale, FieldKind(decimal_scale, "Initialisation scale, any positive decimal: 1e-400 is fine.", "S")
]
Init = Annotated[
    str,
    FieldKind(
        word,
        "How neurons are drawn, or a network: .csv with header w1,...,wd,a or w1,...,wd,v1,...,vK, .npz, "
        ".safetensors, .pt.",
        "NAME|PATH",
    ),
]
NeuronRows = Annotated[tuple[Row, ...] | None, FieldKind(rows)]
OutputBiasName = Annotated[
    str | None,
    FieldKind(
        one_of("none", "fixed", "train"),
        "Leave out the output bias, keep it fixed or train it, from that of the network or 0. Default: train if the "
        "given network has one, else none.",
        "none|fixed|train",
    ),
]
Nodes = Annotated[int, FieldKind(whole(1), "Directions that stand for infinitely many neurons under --width inf.", "N")]
Seed = Annotated[int, FieldKind(whole(0), "One seed fixes everything.", "N")]
MethodName = Annotated[
    str, FieldKind(one_of("flow", "gd", "sgd"), "Exact flow, gradient descent or its stochastic form.", "flow|gd|sgd")
]
SolverName = Annotated[
    str,
    FieldKind(
        one_of("auto", "event-driven", "collocation"),
        "Solver of the flow; auto takes the faster one.",
        "auto|event-driven|collocation",
    ),
]
Tolerance = Annotated[
    float | None, FieldKind(positive, "Tolerance of the flow; default: 1e-10, collocation 1e-7.", "R")
]
DeviceName = Annotated[
    str, FieldKind(one_of("cpu", "gpu"), "Where collocation makes large products; gpu needs JAX.", "cpu|gpu")
]
RidgeName = Annotated[
    str,
    FieldKind(
        one_of("stop", "positive", "negative", "stay"),
        "What to do where the flow is not unique.",
        "stop|positive|negative|stay",
    ),
]
Until = Annotated[
    str | None, FieldKind(rule, "stationary, aligned, direction, or a time; default: by the loss.", "RULE|TIME")
]
Horizon = Annotated[float | None, FieldKind(time_bound, "Give up at this time.", "TIME")]
Times = Annotated[Row, FieldKind(numbers, "Snapshots at exactly these times.", "T1,T2,...")]
LearningRate = Annotated[float, FieldKind(positive, "Learning rate of gd and sgd.", "ETA")]
Iterations = Annotated[int | None, FieldKind(whole(1), "Iterations of gd and sgd.", "N")]
Batch = Annotated[int, FieldKind(whole(1), "Batch size of sgd.", "N")]
