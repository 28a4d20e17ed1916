"""Fixtures every test may use."""

import gc
import os
import signal
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two workers of pytest on two cores, each with two threads, wait

# the same small network is compiled for every seed of a figure, and again by the next call; a folder for each worker of
# pytest-xdist, since JAX writes a program where another process may be reading it
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(
    Path(__file__).parents[1] / ".pytest_cache" / "jax" / os.environ.get("PYTEST_XDIST_WORKER", "alone")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# XLA optimises for seconds what runs for milliseconds
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import numpy as np
import pytest
from hypothesis import settings

from reluflow.lab.warming import load_machine_code
from reluflow.warm_up import warm_up
from reluflow.workers import starting

settings.register_profile("reluflow", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("reluflow")

# it takes a disk 10 ms, a hundred times in a study, and guards against a loss of power, which no test brings about
os.fsync = lambda descriptor: None

# a shell starts what runs in the background with Ctrl-C ignored: the tests of Ctrl-C then waited for ever
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    """Workers of pytest-xdist are told the width of a terminal, to which tables written to a file keep."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def rng():
    """One generator with a fixed seed."""
    return np.random.default_rng(20240117)


@pytest.fixture
def brief_descent(monkeypatch):
    """A study compares its run with descent for a moment, not for seconds: for tests that look at something else."""
    from reluflow.study import descent_rates

    monkeypatch.setattr(descent_rates, "MOST_SECONDS", 0.2)


@pytest.fixture
def one_process(monkeypatch):
    """Commands compute in this process, which has loaded what others would load: for tests of what they say."""
    monkeypatch.setattr("reluflow.workers.starting.available_cores", lambda: 1)


@pytest.fixture(scope="session")
def loaded_starter():
    """One program with everything loaded, that workers are forked from: each test's own took two seconds to load."""
    starter = starting.process_starter(load_machine_code)
    yield starter
    starter.close()


@pytest.fixture
def loaded_workers(monkeypatch, loaded_starter):
    """Studies and sweeps fork their workers from the program that all tests share: for tests of what workers do."""
    monkeypatch.setattr(loaded_starter, "close", lambda: None)
    for user in ("reluflow.study.workers", "reluflow.sweep.executors.case_pool"):
        monkeypatch.setattr(import_module(user), "process_starter", lambda *given, **more: loaded_starter)


@pytest.fixture
def no_pictures(monkeypatch):
    """The report of a study has no pictures, which take longer to draw than a small study: for tests of its words."""
    from reluflow.study import growing_report

    monkeypatch.setattr(growing_report, "drawings_of", lambda found: ())


# left out of `make test-fast`: whole commands, pictures, pages, processes, papers, documents
THOROUGH = (
    "bench", "cli", "deep", "docs", "estimators", "lab", "papers", "learning_rates", "study", "sweep",
    "vanishing_scale", "viz", "workers", "test_after_run.py", "test_documents.py", "test_front_door.py",
    "test_notebooks.py", "test_solver_contract.py", "test_stopping_contract.py", "test_found_papers.py",
    "test_any_problem.py", "test_audit.py", "test_equivariance.py", "test_scan.py", "test_errata.py",
    "test_flow_published_runs.py", "test_flow_agreement.py", "test_limit.py", "test_takeover.py", "test_wheel.py",
    "test_mnist.py",
)  # fmt: skip


def pytest_ignore_collect(collection_path, config):
    """Do not even import what `make test-fast` leaves out: collecting it took 7 of 17 seconds."""
    is_left_out = set(collection_path.parts) & set(THOROUGH) and "tests" in collection_path.parts
    return True if is_left_out and "not thorough" in config.option.markexpr else None


def pytest_collection():
    """Nothing that is collected is garbage; looking for some took a sixth of the time."""
    gc.disable()


def pytest_collection_finish():
    """Nor is it looked through again with every test."""
    gc.freeze()
    gc.enable()


# each is done by one worker: one laboratory and one browser, and each network compiled once
ALTOGETHER = ("tests/lab/", "tests/deep/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file is done by one worker, so that what its tests share is computed once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.partition("::")[0]
            return next((folder for folder in ALTOGETHER if path.startswith(folder)), path)

    config.option.loadscopereorder = False  # the short doctests last, not the files with few tests
    return ByFile(config, log)


def pytest_collection_modifyitems(config, items):
    """Mark what `make test-fast` leaves out, by folder or file; doctests that need a run are few and stay."""
    if hasattr(config, "workerinput"):  # what is done altogether begins first, and goes on beside the others
        items.sort(key=lambda item: not item.nodeid.startswith(ALTOGETHER))
    for item in items:
        if set(item.path.parts) & set(THOROUGH) and "tests" in item.path.parts:
            item.add_marker(pytest.mark.thorough)


def pytest_sessionstart(session):
    """Compile first where workers of pytest-xdist are about to be started: each of them would compile everything."""
    if not hasattr(session.config, "workerinput") and getattr(session.config.option, "numprocesses", None):
        warm_up()
