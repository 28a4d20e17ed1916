"""How often a network ends at the max-margin direction, over scale and width, on two sets of Lyu et al."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.sweep.case import Case
from reluflow.sweep.diagrams.diagram import AbstractDiagram, Made
from reluflow.sweep.executors.executor import AbstractExecutor
from reluflow.sweep.page import write_page
from reluflow.sweep.pictures import PICTURE, phase_map
from reluflow.sweep.run import ShowProgress, sweep
from reluflow.sweep.summary import summarize
from reluflow.sweep.wilson import wilson_interval
from reluflow.viz.phase_diagram import plot_phase_maps
from reluflow.viz.saving import save_figure

EVENT = "kind=max-margin"
HORIZON = 1e15  # directions settle like 1 over log t: what has not by then counts as open


class MaxMarginProbability(AbstractDiagram):
    """The share of draws whose limit direction has the largest margin of any network.

    On symmetric data Theorem 4.3 promises it, from small enough scale, with probability at least 1 - 2^-(m-1); with
    hints Theorem 6.2 forbids it once one neuron has a > 0, which m fair signs leave out with probability 2^-m.

    References
    ----------
    Lyu et al. (2021), Theorems 4.3 and 6.2 [lyu2021].
    """

    name = "max-margin"
    title = "Max-margin direction or not: scale against width, symmetric and hinted data"

    def make(
        self, out: Path, executor: AbstractExecutor, *, is_quick: bool = False, progress: ShowProgress | None = None
    ) -> Made:
        over = {"scale": "0.03..3e-5:log:4", "width": "2,4,8,16", "seed": "0..7"}
        if is_quick:
            over = {"scale": "0.03,0.003", "width": "2,4", "seed": "0..1"}
        maps, findings, files = [], [], []
        for dataset in ("lyu-symmetric", "lyu-hinted"):
            result = sweep(
                Case(dataset, leak=0.5, init="lyu-balanced", horizon=HORIZON),
                over=over,
                measure=["kind", "margin_share", "outcome"],
                out=out,
                executor=executor,
                progress=progress,
            )
            summary = summarize(result, event=EVENT)
            maps.append(phase_map(summary, dataset))
            picture = save_figure(plot_phase_maps([maps[-1]], columns=1, size=(5.6, 4.4)), out / f"{dataset}.png")
            page = write_page(summary, result, picture, f"{self.title}: {dataset}")
            files += [picture, page.rename(page.with_name(f"{dataset}.html"))]
            frame = result.frame()
            smallest = frame[frame["scale"] == frame["scale"].min()]
            for width, group in smallest.groupby("width"):
                hits = int((group["kind"] == "max-margin").sum())
                low, high = wilson_interval(hits, len(group))
                promise = 1.0 - 2.0 ** -(width - 1) if dataset == "lyu-symmetric" else 2.0**-width
                word = "at least" if dataset == "lyu-symmetric" else "at most"
                findings.append(
                    f"{dataset}, scale {group['scale'].iloc[0]:g}, width {width}: {hits} of {len(group)} end at the "
                    f"max-margin direction (95 %: {low:.2f} to {high:.2f}); the theorem, at small enough scale: {word} "
                    f"{promise:.4g}."
                )
            share = frame["margin_share"].to_numpy(dtype=np.float64)
            findings.append(
                f"{dataset}: margins of the limits lie between {np.nanmin(share):.4f} and {np.nanmax(share):.4f} of "
                f"the best of any network; outcomes {', '.join(sorted(set(frame['outcome'].dropna())))}."
            )
        figure = plot_phase_maps(maps, columns=2, title=self.title)
        return Made(tuple(findings), (save_figure(figure, out / PICTURE), *files))
