"""Plateaus are found at once, as a scan from every record finds them.

The scan took seconds for the 50,000 records of a run on 442 patients, and minutes for longer ones.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reluflow.dynamics import phases


def scanned(left, first, end):
    """From record to record, until more than a plateau's share has fallen."""
    last = first
    while last < end and left[first] - left[last + 1] <= phases._PLATEAU_FALL:
        last += 1
    return last


@given(seed=st.integers(0, 10_000), noise=st.sampled_from([0.0, 1e-16, 1e-3, 0.03]), n=st.integers(2, 120))
def test_the_end_of_a_stretch_is_where_a_scan_ends(seed, noise, n):
    rng = np.random.default_rng(seed)
    left = np.cumsum(rng.exponential(size=n) ** 4 * (rng.random(n) < 0.3) + 1e-9)[::-1]
    left = left / left[0] + noise * rng.normal(size=n)
    lowest = np.minimum.accumulate(left)
    for first in range(n - 1):
        assert min(phases._before_fall(left, lowest, first), n - 1) == scanned(left, first, n - 1)
