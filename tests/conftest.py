"""Fixtures every test may use."""

import os
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two workers of pytest on two cores, each with two threads, wait

import numpy as np
import pytest
from hypothesis import settings

from reluflow.warm_up import warm_up

settings.register_profile("reluflow", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("reluflow")

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


def pytest_sessionstart(session):
    """Compile first where workers of pytest-xdist are about to be started: each of them would compile everything."""
    if not hasattr(session.config, "workerinput") and getattr(session.config.option, "numprocesses", None):
        warm_up()
