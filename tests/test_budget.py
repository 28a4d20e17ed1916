"""A bound in processor time: blocks that grow while they are quick, and end when it is spent."""

from itertools import pairwise

import pytest

from reluflow.budget import Budget


class Clock:
    """A clock that is told how much work was done."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("cost", [1e-6, 0.01, 0.2, 1.0, 30.0])
def test_blocks_cover_the_work_or_end_when_it_is_spent(cost):
    clock = Clock()
    allowed = Budget(5.0, clock=clock)
    blocks = []
    for block in allowed.blocks(1000):
        blocks.append(block)
        clock.now += cost * (block.stop - block.start)
    assert blocks[0].start == 0
    assert all(one.stop == two.start for one, two in pairwise(blocks))
    assert blocks[-1].stop == 1000 or allowed.is_spent
    largest = max(block.stop - block.start for block in blocks)
    assert clock.now <= 5.0 + max(largest * cost, 0.0)
    assert largest == 1 or largest * cost <= 0.6 + 1e-12


def test_without_a_bound_everything_is_done():
    allowed = Budget()
    assert sum(block.stop - block.start for block in allowed.blocks(77, largest=8)) == 77
    assert not allowed.is_spent
    assert allowed.share == 0.0
