"""Dormant neurons: too light to bend the forces, each with a direction, a level and what the next plateau needs of it.

The level u of a neuron is ln|z| in units of log(1/scale). At a saddle the forces are constant, and on the clock of
log(1/scale) a neuron aligns at once and then moves its level at a constant rate. What is left of its direction across
the ray it aligns with keeps the level it had: it is too small to see, yet it decides on which side of a wall the neuron
stands, and where the neuron turns to once the force along its ray is reversed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.geometry import alignment_kernels as kernels
from reluflow.geometry.alignment import align
from reluflow.geometry.alignment_statuses import NOT_FOLLOWED
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import orthonormal_rows

ACROSS = 1e-5  # size, beside the unit direction, that stands for what is left across it: small, and seen by every test
ON_WALL = 1e-13  # height over a wall, of a neuron's norm, below which it slides there
OPPOSITE = 1e-7  # 1 + cos between a neuron and its pull below which the pull reverses its ray exactly
SAME_RAY = 1e-7  # angle between two directions below which they are one


@dataclass(frozen=True, eq=False)
class DormantNeurons:
    """The state of all neurons that sleep, one entry each; neurons that are awake have entries that mean nothing.

    Parameters
    ----------
    w, a
        Direction and output weight, |w|^2 + a^2 = 1, shapes (m, d) and (m,).
    level
        u: ln|z| = u log(1/scale) + offset + o(1).
    offset
        The constant of that expansion; nan where it is not known.
    rate
        How u moves on the clock, on this plateau.
    pull
        D that the neuron follows, shape (m, d).
    is_on_ray
        Whether it has aligned and only one line of samples moves it; what is left across the ray is then kept.
    ray, across
        That ray (unit) and the unit direction of what is left across it, shapes (m, d).
    across_level, across_offset
        Level and constant of ln|what is left|.
    is_unbalanced
        Whether |a| and |w| differed at the start; they agree once u > -1.
    is_open
        Whether its way could not be decided; `level` is then an upper bound, and `rate` one of its rate.
    """

    w: FloatArray
    a: FloatArray
    level: FloatArray
    offset: FloatArray
    rate: FloatArray
    pull: FloatArray
    is_on_ray: BoolArray
    ray: FloatArray
    across: FloatArray
    across_level: FloatArray
    across_offset: FloatArray
    is_unbalanced: BoolArray
    is_open: BoolArray

    @classmethod
    def at_start(cls, w: FloatArray, a: FloatArray) -> DormantNeurons:
        """All neurons at level -1."""
        m, d = w.shape
        size = np.sqrt(np.sum(w**2, axis=1) + a**2)
        length = np.linalg.norm(w, axis=1)
        safe = np.where(size > 0.0, size, 1.0)
        with np.errstate(divide="ignore"):
            offset = np.log(size)
        return cls(
            w=w / safe[:, None],
            a=a / safe,
            level=np.full(m, -1.0),
            offset=offset,
            rate=np.zeros(m),
            pull=np.zeros((m, d)),
            is_on_ray=np.zeros(m, bool),
            ray=np.zeros((m, d)),
            across=np.zeros((m, d)),
            across_level=np.full(m, -1.0),
            across_offset=np.full(m, np.nan),
            is_unbalanced=np.abs(np.abs(a) - length) > 1e-12 * size,
            is_open=np.zeros(m, bool),
        )

    def replace(self, **changes: Any) -> DormantNeurons:
        """Copy with some fields changed."""
        return replace(self, **changes)

    def advanced(self, duration: float) -> DormantNeurons:
        """The levels a time later on the clock."""
        return self.replace(level=self.level + self.rate * duration)

    def turning_times(self, asleep: BoolArray) -> FloatArray:
        """Clock time until a neuron whose ray is reversed has shrunk to what is left across it; inf for the others."""
        shrinks = asleep & self.is_on_ray & (self.rate < 0.0) & ~self.is_open
        slack = np.where(shrinks, np.maximum(self.level - self.across_level, 0.0), np.inf)
        return slack / np.where(shrinks, -self.rate, 1.0)


@dataclass(frozen=True, eq=False)
class SettledNeurons:
    """Neurons after an alignment, and one sentence for each that could not be followed."""

    neurons: DormantNeurons
    open_points: dict[int, str]


def settle(
    neurons: DormantNeurons,
    X: FloatArray,
    forces: FloatArray,
    leak: float,
    members: BoolArray,
    elapsed: float,
    *,
    max_seconds: float = np.inf,
) -> SettledNeurons:
    """Align the neurons that sleep (`members`) under constant forces.

    `elapsed` is the time since the reference of `offset` (clock times log(1/scale)) at which the directions are taken.
    Neurons whose turn has not come when `max_seconds` of processor time are spent are open.
    """
    state = {name: np.array(getattr(neurons, name)) for name in _MUTABLE}
    open_points: dict[int, str] = {}
    scale = float(np.abs(forces) @ np.linalg.norm(X, axis=1))
    general = []
    for j in np.flatnonzero(members):
        pull = pull_on(neurons.w[j], X, forces, leak)
        speed = float(np.linalg.norm(pull))
        if neurons.is_on_ray[j] and speed > ROUNDING * scale:
            cosine = float(np.sign(neurons.a[j]) * neurons.w[j] @ pull) / (np.linalg.norm(neurons.w[j]) * speed)
            if 1.0 + cosine <= OPPOSITE:
                state["rate"][j], state["pull"][j] = -speed, pull
                state["offset"][j] += speed * elapsed
                continue
        general.append(int(j))
    if general:
        _align(state, open_points, np.array(general), X, forces, leak, elapsed, scale, max_seconds)
    return SettledNeurons(neurons.replace(**state), open_points)


def turn(neurons: DormantNeurons, j: int, X: FloatArray, forces: FloatArray, leak: float) -> SettledNeurons:
    """Follow a neuron that has shrunk to what is left across its ray: it rotates and aligns anew.

    Until what is left is the share ACROSS of it the neuron only shrinks; from there on it is an ordinary neuron.
    """
    state = {name: np.array(getattr(neurons, name)) for name in _MUTABLE}
    if neurons.is_unbalanced[j] and neurons.across_level[j] <= -1.0 + 1e-9:
        why = f"Neuron {j + 1} shrinks to the size of a^2 - |w|^2, where its level does not determine how it turns."
        state["is_open"][j] = True
        return SettledNeurons(neurons.replace(**state), {j: why})
    half = 0.5 * np.log(2.0)  # ln of |z|/|w| for a balanced neuron
    elapsed = (np.log(ACROSS) + neurons.offset[j] - half - neurons.across_offset[j]) / -neurons.rate[j]
    state["level"][j] = neurons.across_level[j]
    state["offset"][j] = half + neurons.across_offset[j] - np.log(ACROSS)
    w = neurons.ray[j] + ACROSS * neurons.across[j]
    state["w"][j], state["a"][j] = _unit(w, float(np.sign(neurons.a[j])))
    state["is_on_ray"][j] = False
    open_points: dict[int, str] = {}
    scale = float(np.abs(forces) @ np.linalg.norm(X, axis=1))
    _align(state, open_points, np.array([j]), X, forces, leak, float(elapsed), scale, np.inf)
    return SettledNeurons(neurons.replace(**state), open_points)


_MUTABLE = (
    "w", "a", "level", "offset", "rate", "pull", "is_on_ray", "ray", "across", "across_level", "across_offset",
    "is_open",
)  # fmt: skip


def _align(
    state: dict[str, Any],
    open_points: dict[int, str],
    members: Any,
    X: FloatArray,
    forces: FloatArray,
    leak: float,
    elapsed: float,
    scale: float,
    max_seconds: float,
) -> None:
    """Overwrite the state of `members` with where the frozen flow takes them."""
    if scale == 0.0:
        state["rate"][members], state["pull"][members] = 0.0, 0.0
        return
    found = align(X, forces, state["w"][members], state["a"][members], leak=leak, max_seconds=max_seconds)
    for place, j in enumerate(members):
        status = int(found.statuses[place])
        base = state["offset"][j] + found.log_norms[place]
        w, a = found.w[place], float(found.a[place])
        rests = status == kernels.FINAL and np.linalg.norm(found.vectors[place]) <= ROUNDING * scale
        if status == kernels.DEAD or rests:  # what is left of forces that cancel is no pull
            state["rate"][j], state["pull"][j], state["offset"][j] = 0.0, 0.0, base
            state["w"][j], state["a"][j] = w, a
        elif status == kernels.SHRINKING:
            pull = found.vectors[place]
            speed = float(np.linalg.norm(pull))
            state["rate"][j], state["pull"][j] = -speed, pull
            state["offset"][j] = base + speed * (found.times[place] + elapsed)
            state["w"][j], state["a"][j] = w, a
            state["is_on_ray"][j] = False  # exactly on walls: nothing is left across
        elif status == kernels.FINAL:
            _follow(
                state, int(j), found.vectors[place], found.directions[place], w, a, base, found.times[place], elapsed
            )
            state["w"][j], state["a"][j] = _on_its_sides(state["w"][j], state["a"][j], found.patterns[place], X, forces)
            state["is_on_ray"][j] = has_one_line(state["w"][j], X, leak)
        else:
            state["is_open"][j] = True
            state["w"][j], state["a"][j] = w, a
            open_points[int(j)] = _why(int(j), status)


def _follow(
    state: dict[str, Any],
    j: int,
    pull: FloatArray,
    limit: FloatArray,
    w: FloatArray,
    a: float,
    base: float,
    last_event: float,
    elapsed: float,
) -> None:
    """A neuron that converges to the direction `limit` and grows at the rate |pull|."""
    speed = float(np.linalg.norm(pull))
    along = float(w @ limit)
    across = w - along * limit
    width = float(np.linalg.norm(across))
    sign = 1.0 if float(limit @ pull) > 0.0 else -1.0
    # along and |a| tend to the same multiple of e^(speed t): half their sum, without cancellation where they differ
    signed = sign * a
    if along > 0.0 and signed > 0.0:
        rising = 0.5 * (along + signed)
    else:
        gap = (abs(a) - np.linalg.norm(w)) * (abs(a) + np.linalg.norm(w)) + width**2
        rising = float(0.5 * gap / (signed - along)) if signed != along else 0.5 * (along + signed)
    state["rate"][j], state["pull"][j] = speed, pull
    state["offset"][j] = base - speed * (last_event + elapsed) + np.log(np.sqrt(2.0) * abs(rising))
    was_on_ray = bool(state["is_on_ray"][j])
    if not (was_on_ray and np.linalg.norm(limit - state["ray"][j]) <= SAME_RAY):
        state["ray"][j], state["across_level"][j] = limit, state["level"][j]
        state["across"][j] = across / width if width > 0.0 else 0.0
        with np.errstate(divide="ignore"):
            state["across_offset"][j] = base + np.log(width) if width > 1e-7 else np.nan
    state["w"][j], state["a"][j] = _unit(limit + ACROSS * state["across"][j], sign)


def pull_on(w: FloatArray, X: FloatArray, forces: FloatArray, leak: float) -> FloatArray:
    """D of one neuron: the shortest element where it stands on walls."""
    heights = X @ w
    lengths = np.linalg.norm(X, axis=1)
    on = np.abs(heights) <= ON_WALL * float(np.linalg.norm(w)) * lengths
    pull = (np.where(heights > 0.0, 1.0, leak) * ~on * forces) @ X
    if not np.any(on):
        return np.asarray(pull)
    count = int(np.sum(on))
    tolerance = ROUNDING * float(np.abs(forces) @ lengths)
    rows = np.ascontiguousarray((forces[:, None] * X)[on])
    return box_minimum_norm(pull, rows, np.full(count, leak), np.ones(count), tolerance)[0].copy()


def has_one_line(w: FloatArray, X: FloatArray, leak: float) -> bool:
    """Whether the samples that act on a neuron move it along a single line, other than by walls that leave no other."""
    lengths = np.linalg.norm(X, axis=1)
    heights = X @ w
    on = (np.abs(heights) <= ON_WALL * np.linalg.norm(w) * lengths) & (lengths > 0.0)
    acting = X[~on & ((heights > 0.0) | (leak > 0.0)) & (lengths > 0.0)]
    walls = orthonormal_rows(X[on] / lengths[on, None]) if np.any(on) else np.zeros((0, X.shape[1]))
    if len(walls) >= X.shape[1] - 1 or not len(acting):
        return False
    tangent = acting - (acting @ walls.T) @ walls
    singular = np.linalg.svd(tangent, compute_uv=False)
    return bool(np.sum(singular > 1e-10 * np.max(lengths)) == 1)


def _unit(w: FloatArray, sign: float) -> tuple[FloatArray, float]:
    """The balanced neuron of norm 1 along w."""
    unit = w / np.linalg.norm(w) / np.sqrt(2.0)
    return unit, sign * float(np.linalg.norm(unit))


def _on_its_sides(w: FloatArray, a: float, pattern: Any, X: FloatArray, forces: FloatArray) -> tuple[FloatArray, float]:
    """Put a neuron exactly on the walls it slides on, and visibly on its side of those that its limit touches."""
    lengths = np.linalg.norm(X, axis=1)
    present = lengths > 0.0
    units = X[present] / lengths[present, None]
    sides, pull = pattern[present], forces[present]
    slides = orthonormal_rows(units[(sides == 0) & (pull != 0.0)]) if np.any(sides == 0) else np.zeros((0, w.size))
    w = w - (w @ slides.T) @ slides
    size = float(np.linalg.norm(w))
    doubtful = (sides != 0) & (units @ w * sides < 1e-3 * ACROSS * size)
    if np.any(doubtful):
        rows = np.vstack([units[doubtful], slides])
        wanted = np.concatenate([sides[doubtful] * 1e-2 * ACROSS * size - units[doubtful] @ w, np.zeros(len(slides))])
        correction = np.linalg.lstsq(rows, wanted, rcond=1e-10)[0]
        if np.linalg.norm(correction) <= size * ACROSS:
            w = w + correction
            w = w - (w @ slides.T) @ slides
    return _unit(w, float(np.sign(a)))


def _why(j: int, status: int) -> str:
    if status == NOT_FOLLOWED:  # one sentence for all of them
        return "Some neurons were not followed to their extremal vectors, for the time was spent."
    words = {
        kernels.STATIONARY: "points exactly against its pull, where every way to turn is open",
        kernels.AT_RIDGE: "stands where both sides of a boundary push away",
        kernels.UNDECIDED: "stands on several boundaries at once and rounding hides which way it leaves",
        kernels.EVENT_LIMIT: "meets more boundaries than are followed",
        kernels.ORIGIN: "reaches w = 0, from where every direction is open",
        kernels.HORIZON: "is not followed to its end",
    }
    return f"Neuron {j + 1} {words[status]}."
