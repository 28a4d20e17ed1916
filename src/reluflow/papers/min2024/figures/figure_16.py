"""Figure 16: every edge of a path that loses a sample has a slower partner in the maximal path (part 1).

The paper shows by hand a one-to-one correspondence between the edges of a path and edges of the maximal path, each no
quicker than the edge it stands for, and splits it into two pictures for legibility: the edges that go down come here.

The correspondence is written out in `paths_run.partner`, checked on the path of every neuron of the exact flow and on
every path there is, and drawn for the neuron of Figure 14.
"""

from __future__ import annotations

from reluflow.papers.figure import PaperFigure
from reluflow.papers.min2024.figures.correspondence_figure import correspondence_claims, drawer_of
from reluflow.papers.min2024.figures.paths_run import Settings, compute

FIGURE = PaperFigure(
    "min2024/fig16",
    __doc__,
    Settings(num_neurons=60),
    Settings(num_neurons=600),
    compute,
    correspondence_claims(is_gain=False),
    drawer_of("fig16.png", is_gain=False),
)
