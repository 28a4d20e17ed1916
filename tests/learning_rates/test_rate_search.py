"""The largest rate up to which something holds."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.learning_rates.rate_search import find_boundary


@pytest.mark.parametrize("threshold", [0.012, 0.3, 0.9])
def test_a_sharp_boundary_is_found(threshold):
    asked = []

    def holds(rate):
        asked.append(rate)
        return rate < threshold

    found = find_boundary(holds, rates=[0.01, 0.1, 1.0])
    assert threshold / 1.05 <= found.up_to < threshold <= found.fails_at
    assert not found.is_ragged
    assert len(asked) == len(set(asked))


def test_a_ragged_boundary_is_said():
    """It holds again in every other tenth beyond 0.3."""
    found = find_boundary(lambda rate: rate < 0.3 or int(rate * 100) % 2 == 0, rates=[0.01, 0.1, 0.31])
    assert found.up_to < 0.31
    assert found.is_ragged
    assert 0.0 < found.share_above < 1.0


def test_what_holds_everywhere_or_nowhere():
    everywhere, nowhere = (find_boundary(lambda rate, a=a: a, rates=[0.1, 1.0]) for a in (True, False))
    assert (everywhere.up_to, everywhere.fails_at) == (1.0, None)
    assert (nowhere.up_to, nowhere.fails_at) == (None, 0.1)


def test_nothing_is_asked_once_the_time_is_spent():
    asked = []
    known = {0.1: True, 1.0: False}
    found = find_boundary(lambda rate: bool(asked.append(rate)), known, is_spent=lambda: True)
    assert (found.up_to, found.fails_at, asked) == (0.1, 1.0, [])


def test_no_rate_is_refused():
    with pytest.raises(InvalidInputError, match="`rates` must hold a learning rate"):
        find_boundary(np.isfinite)


def test_what_cannot_be_told_ends_the_search():
    found = find_boundary(lambda rate: None if rate > 0.2 else True, {0.1: True, 1.0: False})
    assert (found.up_to, found.fails_at) == (0.1, 1.0)
    nothing = find_boundary(lambda rate: None, rates=[0.1])
    assert (nothing.up_to, nothing.fails_at) == (None, None)


@pytest.mark.parametrize("threshold", [0.02, 5.0])
def test_the_search_goes_beyond_rates_that_agree(threshold):
    """Where all rates given ended at the limit, the largest of them was given for the boundary."""
    found = find_boundary(lambda rate: rate < threshold, rates=[0.1, 1.0], widenings=5)
    assert threshold / 1.05 <= found.up_to < threshold <= found.fails_at
