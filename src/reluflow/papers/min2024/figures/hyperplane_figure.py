"""What Figures 18 and 19 share: the field beside the hyperplane of a sample, the exact flow and a path of Euler's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.min2024.figures.hyperplane_run import MeetingHyperplane, Settings, samples, velocity

LENGTH = 0.14  # of the arrows of the field


def draw_hyperplane(settings: Settings, results: MeetingHyperplane, path: Path, title: str) -> tuple[Path, ...]:
    """Left the plane of w; right the distance to the hyperplane over time."""
    from reluflow.viz.composed_figure import Curves, Part, plot_parts
    from reluflow.viz.panels import BLACK_DOT, Curve, Guide, Panel
    from reluflow.viz.saving import save_figure
    from reluflow.viz.vector_plane import Arrow, VectorPlane

    data, flow, euler = samples(settings), results.path, results.euler
    size = float(flow[0, 2])
    field = []
    for x in (-0.75, -0.5, -0.25, 0.12, 0.37, 0.62):
        for y in np.linspace(-0.4, 1.2, 7):
            move = velocity(data, np.array([x, y, size]))[:2]
            if np.any(move):
                here = np.array([x, y])
                field.append(Arrow(here + LENGTH * move / np.linalg.norm(move), start=here, role="velocity"))
    parts: list[Part] = [
        VectorPlane(
            title,
            1.4,
            arrows=[
                Arrow([1.0, 0.0], "$x_1$", "negative"),
                Arrow(settings.second, "$x_2$", "positive"),
                *field,
            ],
            lines=[(r"$\langle w, x_1\rangle = 0$", [0.0, 1.0])],
            note="arrows: direction in which $w$ is pulled",
            paths=[
                ("exact flow of a positive neuron", flow[:, :2], "neuron"),
                (f"Euler, step {settings.steps[0]:g}", euler[:, :2], "pull"),
            ],
        ),
        Curves(
            Panel(
                "distance to the hyperplane",
                "time $t$",
                r"$\langle w, x_1\rangle$",
                [
                    Curve(results.times, flow[:, 0], "exact flow", look=BLACK_DOT),
                    Curve(
                        settings.steps[0] * np.arange(len(euler)),
                        euler[:, 0],
                        f"Euler, step {settings.steps[0]:g}",
                        look=2,
                    ),
                ],
                levels=[Guide(0.0)],
            )
        ),
    ]
    return (save_figure(plot_parts(parts, columns=2, part_size=(4.4, 4.0)), path),)
