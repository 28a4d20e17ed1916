"""Fixtures every test may use."""

import signal

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("reluflow", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("reluflow")

# a shell starts what runs in the background with Ctrl-C ignored: the tests of Ctrl-C then waited for ever
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def rng():
    """One generator with a fixed seed."""
    return np.random.default_rng(20240117)
