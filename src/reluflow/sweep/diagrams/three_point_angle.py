"""Least-squares line or interpolation, over the angle of three points and the scale, beside the theorem's box."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.data.families import three_point_angle
from reluflow.experiment import Experiment
from reluflow.losses import SquareLoss
from reluflow.sweep.diagrams.diagram import AbstractDiagram, Made
from reluflow.sweep.executors.executor import AbstractExecutor
from reluflow.sweep.pictures import draw_sweep
from reluflow.sweep.run import ShowProgress, sweep
from reluflow.sweep.summary import summarize
from reluflow.theory.diagnosis import diagnose
from reluflow.viz.phase_diagram import Zone

EVENT = "end=least-squares"


class ThreePointAngle(AbstractDiagram):
    """The share of draws that end at the least-squares line, for three points seen under an angle.

    References
    ----------
    Boursier & Flammarion (2024), Assumption 3 and Theorem 2 [boursier2024].
    """

    name = "three-point-angle"
    title = "Least-squares line or interpolation: three points, angle against scale"

    def make(
        self, out: Path, executor: AbstractExecutor, *, is_quick: bool = False, progress: ShowProgress | None = None
    ) -> Made:
        over = {"angle": "60..100:lin:33", "scale": "1e-1..1e-6:log:21", "seed": "0..7"}
        if is_quick:
            over = {"angle": "70..100:lin:4", "scale": "1e-1..1e-5:log:3", "seed": "0..1"}
        result = sweep(
            Experiment(self.name, width=60),
            over=over,
            measure=["end", "loss"],
            out=out,
            executor=executor,
            progress=progress,
        )
        low, high = box_angles()
        zone = Zone(low, high, f"box of Boursier & Flammarion (eta < 1/6): {low:.1f} to {high:.1f} degrees")
        files = draw_sweep(result, event=EVENT, title=self.title, zones=[zone])
        frame = result.frame()
        counts = ", ".join(f"{word} {number}" for word, number in frame["end"].value_counts().items())
        findings = [
            f"{result.done} of {result.cases} runs: {counts}.",
            f"The family lies in the box of Assumption 3 (eta < 1/6, as printed) for angles from {low:.2f} to "
            f"{high:.2f} degrees.",
        ]
        summary = summarize(result, event=EVENT)
        smallest = int(np.argmin([float(value) for value in summary.values[1]]))
        at_smallest = {summary.values[0][c.place[0]]: c.value for c in summary.cells if c.place[1] == smallest}
        mostly = [angle for angle, share in at_smallest.items() if share > 0.5]
        rarely = [angle for angle, share in at_smallest.items() if share < 0.5]
        findings.append(
            f"At scale {summary.values[1][smallest]:g} more than half of the seeds end at the least-squares line for "
            f"angles up to {max(mostly, default=float('nan')):g} degrees, fewer from "
            f"{min(rarely, default=float('nan')):g} on."
        )
        for angle in (a for a in summary.values[0] if low <= a <= high):
            largest = [
                float(summary.values[1][c.place[1]])
                for c in summary.cells
                if summary.values[0][c.place[0]] == angle and c.value > 0.5
            ]
            findings.append(
                f"Inside the box, at {angle:g} degrees, the largest scale of the grid at which more than half do is "
                f"{max(largest, default=0.0):.3g}."
            )
        return Made(tuple(findings), tuple(files))


def box_angles() -> tuple[float, float]:
    """The angles of the family that lie in the box of Assumption 3 with eta below the printed 1/6, by bisection.

    >>> low, high = box_angles()
    >>> round(low, 1), round(high, 1)
    (79.6, 90.0)
    """

    def is_inside(angle: float) -> bool:
        return diagnose(three_point_angle(angle=angle), SquareLoss())["three-point-box"].holds is True

    ends = []
    for outside in (60.0, 100.0):
        inside, beyond = 87.0, outside
        for _ in range(14):
            middle = 0.5 * (inside + beyond)
            inside, beyond = (middle, beyond) if is_inside(middle) else (inside, middle)
        ends.append(0.5 * (inside + beyond))
    return ends[0], ends[1]
