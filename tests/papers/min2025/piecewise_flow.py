"""An integrator of its own for the checks: DOP853 between crossings, the pattern of every neuron held in between.

It shares nothing with the library's solvers: the vector field is written out here, crossings are events of SciPy's
`solve_ivp`, and a neuron that arrives at a hyperplane passes to its other side.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp


def softmax_forces(h, labels):
    p = np.exp(h - h.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.eye(h.shape[1])[labels] - p


def follow(X, labels, w, v, times, *, rtol=1e-12):
    """Networks at the times, and the crossings (time, neuron, sample, new state) on the way."""
    m, d = w.shape
    K = v.shape[1]
    active = (w @ X.T > 0.0).astype(float)
    state, t, found, crossings = np.concatenate([w.ravel(), v.ravel()]), 0.0, [], []
    multiplicity = {}

    def field(_, z):
        w, v = z[: m * d].reshape(m, d), z[m * d :].reshape(m, K)
        f = softmax_forces((active * (w @ X.T)).T @ v, labels)
        return np.concatenate([((active * (v @ f.T)) @ X).ravel(), ((active * (w @ X.T)) @ f).ravel()])

    distinct = np.unique(X, axis=0, return_index=True)[1]

    def wall(j, k):
        def event(_, z):
            return z[j * d : (j + 1) * d] @ X[k]

        event.terminal = True
        return event

    pairs = [(j, k) for j in range(m) for k in sorted(distinct)]
    targets = list(times)
    while targets:
        events = [wall(j, k) for j, k in pairs]
        for event, (j, k) in zip(events, pairs, strict=True):
            event.direction = -1.0 if active[j, k] else 1.0
        run = solve_ivp(
            field,
            (t, targets[-1]),
            state,
            method="DOP853",
            rtol=rtol,
            atol=1e-15 * np.abs(state).max(),
            events=events,
            dense_output=True,
        )
        end = run.t[-1]
        while targets and targets[0] <= end:
            found.append(run.sol(targets.pop(0)))
        t, state = end, run.y[:, -1]
        for (j, k), met in zip(pairs, run.t_events, strict=True):
            if met.size:
                same = np.all(X[k] == X, axis=1)
                active[j, same] = 1.0 - active[j, same]
                crossings.append((float(met[0]), j, k, int(active[j, k])))
                multiplicity[j, k] = multiplicity.get((j, k), 0) + 1
        assert max(multiplicity.values(), default=0) < 10, "it slides, which this integrator does not do"
    return [(z[: m * d].reshape(m, d), z[m * d :].reshape(m, K)) for z in found], crossings


def descend(X, labels, w, v, lr, steps):
    """Plain gradient descent; every v is checked to keep its sum."""
    for _ in range(steps):
        z = w @ X.T
        f = softmax_forces(np.maximum(z, 0.0).T @ v, labels)
        w, v = w + lr * (((z > 0.0) * (v @ f.T)) @ X), v + lr * (np.maximum(z, 0.0) @ f)
    return w, v


def loss(X, labels, w, v):
    h = np.maximum(w @ X.T, 0.0).T @ v
    return float(np.sum(np.logaddexp.reduce(h, axis=1) - h[np.arange(len(h)), labels]))
