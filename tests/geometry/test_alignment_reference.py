"""Closed-form alignment against a tight generic integration, neuron by neuron, event by event, sliding included."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from geometry.neurons_at_random import INITIALISATIONS, random_neurons, random_problem
from geometry.oracles import ways_on
from reluflow.geometry.alignment import DEAD, align, align_until
from reluflow.geometry.alignment_statuses import STATUS_NAMES

# An independent reference: DOP853 with events, restarted from the state; every continuation is tried by brute force.


def reference(X, forces, w, a, leak, end):
    """Events (sample, time) up to the time `end`, the direction of w and a/|w| then, and how it stopped."""
    d = X.shape[1]
    z = np.append(w, a) / np.linalg.norm(np.append(w, a))
    sides, time, events, on = np.sign(X @ z[:d]), 0.0, [], []
    while True:
        slopes = np.where(sides > 0, 1.0, np.where(sides < 0, leak, 0.0))
        sign = np.sign(z[d]) if z[d] != 0 else np.sign(z[:d] @ ((slopes * forces) @ X))  # da/dt = <w, D> where a = 0
        at = sorted(set(on) | set(np.flatnonzero(sides == 0)))
        slopes[at] = 0.0
        ways = ways_on(X[at], forces[at], leak * forces[at], (slopes * forces) @ X, sign, tol=1e-9)
        if len(ways) != 1:
            return events, z[:d] / np.linalg.norm(z[:d]), z[d] / np.linalg.norm(z[:d]), "ridge", time
        sides[at], D = ways[0]
        speed = np.linalg.norm(D)
        if speed < 1e-11:
            return events, z[:d] / np.linalg.norm(z[:d]), z[d] / np.linalg.norm(z[:d]), "dead", time
        watched = [k for k in range(len(X)) if sides[k] != 0]

        def event_for(k, side):
            def value(_, state):
                return side * (X[k] @ state[:d])

            value.terminal, value.direction = True, -1
            return value

        functions = [event_for(k, sides[k]) for k in watched]
        if np.any(sides == 0):
            start = np.sign(z[d])

            def sign_change(_, state, start=start):
                return start * state[d]

            sign_change.terminal, sign_change.direction = True, -1
            functions.append(sign_change)
        solution = solve_ivp(
            lambda _, state, D=D: np.append(state[d] * D, state[:d] @ D), (0.0, end - time), z, method="DOP853",
            rtol=1e-12, atol=1e-15, events=functions, max_step=0.5 / speed,
        )  # fmt: skip
        z = solution.y[:, -1]
        if solution.status == 0:
            return events, z[:d] / np.linalg.norm(z[:d]), z[d] / np.linalg.norm(z[:d]), "end", end
        time += solution.t[-1]
        which = next(i for i, times in enumerate(solution.t_events) if times.size)
        on = [watched[which]] if which < len(watched) else []
        if which == len(watched):
            z[d] = 0.0
        zero = sorted(set(on) | set(np.flatnonzero(sides == 0)))
        if zero:
            basis = np.linalg.qr(X[zero].T)[0]
            z[:d] -= basis @ (basis.T @ z[:d])
        z /= np.linalg.norm(z)
        events += [(k, time) for k in on]


def compare_with_reference(X, forces, w, a, leak):
    """Largest errors in direction, a/|w| and event times (relative to max(1, |value|)); and the outcome."""
    outcome = align(X, forces, w, a, leak=leak)
    worst = np.zeros(3)
    for j in range(len(a)):
        speed = np.linalg.norm(outcome.vectors[j]) or 1.0
        status = STATUS_NAMES[outcome.statuses[j]]
        # A shrinking neuron balances on rounding (a + p = 0), which the integrator loses at the rate e^(2 |D| t).
        end = float(outcome.times[j] + {"final": 27.0, "shrinking": 2.0}.get(status, 1.0) / speed)
        if status == "origin":
            end = 0.9 * float(outcome.times[j])  # a/|w| has a pole at the origin
        events, direction, ratio, stopped, time = reference(X, forces, w[j], a[j], leak, end)
        state = align_until(X, forces, w[j : j + 1], a[j : j + 1], end, leak=leak)
        hit = np.isin(state.events.kinds, (0, 1, 3))
        assert state.events.samples[hit].tolist() == [k for k, _ in events]
        assert (stopped == "ridge") == (status == "ridge")
        assert (stopped == "dead") == (outcome.ends[j] == DEAD)
        if stopped == "ridge":
            worst[2] = max(worst[2], abs(time - outcome.times[j]) / max(1.0, time))
        elif events:
            times = np.array([t for _, t in events])
            worst[2] = max(worst[2], np.max(np.abs(state.events.times[hit] - times) / np.maximum(1.0, times)))
            assert status == "origin" or outcome.times[j] == state.events.times[hit][-1]
        elif status != "origin":
            assert outcome.times[j] == 0.0
        length = np.linalg.norm(state.w[0])
        worst[0] = max(worst[0], np.max(np.abs(direction - state.w[0] / length)))
        if status != "shrinking":
            worst[1] = max(worst[1], abs(ratio - state.a[0] / length) / max(1.0, abs(ratio)))
        if stopped == "end" and status != "origin":
            worst[0] = max(worst[0], np.max(np.abs(direction - outcome.directions[j])))
    return worst, outcome


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_agrees_with_a_generic_integrator_sliding_included(d, leak):
    rng = np.random.default_rng(100 * d + int(10 * leak))
    slides = crossings = 0
    for kind in INITIALISATIONS:
        for _ in range(2):
            X, forces = random_problem(rng, d, int(rng.integers(d, 7)))
            worst, outcome = compare_with_reference(X, forces, *random_neurons(rng, 3, d, kind), leak)
            assert np.all(worst < 1e-9), (kind, worst)
            slides += int(outcome.slides.sum())
            crossings += int(outcome.crossings.sum())
    assert slides > 0
    assert crossings > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_a_generic_integrator_on_many_problems(seed):
    rng = np.random.default_rng(seed)
    for d, kind, leak in itertools.product((2, 3, 4, 5), INITIALISATIONS, (0.0, 0.3)):
        X, forces = random_problem(rng, d, int(rng.integers(d, 8)))
        worst, _ = compare_with_reference(X, forces, *random_neurons(rng, 6, d, kind), leak)
        assert np.all(worst < 1e-9), (d, kind, leak, worst)
