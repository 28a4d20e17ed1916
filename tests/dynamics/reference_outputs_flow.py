"""An independent reference for the flow with several outputs and an output bias: DOP853 on each smooth piece.

Nothing here is shared with the library. A neuron (w, v) moves by w' = sum_k eta_k <f_k, v> x_k and
v' = sum_k eta_k <w, x_k> f_k, less what weight decay takes, the bias by b' = sum_k f_k. Events are found on the dense
output and bisected; a neuron on boundaries takes the slopes of the shortest velocity there, from bounded least squares.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq, lsq_linear

_POINTS = np.linspace(0.0, 1.0, 25)


class Inconclusive(Exception):
    """The reference itself cannot decide; says nothing about the library."""


@dataclass
class OutputsReference:
    X: np.ndarray
    Y: np.ndarray  # (n, K): numbers, one-hot rows, or -1 and 1
    loss: str
    leak: float
    w: np.ndarray
    v: np.ndarray  # (m, K)
    b: np.ndarray  # (K,)
    trains_bias: bool
    decay: float = 0.0
    trains_outputs: bool = True
    rtol: float = 1e-12
    time: float = 0.0
    events: list = field(default_factory=list)

    def __post_init__(self):
        self.w, self.v, self.b = (np.array(part, float) for part in (self.w, self.v, self.b))
        self.shapes = [part.shape for part in (self.w, self.v, self.b)]
        self.sides = np.sign(self.w @ self.X.T).astype(int)

    def force(self, h):
        c = 1.0 / len(self.X)
        if self.loss == "square":
            return c * (self.Y - h)
        if self.loss == "softmax":
            p = np.exp(h - np.max(h, axis=1, keepdims=True))
            return c * (self.Y - p / np.sum(p, axis=1, keepdims=True))
        if self.loss == "exponential":
            return c * self.Y * np.exp(-self.Y * h)
        return c * self.Y / (1.0 + np.exp(self.Y * h))

    def slopes(self):
        return np.where(self.sides > 0, 1.0, np.where(self.sides < 0, self.leak, 0.0))

    def outputs(self, w, v, b):
        return (self.slopes() * (w @ self.X.T)).T @ v + b

    def unpack(self, state):
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        parts = np.split(state, ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def pack(self):
        return np.concatenate([self.w.ravel(), self.v.ravel(), self.b.ravel()])

    def velocities(self, w, v, f):
        """w' of every neuron and, for sliding pairs, the slope that keeps it sliding."""
        eta, strengths = self.slopes(), v @ f.T
        speed = (eta * strengths) @ self.X
        for j in np.flatnonzero(np.any(self.sides == 0, axis=1)):
            k = np.flatnonzero(self.sides[j] == 0)
            free, *_ = np.linalg.lstsq(self.X[k].T, -speed[j], rcond=None)
            speed[j] = speed[j] + free @ self.X[k]
            eta[j, k] = free / strengths[j, k]
        return speed, eta

    def rhs(self, t, state):
        w, v, b = self.unpack(state)
        f = self.force(self.outputs(w, v, b))
        moved_w = self.velocities(w, v, f)[0] - self.decay * w
        moved_v = self.trains_outputs * ((self.slopes() * (w @ self.X.T)) @ f - self.decay * v)
        moved_b = np.sum(f, axis=0) if self.trains_bias else np.zeros_like(b)
        return np.concatenate([moved_w.ravel(), moved_v.ravel(), moved_b])

    def conditions(self, state):
        """Positive while the pattern holds: side * <w, x> (relative), and the distance of sliding slopes to an end."""
        w, v, b = self.unpack(state)
        length = np.sqrt(np.sum(w**2, axis=1) + np.sum(v**2, axis=1))
        walls = self.sides * (w @ self.X.T) / (length[:, None] * np.linalg.norm(self.X, axis=1))
        _, eta = self.velocities(w, v, self.force(self.outputs(w, v, b)))
        slide = np.where(self.sides == 0, np.minimum(eta - self.leak, 1.0 - eta), np.inf)
        return np.concatenate([np.where(self.sides == 0, np.inf, walls).ravel(), slide.ravel()])

    def run(self, end):
        while self.time < end:
            state = self.pack()
            solver = DOP853(self.rhs, self.time, state, end, rtol=self.rtol, atol=1e-15)
            armed = self.conditions(state) > 1e-11  # one just taken fires only after it has been clearly positive
            while solver.status == "running":
                solver.step()
                dense = solver.dense_output()
                root, armed = self.first_root(dense, solver.t_old, solver.t, armed)
                if np.isfinite(root):
                    self.time = root
                    self.w, self.v, self.b = (part.copy() for part in self.unpack(dense(root)))
                    self.resolve(dense(root))
                    break
            else:
                if solver.status == "failed":
                    raise Inconclusive("the integrator failed")
                self.time = end
                self.w, self.v, self.b = (part.copy() for part in self.unpack(solver.y))

    def first_root(self, dense, start, end, armed):
        ts = start + (end - start) * _POINTS
        values = np.array([self.conditions(dense(t)) for t in ts])
        root = np.inf
        for index in np.flatnonzero(np.any(values < -1e-13, axis=0)):
            column = values[:, index]
            for i in range(1, len(ts)):
                armed[index] |= column[i] > 1e-11
                if column[i] < -1e-13:
                    if not armed[index] and column[i] > -1e-10:
                        continue
                    t = ts[i - 1]
                    if column[i - 1] > 0:
                        t = brentq(lambda s, q=index: self.conditions(dense(s))[q], ts[i - 1], ts[i], xtol=1e-15)
                    root = min(root, t)
                    break
        return root, armed | np.any(values > 1e-11, axis=0)

    def resolve(self, state):
        near = self.conditions(state).reshape(2, len(self.w), len(self.X)) < 1e-10
        strengths = self.v @ self.force(self.outputs(self.w, self.v, self.b)).T
        base = self.slopes()
        for j in np.flatnonzero(np.any(near[0] | near[1], axis=1)):
            touched = np.flatnonzero(near[0][j] | (self.sides[j] == 0))
            after = self.settled_sides(j, touched, near[1][j], base[j], strengths[j])
            self.events.extend((int(j), int(k), self.time) for k in touched if after[k] != self.sides[j, k])
            self.sides[j] = after
            basis = np.linalg.svd(self.X[touched].T, full_matrices=False)[0]
            self.w[j] -= basis @ (basis.T @ self.w[j])
        if len(self.events) > 500:
            raise Inconclusive("the reference chatters")

    def settled_sides(self, j, touched, is_leaving, base, r):
        """Sides after an event: walls the shortest velocity leaves are fixed one by one, the others slide."""
        after, eta, free = self.sides[j].copy(), base.copy(), list(touched)
        eta[free] = 0.0
        tolerance = 1e-9 * np.sum(np.abs(r)) * np.max(np.linalg.norm(self.X, axis=1))
        while free:
            rest = (eta * r) @ self.X
            bounds = (self.leak - 1e-15, 1.0 + 1e-15)
            fit = lsq_linear((r[free, None] * self.X[free]).T, -rest, bounds=bounds, tol=1e-15)
            speeds = self.X[free] @ (rest + (fit.x * r[free]) @ self.X[free])
            ended = [i for i, k in enumerate(free) if is_leaving[k] and abs(speeds[i]) <= tolerance]
            if np.max(np.abs(speeds)) > tolerance:
                index = int(np.argmax(np.abs(speeds)))
                side = int(np.sign(speeds[index]))
            elif ended:
                index = ended[0]
                side = 1 if fit.x[index] > 0.5 * (1.0 + self.leak) else -1
            elif not np.any(eta) and self.leak == 0.0 and np.max(fit.x) <= 1e-9:
                index, side = 0, -1  # dead: nothing pulls on the negative side
            else:
                after[free] = 0
                break
            k = free.pop(index)
            after[k] = side
            eta[k] = 1.0 if side > 0 else self.leak
        return after
