"""Vectors of pixels as grey images side by side, each with its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 5  # empty pixels between two images, and above each for its name


@dataclass(frozen=True, eq=False)
class ImageGrid:
    """Square images in rows, each on its own grey scale; zero is the same middle grey in all of them.

    Parameters
    ----------
    title
        Above all.
    images
        Shape (k, side * side): one image a row.
    names
        One for each image.
    columns
        Images in a row.
    """

    title: str
    images: ArrayLike
    names: Sequence[str]
    columns: int = 2

    def draw(self, axes: Axes) -> None:
        """Draw into empty axes."""
        images = np.asarray(self.images, dtype=np.float64)
        side = math.isqrt(images.shape[-1]) if images.ndim == 2 else 0
        if images.ndim != 2 or side * side != images.shape[1] or len(self.names) != len(images):
            raise InvalidInputError(
                f"`images` must have shape (k, side * side) with one of `names` each, got {images.shape} and "
                f"{len(self.names)} names."
            )
        largest = np.abs(images).max(axis=1, keepdims=True)
        shades = 0.5 + 0.5 * images / np.where(largest > 0, largest, 1.0)
        rows = -(-len(images) // self.columns)
        pitch_down, pitch_across = side + 2 * GAP, side + GAP
        canvas = np.full((rows * pitch_down, self.columns * pitch_across - GAP), np.nan)
        for place, (shade, name) in enumerate(zip(shades, self.names, strict=True)):
            top, left = (place // self.columns) * pitch_down + 2 * GAP, (place % self.columns) * pitch_across
            canvas[top : top + side, left : left + side] = shade.reshape(side, side)
            axes.text(left + side / 2, top - GAP + 1.0, name, ha="center", va="center", fontsize=9)
        axes.imshow(canvas, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
        axes.set_title(self.title)
        axes.set_axis_off()
