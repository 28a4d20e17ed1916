"""What counts as zero at a wall: one number."""

from __future__ import annotations

import numpy as np

# Below this fraction a quantity is rounding: a pull or a normal speed, of the strengths that act on the neuron; a
# height over a wall, of the neuron's norm; the distance of two unit samples. A sum over a few thousand samples, carried
# through a chain of boosts of norm 10, is off by up to 1e-13; what data and forces mean is larger by many orders.
# It decides what a neuron at a wall does. Other small numbers are about other things: `arrangement.TIE` about samples
# as they are given; those beside the solvers in `dynamics` about where a path meets a wall, which a root of a
# polynomial tells to its last digits, and about what is left of a normal that others span.
ROUNDING = 1e-12

# The same for a neuron as it is given, on which no arithmetic has been done but one inner product.
GIVEN = float(64 * np.finfo(np.float64).eps)
