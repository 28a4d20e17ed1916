"""How often a network ends at the max-margin direction, over scale and width, on two sets of Lyu et al."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.experiment import Experiment
from reluflow.sweep.diagrams.diagram import AbstractDiagram, Made
from reluflow.sweep.executors.executor import AbstractExecutor
from reluflow.sweep.page import write_page
from reluflow.sweep.pictures import PICTURE, phase_map, theory_lines
from reluflow.sweep.run import ShowProgress, sweep
from reluflow.sweep.summary import summarize
from reluflow.sweep.training import problem_of
from reluflow.viz.phase_diagram import plot_phase_maps
from reluflow.viz.saving import save_figure

EVENT = "kind=max-margin"
OPEN = ("not-stationary",)  # had not settled when it was cut
THEOREMS = {"lyu-symmetric": "lyu2021:thm4.3", "lyu-hinted": "lyu2021:thm6.2"}
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
        over = {"scale": "0.03..3e-5:log:4", "width": "2,3,4,6,8,16", "seed": "0..15"}
        if is_quick:
            over = {"scale": "0.03,0.003", "width": "2,4", "seed": "0..1"}
        maps, findings, files = [], [], []
        for dataset in THEOREMS:
            result = sweep(
                Experiment(dataset, leak=0.5, init="lyu-balanced", horizon=HORIZON),
                over=over,
                measure=["kind", "margin_share", "outcome"],
                out=out,
                executor=executor,
                progress=progress,
            )
            summary = summarize(result, event=EVENT, open_values=OPEN)
            lines = theory_lines(summary, result.plan, keys=[THEOREMS[dataset]])
            maps.append(phase_map(summary, dataset, lines))
            picture = save_figure(plot_phase_maps([maps[-1]], columns=1, size=(5.6, 4.4)), out / f"{dataset}.png")
            page = write_page(summary, result, picture, f"{self.title}: {dataset}")
            files += [picture, page.rename(page.with_name(f"{dataset}.html"))]
            frame = result.frame()
            smallest = frame[frame["scale"] == frame["scale"].min()]
            for width, group in smallest.groupby("width"):
                kinds = group["kind"].value_counts()
                alike = sum(_signs_are_alike(result.plan.case_at(int(index))) for index in group.index)
                findings.append(
                    f"{dataset}, scale {group['scale'].iloc[0]:g}, width {width}: of {len(group)} draws "
                    f"{kinds.get('max-margin', 0)} end at the max-margin direction, {kinds.get('kkt-direction', 0)} at "
                    f"another KKT direction, {kinds.get('not-stationary', 0)} are open at t = {HORIZON:g}; "
                    f"{alike} start with all output weights of one sign."
                )
            share = frame["margin_share"].to_numpy(dtype=np.float64)
            findings.append(
                f"{dataset}: margins of the limits lie between {np.nanmin(share):.4f} and {np.nanmax(share):.4f} of "
                f"the best of any network; outcomes {', '.join(sorted(set(frame['outcome'].dropna())))}."
            )
        figure = plot_phase_maps(maps, columns=2, title=self.title)
        return Made(tuple(findings), (save_figure(figure, out / PICTURE), *files))


def _signs_are_alike(case: Experiment) -> bool:
    """Whether no output weight differs in sign from the others: the draws Theorem 4.3 leaves out."""
    return len(set(np.sign(problem_of(case).network.a))) == 1
