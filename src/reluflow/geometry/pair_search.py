"""Extremal pairs that attract, found by following many neurons, for data with too many cones to visit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import MAXIMUM, OPEN, SADDLE
from reluflow.geometry.alignment_statuses import NOT_FOLLOWED
from reluflow.geometry.extremal_pairs import ExtremalPairs
from reluflow.geometry.face_pairs import PairKind
from reluflow.geometry.pair_alignment import align_pairs

_NUM_STARTS = 1000
_NAMES: dict[int, PairKind] = {MAXIMUM: "maximum", SADDLE: "saddle", OPEN: "open"}


def pairs_by_search(
    X: FloatArray,
    forces: FloatArray,
    leak: float,
    num_cones: str,
    max_cones: int,
    max_seconds: float,
    progress: Callable[[float], None] | None,
) -> ExtremalPairs:
    """The pairs where neurons end that start at random directions and at the samples, in a random order.

    Every second neuron starts with v along Gamma(w), the others with v at random. Maxima attract and are found if a
    start lies in their basin; saddles do not and are missed.
    """
    rng = np.random.default_rng(0)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    random = rng.standard_normal((_NUM_STARTS, X.shape[1]))
    w = np.vstack([random, units[rng.permutation(len(units))[:_NUM_STARTS]]])[:, :]
    w = w[rng.permutation(len(w))]
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    v = rng.standard_normal((len(w), forces.shape[1]))
    products = w[::2] @ X.T
    best = np.maximum(products, leak * products) @ forces
    v[::2] = np.where(np.any(best, axis=1, keepdims=True), best, v[::2])
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    run = align_pairs(X, forces, w, v, leak=leak, max_seconds=max_seconds, progress=progress)
    done = int(np.sum(run.statuses != NOT_FOLLOWED))
    why = (
        f"there are up to {num_cones} cones, more than are visited one by one ({max_cones:,}); the pairs are those "
        f"that {done:,} followed neurons ended at, and saddles are missed"
    )
    if done < len(w):
        why += f"; {len(w) - done:,} more neurons were not followed, for the time was spent"
    first = [int(np.flatnonzero(run.indices == k)[0]) for k in range(len(run.extremal))]
    patterns = run.patterns[first]
    return ExtremalPairs(
        vectors=run.extremal,
        outputs=run.extremal_outputs,
        kinds=tuple(_NAMES[int(code)] for code in run.extremal_ends),
        patterns=patterns,
        dimensions=np.array(
            [X.shape[1] - (np.linalg.matrix_rank(X[row == 0]) if np.any(row == 0) else 0) for row in patterns],
            dtype=np.int64,
        ),
        has_equals=(False,) * len(first),
        exact=False,
        degenerate=(),
        why=why,
    )
