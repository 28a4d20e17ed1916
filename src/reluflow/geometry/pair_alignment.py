"""The vanishing-scale alignment phase of networks with several outputs: where each neuron (w, v) goes, and when.

Forces f_k in R^K are frozen at their values for zero output. A neuron moves by w' = D v, v' = D^T w with
D = sum_k eta_k x_k f_k^T, and climbs <q, Gamma(u)> with the directions u of w and q of v, Gamma(w) = sum_k s(<w, x_k>)
f_k: it tends to an extremal pair, where |Gamma| is locally largest on the sphere and q is its direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray
from reluflow.budget import Budget, count
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry import alignment_kernels as codes
from reluflow.geometry.aligned_pairs import AlignedPairs, PairAlignment
from reluflow.geometry.alignment import DEAD, MAXIMUM, OPEN, SADDLE, AlignmentEvents, Progress
from reluflow.geometry.alignment_statuses import NOT_FOLLOWED
from reluflow.geometry.boundary.events import REFRACTION, SLIDE_ENTRY
from reluflow.geometry.output_walls import OutputWalls
from reluflow.geometry.pair_limit import PairLimit
from reluflow.geometry.pair_path import PairPath, PathEnd
from reluflow.losses import AbstractLoss

_OPERATIONS_AN_EVENT = 3e5  # of a neuron and its search for the next, of 1e9 a second, besides the products
SAME_PAIR = 1e-8  # two limits this close, of unit directions, are one extremal pair
_EVENTS, _EVENTS_A_SAMPLE = 10_000, 5  # after so many, or so many for each sample, a neuron is given up


def align_pairs(
    X: ArrayLike,
    forces: ArrayLike,
    w: ArrayLike,
    v: ArrayLike,
    *,
    leak: float = 0.0,
    classes: Sequence[str] | None = None,
    max_events: int | None = None,
    max_seconds: float = np.inf,
    progress: Progress = None,
) -> PairAlignment:
    """Follow every neuron (w, v) through the frozen-force flow to its end.

    Parameters
    ----------
    X, forces
        Samples (n, d) and the forces at zero output, shape (n, K).
    w, v
        Neurons (m, d) and (m, K), of any size: only (w, v) up to a positive factor matters.
    leak
        Slope of the activation on the negative side, in [0, 1].
    classes
        Names of the outputs, where they are classes.
    max_events
        A neuron with more events is `open`; by default 10,000, or 5 for each sample.
    max_seconds
        Processor time; neurons whose turn has not come by then are `open`, with status `not-followed`.
    progress
        Called with the share of the neurons that are done, or of the time that is spent.

    Notes
    -----
    Between two walls a neuron is a power series, of which every root is isolated, so no crossing is missed. A neuron
    that meets no wall is at its end once the exponentials of its path prove that it never will.

    References
    ----------
    Min, Zhu & Vidal (2025), Sec. 2 and App. C [arXiv 2510.21078], for the softmax loss.

    Examples
    --------
    >>> X, forces = [[1.0, 0.0], [0.0, 1.0]], [[1.0, -1.0], [-1.0, 1.0]]
    >>> outcome = align_pairs(X, forces, [[2.0, 1.0]], [[1.0, -1.0]])
    >>> outcome.end_names, outcome.outputs.round(4)
    (['maximum'], array([[ 0.7071, -0.7071]]))
    """
    pulled, inner, outer = _checked(X, forces, w, v, leak)
    most = max(_EVENTS, _EVENTS_A_SAMPLE * len(pulled.plus)) if max_events is None else max_events
    allowed, m, paths, ends = Budget(max_seconds), len(inner), [], []
    for block in allowed.blocks(m):
        for j in range(block.start, block.stop):
            path, end = _followed(pulled, inner[j], outer[j], np.inf, most)
            num_events = 0 if path is None else len(path.events)
            count((1 + num_events) * (_OPERATIONS_AN_EVENT + pulled.walls.normals.size * outer.shape[1]))
            paths.append(path)
            ends.append(end)
        if progress is not None:
            progress(max(len(paths) / m, allowed.share))
    statuses = np.full(m, NOT_FOLLOWED, dtype=np.int8)
    statuses[: len(ends)] = [end.status for end in ends]
    limits = [end.limit for end in ends] + [None] * (m - len(ends))
    codes_of = np.full(m, OPEN, dtype=np.int8)
    codes_of[statuses == codes.DEAD] = DEAD
    codes_of[(statuses == codes.STATIONARY) | (statuses == codes.SHRINKING)] = SADDLE
    for j, end in enumerate(ends):
        if end.is_maximum is not None:
            codes_of[j] = MAXIMUM if end.is_maximum else SADDLE
    indices, chosen = _distinct(limits)
    state = _states(pulled, inner, outer, paths)
    directions, outputs = _unit_rows(state.w), _unit_rows(state.v)
    reached = [limit for j in chosen if (limit := limits[j]) is not None]
    for neuron in np.flatnonzero(indices >= 0):  # the same numbers for all neurons of a pair
        limit = reached[indices[neuron]]
        directions[neuron], outputs[neuron] = limit.w, limit.v
    events, num = state.events, pulled.walls.num_samples
    return PairAlignment(
        ends=codes_of,
        statuses=statuses,
        times=np.array([path.events[-1][1] if path is not None and path.events else 0.0 for path in _padded(paths, m)]),
        crossings=_count(paths, REFRACTION, num, m),
        slides=_count(paths, SLIDE_ENTRY, num, m),
        patterns=state.patterns,
        directions=directions,
        outputs=outputs,
        indices=indices,
        extremal=np.array([limit.rate * limit.w for limit in reached]).reshape(-1, inner.shape[1]),
        extremal_outputs=np.array([limit.v for limit in reached]).reshape(-1, outer.shape[1]),
        extremal_ends=codes_of[chosen],
        w=state.w,
        v=state.v,
        log_norms=state.log_norms,
        starts=outer,
        events=events,
        classes=None if classes is None else tuple(classes),
    )


def pair_alignment_of(
    dataset: Dataset,
    loss: AbstractLoss,
    w: ArrayLike,
    v: ArrayLike,
    *,
    leak: float = 0.0,
    max_seconds: float = np.inf,
    progress: Progress = None,
) -> PairAlignment:
    """`align_pairs` on a dataset with the forces that its labels exert at zero output."""
    loss.check_labels(dataset.y, dataset.classes)
    forces = loss.label_forces(dataset.y, dataset.num_outputs)
    return align_pairs(
        dataset.X, forces, w, v, leak=leak, classes=dataset.classes, max_seconds=max_seconds, progress=progress
    )


def align_pairs_until(
    X: ArrayLike,
    forces: ArrayLike,
    w: ArrayLike,
    v: ArrayLike,
    time: float,
    *,
    leak: float = 0.0,
    max_events: int = 100_000,
) -> AlignedPairs:
    """The neurons (w, v) after exactly `time` of the frozen-force flow, with the events on the way.

    >>> state = align_pairs_until([[1.0]], [[2.0, 0.0]], [[1.0]], [[1.0, 0.0]], 3.0)
    >>> bool(abs(state.log_norms[0] - (0.5 * np.log(2.0) + 6.0)) < 1e-12)
    True
    """
    pulled, inner, outer = _checked(X, forces, w, v, leak)
    if not 0.0 <= time < np.inf:
        raise InvalidInputError(f"`time` must be finite and not negative, got {time}; `align_pairs` goes to the end.")
    paths, statuses = [], []
    for one_w, one_v in zip(inner, outer, strict=True):
        path, end = _followed(pulled, one_w, one_v, time, max_events)
        paths.append(path)
        statuses.append(end.status)
    state = _states(pulled, inner, outer, paths)
    is_cut = np.isin(statuses, (codes.AT_RIDGE, codes.UNDECIDED, codes.EVENT_LIMIT, codes.ORIGIN))
    return AlignedPairs(
        w=state.w,
        v=state.v,
        log_norms=state.log_norms,
        patterns=state.patterns,
        statuses=np.array(statuses, dtype=np.int8),
        times=np.where(is_cut, state.times, time),
        events=state.events,
    )


def _checked(
    X: ArrayLike, forces: ArrayLike, w: ArrayLike, v: ArrayLike, leak: float
) -> tuple[OutputWalls, FloatArray, FloatArray]:
    pulled = OutputWalls.of(X, forces, leak)
    d, num_outputs = pulled.normals.shape[1], pulled.num_outputs
    inner, outer = np.array(w, dtype=np.float64), np.array(v, dtype=np.float64)
    if inner.ndim != 2 or inner.shape[1] != d or not len(inner):
        raise InvalidInputError(f"`w` must have shape (m, {d}) with m at least 1, got {inner.shape}.")
    if outer.shape != (len(inner), num_outputs):
        raise InvalidInputError(f"`v` must have shape ({len(inner)}, {num_outputs}), got {outer.shape}.")
    for name, values in (("w", inner), ("v", outer)):
        if not np.all(np.isfinite(values)):
            raise InvalidInputError(f"`{name}` must be finite, got {values[~np.isfinite(values)][0]}.")
    return pulled, inner, outer


def _followed(
    pulled: OutputWalls, w: FloatArray, v: FloatArray, horizon: float, max_events: int
) -> tuple[PairPath | None, PathEnd]:
    """A neuron's path and its end; one at w = 0 has no path."""
    if not np.any(w):
        return None, PathEnd(codes.ORIGIN if np.any(v) else codes.DEAD)
    path = PairPath(pulled, w, v)
    end = path.follow(horizon, max_events)
    if np.isfinite(horizon):
        path.carry_stopped(horizon)
    return path, end


