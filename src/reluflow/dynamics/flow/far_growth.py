"""Growth of a classifier beyond all times that doubles hold, taken out of its neurons: its flow as it is at infinity.

Forces of a classifier are shares of a whole: they depend on how far each margin y h is ahead of the smallest one, and
the size of the outputs says only how fast these leads change. Where all outputs are large the direction of the network
moves as it does at infinity, up the smallest margin as steeply as it can, under the forces that keep the smallest
margins equal; leads are a vanishing part of the margins. So from `FAR` on all neurons are shrunk alike whenever they
have grown, which keeps their direction, and every sample keeps its lead as a head start, which keeps its force. The
growth is counted apart. Outputs that steps see stay at `FAR`, and with them what doubles can tell and how stiff it is.

What that costs: leads beyond `FADED` are not told apart. A sample whose force was gone and that comes back to the
smallest margin is felt late, by at most FADED / FAR of that margin, and the less so the more slowly it comes: whoever
is behind loses its head start while the network grows.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolArray, FloatArray

FAR = 1e4  # smallest margin from which growth is taken out: at a time of e^10000, beyond any that can be asked for
FADED = 30.0  # a force e^-30 of the strongest moves nobody within the growth that is followed
MOST_GROWN = 300.0  # ln of the growth up to which outputs, which grow by its square, are doubles


def head_starts_after(margins: FloatArray, head_starts: FloatArray, counted: BoolArray, ratio: float) -> FloatArray:
    """Head starts, shape (n,), that keep every lead that is felt when all outputs become `ratio` of themselves.

    Parameters
    ----------
    margins
        y h of every sample before that, with its head start, shape (n,).
    head_starts
        Those before, shape (n,).
    counted
        Samples in the rate, shape (n,); the others, on which no neuron acts, have no lead.
    ratio
        At most 1.

    Examples
    --------
    >>> margins, every = np.array([100.0, 102.0, 180.0]), np.ones(3, dtype=bool)
    >>> starts = head_starts_after(margins, np.zeros(3), every, 0.5)
    >>> (0.5 * margins + starts).tolist()  # leads of 0 and 2 stay, 80 is shrunk to 40
    [50.0, 52.0, 90.0]
    """
    leads = margins - np.min(margins[counted])
    kept = np.maximum(ratio * leads, np.minimum(leads, FADED))
    return np.where(counted, ratio * head_starts + (kept - ratio * leads), 0.0)
