"""How the flow of a neuron under frozen forces can stop: names of the codes, and the words for what is left open."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import SignArray
from reluflow.geometry import alignment_kernels as kernels

NOT_FOLLOWED = 9  # after the codes of the kernels: the time was spent before its turn came
STATUS_NAMES = (
    "final", "dead", "stationary", "shrinking", "horizon", "ridge", "undecided", "event-limit", "origin",
    "not-followed",
)  # fmt: skip


def open_reasons(statuses: SignArray, num_neurons: int) -> str:
    """How many of the neurons stopped with each of these statuses, in words."""
    words = {
        kernels.HORIZON: "have an event after the horizon",
        kernels.AT_RIDGE: "come to a point where the flow is not unique",
        kernels.UNDECIDED: "come to a boundary that rounding does not decide",
        kernels.EVENT_LIMIT: "have more events than are followed",
        kernels.ORIGIN: "reach w = 0, from where several ways lead on",
        kernels.FINAL: "tend to a pair of which it is open whether it is a maximum",
        NOT_FOLLOWED: "were not followed, for the time was spent",
    }
    codes, counts = np.unique(statuses, return_counts=True)
    return "; ".join(f"{k:,} of {num_neurons:,} neurons {words[c]}" for c, k in zip(codes, counts, strict=True))
