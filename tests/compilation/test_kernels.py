"""Kernels: compiled for the types they are declared for, by several processes, and kept out of the clock."""

import subprocess
import sys
import time
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, typeof, types

from reluflow import EventDrivenFlow, Experiment, train
from reluflow.arrays import FloatArray, FloatMatrix, FloatVector, IntVector, SignMatrix
from reluflow.bernstein_kernels import value_at, values_at
from reluflow.compilation import parallel
from reluflow.compilation.clock import compiling_seconds, computing_time
from reluflow.compilation.dependencies import called_by
from reluflow.compilation.kernel import KERNELS, direct
from reluflow.compilation.parallel import load_compiled
from reluflow.compilation.signature import signature_of
from reluflow.dynamics.collocation import neuron_path_kernels
from reluflow.dynamics.event_driven import flow_run, flow_state, grouped_neurons, slides
from reluflow.dynamics.event_driven.step_kernels import attempt_step, take_step
from reluflow.warm_up import Work, warm_up


class _Pair(NamedTuple):
    rows: FloatMatrix
    signs: SignMatrix
    count: int


def test_annotations_are_the_types_a_kernel_is_compiled_for():
    def function(vector: FloatVector, pair: _Pair, index: IntVector, factor: float, is_on: bool) -> None: ...

    vector, pair, index, factor, is_on = signature_of(function)
    assert vector == types.float64[::1]
    assert pair == types.NamedTuple([types.float64[:, ::1], types.int8[:, ::1], types.int64], _Pair)
    assert (index, factor, is_on) == (types.int64[::1], types.float64, types.boolean)


def test_a_kernel_called_directly_gives_what_it_gives_by_numba(rng):
    """Numba looks at the type of every field of every argument, which took longer than a small step."""
    polynomial, thetas = rng.standard_normal(8), rng.random(5)
    assert np.array_equal(direct(values_at)(polynomial, thetas), values_at(polynomial, thetas))


def test_a_kernel_for_kernels_is_not_called_directly_and_python_can_call_it_all_the_same():
    """It is compiled without a way in from Python; a call through the one that is not there would end the process."""
    polynomial = np.array([1.0, 2.0, 4.0])
    with pytest.raises(TypeError, match="`value_at` is for kernels; declare it with `entry=True`"):
        direct(value_at)
    assert value_at(polynomial, 0.5) == 2.25
    with pytest.raises(TypeError):
        value_at(polynomial)


def test_what_is_called_directly_is_called_with_the_types_it_declares(monkeypatch):
    """Nothing would refuse others: they would be read as if they were the right ones."""
    called = set()

    def checked(kernel):
        def call(*arguments):
            called.add(kernel)
            types_of_call = tuple(typeof(argument) for argument in arguments)
            assert len(types_of_call) == len(signature_of(kernel.py_func))
            for given, declared in zip(types_of_call, signature_of(kernel.py_func), strict=True):
                assert given == declared or (given in types.number_domain and declared in types.number_domain)
            return direct(kernel)(*arguments)

        return call

    for module in (flow_run, flow_state, grouped_neurons, slides):
        monkeypatch.setattr(module, "direct", checked)
    for name, width, settings in (
        ("three-points", 12, {"scale": "1"}),  # with neurons that slide
        ("min-toy", 6, {"until": "30"}),
        ("three-points", 12, {"weight_decay": 1e-2, "until": "10"}),
        ("three-points", 12, {"frozen_output": True, "until": "10"}),
    ):
        problem = Experiment(name, width=width, **settings).problem()
        train(problem, EventDrivenFlow(), until=30.0)
    of_steps = {"next_step", "reach_event", "read_columns", "wall_pulls_of", "slide_margins_at"}
    of_groups = {"gather", "write_back", "frame_changes", "write_missing_moments"}
    assert {kernel.py_func.__name__ for kernel in called} == of_steps | of_groups


def test_an_annotation_without_dimensions_leaves_the_types_open():
    def function(array: FloatArray) -> None: ...

    assert signature_of(function) is None


def test_callees_are_found_through_modules_and_inlined_functions_and_not_by_the_names_of_fields():
    """A field that has the name of a kernel, as `room.free` or `np.dot`, once made a kernel wait for itself."""
    names = {
        d.py_func.__name__ for d in called_by(KERNELS["reluflow.geometry.alignment_kernels:_flow_neurons"].py_func)
    }
    assert {"decide", "orthonormalise", "boost"} <= names  # `decision.decide`, within the inlined `flow_neuron`
    assert "_flow_neurons" not in names
    dot = KERNELS["reluflow.dynamics.collocation.vector_kernels:dot"]
    assert called_by(dot.py_func) == ()


def test_every_kernel_declares_its_types():
    """One that does not is compiled where it is first called, in one process, while somebody waits."""
    warm_up()
    files = {module.__name__ for work in Work for module in work.modules}
    ours = {name: kernel for name, kernel in KERNELS.items() if name.partition(":")[0] in files}
    assert [name for name, kernel in ours.items() if signature_of(kernel.py_func) is None] == []


