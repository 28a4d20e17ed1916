"""Work shared between threads: the same bits in one and in two."""

import os

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info

from reluflow import threads
from reluflow.threads import at_most_threads, in_two, product


def test_products_in_tests_take_the_threads_that_were_asked_for():
    """One, unless the environment says otherwise. A plugin of another package imported NumPy before `conftest.py` had
    said so; beside other work, products in small pieces then took twenty times as long."""
    asked = min(int(os.environ["OPENBLAS_NUM_THREADS"]), os.cpu_count() or 1)
    counts = [library["num_threads"] for library in threadpool_info() if library["internal_api"] == "openblas"]
    assert set(counts) <= {asked}


@pytest.mark.parametrize("rows", [1, 2, 7, 300])
def test_a_shared_product_has_the_bits_of_one_thread(rows, monkeypatch):
    monkeypatch.setattr(threads, "_LARGE_PRODUCT", 1)
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((rows, 50)), rng.standard_normal((50, 40))
    found = []
    for number in (1, None):
        with at_most_threads(number):
            found.append(product(left, right, np.empty((rows, 40))).copy())
    assert np.array_equal(*found)
    np.testing.assert_allclose(found[0], left @ right, atol=1e-12)


def test_halves_are_all_there_is_and_trouble_in_one_is_told():
    seen = np.zeros(9)

    def add(rows):
        seen[rows] += 1.0

    in_two(add, 9)
    assert np.all(seen == 1.0)
    with pytest.raises(ZeroDivisionError):
        in_two(lambda rows: 1 / rows.start, 9)


def test_the_number_of_threads_is_given_back():
    """Within a bound of 1, None is 1 too; the test asked for the number outside, which is 1 in most test processes."""
    before = numba.get_num_threads()
    with at_most_threads(1):
        assert numba.get_num_threads() == 1
        with at_most_threads(None):
            assert numba.get_num_threads() == 1
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
