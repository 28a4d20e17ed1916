"""The ways to draw (w, a) at the start, each naming its paper and equation; those of one paper alone are in its folder.

For K outputs the sign of a becomes a direction v/|v|, uniform on the sphere of R^K, and independent entries of a become
independent entries of v; with K = 1 every draw is the papers' own.

A scheme draws the O(1) shape; the scale, and the 1/sqrt(width) of Boursier & Flammarion, go into `log_scale`. So
one seed gives one shape at every scale, which is what the limits "scale to zero with the draw held fixed" need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.found_papers import named_values
from reluflow.network.network import Network
from reluflow.network.scale import Scale, log_of_scale
from reluflow.network.unit_draws import (
    draw_balanced,
    draw_dominated,
    draw_dominated_cube,
    draw_gaussian,
    draw_he,
    draw_min_balanced,
    draw_positive_balanced,
    draw_sphere,
    draw_uniform_fan_in,
)

Draw = Callable[[int, int, int, np.random.Generator], tuple[FloatArray, FloatArray]]
DrawOnData = Callable[[int, Dataset, np.random.Generator], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Initialization:
    """A named law of the shape (w, v).

    Parameters
    ----------
    name
        As on the command line.
    paper
        Key in references.bib.
    locator
        Equation or section that defines it.
    summary
        The law in one line; lambda is the scale, m the width, d the dimension.
    draw
        (width, d, num_outputs, rng) -> (w, v) at scale 1, shapes (width, d) and (width, num_outputs).
    divides_by_sqrt_width
        Whether the paper's scale carries the factor 1/sqrt(m).
    draw_on_data
        (width, dataset, rng) -> (w, v) at scale 1, in place of `draw` where the neurons are made of the samples.
    dataset
        The registered dataset whose samples alone it starts on; empty where it starts on any.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=5, scale="1e-400", rng=np.random.default_rng(0))
    >>> network.num_neurons, bool(np.allclose(np.abs(network.a), np.linalg.norm(network.w, axis=1)))
    (5, True)
    """

    name: str
    paper: str
    locator: str
    summary: str
    draw: Draw | None
    divides_by_sqrt_width: bool = False
    draw_on_data: DrawOnData | None = None
    dataset: str = ""

    def __call__(
        self,
        dataset: Dataset,
        *,
        width: int,
        scale: Scale,
        rng: np.random.Generator | int,
        leak: float = 0.0,
        output_bias: bool = False,
    ) -> Network:
        """Draw a network of `width` neurons for the dimension and the outputs of `dataset`.

        With `output_bias` it has one, which starts at 0.

        An integer `rng` is a seed as on the command line: `rng=0` draws the neurons of `--seed 0`, by `neuron_rng(0)`.
        `numpy.random.default_rng(0)` is another stream, the one the command line draws samples from.
        """
        if width < 1:
            raise InvalidInputError(f"`width` must be at least 1, got {width}.")
        if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
            rng = neuron_rng(int(rng))
        if not isinstance(rng, np.random.Generator):
            raise InvalidInputError(f"`rng` must be a numpy.random.Generator or a seed of at least 0, got {rng!r}.")
        w, v = self._drawn(width, dataset, rng)
        log_scale = log_of_scale(scale) - (0.5 * math.log(width) if self.divides_by_sqrt_width else 0.0)
        b = np.zeros(dataset.num_outputs) if output_bias else None
        rows = np.asarray(v, dtype=np.float64)  # a draw for one output may give numbers
        return Network(w, v=rows if rows.ndim == 2 else rows[:, None], b=b, leak=leak, log_scale=log_scale)

    def _drawn(self, width: int, dataset: Dataset, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        if self.draw_on_data is not None:
            return self.draw_on_data(width, dataset, rng)
        if self.draw is None:
            raise InvalidInputError(f"`draw` or `draw_on_data` must be given for the initialisation {self.name!r}.")
        return self.draw(width, dataset.d, dataset.num_outputs, rng)


balanced_initialization = Initialization(
    "balanced",
    "boursier2024",
    "Eqs. (3)-(5), App. B.1",
    "w = (lambda/sqrt m) g with g ~ N(0, I), a = +-|w|: perfectly balanced",
    draw_balanced,
    divides_by_sqrt_width=True,
)
"""Draw balanced neurons: every |a| equals its |w|.