_RUNS = """
import numba.core.event, sys
import numpy as np
from reluflow import CollocationFlow, EventDrivenFlow, GradientDescent, LogisticLoss, SquareLoss, TrainingProblem
from reluflow import balanced_initialization, certified_limit, load, train
from reluflow.geometry.alignment import align
from reluflow.geometry.extremal import extremal_vectors
from reluflow.dynamics import GroupedGradientDescent

compiled = []
class Listener(numba.core.event.Listener):
    def on_start(self, event): ...
    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        hits = sum(event.data["dispatcher"].stats.cache_misses.values())
        if function.__module__.startswith("reluflow.") and hits:
            compiled.append(f"{function.__module__}:{function.__name__}")
numba.core.event.register("numba:compile", Listener())
for name, loss in (("three-points", SquareLoss()), ("min-toy", LogisticLoss())):
    data = load(name)
    for width in (4, 200):
        network = balanced_initialization(data, width=width, scale="1e-3", rng=np.random.default_rng(0))
        problem = TrainingProblem(data, loss, network)
        for solver in (EventDrivenFlow(), CollocationFlow()):
            certified_limit(train(problem, solver, until=30.0))
        train(problem, GradientDescent(1e-2, 10))
        train(problem, GroupedGradientDescent(1e-2, 10))
        align(data.X, loss.label_forces(data.y), network.w, network.a)
    extremal_vectors(data, loss)
print(sorted(set(compiled) - {"reluflow.losses.compiled:_where"}))
"""


def test_after_warming_up_nothing_is_compiled_a_second_time():
    """Read-only samples, rows with gaps and a literal 0 each had many kernels compiled for types of their own."""
    warm_up()
    answer = subprocess.run([sys.executable, "-c", _RUNS], capture_output=True, text=True, timeout=300, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_second_warming_up_finds_everything_compiled():
    """Also for a part of it, and whatever else is imported: the record once lay where the first kernel did."""
    warm_up()
    assert [warm_up(work) for work in Work] == [0] * len(Work)
    told = []
    assert warm_up(on_progress=lambda done, total: told.append((done, total))) == 0
    assert told == []


def _a_file_of_kernels(tmp_path, monkeypatch) -> ModuleType:
    (tmp_path / "small_kernels.py").write_text(
        "from reluflow.arrays import FloatVector\n"
        "from reluflow.compilation.kernel import kernel\n"
        "@kernel()\n"
        "def doubled(x: float) -> float:\n"
        "    return 2.0 * x\n"
        "@kernel()\n"
        "def total(values: FloatVector) -> float:\n"
        "    result = 0.0\n"
        "    for value in values:\n"
        "        result += doubled(value)\n"
        "    return result\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    return importlib.import_module("small_kernels")


@pytest.fixture
def small_kernels(tmp_path, monkeypatch):
    """A file of two kernels that no cache knows."""
    yield _a_file_of_kernels(tmp_path, monkeypatch)
    sys.modules.pop("small_kernels")
    for name in ("small_kernels:doubled", "small_kernels:total"):
        KERNELS.pop(name)


def test_kernels_are_compiled_in_other_processes_callees_first(small_kernels):
    told = []
    count = parallel.compile_kernels([small_kernels], on_progress=lambda done, total: told.append((done, total)))
    assert (count, told) == (2, [(0, 2), (1, 2), (2, 2)])
    assert small_kernels.total(np.array([1.0, 2.0])) == 6.0
    assert sum(small_kernels.total.stats.cache_hits.values()) == 1
    assert not small_kernels.total.stats.cache_misses
    assert parallel.compile_kernels([small_kernels]) == 0


def test_a_process_that_cannot_compile_loses_nothing(small_kernels, monkeypatch):
    """It dies, what it would have compiled is compiled at the first call, and is asked for again the next time."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert parallel.compile_kernels([small_kernels]) == 0
    assert small_kernels.total(np.array([1.0, 2.0])) == 6.0
    monkeypatch.undo()


def test_each_kind_of_work_has_its_kernels():
    for work in Work:
        names = [module.__name__ for module in work.modules]
        assert any(name.partition(":")[0] in names for name in KERNELS), work
    assert neuron_path_kernels in Work.COLLOCATION_FLOW.modules


def test_the_clock_stands_still_while_a_kernel_is_compiled():
    """A first study on a busy machine gave up the flow for descent: its seconds had gone into compiling."""

    def slow_to_compile(x):
        return np.sort(x[x > 0.0]) @ x[x > 0.0]

    before, computing, wall = compiling_seconds(), computing_time(), time.monotonic()
    njit(slow_to_compile)(np.array([1.0, 2.0]))
    compiling = compiling_seconds() - before
    assert compiling > 0.01
    gone, computed = time.monotonic() - wall, computing_time() - computing
    assert computed == pytest.approx(gone - compiling, abs=5e-3)


def test_a_large_kernel_is_not_copied_into_its_callers():
    """Two thirds of the machine code of the exact solver were copies."""
    warm_up(Work.EVENT_DRIVEN_FLOW)
    load_compiled(Work.EVENT_DRIVEN_FLOW.modules)
    library = next(iter(take_step.overloads.values())).library
    attempt = next(iter(attempt_step.overloads.values())).library
    assert attempt.is_large
    functions = library._get_module_for_linking().functions
    assert [function.is_declaration for function in functions if function.name == attempt.symbol] == [True]
