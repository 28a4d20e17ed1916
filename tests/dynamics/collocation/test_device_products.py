"""Large products by JAX: the same numbers wherever they are made. JAX's own processor stands in for an accelerator."""

import pickle
from dataclasses import replace

import jax
import numpy as np
import pytest

from reluflow import (
    CollocationFlow,
    Dataset,
    LogisticLoss,
    SoftmaxLoss,
    SquareLoss,
    TrainingProblem,
    balanced_initialization,
    train,
)
from reluflow.dynamics.collocation import device_products, newton_matrices, sample_forces
from reluflow.dynamics.collocation.curvatures import curved, roots
from reluflow.dynamics.collocation.largest_modes import largest_modes
from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tangent_kernel import TangentKernel
from reluflow.dynamics.stopping import AtTime
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.walls import Walls


@pytest.fixture
def any_device(monkeypatch):
    """Let a processor count as an accelerator, for samples of any number."""
    monkeypatch.setattr(device_products, "accelerator", lambda: jax.devices("cpu")[0])
    monkeypatch.setattr(device_products, "DEVICE_SAMPLES", 64)
    monkeypatch.setattr(sample_forces, "DEVICE_FROM_SAMPLES", 1)


def some_problem(loss, *, n=450, d=6, m=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    data = Dataset(X, np.sign(X[:, 0] + 0.1))
    network = balanced_initialization(data, width=m, scale=1e-1, rng=rng, leak=0.2)
    return TrainingProblem(data, loss, network)


def some_classes(*, has_bias, n=120, d=6, m=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    data = Dataset(X, np.argmax(X[:, :3] + 0.1, axis=1), classes=("a", "b", "c"))
    network = balanced_initialization(data, width=m, scale=1e-1, rng=rng, leak=0.2)
    if has_bias:
        network = network.replace(b=np.array([0.1, -0.2, 0.1]))
    return TrainingProblem(data, SoftmaxLoss(), network)


def two_kinds(problem):
    walls = Walls.of(problem.dataset.X)
    return [SampleForces(problem, walls, device=device) for device in ("cpu", "gpu")]


def test_products_are_those_of_the_processor(any_device):
    host, device = two_kinds(some_problem(SquareLoss()))
    assert host.on_device is None
    rng = np.random.default_rng(1)
    places, mass = rng.standard_normal((12, 4, 7)), rng.uniform(0.5, 2.0, 12)
    np.testing.assert_allclose(device.outputs(places, mass), host.outputs(places, mass), rtol=0, atol=1e-12)
    np.testing.assert_allclose(device.heights(places[:, 0, :-1]), host.heights(places[:, 0, :-1]), rtol=0, atol=1e-13)
    np.testing.assert_allclose(device.gram(), host.gram(), rtol=0, atol=1e-13)
    found = (device.outputs(places, mass), device.heights(places[:, 0, :-1]), device.gram())
    assert all(part.flags.c_contiguous for part in found)  # else half a minute of compiling began again
    sides = rng.choice([-1, 0, 1], (12, 450)).astype(np.int8)
    plus, minus = rng.standard_normal((2, 5, 450))
    strengths = (sides > 0)[:, None] * plus + (sides < 0)[:, None] * minus
    expected = np.einsum("jqb,bi->jqi", strengths, host.walls.normals)
    found = device.on_device.felt(device.on_device.sides(sides), plus, minus)
    np.testing.assert_allclose(found[:12], expected, rtol=0, atol=1e-11)


def test_modes_are_those_of_the_kernel(any_device):
    problem = some_problem(LogisticLoss())
    host, device = two_kinds(problem)
    rng = np.random.default_rng(2)
    z = rng.standard_normal((12, 7))
    z[0, :-1] -= (z[0, :-1] @ host.walls.normals[3]) * host.walls.normals[3]  # it slides
    kernel = TangentKernel(z, rng.uniform(0.5, 1.0, 12), host.walls, 0.2, host.X, host.gram())
    weights = rng.uniform(0.0, 1.0, 450)
    weights[::3] = 0.0
    whole = weights[:, None] * kernel.whole() * weights
    modes, values = device.on_device.largest_modes(kernel.parts, weights, 1e-2 * np.max(whole), None)
    expected_modes, expected = largest_modes(whole, 1e-2 * np.max(whole), None)
    assert len(values) == len(expected)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12 * expected[0])
    np.testing.assert_allclose(modes[:, :5] ** 2, expected_modes[:, :5] ** 2, atol=1e-9)
    assert device.on_device.largest_modes(kernel.parts, weights, -1.0, None) is None  # as many as there are


def test_products_of_several_outputs_are_those_of_the_processor(any_device):
    host, device = two_kinds(some_classes(has_bias=False))
    rng = np.random.default_rng(1)
    places, mass = rng.standard_normal((12, 4, 9)), rng.uniform(0.5, 2.0, 12)
    np.testing.assert_allclose(device.outputs(places, mass), host.outputs(places, mass), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "bias_rate", "moves_outputs"), [(SoftmaxLoss(), 0.3, True), (SquareLoss(), 0.0, False)]
)
def test_modes_of_several_outputs_are_those_of_the_kernel(any_device, loss, bias_rate, moves_outputs):
    """Curvatures are blocks of a softmax loss and numbers of a square loss; two neurons slide."""
    host, device = two_kinds(some_classes(has_bias=False))
    rng = np.random.default_rng(2)
    z = rng.standard_normal((12, 9))
    normals = host.walls.normals
    z[0, :6] -= (z[0, :6] @ normals[3]) * normals[3]
    basis = np.linalg.qr(normals[[5, 8]].T)[0]
    z[1, :6] -= basis @ (basis.T @ z[1, :6])
    kernel = OutputsKernel(
        *(z, rng.uniform(0.5, 1.0, 12), host.walls, 0.2, host.X),
        heights=z[:, :6] @ normals.T,
        moves_outputs=moves_outputs,
        bias_rate=bias_rate,
    )
    curvatures = rng.uniform(0.1, 1.0, 360)
    if loss.is_coupled:
        curvatures = host.relative(rng.standard_normal((1, 360))).curvatures[0]
    root, modes = roots(curvatures), None
    across = root if root.ndim == 1 else np.swapaxes(root, 1, 2)
    expected = np.linalg.eigvalsh(curved(across, kernel.times(curved(root, np.eye(360)))))[::-1]
    for _ in range(15):  # from the modes found last, as along a run
        modes, moved, values = device.on_device.largest_modes_of_outputs(kernel, root, 0.1 * expected[0], modes)
    np.testing.assert_allclose(values[:5], expected[:5], rtol=1e-8)
    np.testing.assert_allclose(moved, kernel.times(curved(root, modes)), rtol=0, atol=1e-9 * np.max(np.abs(moved)))
    np.testing.assert_allclose(modes.T @ modes, np.eye(len(values)), rtol=0, atol=1e-12)
    assert device.on_device.largest_modes_of_outputs(kernel, root, -1.0, None) is None  # as many as there are


