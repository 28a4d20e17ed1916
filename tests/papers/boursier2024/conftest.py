"""Small problems: one thread serves them faster than two."""

import numba
import pytest


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """Waking a second thread costs more than these runs of a few neurons take."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)
