"""The vanishing-scale alignment phase in closed form: where each neuron goes, and when.

As the initialisation shrinks, the network output vanishes, the forces freeze at their labels' values and neurons
decouple. Every neuron then moves by Lorentz boosts, exactly, from one data hyperplane to the next; no time is stepped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray, IntArray, SignArray
from reluflow.budget import FIRST_BLOCK, Budget, count
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError, ReluflowError
from reluflow.geometry import alignment_kernels as kernels
from reluflow.geometry.alignment_kernels import FrozenPath
from reluflow.geometry.alignment_statuses import NOT_FOLLOWED, open_reasons
from reluflow.geometry.boundary.walls import PulledWalls, Walls
from reluflow.geometry.frozen_flow import FrozenFlow
from reluflow.losses import AbstractLoss
from reluflow.tables import RowsToFrame, html_table

Progress = Callable[[float], None] | None
MAXIMUM, MINIMUM, DEAD, SADDLE, OPEN = range(5)
END_NAMES = ("maximum", "minimum", "dead", "saddle", "open")
_BLOCK = 1024  # neurons, at most, between two words about the progress
# at each event of a neuron, over all walls, of 1e9 a second: 5 to 18 ns of a wall in the plane, 60 in 51 dimensions
_OPERATIONS_A_WALL, _OPERATIONS_A_COORDINATE = 12.0, 0.7
_EVENTS, _EVENTS_A_SAMPLE = 10_000, 5  # after so many, or so many for each sample, a neuron is given up
SAME_VECTOR = 1e-9  # two final vectors this close, relative to the largest, are one extremal vector


@dataclass(frozen=True, eq=False)
class Alignment(RowsToFrame):
    """Where the neurons end in the vanishing-scale limit, and when.

    Parameters
    ----------
    ends
        One code per neuron; `END_NAMES` names them. With a > 0 at the end it converges to a local maximum of
        G(w) = sum_k r_k s(<w, x_k>) on the sphere, with a < 0 to a local minimum; it is dead where nothing pulls it, at
        a saddle where G is not extremal at its limit, and open where the flow is not unique or not finished.
    statuses
        How its flow stopped; `STATUS_NAMES` names them. `shrinking`: on a ray that attracts although a D points back
        along it (for a > 0 a maximum with G < 0), so that the norm decays for ever; `origin`: w = 0 is reached there in
        finite time, which needs |a| > |w|; `stationary`: on the ray opposite to D, which repels; `not-followed`: the
        time allowed was spent before, and the neuron is as it was given.
    times
        Time of the last event: the neuron's entry into the cone it never leaves.
    crossings, slides
        How many samples it crossed, and on how many it began to slide.
    patterns
        SignArray of <w, x_k> after the last event, shape (m, n); 0 where it slides, or where it died.
    directions
        Unit limit of w/|w|, shape (m, d); where there is no limit, the direction at the last event.
    indices
        Row of `extremal` it converges to; -1 if none.
    extremal
        The extremal vectors D that were reached, shape (k, d), maxima first, longest first.
    extremal_sides, extremal_ends
        For each: the limit direction is side * D/|D|; its kind, as a code of `ends`.
    w, a, log_norms
        State at the last event: the neuron is exp(log_norms) * (w, a), with |w|^2 + a^2 = 1.
    """

    ends: SignArray
    statuses: SignArray
    times: FloatArray
    crossings: IntArray
    slides: IntArray
    patterns: SignArray
    directions: FloatArray
    indices: IntArray
    extremal: FloatArray
    extremal_sides: SignArray
    extremal_ends: SignArray
    w: FloatArray
    a: FloatArray
    log_norms: FloatArray

    @property
    def end_names(self) -> list[str]:
        """The ends in words."""
        return [END_NAMES[code] for code in self.ends]

    @property
    def counts(self) -> dict[str, int]:
        """How many neurons end in each way."""
        return {name: int(np.sum(self.ends == code)) for code, name in enumerate(END_NAMES)}

    @property
    def why_open(self) -> str:
        """How many neurons have no end here, and why; empty where all have one."""
        return open_reasons(self.statuses[self.ends == OPEN], len(self.ends))

    def table(self) -> list[dict[str, Any]]:
        """One row per neuron, ready for a data frame."""
        return [
            {"end": name, "extremal": int(index), "time": float(time), "crossings": int(crossed)}
            for name, index, time, crossed in zip(self.end_names, self.indices, self.times, self.crossings, strict=True)
        ]

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        return f"Alignment({len(self.ends)} neurons: {counts}; {len(self.extremal)} extremal vectors reached)"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())

    @property
    def vectors(self) -> FloatArray:
        """The extremal vector of each neuron, shape (m, d); zero where `indices` is -1."""
        return np.vstack([self.extremal, np.zeros((1, self.w.shape[1]))])[self.indices]

    def time_to_angle(self, angle: float) -> FloatArray:
        """Time from which each neuron stays within `angle` (radians) of its limit direction; inf where it has none.

        Not before the last event: a neuron that passes its limit's neighbourhood in another cone is not there yet.
        """
        if not 0.0 < angle < 0.5 * np.pi:
            raise InvalidInputError(f"`angle` must lie strictly between 0 and pi/2 radians, got {angle}.")
        times = np.full(self.times.shape, np.inf)
        times[self.statuses == kernels.SHRINKING] = self.times[self.statuses == kernels.SHRINKING]  # on it already
        settled = self.statuses == kernels.FINAL
        vectors = self.vectors[settled]
        speed = np.linalg.norm(vectors, axis=1)
        side = self.extremal_sides[self.indices[settled]].astype(np.float64)
        limit = self.directions[settled]
        along = np.sum(self.w[settled] * limit, axis=1)  # both coordinates taken in the frame where they end positive
        a = self.a[settled] * side
        across = np.linalg.norm(self.w[settled] - along[:, None] * limit, axis=1)
        goal = across / np.tan(angle)
        length = np.linalg.norm(self.w[settled], axis=1)
        imbalance = (np.abs(a) - length) * (np.abs(a) + length)
        imbalance[np.abs(imbalance) <= kernels.BALANCED * length**2] = 0.0
        difference = imbalance + across**2  # a^2 - along^2, without the cancellation
        # across is constant and along(x) = c e^x + c' e^-x, 4 c c' = along^2 - a^2: the larger root of along(x) = goal
        gap = goal**2 + difference
        root = goal + np.sqrt(np.maximum(gap, 0.0))
        rising = np.where(along * a > 0, along + a, difference / np.where(along * a > 0, 1.0, a - along))
        with np.errstate(divide="ignore"):
            stretch = np.where((gap > 0) & (root > 0), np.log(np.maximum(root, 1e-300) / rising), 0.0)
        times[settled] = self.times[settled] + np.maximum(stretch, 0.0) / speed
        return times


@dataclass(frozen=True, eq=False)
class AlignmentEvents:
    """What happened, neuron by neuron and in order of time: one row per sample; `kinds` index `KINDS`."""

    neurons: IntArray
    samples: IntArray
    times: FloatArray
    kinds: SignArray


@dataclass(frozen=True, eq=False)
class AlignedState:
    """The neurons at one time of the alignment flow.

    Neuron j is exp(log_norms[j]) * (w[j], a[j]), with |w[j]|^2 + a[j]^2 = 1; `patterns` is 0 where it slides
    (`is_sliding`) or where it died; `times` is the requested time, or that at which the flow stopped for want of a
    unique way on (`statuses`).
    """

    w: FloatArray
    a: FloatArray
    log_norms: FloatArray
    patterns: SignArray
    is_sliding: BoolArray
    statuses: SignArray
    times: FloatArray
    events: AlignmentEvents


def align(
    X: ArrayLike,
    forces: ArrayLike,
    w: ArrayLike,
    a: ArrayLike,
    *,
    leak: float = 0.0,
    horizon: float = np.inf,
    zero_stays: bool = False,
    max_events: int | None = None,
    max_seconds: float = np.inf,
    progress: Progress = None,
) -> Alignment:
    r"""Follow every neuron through the frozen-force flow to its end.

    $dw/dt = a D$, $da/dt = \langle w, D\rangle$, $D = \sum_k \eta_k r_k x_k$, with $\eta_k = 1$ where
    $\langle w, x_k\rangle > 0$, `leak` where it is negative, on the boundary what the differential inclusion leaves:
    cross, slide (minimum norm), die, or, where both sides push away and nothing is chosen, be reported as `open`.

    Parameters
    ----------
    X, forces
        Samples (n, d) and $r_k = -c\, d\ell/dh(0, y_k)$, shape (n,): `loss.label_forces(y)`.
    w, a
        Neurons (m, d) and (m,), of any size: only (w, a) up to a positive factor matters.
    leak
        Slope of the activation on the negative side, in [0, 1].
    horizon
        Events after this time are not followed; neurons that still have one are `open`.
    zero_stays
        Whether a neuron that reaches w = 0 with a != 0 stays there and counts as dead (Condition 1(2) of the paper);
        if not, it is `open`, since extremal directions lead away from 0 as well.
    max_events
        A neuron with more events is `open`; a guard, not a setting: by default 10,000, or 5 for each sample.
    max_seconds
        Processor time; neurons whose turn has not come by then are `open`, with status `not-followed`.
    progress
        Called with the share of the neurons that are done, or of the time that is spent; the numbers are the same.

    Examples
    --------
    >>> outcome = align([[1.0, 0.0], [0.0, 1.0]], [1.0, -0.5], [[1.0, 1.0]], [np.sqrt(2.0)])
    >>> outcome.end_names, outcome.vectors[0].tolist()
    (['maximum'], [1.0, 0.0])

    Notes
    -----
    Neurons with |a| >= |w| keep the sign of a. One with |a| < |w| may change it, even while it slides; its valley then
    turns into a ridge and the flow has no unique continuation, for a set of initial neurons of positive measure.
    Balanced neurons never reach w = 0; with |a| > |w| a set of positive measure can, where G has a negative maximum.

    References
    ----------
    Boursier & Flammarion (2024), Sec. 3, Lemmas 1 and 12, Def. 1 [boursier2024]; Min et al. (2024), Eq. (4) [min2024].
    """
    flow = FrozenFlow.of(X, forces, w, a, leak)
    if not horizon > 0:
        raise InvalidInputError(f"`horizon` must be positive, got {horizon}; leave it out to go to the end.")
    most = max(_EVENTS, _EVENTS_A_SAMPLE * len(flow.pulled.plus)) if max_events is None else max_events
    run = _followed(flow, float(horizon), most, max_seconds, progress)
    has_limit, is_shrinking = run.has_limit, run.statuses == kernels.SHRINKING
    ends = np.full(flow.a.size, OPEN, dtype=np.int8)
    ends[has_limit] = np.where((run.tends_to_vector != is_shrinking)[has_limit], MAXIMUM, MINIMUM)
    ends[run.is_saddle | (run.statuses == kernels.STATIONARY)] = SADDLE
    ends[run.statuses == kernels.DEAD] = DEAD
    if zero_stays:
        ends[run.statuses == kernels.ORIGIN] = DEAD
    indices, extremal, sides, kinds = _extremal_vectors(flow.pulled, run, ends)
    length = np.linalg.norm(run.w, axis=1)
    directions = run.w / np.where(length > 0, length, 1.0)[:, None]
    unit = extremal / np.linalg.norm(extremal, axis=1)[:, None] * sides[:, None]
    directions[has_limit] = unit[indices[has_limit]]
    return Alignment(
        ends=ends,
        statuses=run.statuses,
        times=run.times,
        crossings=run.crossings,
        slides=run.slides,
        patterns=flow.pulled.walls.patterns(run.sides),
        directions=directions,
        indices=indices,
        extremal=extremal,
        extremal_sides=sides,
        extremal_ends=kinds,
        w=run.w,
        a=run.a,
        log_norms=run.log_norms,
    )


def _followed(flow: FrozenFlow, horizon: float, max_events: int, max_seconds: float, progress: Progress) -> FrozenPath:
    """Every neuron to its end, all at once, or in blocks where there is a bound or somebody wants to know how far."""
    if progress is None and np.isinf(max_seconds):
        return _counted(flow, flow.run(horizon=horizon, carry=False, max_events=max_events))
    m = len(flow.a)
    flow.some(slice(0, 0)).run(horizon=horizon, carry=False, max_events=max_events)  # compiled before the clock runs
    allowed, paths, done = Budget(max_seconds), [], 0
    for block in allowed.blocks(m, first=FIRST_BLOCK, largest=_BLOCK):
        part = flow.some(block)
        paths.append(_counted(part, part.run(horizon=horizon, carry=False, max_events=max_events)))
        done = block.stop
        if progress is not None:
            progress(max(done / m, allowed.share))
    if done < m:
        paths.append(flow.some(slice(done, m)).untouched(NOT_FOLLOWED))
    return FrozenPath(*(np.concatenate(parts) for parts in zip(*paths, strict=True)))


def _counted(flow: FrozenFlow, path: FrozenPath) -> FrozenPath:
    """The same path, whose walls and events are counted as work."""
    normals = flow.pulled.walls.normals
    looks = len(path.w) + int(np.sum(path.crossings)) + int(np.sum(path.slides))
    count(looks * len(normals) * (_OPERATIONS_A_WALL + _OPERATIONS_A_COORDINATE * normals.shape[1]))
    return path


def alignment_of(
    dataset: Dataset,
    loss: AbstractLoss,
    w: ArrayLike,
    a: ArrayLike,
    *,
    leak: float = 0.0,
    max_seconds: float = np.inf,
    progress: Progress = None,
) -> Alignment:
    """`align` on a dataset with the forces that its labels exert at zero output."""
    dataset.refuse_several_outputs("alignment", instead="`pair_alignment_of(dataset, loss, w, v)`")
    loss.check_labels(dataset.y, dataset.classes)
    return align(dataset.X, loss.label_forces(dataset.y), w, a, leak=leak, max_seconds=max_seconds, progress=progress)


def align_until(
    X: ArrayLike,
    forces: ArrayLike,
    w: ArrayLike,
    a: ArrayLike,
    time: float,
    *,
    log_norm: ArrayLike | None = None,
    leak: float = 0.0,
    max_events: int = 10_000,
) -> AlignedState:
    """The neurons exp(log_norm) * (w, a) after exactly `time` of the frozen-force flow, with the events on the way.

    >>> state = align_until([[1.0]], [2.0], [[1.0]], [1.0], 3.0, log_norm=[-9210.0])
    >>> bool(abs(state.log_norms[0] - (-9210.0 + 0.5 * np.log(2.0) + 6.0)) < 1e-11)
    True
    """
    flow = FrozenFlow.of(X, forces, w, a, leak)
    if not 0.0 <= time < np.inf:
        raise InvalidInputError(f"`time` must be finite and not negative, got {time}; `align` goes to the end.")
    start = np.zeros(flow.a.size) if log_norm is None else np.array(log_norm, dtype=np.float64)
    if start.shape != flow.a.shape or not np.all(np.isfinite(start)):
        raise InvalidInputError(
            f"`log_norm` must hold one finite number per neuron, ({flow.a.size},), got {start.shape}."
        )
    rows = flow.run(horizon=float(time), carry=True, max_events=max_events).rows
    run = flow.run(horizon=float(time), carry=True, max_events=max_events, log_norm=start, rows=rows)
    has_stopped = run.statuses > kernels.HORIZON
    patterns = flow.pulled.walls.patterns(run.sides)
    is_alive = (run.statuses != kernels.DEAD) & ~has_stopped
    walls = flow.pulled.walls
    has_kink = np.append(flow.pulled.has_kink, False)[np.where(walls.orientation != 0, walls.wall_of_sample, -1)]
    return AlignedState(
        w=run.w,
        a=run.a,
        log_norms=run.log_norms,
        patterns=patterns,
        is_sliding=(patterns == 0) & is_alive[:, None] & has_kink,
        statuses=run.statuses,
        times=np.where(has_stopped, run.times, time),
        events=_events(flow.pulled.walls, run),
    )


def _extremal_vectors(
    pulled: PulledWalls, run: FrozenPath, ends: SignArray
) -> tuple[IntArray, FloatArray, SignArray, SignArray]:
    """The distinct limits that were reached: index per neuron, vectors, sides, ends."""
    settled = np.flatnonzero(run.has_limit)
    _, first, group = np.unique(run.keys[settled], return_index=True, return_inverse=True)
    side = np.where(run.tends_to_vector[settled[first]], 1, -1)
    end = ends[settled[first]]
    # Computed again from the sides, a vector has the same bits whatever way its neurons came.
    vectors = np.array([pulled.vector(run.sides[j]) for j in settled[first]]).reshape(first.size, run.w.shape[1])
    close = SAME_VECTOR * float(np.max(np.linalg.norm(vectors, axis=1), initial=np.finfo(np.float64).tiny))
    if settled.size and np.max(np.abs(run.vectors[settled] - vectors[group])) > close:
        raise ReluflowError("Two activation patterns share one 64-bit key; permute the samples and try again.")
    rounded = np.round(vectors / close) + 0.0
    order = np.lexsort((*rounded.T[::-1], -np.round(np.linalg.norm(rounded, axis=1)), -side, end))
    kept: list[int] = []
    place = np.zeros(first.size, dtype=np.int64)
    for i in order:
        same = (side[kept] == side[i]) & (np.max(np.abs(vectors[kept] - vectors[i]), axis=1) <= close)
        place[i] = np.flatnonzero(same)[0] if same.any() else len(kept)
        if not same.any():
            kept.append(int(i))
    indices = np.full(ends.size, -1, dtype=np.int64)
    indices[settled] = place[group]
    return indices, vectors[kept], side[kept].astype(np.int8), end[kept]


def _events(walls: Walls, run: FrozenPath) -> AlignmentEvents:
    """One row per sample: a wall's event is an event of every sample normal to it."""
    by_wall = np.argsort(walls.wall_of_sample, kind="stable")
    by_wall = by_wall[walls.orientation[by_wall] != 0]
    members = walls.num_samples
    start = np.cumsum(members) - members
    repeat = members[run.event_walls]
    within = np.arange(int(np.sum(repeat))) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    return AlignmentEvents(
        neurons=np.repeat(np.repeat(np.arange(run.rows.size), run.rows), repeat),
        samples=by_wall[np.repeat(start[run.event_walls], repeat) + within],
        times=np.repeat(run.event_times, repeat),
        kinds=np.repeat(run.event_kinds, repeat),
    )