def test_a_sliding_neuron_is_pulled_along_its_wall(any_device):
    problem = some_problem(SquareLoss())
    normal = Walls.of(problem.dataset.X).normals[3]
    w = problem.network.w.copy()
    w[0] -= (w[0] @ normal) * normal
    problem = replace(problem, network=problem.network.replace(w=w))
    host, device = (CollocationFlow(device=where).start(problem)._state for where in ("cpu", "gpu"))
    for state in (host, device):
        state.neurons.sides[0, 3] = 0  # held there, whatever the forces say
        state.refresh()
    assert abs(device.pulls()[0] @ normal) <= 1e-14 * np.linalg.norm(device.pulls()[0])
    np.testing.assert_allclose(device.pulls(), host.pulls(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", [SquareLoss(), LogisticLoss()])
def test_a_run_is_the_same_on_any_device(any_device, loss):
    """The outputs differ by what the two roundings make of one tolerance; events come in the same order."""
    problem = some_problem(loss, n=150)
    runs = [train(problem, CollocationFlow(1e-7, device=device), until=AtTime(1.5)) for device in ("cpu", "gpu")]
    host, device = runs
    assert np.max(np.abs(host.end.outputs - device.end.outputs)) <= 1e-7 * np.max(np.abs(host.end.outputs))
    named = [[(event.neuron, event.sample, event.kind) for event in run.events] for run in runs]
    assert sorted(named[0]) == sorted(named[1])
    assert len(named[0]) > 50


@pytest.mark.parametrize("has_bias", [False, True])
def test_a_run_of_classes_is_the_same_on_any_device(any_device, has_bias, monkeypatch):
    """Its largest modes are found on the device as well; on the processor by the same search."""
    monkeypatch.setattr(newton_matrices, "MODES_FROM_SAMPLES", 40)
    monkeypatch.setattr(newton_matrices, "FEW_WEIGHTS", 0)
    asked = []
    search = device_products.DeviceProducts.largest_modes_of_outputs
    monkeypatch.setattr(
        device_products.DeviceProducts,
        "largest_modes_of_outputs",
        lambda self, *parts: asked.append(parts) or search(self, *parts),
    )
    problem = some_classes(has_bias=has_bias, n=90)
    host, device = (train(problem, CollocationFlow(1e-7, device=where), until=AtTime(6.0)) for where in ("cpu", "gpu"))
    assert asked
    assert np.max(np.abs(host.predictions - device.predictions)) <= 1e-7 * np.max(np.abs(host.predictions))
    named = [sorted((event.neuron, event.sample, event.kind) for event in run.events) for run in (host, device)]
    assert named[0] == named[1]
    assert len(named[0]) > 50


def test_a_run_on_a_device_is_kept_and_goes_on(any_device):
    run = CollocationFlow(1e-6, device="gpu").start(some_problem(LogisticLoss()))
    run.advance(1.0, 1)
    again = pickle.loads(pickle.dumps(run))
    for each in (run, again):
        while each.time < 1.0:
            each.advance(1.0, 1)
    assert np.array_equal(run.outputs(), again.outputs())


def test_few_samples_stay_on_the_processor(monkeypatch):
    monkeypatch.setattr(device_products, "accelerator", lambda: pytest.fail("asked for"))
    assert two_kinds(some_problem(SquareLoss()))[1].on_device is None


def test_a_machine_without_an_accelerator_is_told_so(monkeypatch):
    monkeypatch.setattr(sample_forces, "DEVICE_FROM_SAMPLES", 1)
    monkeypatch.setattr(device_products.jax, "devices", lambda: jax.local_devices(backend="cpu"))
    with pytest.raises(InvalidInputError, match="JAX sees no accelerator"):
        CollocationFlow(device="gpu").start(some_problem(SquareLoss()))
    with pytest.raises(InvalidInputError, match="`device` must be 'cpu' or 'gpu', got 'tpu'"):
        CollocationFlow(device="tpu")


def test_too_little_memory_on_the_device_is_refused(monkeypatch):
    class Small:
        platform = "gpu"

        def memory_stats(self):
            return {"bytes_limit": 1000}

    monkeypatch.setattr(device_products, "accelerator", Small)
    monkeypatch.setattr(sample_forces, "DEVICE_FROM_SAMPLES", 1)
    with pytest.raises(InvalidInputError, match=r"bytes of the accelerator's memory \(450 samples\) and it has 1,000"):
        CollocationFlow(device="gpu").start(some_problem(SquareLoss()))