The law is w = (lambda/sqrt m) g with g standard Gaussian and a = |w| or -|w| with equal probability [boursier2024].

Parameters
----------
dataset : Dataset
    Gives the dimension of the input weights and the number of outputs.
width : int
    Number of neurons m.
scale : Scale
    The scale lambda: any positive decimal, also as text such as "1e-400".
rng : numpy.random.Generator or int
    A generator, or the seed of the command line.
leak : float, default 0
    Negative slope of the activation, in [0, 1].
output_bias : bool, default False
    Whether the network has an output bias, which starts at 0.

Returns
-------
Network
    The neurons at scale 1 with `log_scale` apart.

Examples
--------
>>> import numpy as np, reluflow
>>> data = reluflow.load("three-points")
>>> network = reluflow.balanced_initialization(data, width=100, scale="1e-400", rng=0)
>>> bool(np.allclose(np.abs(network.a), np.linalg.norm(network.w, axis=1)))
True
"""
dominated_initialization = Initialization(
    "dominated",
    "boursier2024",
    "Eqs. (3)-(5), example after Eq. (5)",
    "w uniform in the ball of radius lambda/sqrt m, a = +-lambda/sqrt m: |a| > |w|",
    draw_dominated,
    divides_by_sqrt_width=True,
)
"""Draw neurons whose output weight dominates: every |a| exceeds its |w|.

The law is w uniform in the ball of radius lambda/sqrt m and a = lambda/sqrt m or -lambda/sqrt m [boursier2024].

Parameters
----------
dataset : Dataset
    Gives the dimension of the input weights and the number of outputs.
width : int
    Number of neurons m.
scale : Scale
    The scale lambda: any positive decimal, also as text such as "1e-400".
rng : numpy.random.Generator or int
    A generator, or the seed of the command line.
leak : float, default 0
    Negative slope of the activation, in [0, 1].
output_bias : bool, default False
    Whether the network has an output bias, which starts at 0.

Returns
-------
Network
    The neurons at scale 1 with `log_scale` apart.

Examples
--------
>>> import numpy as np, reluflow
>>> data = reluflow.load("three-points")
>>> network = reluflow.dominated_initialization(data, width=100, scale="1e-400", rng=0)
>>> bool(np.all(np.abs(network.a) > np.linalg.norm(network.w, axis=1)))
True
"""
dominated_cube_initialization = Initialization(
    "dominated-cube",
    "boursier2024",
    "authors' code",
    "w uniform in the cube of half-width lambda/sqrt m, a = +-sqrt(d) lambda/sqrt m",
    draw_dominated_cube,
    divides_by_sqrt_width=True,
)
unbalanced_initialization = Initialization(
    "unbalanced",
    "boursier2024",
    "App. B.2",
    "all entries of (w, a) ~ N(0, lambda^2/m), independent",
    draw_gaussian,
    divides_by_sqrt_width=True,
)
r"""Draw neurons whose entries are all independent and Gaussian.

The law is $N(0, \lambda^2/m)$ for every entry of w and a [boursier2024]; |a| may be smaller or larger than |w|.

Parameters
----------
dataset : Dataset
    Gives the dimension of the input weights and the number of outputs.
width : int
    Number of neurons m.
scale : Scale
    The scale lambda: any positive decimal, also as text such as "1e-400".
rng : numpy.random.Generator or int
    A generator, or the seed of the command line.
leak : float, default 0
    Negative slope of the activation, in [0, 1].
output_bias : bool, default False
    Whether the network has an output bias, which starts at 0.

Returns
-------
Network
    The neurons at scale 1 with `log_scale` apart.

