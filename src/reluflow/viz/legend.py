"""Rows of legends that several pictures share, so that one look means one thing everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.viz.style import BLACK, CONE_DASHES, GREY, KIND_MARKERS, attractor_look

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

SAMPLE_MARKERS = {1: "+", -1: "_", 0: "o"}  # by the sign of the label
_SIGN_WORDS = {1: "> 0", -1: "< 0", 0: "= 0"}


def words_entry(words: str) -> Line2D:
    """A row of words without a mark."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", label=words)


def boundary_entry() -> Line2D:
    """The dashed lines between activation cones."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=GREY, linewidth=0.8, linestyle=CONE_DASHES, label=r"cone boundary, $\langle w, x_k\rangle = 0$"
    )


def sample_entries(dataset: Dataset) -> list[Line2D]:
    """One row for each sign of label that occurs."""
    from matplotlib.lines import Line2D

    signs = [sign for sign in SAMPLE_MARKERS if np.any(np.sign(dataset.y) == sign)]
    return [
        Line2D(
            [],
            [],
            linestyle="",
            marker=SAMPLE_MARKERS[sign],
            markersize=7,
            markeredgewidth=1.6,
            color=BLACK,
            label=f"direction of $x_k$, $y_k {_SIGN_WORDS[sign]}$",
        )
        for sign in signs
    ]


def vector_entry(index: int, kind: str, norm: float, *, has_shaft: bool) -> Line2D:
    """One extremal vector: its name, kind and length."""
    from matplotlib.lines import Line2D

    return Line2D(
        [],
        [],
        color=attractor_look(index)[0],
        linewidth=2.0 if has_shaft else 0.0,
        marker=KIND_MARKERS[kind],
        markersize=6,
        markeredgecolor=BLACK,
        markeredgewidth=0.7,
        label=f"$D_{{{index + 1}}}$ {kind} of $G$, $|D|$ = {norm:.4g}",
    )
