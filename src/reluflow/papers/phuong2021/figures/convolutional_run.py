"""The convolutional network of App. D trained on MNIST 0 against 1: one run, which Figures 3 and 4 share.

Layers 1 to 6 are convolutions, 7 and 8 dense, all with biases; the dense weights start times 0.05. Adam's rate is not
in the paper: 1e-3 is the usual one. Digit 1 has the label +1, pixels are divided by 255 and not centred. f^l(x) is what
layer l gives before its activation, as in the paper's Eq. (30), and f^0(x) = x.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.mnist import Source, mnist_pair
from reluflow.dynamics.keep import Keep
from reluflow.losses import LogisticLoss
from reluflow.papers.workbench import Workbench

RUN = "phuong2021/convolutional-network"  # the name both figures keep it under
GROUPS = ("different digits", "two 0s", "two 1s")  # pairs of images


@dataclass(frozen=True, eq=False)
class PairProducts:
    """How the products of pairs of images are distributed: in one layer, or in all with the layers first.

    Parameters
    ----------
    edges
        Of the bins.
    densities
        Shares of the pairs in every bin, groups by bins; the groups are `GROUPS`.
    means, deviations, smallest, largest
        Of the products of each group.
    nonpositive
        Share of each group's products that are at most 0.
    """

    edges: FloatArray
    densities: FloatArray
    means: FloatArray
    deviations: FloatArray
    smallest: FloatArray
    largest: FloatArray
    nonpositive: FloatArray


@dataclass(frozen=True, eq=False)
class ConvolutionalRun:
    """The run: its training, the products of images in every layer, and the first dense layer W_7.

    Parameters
    ----------
    losses
        After every epoch, the first before training.
    outcome, iteration, device
        How and where training ended.
    accuracy, num_images
        Share of the images rightly classified at the end, and how many there are.
    products
        Of pairs of images as they are and in layers 1 to 7.
    singular_values, start_norm
        The largest of W_7, and its spectral norm before training.
    plane, signs
        Rows of W_7 along its two largest singular directions, and the signs of their weights in layer 8.
    """

    losses: FloatArray
    outcome: str
    iteration: int
    accuracy: float
    num_images: int
    device: str
    products: PairProducts
    singular_values: FloatArray
    start_norm: float
    plane: FloatArray
    signs: FloatArray


@dataclass(frozen=True)
class ConvolutionalSettings:
    """The network, the images and the training."""

    kernels: tuple[int, ...]
    hidden: int
    source: Source
    images: int | None
    epochs: int
    batch: int = 128
    lr: float = 1e-3
    dense_scale: float = 0.05
    compared: int = 600  # images of which all pairs are compared, half of each digit
    bins: int = 60
    seed: int = 0


QUICK = ConvolutionalSettings(
    kernels=(8, 8, 8, 16, 16, 16), hidden=32, source="bundled", images=320, epochs=30, batch=32, compared=300
)
QUICK_DENSE = replace(QUICK, hidden=128)  # for Figure 4: 32 neurons show no clusters, 128 train more slowly
FULL = ConvolutionalSettings(kernels=(32, 32, 32, 64, 64, 64), hidden=128, source="full", images=None, epochs=50)


def compute(settings: ConvolutionalSettings, workbench: Workbench) -> ConvolutionalRun:
    """The run, trained once for both figures."""
    given = asdict(settings)
    return workbench.piece("run", ConvolutionalRun, lambda: _trained(settings, workbench), settings=given, of=RUN)


def _trained(settings: ConvolutionalSettings, workbench: Workbench) -> ConvolutionalRun:
    from reluflow.deep import DeepDescent, convolutional_network, outputs, similarities, train_deep

    images = mnist_pair(1, 0, size=settings.images, source=settings.source, centred=False)
    start = convolutional_network(
        rng=np.random.default_rng(settings.seed),
        dense_scale=settings.dense_scale,
        kernels=settings.kernels,
        hidden=settings.hidden,
    )
    descent = DeepDescent(
        lr=settings.lr,
        epochs=settings.epochs,
        batch=settings.batch,
        optimizer="adam",
        seed=settings.seed,
        precision="float32",
    )
    last = descent.num_steps(images.n)
    per_epoch = descent.steps_per_epoch(images.n)
    run = train_deep(
        start,
        images,
        LogisticLoss(),
        descent,
        keep=Keep(iterations=range(0, last + 1, per_epoch)),
        progress=lambda step, loss: workbench.progress(step / last, f"epoch {step // per_epoch}, loss {loss:.3g}"),
    )
    margins = images.y * outputs(run.network, images.X, precision="float32")
    chosen = np.concatenate([np.flatnonzero(images.y == sign)[: settings.compared // 2] for sign in (-1.0, 1.0)])
    products = similarities(run.network, images.X[chosen], precision="float32")[:-1]
    kept = [_distribution(product, images.y[chosen], settings.bins) for product in products]
    dense = np.asarray(run.network.dense.weight, dtype=np.float64)
    _, values, axes = np.linalg.svd(dense, full_matrices=False)
    return ConvolutionalRun(
        losses=run.losses,
        outcome=run.outcome.sentence,
        iteration=run.iteration,
        accuracy=float(np.mean(margins > 0)),
        num_images=images.n,
        device=run.device,
        products=PairProducts(
            edges=np.array([layer.edges for layer in kept]),
            densities=np.array([layer.densities for layer in kept]),
            means=np.array([layer.means for layer in kept]),
            deviations=np.array([layer.deviations for layer in kept]),
            smallest=np.array([layer.smallest for layer in kept]),
            largest=np.array([layer.largest for layer in kept]),
            nonpositive=np.array([layer.nonpositive for layer in kept]),
        ),
        singular_values=values[:40],
        start_norm=float(np.linalg.norm(np.asarray(start.dense.weight, dtype=np.float64), 2)),
        plane=dense @ axes[:2].T,
        signs=np.sign(np.asarray(run.network.last.weight, dtype=np.float64)[0]),
    )


def _distribution(products: FloatArray, labels: FloatArray, bins: int) -> PairProducts:
    """Histograms and moments of the products of different classes, of two 0s and of two 1s, no image with itself."""
    upper = np.triu_indices(len(labels), k=1)
    pairs = products[upper]
    first, second = labels[upper[0]], labels[upper[1]]
    groups = [pairs[first != second], pairs[(first < 0) & (second < 0)], pairs[(first > 0) & (second > 0)]]
    ends = np.quantile(pairs, [0.001, 0.999])  # the tails would leave the bulk a single bar
    edges = np.linspace(ends[0], ends[1], bins + 1)
    return PairProducts(
        edges=edges,
        densities=np.array([np.histogram(group, edges)[0] / len(group) for group in groups]),
        means=np.array([group.mean() for group in groups]),
        deviations=np.array([group.std() for group in groups]),
        smallest=np.array([group.min() for group in groups]),
        largest=np.array([group.max() for group in groups]),
        nonpositive=np.array([np.mean(group <= 0.0) for group in groups]),
    )
