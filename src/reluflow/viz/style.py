"""The look of every figure: one palette, one set of matplotlib settings, applied in a context and never globally."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reluflow.data.dataset import Dataset
from reluflow.errors import MissingExtraError
from reluflow.losses import AbstractLoss

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe & Ito's eight colours, distinct for any colour vision; a marker, hatch or line style always repeats what a
# colour means, for print in greys.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

POSITIVE, NEGATIVE = VERMILLION, BLUE  # the sign of a label, of an output weight, of G
BROWN = "#A07855"  # in the place of black, on which no hatch would show
DARK, GREY, LIGHT = "#333333", "#707070", "#C8C8C8"
DIVERGING, SEQUENTIAL = "PuOr_r", "cividis"

# Attractors take these in turn: eight colours and five hatches give forty different pairs.
ATTRACTOR_COLOURS = (GREEN, PURPLE, ORANGE, SKY, VERMILLION, BLUE, YELLOW, BROWN)
ATTRACTOR_HATCHES = ("", "////", "....", "xxxx", "----")

# Classes and outputs take these in turn, with a marker that says the same; more than eight repeat with the next marker.
CLASS_COLOURS = (VERMILLION, BLUE, GREEN, ORANGE, PURPLE, SKY, BROWN, BLACK)
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

CONE_DASHES = (0, (4, 3))
KIND_MARKERS = {"maximum": "^", "minimum": "v", "saddle": "D"}

SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so a figure has the same letters on every machine
    "font.size": 9.0,
    "mathtext.fontset": "dejavusans",
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.linewidth": 0.7,
    "axes.edgecolor": DARK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "hatch.linewidth": 0.6,
    "figure.facecolor": "white",
    "savefig.dpi": 150,
    "savefig.facecolor": "white",
    "svg.hashsalt": "reluflow",  # otherwise the names inside an SVG are random
    "svg.fonttype": "path",
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Matplotlib's own defaults with `SETTINGS` on top, whatever the reader's configuration; restored afterwards.

    Every figure starts here, so this is also where a missing matplotlib is noticed.
    """
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise MissingExtraError(
            "Drawing needs matplotlib, which is not installed: pip install 'reluflow[viz]'."
        ) from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches that belongs to no window and no global list."""
    from reluflow.viz.shown_figure import ShownFigure

    return ShownFigure(width, height)


def attractor_look(index: int) -> tuple[str, str]:
    """Colour and hatch of the extremal vector with this index.

    >>> attractor_look(0), attractor_look(9)
    (('#009E73', ''), ('#CC79A7', '----'))
    """
    colour = ATTRACTOR_COLOURS[index % len(ATTRACTOR_COLOURS)]
    return colour, ATTRACTOR_HATCHES[index % len(ATTRACTOR_HATCHES)]


def class_look(index: int) -> tuple[str, str]:
    """Colour and marker of the class or output with this index.

    >>> class_look(0), class_look(9)
    (('#D55E00', 'o'), ('#0072B2', '^'))
    """
    turn = index // len(CLASS_COLOURS)
    return CLASS_COLOURS[index % len(CLASS_COLOURS)], CLASS_MARKERS[(index + turn) % len(CLASS_MARKERS)]


def dataset_title(dataset: Dataset) -> str:
    """Name, number of samples and dimension, in at most some sixty letters.

    >>> dataset_title(Dataset([[1.0, 2.0]], [0.5], name="one point"))
    'one point (n = 1, d = 2)'
    """
    name = dataset.name if len(dataset.name) <= 44 else f"{dataset.name[:43]}…"
    return f"{name} (n = {dataset.n}, d = {dataset.d})"


def setting_title(dataset: Dataset, loss: AbstractLoss, leak: float) -> str:
    """What the geometry depends on: the dataset, the loss and the leak."""
    activation = "ReLU" if leak == 0.0 else f"leak {leak:g}"
    return f"{dataset_title(dataset)}, {loss.name} loss, {activation}"
