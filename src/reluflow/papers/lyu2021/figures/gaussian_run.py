"""The runs of Table 1 and Figure 4: a leaky network and the SVM on the same Gaussian samples.

Leak, size of the translation and schedule of the step are not printed. Here the leak is 1/2; the translation 0.45 was
fitted to the SVM column of Table 1, so agreement with that column is no evidence; the step is 0.01 until L < ln 2/n and
then 0.01 (ln 2/n)/L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.certificates.hard_margin import HardMargin, linear_separator
from reluflow.certificates.kkt import normalized_margin
from reluflow.data.dataset import Dataset
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.network.initialization import he_initialization
from reluflow.network.network import Network
from reluflow.papers.lyu2021.data import GaussianSplit, table1_split
from reluflow.papers.lyu2021.figures.panels import LEAK, LOSS, LR, SCALE, WIDTH

SIZES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True)
class Training:
    """Appendix J, and what it leaves open."""

    iterations: int
    width: int = WIDTH
    d: int = 50
    scale: float = SCALE
    lr: float = LR
    leak: float = LEAK
    shift: float = 0.45
    num_test: int = 10_000


def split_of(training: Training, n: int, seed: int) -> GaussianSplit:
    """Training and test samples of one row and seed."""
    rng = np.random.default_rng([seed, n])
    return table1_split(rng, n=n, num_test=training.num_test, shift=training.shift, d=training.d)


def symmetrized(dataset: Dataset) -> Dataset:
    """The samples with (-x, -y) for every (x, y): Theorem 4.3 speaks of such data. The SVM through 0 is the same.

    >>> symmetrized(Dataset([[1.0, 2.0]], [1.0])).y
    array([ 1., -1.])
    """
    return Dataset(
        np.vstack([dataset.X, -dataset.X]),
        np.concatenate([dataset.y, -dataset.y]),
        name=f"{dataset.name}-symmetrised",
        provenance=dataset.provenance,
    )


def trained(training: Training, dataset: Dataset, seed: int) -> Network:
    """The network at the last iteration, or where the loss falls below the smallest double."""
    rng = np.random.default_rng([seed, dataset.n, 1])  # a stream of its own, apart from the samples
    start = he_initialization(dataset, width=training.width, scale=training.scale, rng=rng, leak=training.leak)
    solver = GradientDescent(lr=training.lr, iterations=training.iterations, loss_scaled=True)
    return train(TrainingProblem(dataset, LOSS, start), solver, until=Exhausted()).network


@dataclass(frozen=True)
class SVMComparison:
    """A network and the SVM on the same samples.

    Parameters
    ----------
    net_error, svm_error, agreement
        Test errors of both, and how often they decide alike, in per cent.
    cosine
        Between the linear part of the network, (1 + leak)/2 sum_k a_k w_k, and the SVM.
    even
        Size of the rest, (1 - leak)/2 sum_k a_k |<w_k, x>|, on the test samples relative to all.
    margin_ratio
        The margin of the network over (1 + leak)/4 times that of the SVM, the largest of a linear function.
    squared_norm
        Of the network.
    train_errors
        Training samples that the network gets wrong.
    """

    net_error: float
    svm_error: float
    agreement: float
    cosine: float
    even: float
    margin_ratio: float
    squared_norm: float
    train_errors: int


def one_row(training: Training, n: int, seed: int, is_symmetric: bool = False) -> SVMComparison:
    """Errors, margins and likeness of the network and the SVM for one size and seed."""
    split = split_of(training, n, seed)
    data = symmetrized(split.train) if is_symmetric else split.train
    separator = linear_separator(split.train)
    return compared(trained(training, data, seed), separator, data, split.test)


def compared(network: Network, separator: HardMargin, data: Dataset, test: Dataset) -> SVMComparison:
    """The numbers of one row."""
    outputs, mirrored, linear = network.outputs(test.X), network.outputs(-test.X), test.X @ separator.w
    part = network.a @ network.w
    even = 0.5 * (outputs + mirrored)
    return SVMComparison(
        net_error=float(100.0 * np.mean(np.sign(outputs) != test.y)),
        svm_error=float(100.0 * np.mean(np.sign(linear) != test.y)),
        agreement=float(100.0 * np.mean(np.sign(outputs) == np.sign(linear))),
        cosine=float(part @ separator.w / np.linalg.norm(part)),
        even=float(np.linalg.norm(even) / np.linalg.norm(outputs)),
        margin_ratio=normalized_margin(network, data) / (0.25 * (1.0 + network.leak) * separator.margin),
        squared_norm=network.squared_norm(),
        train_errors=int(np.sum(np.sign(network.outputs(data.X)) != data.y)),
    )