Examples
--------
>>> import numpy as np, reluflow
>>> data = reluflow.load("three-points")
>>> network = reluflow.unbalanced_initialization(data, width=100, scale="1e-400", rng=0)
>>> larger = np.abs(network.a) > np.linalg.norm(network.w, axis=1)
>>> bool(larger.any()), bool(larger.all())
(True, False)
"""
sphere_initialization = Initialization(
    "sphere",
    "phuong2021",
    "Sec. 2",
    "w uniform on the sphere of radius lambda, a = +-lambda: balanced",
    draw_sphere,
)
lyu_gaussian_initialization = Initialization(
    "lyu-gaussian",
    "lyu2021",
    "D_init, Sec. 3 (c_ainit = 1)",
    "w ~ N(0, lambda^2 I), a ~ N(0, lambda^2), independent",
    draw_gaussian,
)
lyu_balanced_initialization = Initialization(
    "lyu-balanced",
    "lyu2021",
    "D~_init, Sec. 6",
    "w ~ N(0, lambda^2 I), a = +-|w|: balanced",
    draw_balanced,
)
he_initialization = Initialization(
    "he",
    "lyu2021",
    "App. I.1.3 and J",
    "lambda times He: w ~ N(0, 2/d), a ~ N(0, 2/m)",
    draw_he,
)
min_gaussian_initialization = Initialization(
    "min-gaussian",
    "min2024",
    "Sec. 4",
    "all entries of (w, a) ~ N(0, lambda^2)",
    draw_gaussian,
)
min_balanced_initialization = Initialization(
    "min-balanced",
    "min2024",
    "Eq. (3)",
    "w = lambda g with entries of g ~ N(0, 1/d), a = +-|w|: balanced",
    draw_min_balanced,
)
uniform_fan_in_initialization = Initialization(
    "uniform-fan-in",
    "phuong2021",
    "Sec. 5.1",
    "lambda times U(+-1/sqrt fan-in) in both layers",
    draw_uniform_fan_in,
)
lee_initialization = Initialization(
    "lee",
    "lee2022",
    "App. D.3 (k is a standard deviation, erratum E12)",
    "w ~ N(0, lambda^2 I), a = |w| > 0: balanced",
    draw_positive_balanced,
)

INITIALIZATIONS: dict[str, Initialization] = {
    scheme.name: scheme
    for scheme in (
        balanced_initialization,
        dominated_initialization,
        dominated_cube_initialization,
        unbalanced_initialization,
        sphere_initialization,
        lyu_gaussian_initialization,
        lyu_balanced_initialization,
        he_initialization,
        min_gaussian_initialization,
        min_balanced_initialization,
        uniform_fan_in_initialization,
        lee_initialization,
    )
}


def found_initializations() -> dict[str, Initialization]:
    """Every scheme by name: those here, and what the papers list in `starts.STARTS`, found and not listed."""
    return INITIALIZATIONS | named_values("starts", "STARTS", Initialization, taken=INITIALIZATIONS)


def initialization_named(name: str) -> Initialization:
    """The scheme called `name`, of a paper's own too; else a refusal that lists them all."""
    if name in INITIALIZATIONS:
        return INITIALIZATIONS[name]
    found = found_initializations()
    if name not in found:
        raise InvalidInputError(
            f"`init` must be one of {', '.join(found)}, or for train, align, check and certify "
            f"the path of a network (.csv, .npz, .safetensors, .pt), got {name!r}."
        )
    return found[name]


def neuron_rng(seed: int) -> np.random.Generator:
    """The random stream of the neurons of a seed, apart from that of the samples.

    With one stream for both, the first neuron would have the numbers of the first sample.

    >>> float(neuron_rng(0).standard_normal()) == float(np.random.default_rng(0).standard_normal())
    False
    """
    return np.random.default_rng([seed, 1])


def with_output_ratio(network: Network, ratio: float) -> Network:
    """Multiply the output weights by `ratio`: Lyu et al.'s c_ainit in D_init [lyu2021]."""
    if not ratio > 0:
        raise InvalidInputError(f"`ratio` must be positive, got {ratio}.")
    return network.replace(v=network.v * ratio)
