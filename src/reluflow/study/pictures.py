"""The pictures of a study, each with its caption."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reluflow.study.story import Study


@dataclass(frozen=True)
class Picture:
    """A figure file with its caption."""

    path: Path
    caption: str


def draw_study(found: Study, folder: Path) -> list[Picture]:
    """Draw the dataset, its geometry where it can be seen (d = 2 and 3), and the conditions, as PNG files."""
    from reluflow import viz

    data, loss, leak = found.dataset, found.loss, found.leak
    figures = [("dataset", viz.plot_dataset(data), f"{data.name}: {data.n} samples in dimension {data.d}.")]
    if data.d == 2:
        caption = "Cones, the potential G, the extremal vectors, and the basins of positive and negative neurons."
        figures.append(("geometry", viz.plot_plane_geometry(data, loss, leak), caption))
    elif data.d == 3:
        caption = "The sphere of directions: boundaries of the cones, the potential G, and the extremal vectors."
        figures.append(("geometry", viz.plot_sphere_geometry(data, loss, leak), caption))
    caption = "The data assumptions of the five papers, with their signed margins."
    figures.append(("conditions", viz.plot_conditions(found.diagnosis), caption))
    pictures = []
    for name, figure, words in figures:
        path = folder / f"{name}.png"
        viz.save_figure(figure, path)
        pictures.append(Picture(path, words))
    return pictures
