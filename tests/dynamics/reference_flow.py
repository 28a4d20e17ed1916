"""An independent reference for the gradient flow: SciPy's DOP853 on each smooth piece, restarted at every event.

Nothing here is shared with the library: neurons are integrated one by one with their weights as they are, events are
found by sampling the dense output finely and bisecting, and a neuron on a boundary moves by the minimum-norm element
of the Clarke subdifferential, from bounded least squares.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq, lsq_linear


class Inconclusive(Exception):
    """The reference itself cannot decide; says nothing about the library."""


_POINTS = np.linspace(0.0, 1.0, 25)


@dataclass
class Reference:
    X: np.ndarray
    y: np.ndarray
    loss: str
    c: float
    leak: float
    w: np.ndarray
    a: np.ndarray
    weight: np.ndarray
    rtol: float = 1e-12
    time: float = 0.0
    events: list = field(default_factory=list)
    inverses: dict = field(default_factory=dict)

    def __post_init__(self):
        self.w, self.a = np.array(self.w, float), np.array(self.a, float)
        self.size = np.sqrt(np.sum(self.w**2, axis=1) + self.a**2)
        self.sides = np.sign(self.w @ self.X.T).astype(int)

    def force(self, h):
        if self.loss == "square":
            return self.c * (self.y - h)
        if self.loss == "exponential":
            return self.c * self.y * np.exp(-self.y * h)
        return self.c * self.y / (1.0 + np.exp(self.y * h))

    def outputs(self, w, a):
        pre = w @ self.X.T
        eta = np.where(self.sides > 0, 1.0, np.where(self.sides < 0, self.leak, 0.0))
        return (self.weight * a) @ (eta * pre)

    def pulls(self, r):
        """D of every neuron and, for sliding pairs, the slope that keeps it sliding."""
        eta = np.where(self.sides > 0, 1.0, np.where(self.sides < 0, self.leak, 0.0))
        pull = (eta * r) @ self.X
        for j in np.flatnonzero(np.any(self.sides == 0, axis=1)):
            k = np.flatnonzero(self.sides[j] == 0)
            free = -self.inverse(tuple(k)) @ pull[j]
            pull[j] = pull[j] + free @ self.X[k]
            eta[j, k] = free / r[k]
        return pull, eta

    def inverse(self, walls):
        """The least-squares solution for slopes on some walls, kept: the right-hand side asks for it at every time."""
        if walls not in self.inverses:
            self.inverses[walls] = np.linalg.pinv(self.X[list(walls)].T)
        return self.inverses[walls]

    def unpack(self, state):
        z = state.reshape(len(self.a), -1) * self.size[:, None]
        return z[:, :-1], z[:, -1]

    def rhs(self, t, state):
        w, a = self.unpack(state)
        pull, _ = self.pulls(self.force(self.outputs(w, a)))
        return (np.hstack([a[:, None] * pull, np.sum(w * pull, axis=1)[:, None]]) / self.size[:, None]).ravel()

    def conditions(self, state):
        """Positive while the pattern holds: side * <w, x> (relative), and the distance of sliding slopes to an end."""
        w, a = self.unpack(state)
        length = np.sqrt(np.sum(w**2, axis=1) + a**2)
        walls = self.sides * (w @ self.X.T) / (length[:, None] * np.linalg.norm(self.X, axis=1))
        walls = np.where(self.sides == 0, np.inf, walls)
        slide = np.full(self.sides.shape, np.inf)
        if np.any(self.sides == 0):
            _, eta = self.pulls(self.force(self.outputs(w, a)))
            slide = np.where(self.sides == 0, np.minimum(eta - self.leak, 1.0 - eta), np.inf)
        return np.concatenate([walls.ravel(), slide.ravel()])

    def run(self, end):
        while self.time < end:
            self.size = np.sqrt(np.sum(self.w**2, axis=1) + self.a**2)
            state = (np.hstack([self.w, self.a[:, None]]) / self.size[:, None]).ravel()
            solver = DOP853(self.rhs, self.time, state, end, rtol=self.rtol, atol=1e-16)
            start = self.conditions(state)
            armed = start > 1e-11  # a condition just taken fires only after it has been clearly positive
            while solver.status == "running":
                solver.step()
                dense = solver.dense_output()
                ts = solver.t_old + (solver.t - solver.t_old) * _POINTS
                values = np.array([self.conditions(dense(t)) for t in ts])
                root = np.inf
                for index in np.flatnonzero(np.any(values < -1e-13, axis=0)):
                    column = values[:, index]
                    low = 0
                    for i in range(1, len(ts)):
                        if column[i] > 1e-11:
                            armed[index] = True
                        if column[i] < -1e-13:
                            if not armed[index] and column[i] > -1e-10:
                                continue
                            low = i - 1
                            if column[low] > 0:
                                t = brentq(
                                    lambda s, q=index, at=dense: self.conditions(at(s))[q], ts[low], ts[i], xtol=1e-15
                                )
                            else:
                                t = ts[low]
                            root = min(root, t)
                            break
                armed |= np.any(values > 1e-11, axis=0)
                if np.isfinite(root):
                    self.time = root
                    self.w, self.a = (part.copy() for part in self.unpack(dense(root)))
                    self.resolve(dense(root))
                    break
            else:
                self.time = end
                self.w, self.a = (part.copy() for part in self.unpack(solver.y))

    def resolve(self, state):
        near = self.conditions(state).reshape(2, len(self.a), len(self.y)) < 1e-10
        r = self.force(self.outputs(self.w, self.a))
        base = np.where(self.sides > 0, 1.0, np.where(self.sides < 0, self.leak, 0.0))
        for j in np.flatnonzero(np.any(near[0] | near[1], axis=1)):
            touched = np.flatnonzero(near[0][j] | (self.sides[j] == 0))
            after = self.settled_sides(j, touched, near[1][j], base[j], r)
            for k in touched:
                if after[k] != self.sides[j, k]:
                    self.events.append((int(j), int(k), self.time, int(self.sides[j, k]), int(after[k])))
            self.sides[j] = after
            basis = np.linalg.svd(self.X[touched].T, full_matrices=False)[0]
            self.w[j] -= basis @ (basis.T @ self.w[j])
        if len(self.events) > 2000:
            raise Inconclusive("the reference chatters")

    def settled_sides(self, j, touched, is_leaving, base, r):
        """Sides after an event: walls the minimum-norm velocity leaves are fixed one by one, the others slide."""
        after, eta = self.sides[j].copy(), base.copy()
        free = list(touched)
        eta[free] = 0.0
        tolerance = 1e-9 * abs(self.a[j]) * np.sum(np.abs(r)) * np.max(np.linalg.norm(self.X, axis=1))
        while free:
            rest = (eta * r) @ self.X
            bounds = (self.leak - 1e-15, 1.0 + 1e-15)
            fit = lsq_linear((r[free, None] * self.X[free]).T, -rest, bounds=bounds, tol=1e-15)
            pull = rest + (fit.x * r[free]) @ self.X[free]
            speeds = self.a[j] * (self.X[free] @ pull)
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
