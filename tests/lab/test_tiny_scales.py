"""Pictures at scales far below the smallest double: states where something changes, sizes as logarithms throughout.

Below 1e-150 the squares of the weights underflowed: neurons had no direction and no size, states jumped from t = 0 to
1305, and neurons were shown half-turned at t = 509 where the flow had aligned them by 9.4.
"""

import numpy as np
import pytest

from lab.test_frames import answered
from lab.test_frames import request as asked
from reluflow import EventDrivenFlow, train
from reluflow.dynamics.stopping import AtTime
from reluflow.lab import adapter
from reluflow.lab.state import read_state

REFRACTION, DEATH = 0, 3
SETTINGS = (
    {"width": 30},
    {"name": "two sides", "X": [[1, 0.25], [-1, 0.25]], "y": [1, 0.4], "width": 6, "seed": 1},
)


@pytest.fixture(scope="module", params=[(k, scale) for k in (0, 1) for scale in ("1e-10", "1e-300", "1e-1000")])
def run(request):
    which, scale = request.param
    settings = SETTINGS[which] | {"scale": scale}
    _, arrays = [frame for frame in answered(asked(settings)) if frame[0]["what"] == "run"][-1]
    return adapter.problem_of(read_state(settings)), arrays


def test_neurons_are_on_the_sides_that_the_events_say(run):
    """Every frame, against the starting pattern and the crossings of the library's event log."""
    problem, arrays = run
    X, times = problem.dataset.X, arrays["t"]
    active = np.einsum("tmd,nd->tmn", arrays["units"].astype(float), X) > 0
    crossings = np.isin(arrays["event_kind"], (REFRACTION, DEATH))
    slid = set(zip(arrays["event_neuron"][~crossings], arrays["event_sample"][~crossings], strict=True))
    compared = 0
    for j in range(active.shape[1]):
        for k in range(len(X)):
            mine = crossings & (arrays["event_neuron"] == j) & (arrays["event_sample"] == k)
            met = arrays["event_t"][mine]
            is_clear = np.all(np.abs(times[:, None] - met) > 1e-3 * met, axis=1)
            is_clear &= np.all(times[:, None] < arrays["event_t"][mine & (arrays["event_kind"] == DEATH)], axis=1)
            if (j, k) in slid or (-1, k) in slid:
                continue
            expected = active[0, j, k] ^ (np.sum(times[:, None] > met, axis=1) % 2 == 1)
            np.testing.assert_array_equal(active[is_clear, j, k], expected[is_clear])
            compared += int(is_clear.sum())
    assert compared > 300


def test_states_stand_where_neurons_turn_and_where_they_grow(run):
    _, arrays = run
    cosines = np.sum(arrays["units"][1:] * arrays["units"][:-1], axis=2)
    assert np.degrees(np.arccos(np.clip(cosines.min(), -1, 1))) < 25
    last = np.max(arrays["event_t"][arrays["event_t"] < 20])
    assert np.sum(arrays["t"] < last) > 10, "the turning is seen, however short beside the run"
    largest = np.max(arrays["log_w"], axis=1)
    whole = largest[-1] - largest[0]
    assert np.max(np.abs(np.diff(largest))) < max(0.2 * whole, 3.0)


def test_directions_and_logarithms_of_sizes_are_those_of_a_second_run(run):
    """Another solver run at another tolerance, asked for some of the times; no size is lost below the doubles."""
    problem, arrays = run
    assert np.all(np.isfinite(arrays["log_w"]))
    picked = np.unique(np.linspace(1, 0.5 * len(arrays["t"]), 9).astype(int))
    times = arrays["t"][picked]
    again = train(problem, EventDrivenFlow(rtol=1e-9), until=AtTime(float(times[-1])), times=times)
    for at, snapshot in zip(picked, again.snapshots, strict=True):
        w, a = snapshot.network.w, snapshot.network.a
        unit = w / np.max(np.abs(w), axis=1, keepdims=True)
        norms = np.linalg.norm(unit, axis=1)
        np.testing.assert_allclose(arrays["units"][at], unit / norms[:, None], atol=2e-4)
        log_w = np.log(norms) + np.log(np.max(np.abs(w), axis=1)) + snapshot.network.log_scale
        if snapshot.log_sizes is not None:
            shares = np.log(np.hypot(norms, np.abs(a) / np.max(np.abs(w), axis=1)) / norms)
            log_w = snapshot.log_sizes - shares
        np.testing.assert_allclose(arrays["log_w"][at], log_w, atol=2e-3, rtol=1e-6)
