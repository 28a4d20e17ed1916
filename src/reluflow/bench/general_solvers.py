"""General solvers of differential equations as peers of the flow: they know nothing of activation boundaries."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.problem import TrainingProblem
from reluflow.network import Network

_PATIENCE = 30.0  # seconds a general solver may take before it counts as stalled


def flat(network: Network) -> FloatArray:
    """All weights in a row, with the scale of the network."""
    whole = network.materialized()
    return np.concatenate([whole.w.ravel(), whole.a])


def scipy_end(problem: TrainingProblem, horizon: float, rtol: float, *, method: str) -> tuple[float, bool, FloatArray]:
    """Seconds taken by a solver of SciPy, whether it arrived at `horizon`, and the weights there."""
    from scipy.integrate import DOP853, RK45

    velocity, z = velocity_of(problem), flat(problem.network)
    start = time.perf_counter()
    stepper = {"DOP853": DOP853, "RK45": RK45}[method](
        velocity, 0.0, z, horizon, rtol=max(rtol, 3e-14), atol=rtol * 1e-3
    )
    while stepper.status == "running" and time.perf_counter() - start < _PATIENCE:
        stepper.step()
    return time.perf_counter() - start, stepper.status == "finished", np.asarray(stepper.y)


def diffrax_end(problem: TrainingProblem, horizon: float, rtol: float) -> tuple[float, bool, FloatArray]:
    """The same for diffrax (Tsit5), without compiling."""
    import diffrax
    import jax
    import jax.numpy as jnp

    settings: Any = jax.config
    settings.update("jax_enable_x64", True)
    X, y = jnp.asarray(problem.dataset.X), jnp.asarray(problem.dataset.y)
    m, d = problem.network.w.shape
    weight = problem.loss.sample_weight(problem.dataset.n)

    def field(t: Any, z: Any, args: Any) -> Any:
        w, a = z[: m * d].reshape(m, d), z[m * d :]
        pre = w @ X.T
        h = a @ jnp.maximum(pre, problem.network.leak * pre)
        forces = weight * (y * jax.nn.sigmoid(-y * h) if problem.loss.is_classification else y - h)
        pull = (jnp.where(pre > 0, 1.0, problem.network.leak) * forces) @ X
        return jnp.concatenate([(a[:, None] * pull).ravel(), jnp.sum(w * pull, axis=1)])

    def solution_from(z: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field),
            diffrax.Tsit5(),
            0.0,
            horizon,
            None,
            z,
            stepsize_controller=diffrax.PIDController(rtol=rtol, atol=rtol * 1e-3),
            max_steps=200_000,
            throw=False,
            saveat=diffrax.SaveAt(t1=True),
        )

    solve = jax.jit(solution_from)
    z = jnp.asarray(flat(problem.network))
    solve(z).ys.block_until_ready()
    start = time.perf_counter()
    solution = solve(z)
    end = np.asarray(solution.ys[0])
    seconds = time.perf_counter() - start
    return seconds, bool(solution.result == diffrax.RESULTS.successful), end


def diffrax_outputs_end(problem: TrainingProblem, horizon: float, rtol: float) -> tuple[float, bool, FloatArray]:
    """Seconds taken by diffrax (Tsit5) with several outputs, without compiling, whether it arrived, and the outputs."""
    import diffrax
    import jax
    import jax.numpy as jnp

    settings: Any = jax.config
    settings.update("jax_enable_x64", True)
    data, leak = problem.dataset, problem.network.leak
    X = jnp.asarray(data.X)
    targets = data.with_one_hot_targets().y if data.classes is not None else data.y
    rows, weight = jnp.asarray(targets), problem.loss.sample_weight(data.n)
    whole = problem.network.materialized()

    def outputs_of(w: Any, v: Any) -> Any:
        pre = w @ X.T
        return jnp.maximum(pre, leak * pre).T @ v

    def field(t: Any, z: Any, args: Any) -> Any:
        w, v = z
        pre, h = w @ X.T, outputs_of(w, v)
        forces = weight * (rows - (jax.nn.softmax(h, axis=1) if problem.loss.is_classification else h))
        slopes = jnp.where(pre > 0, 1.0, leak)
        return (slopes * (v @ forces.T)) @ X, (slopes * pre) @ forces

    def solution_from(z: Any) -> Any:
        controller = diffrax.PIDController(rtol=rtol, atol=rtol * 1e-3)
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, horizon, None, z, stepsize_controller=controller,
            max_steps=20_000, throw=False, saveat=diffrax.SaveAt(t1=True),
        )  # fmt: skip

    solve, z = jax.jit(solution_from), (jnp.asarray(whole.w), jnp.asarray(whole.v))
    for part in solve(z).ys:
        part.block_until_ready()
    start = time.perf_counter()
    solution = solve(z)
    w, v = (part[0].block_until_ready() for part in solution.ys)
    seconds = time.perf_counter() - start
    return seconds, bool(solution.result == diffrax.RESULTS.successful), np.asarray(outputs_of(w, v))


def velocity_of(problem: TrainingProblem) -> Callable[[float, FloatArray], FloatArray]:
    """dz/dt of all weights in a row, w first; a neuron on a boundary counts as inactive."""
    X, y, loss, leak = problem.dataset.X, problem.dataset.y, problem.loss, problem.network.leak
    m, d = problem.network.w.shape

    def velocity(t: float, z: FloatArray) -> FloatArray:
        w, a = z[: m * d].reshape(m, d), z[m * d :]
        pre = w @ X.T
        forces = loss.forces(a @ np.maximum(pre, leak * pre), y)
        pull = (np.where(pre > 0, 1.0, leak) * forces) @ X
        return np.concatenate([(a[:, None] * pull).ravel(), np.sum(w * pull, axis=1)])

    return velocity