def _padded(paths: list[PairPath | None], m: int) -> list[PairPath | None]:
    return paths + [None] * (m - len(paths))


def _states(pulled: OutputWalls, w: FloatArray, v: FloatArray, paths: list[PairPath | None]) -> AlignedPairs:
    """Where paths have come to; neurons without one are as they were given."""
    m = len(w)
    size = np.maximum(np.max(np.abs(w), axis=1), np.max(np.abs(v), axis=1))
    size[size == 0.0] = 1.0
    norm = np.sqrt(np.sum((w / size[:, None]) ** 2, axis=1) + np.sum((v / size[:, None]) ** 2, axis=1))
    norm[norm == 0.0] = 1.0
    inner, outer = w / size[:, None] / norm[:, None], v / size[:, None] / norm[:, None]
    log_norms, times = np.log(size) + np.log(norm), np.zeros(m)
    sides = np.sign(inner @ pulled.normals.T).astype(np.int8)
    for j, path in enumerate(paths):
        if path is not None:
            inner[j], outer[j], log_norms[j], times[j], sides[j] = path.w, path.v, path.log_norm, path.time, path.sides
    return AlignedPairs(
        inner, outer, log_norms, pulled.walls.patterns(sides), np.zeros(m, np.int8), times, _events(pulled, paths)
    )


