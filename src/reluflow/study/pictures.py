"""The pictures of a study, each with its caption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reluflow.study.end_sentences import best_linear_loss
from reluflow.study.flow_summary import FlowSummary
from reluflow.study.motion import captions_of, motion_of, picked_frames
from reluflow.study.whole_study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST_CONES_DRAWN = 300  # samples beyond which the cones are too thin to see and their basins take minutes


@dataclass(frozen=True)
class Picture:
    """A figure file with its caption; `name` is the file's stem."""

    name: str
    path: Path
    caption: str


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture that can be drawn: its name, how, and its caption."""

    name: str
    draw: Callable[[], Figure]
    caption: str

    def drawn_in(self, folder: Path) -> Picture:
        """Draw it, as a PNG file in this folder."""
        from reluflow import viz

        path = folder / f"{self.name}.png"
        viz.save_figure(self.draw(), path)
        return Picture(self.name, path, self.caption)


def draw_study(found: Study, folder: Path) -> list[Picture]:
    """Draw all the pictures of a study."""
    return [drawing.drawn_in(folder) for drawing in drawings_of(found)]


def drawings_of(found: Study) -> list[Drawing]:
    """The dataset, its geometry where it can be seen (d = 2 and 3), the run and the conditions, as far as known."""
    from reluflow import viz

    drawings = [*_data_drawings(found), *(_flow_drawings(found, found.flow) if found.flow is not None else [])]
    if (diagnosis := found.diagnosis) is not None:
        caption = "The data assumptions of the papers, with their signed margins."
        drawings.append(Drawing("conditions", lambda: viz.plot_conditions(diagnosis), caption))
    return drawings


def animate_study(found: Study, path: Path) -> Path | None:
    """The run as a moving picture, or None where there is no run or its inputs are more than two."""
    from reluflow.viz.function_frames import function_frames
    from reluflow.viz.run_animation import save_run_animation

    if found.flow is None:
        return None
    frames = function_frames([frame.network for frame in found.flow.frames], found.dataset)
    if frames is None:
        return None
    motion = motion_of(found.flow)
    return save_run_animation(motion.places, motion.signs, captions_of(motion), frames, path)


def _data_drawings(found: Study) -> list[Drawing]:
    from reluflow import viz

    data, loss, leak = found.dataset, found.loss, found.leak
    words = f"{data.name}: {data.n} samples in dimension {data.d}."
    drawings = [Drawing("dataset", lambda: viz.plot_dataset(data), words)]
    if found.extremal is None or data.n > MOST_CONES_DRAWN:
        return drawings
    if data.d == 2:
        caption = "Cones, the potential G, the extremal vectors, and the basins of positive and negative neurons."
        drawings.append(Drawing("geometry", lambda: viz.plot_plane_geometry(data, loss, leak), caption))
    elif data.d == 3:
        caption = "The sphere of directions: boundaries of the cones, the potential G, and the extremal vectors."
        drawings.append(Drawing("geometry", lambda: viz.plot_sphere_geometry(data, loss, leak), caption))
    return drawings


def _flow_drawings(found: Study, flow: FlowSummary) -> list[Drawing]:
    from reluflow import viz
    from reluflow.viz.one_input import one_input, planar_bias

    motion = motion_of(flow)
    moments = picked_frames(flow, motion)
    drawings = [
        Drawing(
            "neurons",
            lambda: viz.plot_neuron_frames(
                [motion.places[k] for k, _ in moments],
                [motion.signs[k] for k, _ in moments],
                [title for _, title in moments],
                sample_directions=motion.samples,
                plane=motion.plane,
                pushes=None if motion.pushes is None else [motion.pushes[k] for k, _ in moments],
                names=motion.names,
            ),
            "The neurons at the turning points of the run: angle is direction, distance from the inner circle is size"
            + (", colour the output that the neuron pushes most." if motion.pushes is not None else "."),
        ),
        Drawing(
            "loss",
            lambda: viz.plot_loss_phases(flow.trajectory, reference_loss=best_linear_loss(found)),
            "The loss over time, with the phases of the run as bands.",
        ),
        Drawing(
            "norms",
            lambda: viz.plot_norms_and_angles(
                flow.trajectory,
                motion.times,
                motion.log_times,
                motion.log_norms,
                motion.angles,
                motion.signs[-1],
                pushes=None if motion.pushes is None else motion.pushes[-1],
                names=motion.names,
            ),
            "Sizes and directions of the neurons over time.",
        ),
    ]
    if found.dataset.classes is not None:
        words = "How many samples of each class have the largest output at each class, at the end of the run."
        drawings.append(
            Drawing("confusion", lambda: viz.plot_confusion(found.dataset, flow.trajectory.predictions), words)
        )
    is_drawable = found.dataset.num_outputs == 1 or found.dataset.classes is not None or one_input(found.dataset)
    if is_drawable and (found.dataset.d <= 2 or planar_bias(found.dataset) is not None):
        network = flow.limit.network
        words = (
            "The data and the function at the end of the run."
            if not found.loss.is_classification
            else "The data and the limiting classifier."
            if found.dataset.classes is None
            else "Where each class has the largest output, at the end of the run."
        )
        drawings.append(Drawing("function", lambda: viz.plot_network_function(network, found.dataset), words))
    return drawings
