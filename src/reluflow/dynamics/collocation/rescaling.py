"""Growth of a classifier beyond all times that doubles hold, taken out of its neurons: its flow as it is at infinity.

Forces of a classifier are shares of a whole: they depend on how far each margin y h is ahead of the smallest one, and
the size of the outputs says only how fast these leads change. Where all outputs are large the direction of the network
moves as it does at infinity, up the smallest margin as steeply as it can, under the forces that keep the smallest
margins equal; leads are a vanishing part of the margins. So from `RESCALED_MARGIN` on all neurons are shrunk
alike whenever they have grown, which keeps their direction, and every sample keeps its lead as a margin offset, which
keeps its force. The growth is counted apart. Outputs that steps see stay at `RESCALED_MARGIN`, and with them what
doubles can tell and how stiff it is.

What that costs: leads beyond `FADED_LEAD` count as equal. A sample whose force was gone and that comes back to the
smallest margin is felt late, by at most FADED_LEAD / RESCALED_MARGIN of that margin, and the less so the more slowly it
comes: whoever is behind loses its margin offset while the network grows.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.collocation.tuning import FADED_LEAD


def margin_offsets_after(
    margins: FloatArray, margin_offsets: FloatArray, counted: BoolArray, ratio: float
) -> FloatArray:
    """Margin offsets, shape (n,), that keep every lead that is felt when all outputs become `ratio` of themselves.

    Parameters
    ----------
    margins
        y h of every sample before that, with its margin offset, shape (n,).
    margin_offsets
        Those before, shape (n,).
    counted
        Samples in the rate, shape (n,); the others, on which no neuron acts, have no lead.
    ratio
        At most 1.

    Examples
    --------
    >>> margins, every = np.array([100.0, 102.0, 180.0]), np.ones(3, dtype=bool)
    >>> starts = margin_offsets_after(margins, np.zeros(3), every, 0.5)
    >>> (0.5 * margins + starts).tolist()  # leads of 0 and 2 stay, 80 is shrunk to 40
    [50.0, 52.0, 90.0]
    """
    leads = margins - np.min(margins[counted])
    kept = np.maximum(ratio * leads, np.minimum(leads, FADED_LEAD))
    return np.where(counted, ratio * margin_offsets + (kept - ratio * leads), 0.0)