def _events(pulled: OutputWalls, paths: list[PairPath | None]) -> AlignmentEvents:
    """One row per sample: a wall's event is an event of every sample normal to it."""
    walls = pulled.walls
    members = [
        np.flatnonzero((walls.wall_of_sample == b) & (walls.orientation != 0)) for b in range(len(walls.normals))
    ]
    rows = [
        (j, int(k), time, kind)
        for j, path in enumerate(paths)
        if path is not None
        for wall, time, kind in path.events
        for k in members[wall]
    ]
    return AlignmentEvents(
        neurons=np.array([row[0] for row in rows], np.int64),
        samples=np.array([row[1] for row in rows], np.int64),
        times=np.array([row[2] for row in rows], np.float64),
        kinds=np.array([row[3] for row in rows], np.int8),
    )


def _count(paths: list[PairPath | None], kind: int, num_samples: IntArray, m: int) -> IntArray:
    """Samples that each neuron has such an event with."""
    return np.array(
        [
            0 if path is None else sum(int(num_samples[wall]) for wall, _, one in path.events if one == kind)
            for path in _padded(paths, m)
        ],
        dtype=np.int64,
    )


def _distinct(limits: Sequence[PairLimit | None]) -> tuple[IntArray, list[int]]:
    """The distinct pairs among limits, fastest first: the place of each neuron's, and a neuron of each."""
    found = [(j, [limit.rate, *limit.w, *limit.v]) for j, limit in enumerate(limits) if limit is not None]
    if not found:
        return np.full(len(limits), -1, dtype=np.int64), []
    settled, rows = [j for j, _ in found], np.array([row for _, row in found])
    order = np.lexsort((*np.round(rows[:, 1:] / SAME_PAIR).T[::-1], -np.round(rows[:, 0] / np.max(rows[:, 0]), 9)))
    kept: list[int] = []
    indices = np.full(len(limits), -1, dtype=np.int64)
    for place in order:
        distances = np.max(np.abs(rows[kept, 1:] - rows[place, 1:]), axis=1) if kept else np.empty(0)
        same = np.flatnonzero(distances <= SAME_PAIR)
        indices[settled[place]] = same[0] if same.size else len(kept)
        if not same.size:
            kept.append(int(place))
    return indices, [settled[place] for place in kept]


def _unit_rows(rows: FloatArray) -> FloatArray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0.0, length, 1.0))
