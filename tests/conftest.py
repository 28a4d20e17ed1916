"""Fixtures every test may use."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("reluflow", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("reluflow")


@pytest.fixture
def rng():
    """One generator with a fixed seed."""
    return np.random.default_rng(20240117)
